"""The page docs/does-it-hold.md: the paper's claims one by one, made from the results."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from reproduction.claims import BEYOND, Judgement, counts_in_words, judge
from reproduction.evidence import Evidence, NotRun
from reproduction.report import RULES, cells_by_source, cells_table, missing_parts, progress_table, runs_in_words
from reproduction.sections.nine_methods import ranking_by_reading, readings_table
from reproduction.sections.tuning import settings_in_words
from sahcns.lab import Table, to_markdown

MADE_BY = "made by `make results` from the runs in `reproduction/results`"
POWER = (
    "Five seeds find, in four studies of five, a difference of 1.7 times its standard deviation over seeds, and one of 3.4 "
    "times where Holm over twelve cells asks the most; what thirty seeds do not resolve "
    "[is small](statistics.md#what-five-and-thirty-seeds-can-resolve)."
)


def does_it_hold(folder: str | os.PathLike[str]) -> str:
    """The page as Markdown, from the results in a folder."""
    return "\n\n".join(_parts(Evidence.of(folder))).rstrip() + "\n"


def _parts(evidence: Evidence) -> Iterator[str]:
    judgements, beyond = judge(evidence), judge(evidence, BEYOND)
    numbered = list(enumerate([*judgements, *beyond], 1))
    yield "# Does it hold?"
    yield f"**{counts_in_words(judgements)}**"
    yield (
        f"What the paper claims, what came out here, a verdict and the most likely reason; {MADE_BY}: "
        f"{runs_in_words(evidence)}. {settings_in_words(evidence)}"
    )
    yield from missing_parts(evidence)
    yield _overview(numbered[: len(judgements)])
    yield f"{RULES} {POWER}"
    yield "## Beyond the paper"
    yield _overview(numbered[len(judgements) :])
    yield "## Two readings of one run"
    with suppress(NotRun):
        yield markdown(readings_table(evidence.on_known_sets()))
        yield ranking_by_reading(evidence.on_known_sets())
    yield "## Paper and ours, cell by cell"
    yield "A dash stands where the paper prints nothing."
    for source, cells in cells_by_source([*judgements, *beyond]).items():
        yield f"### {cells_table(source, cells).title}"
        yield markdown(cells_table(source, cells))
    yield "## What has been run"
    yield markdown(progress_table(evidence))


def markdown(table: Table) -> str:
    """Its rows under their heads, without title and caption."""
    return to_markdown(table, title=False).rstrip()


def _overview(numbered: Sequence[tuple[int, Judgement]]) -> str:
    """Written here and not by `to_markdown`, which would escape the links of the reasons."""
    head = ["| | where | claim | verdict | cells | most likely reason |", "|---|---|---|---|---|---|"]
    rows = (
        f"| {at} | {one.claim.source} | {one.claim.words} | **{one.verdict}** | {one.counts} | {one.reason} |"
        for at, one in numbered
    )
    return "\n".join([*head, *rows])
