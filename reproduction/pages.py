"""The pages docs/does-it-hold.md, the paper's claims one by one, and docs/results.md, which sampler to use."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from reproduction.claims import BEYOND, Judgement, counts_in_words, judge
from reproduction.evidence import Evidence, NotRun
from reproduction.methods import METHOD, NINE
from reproduction.report import (
    RULES,
    SECTIONS,
    cells_tables,
    missing_parts,
    progress_table,
    runs_in_words,
    verdicts_table,
)
from reproduction.scores import against, stars
from reproduction.sections.methods import places_of_parts, ranking_by_reading, readings_table
from reproduction.sections.settings import settings_in_words
from reproduction.words import METRICS, RECALL, number, points
from sahcns.lab import Table, to_markdown

MADE_BY = "made by `make results` from the runs in `reproduction/results`"
POWER = (
    "Five seeds find, in four studies of five, a difference of 1.7 times its standard deviation over seeds, and one of 3.4 "
    "times where Holm over twelve cells asks the most; what thirty seeds do not resolve "
    "[is small](statistics.md#what-five-and-thirty-seeds-can-resolve)."
)
USE = (
    "**What to use.** Stop on validation, take DNS, MixGCF or SAHC-NS, and look for the pool first: `--set pool=20`, or "
    "[`sahcns tune`](tune.md) with `--pool 10,20,50`. Take MixGCF on NGCF, or where training cannot be stopped in time; its "
    "β is worth tuning upwards, if you have the epochs. Then [compare](compare.md) on your own data: these sets do not agree "
    "with each other."
)


def does_it_hold(evidence: Evidence) -> str:
    """The first page as Markdown."""
    return "\n\n".join(_does_it_hold(evidence)).rstrip() + "\n"


def results_page(evidence: Evidence) -> str:
    """The second page as Markdown."""
    return "\n\n".join(_results(evidence)).rstrip() + "\n"


def _markdown(table: Table) -> str:
    return to_markdown(table, title=False).rstrip()


def _does_it_hold(evidence: Evidence) -> Iterator[str]:
    judgements, beyond = judge(evidence), judge(evidence, BEYOND)
    yield "# Does it hold?"
    yield f"**{counts_in_words(judgements)}**"
    yield _markdown(verdicts_table(judgements))
    yield (
        f"What the paper claims, what came out here, a verdict and the most likely reason; {MADE_BY}: "
        f"{runs_in_words(evidence)}. {settings_in_words(evidence)}"
    )
    yield from missing_parts(evidence)
    yield "## Claim by claim"
    yield _overview(judgements)
    yield f"{RULES} {POWER}"
    yield "## Beyond the paper"
    yield _overview(beyond, len(judgements) + 1)
    yield "## Two readings of one run"
    with suppress(NotRun):
        yield _markdown(readings_table(evidence.on_known_sets()))
        yield ranking_by_reading(evidence.on_known_sets())
    yield "## Paper and ours, cell by cell"
    yield "A dash stands where the paper prints nothing."
    for table in cells_tables([*judgements, *beyond]):
        yield f"### {table.title}"
        yield _markdown(table)
    yield "## What has been run"
    yield _markdown(progress_table(evidence))


def _overview(judgements: Sequence[Judgement], start: int = 1) -> str:
    """Written here and not by `to_markdown`, which would escape the links of the reasons."""
    head = ["| | where | claim | verdict | cells | most likely reason |", "|---|---|---|---|---|---|"]
    rows = (
        f"| {at} | {one.claim.source} | {one.claim.words} | **{one.verdict}** | {one.counts} | {one.reason} |"
        for at, one in enumerate(judgements, start)
    )
    return "\n".join([*head, *rows])


def _results(evidence: Evidence) -> Iterator[str]:
    yield "# Results"
    if all(one.complete for one in evidence.progress.values()):
        yield _markdown(in_short(evidence))
        yield USE
    yield from missing_parts(evidence)
    yield (
        "Every cell is Recall@20 / NDCG@20 in percent on the test part, a mean over seeds; LightGCN with "
        f"{evidence.design.dim} numbers and {evidence.design.depth} layers, the [protocol](protocol.md)'s defaults. "
        "*Resolved*, or \\*, is p < 0.05 in a paired t-test over seeds after Holm over the table. The page is "
        f"{MADE_BY}: {runs_in_words(evidence)}. Spreads, tests and figures are in the report beside them; the paper's claims "
        "are on [another page](does-it-hold.md)."
    )
    yield settings_in_words(evidence)
    for shown in SECTIONS:
        if shown.short:
            yield f"## {shown.title}"
            with suppress(NotRun):
                for block in shown.short(evidence):
                    yield _markdown(block) if isinstance(block, Table) else str(block).replace("*", "\\*")


def in_short(evidence: Evidence) -> Table:
    """The page's answer: a row for each question."""
    rows: dict[str, list[str]] = {}
    for part, words in (("table2", "best as published"), ("equal", "best tuned alike, one pool")):
        for (place, metric), differences in against(evidence.cells(evidence.places(part), METRICS)).items():
            if metric != RECALL:
                continue
            methods = evidence.methods(place, metric)
            first = max(methods, key=lambda label: methods[label].mean)
            mark = "*" * any(one.label == first and one.resolved(+1) for one in differences)
            rival = f" ({METHOD} {methods[METHOD]})" if first != METHOD else ""
            rows.setdefault(words, []).append(f"{first} {methods[first]}{mark}{rival}")
    for place in evidence.places("table2"):
        methods, last = (evidence.methods(one, RECALL) for one in (place, place._replace(reading="last")))
        gain = number(methods[METHOD].percent - methods["RNS"].percent, sign=True)
        rows.setdefault(f"{METHOD} minus RNS", []).append(gain)
        below = [label for label in NINE if methods[label].mean < methods["RNS"].mean]
        rows.setdefault("below RNS as published", []).append(", ".join(below))
        lost = [
            f"{label} {number(methods[label].percent - last[label].percent)}" for label in ("DNS", "MixGCF", METHOD)
        ]
        rows.setdefault("lost after the best epoch", []).append(", ".join(lost))
    parts = evidence.cells(places_of_parts(evidence), (RECALL,))
    tests = {
        (part, key): cells[part].minus(cells["DNS"]) for part in ("HC-only", "SA-only") for key, cells in parts.items()
    }
    for (part, key), mark in stars(tests).items():
        rows.setdefault(f"{part} minus DNS", []).append(points(tests[part, key]) + mark)
    columns = ["Recall@20", *(one.name for one in evidence.design.sets)]
    return Table("in-short", "In short", columns, [[words, *cells] for words, cells in rows.items()])
