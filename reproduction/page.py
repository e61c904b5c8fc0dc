"""The page "Does it hold?": claim by claim, made from the results."""

import os
from collections.abc import Iterator, Sequence

from reproduction.claims import BEYOND, Judged, judge
from reproduction.evidence import Evidence
from reproduction.report import counts_in_words, miniature, standing_in_words
from reproduction.sections.standing import standing_section
from reproduction.sections.table_2 import readings_in_words, table_2_board
from reproduction.sections.tuning import parts_in_words, settings_in_words
from sahcns.lab import Table, to_markdown

INTRODUCTION = """The paper's claims one by one: what it prints, what came out here, and a verdict. All of it is made from
the runs in `results/` by `sahcns reproduce --out results --page docs/does-it-hold.md`, verdicts included; a test holds this
page against them. The tables and figures behind it are in the report, which `sahcns report results` makes; how to run it
all again stands in [reproducing the study](reproduce.md)."""

RULES = """A difference **holds** or **does not hold** where a paired t-test over the same seeds resolves it, p < 0.05 after
Holm's correction over the cells of the claim; otherwise it is **not resolved**. That SAHC-NS is first is tested against the
strongest other method of a cell; that another is ahead of it is corrected over all methods and cells, since the strongest
of many equals is the luckiest; runs that stand in two rows are tested once. That most methods gain holds where more than
half of them do and are resolved. A claim with several cells fails where it fails in one, and holds where it holds in all;
cells for which the paper prints nothing count too, and those of many seeds hold the few as well. A measured share holds
where it is within the distance that the claim names, on the paper's own data; a share that it prints for Yelp is not
resolved by Yelp-like, which is another set. Five seeds find, in four studies of five, a difference of 1.7 times the standard
deviation of that difference over seeds, and one of 3.4 times where Holm's correction over twelve cells asks the most; so
what they do not resolve may well be there, and what thirty seeds do not resolve
[is small](statistics.md#what-five-and-thirty-seeds-can-resolve)."""


def does_it_hold(folder: str | os.PathLike[str]) -> str:
    """The page as Markdown, from the results in a folder."""
    evidence = Evidence.of(folder)
    return "\n\n".join(_parts(evidence)).rstrip() + "\n"


def _parts(evidence: Evidence) -> Iterator[str]:
    judged, beyond = judge(evidence), judge(evidence, BEYOND)
    yield "# Does it hold?"
    yield from miniature(evidence)
    yield _flowing(INTRODUCTION)
    yield counts_in_words(judged)
    yield _made_with(evidence)
    yield settings_in_words(evidence)
    parts = parts_in_words(evidence, list(dict.fromkeys((*evidence.design.pair, *evidence.design.powered))))
    if parts:
        yield f"In Table III, Figs 1, 4 and 5, the pool sizes, with many seeds and in what SA and HC cost: {' '.join(parts)}"
    yield standing_in_words(evidence)
    yield "## In short"
    yield _overview(judged)
    yield _flowing(RULES)
    board = table_2_board(evidence)
    if board is not None:
        yield "## Two readings of one run"
        yield from readings_in_words(evidence, board)
    yield "## Claim by claim"
    yield from _claims(judged)
    yield "## Beyond the paper"
    yield _overview(beyond)
    yield from _claims(beyond)
    yield "## What has been run"
    (table,) = [block for block in standing_section(evidence).blocks if isinstance(block, Table)]
    yield to_markdown(table, title=False).rstrip()


def _overview(judged: Sequence[Judged]) -> str:
    rows = [[one.claim.source, one.claim.words, one.ours, f"{one.verdict}"] for one in judged]
    return to_markdown(Table("claims", "", ["where", "claim", "ours", "verdict"], rows), title=False).rstrip()


def _claims(judged: Sequence[Judged]) -> Iterator[str]:
    said = set[str]()
    for one in judged:
        if one.verdict != "not run yet":
            yield from _claim(one, one.besides not in said)
            said.add(one.besides)


def _claim(one: Judged, first: bool) -> Iterator[str]:
    """`first` time that it says what else is to be known."""
    yield f"### {one.claim.source}: {one.claim.words}"
    yield f"**{one.verdict.capitalize()}**" + (f" ({one.ours})." if len(one.instances) > 1 else ".")
    rows = [[part.where, part.paper, part.ours, part.verdict] for part in one.instances]
    yield to_markdown(Table("cells", "", ["where", "paper", "ours", "verdict"], rows), title=False).rstrip()
    if one.reason:
        yield f"Most likely reason: {one.reason}"
    if one.besides and first:
        yield one.besides


def _made_with(evidence: Evidence) -> str:
    results = list(evidence.results.values())
    if not results:
        return "Nothing has been run yet."
    devices = sorted({str(one.machine.get("device", "unknown")) for one in results})
    commits = sorted({(one.commit or "unknown")[:10] for one in results})
    seconds = sum(one.seconds.get("total", 0.0) / one.processes for one in results)
    return (
        f"{len(results):,} runs on {' and '.join(devices)}, {seconds / 60:.0f} minutes in all without the searches; sources at "
        f"{', '.join(f'`{commit}`' for commit in commits)}."
    )


def _flowing(text: str) -> str:
    return " ".join(text.split())
