"""The pages docs/does-it-hold.md, the paper's claims one by one, and docs/results.md, which sampler to use."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from reproduction import report
from reproduction.claims import BEYOND, Judgement, counts_in_words, judge
from reproduction.evidence import Evidence, NotRun
from reproduction.methods import METHOD, METRICS, NINE, RECALL
from reproduction.scores import against, points, stars
from reproduction.sections import use
from reproduction.sections.methods import places_of_parts, ranking_by_reading, readings_table
from reproduction.sections.settings import settings_in_words
from sahcns.lab import Table, joined, number, to_markdown

MADE_BY = "made by `make results` from the runs in `reproduction/results`"
POWER = (
    "Five seeds find, in four studies of five, a difference of 1.7 times its standard deviation over seeds, and one of 3.4 "
    "times where Holm over twelve cells asks the most; what thirty seeds do not resolve "
    "[is small](statistics.md#what-five-and-thirty-seeds-can-resolve)."
)


def page(blocks: Iterator[str]) -> str:
    """As Markdown."""
    return "\n\n".join(blocks).rstrip() + "\n"


def _markdown(table: Table) -> str:
    return to_markdown(table, title=False).rstrip()


def does_it_hold(evidence: Evidence) -> Iterator[str]:
    """The paper's claims one by one."""
    judgements, beyond = judge(evidence), judge(evidence, BEYOND)
    yield "# Does it hold?"
    yield f"**{counts_in_words(judgements)}**"
    yield _markdown(report.verdicts_table(judgements))
    yield (
        f"What the paper claims, what came out here, a verdict and the most likely reason; {MADE_BY}: "
        f"{report.runs_in_words(evidence)}. {settings_in_words(evidence)}"
    )
    yield from report.missing_parts(evidence)
    yield "## Claim by claim"
    yield _overview(judgements)
    yield f"{report.RULES} {POWER}"
    yield "## Beyond the paper"
    yield _overview(beyond, len(judgements) + 1)
    yield "## Two readings of one run"
    with suppress(NotRun):
        yield _markdown(readings_table(evidence.on_known_sets))
        yield ranking_by_reading(evidence.on_known_sets)
    yield "## Paper and ours, cell by cell"
    yield "A dash stands where the paper prints nothing."
    for table in report.cells_tables([*judgements, *beyond]):
        yield f"### {table.title}"
        yield _markdown(table)
    yield "## What has been run"
    yield _markdown(report.progress_table(evidence))


def _overview(judgements: Sequence[Judgement], start: int = 1) -> str:
    """Written here and not by `to_markdown`, which would escape the links of the reasons."""
    head = ["| | where | claim | verdict | cells | most likely reason |", "|---|---|---|---|---|---|"]
    rows = (
        f"| {at} | {one.claim.source} | {one.claim.words} | **{one.verdict}** | {one.counts} | {one.reason} |"
        for at, one in enumerate(judgements, start)
    )
    return "\n".join([*head, *rows])


def results_page(evidence: Evidence) -> Iterator[str]:
    """Which sampler to use."""
    yield "# Results"
    yield f"What to use, measured on {joined([one.name for one in evidence.design.sets])}, in this order:"
    yield "\n".join(f"{at}. {line}" for at, line in enumerate(use.lines(evidence), 1))
    if evidence.progress["pools"].there:
        figure = use.figure(evidence)
        yield f"![{figure.title}]({use.FIGURE}.svg)"
        yield f"Lines are means over {evidence.design.few} seeds, dashed is what has no pool."
    if all(evidence.progress[name].complete for name in ("table2", "equal", "table3", "power")):
        yield _markdown(in_short(evidence))
    yield from report.missing_parts(evidence)
    yield (
        "Every cell is Recall@20 / NDCG@20 in percent on the test part, a mean over seeds; LightGCN with "
        f"{evidence.design.dim} numbers and {evidence.design.depth} layers, the [protocol](protocol.md)'s defaults. "
        "*Resolved*, or \\*, is p < 0.05 in a paired t-test over seeds after Holm over the table. The page is "
        f"{MADE_BY}: {report.runs_in_words(evidence)}. Spreads, tests and figures are in the report beside them; the paper's "
        "claims are on [another page](does-it-hold.md)."
    )
    yield settings_in_words(evidence)
    for shown in report.SECTIONS:
        if shown.short:
            yield f"## {shown.title}"
            if not evidence.progress[shown.part].there:
                yield "Not run yet."
            with suppress(NotRun):
                for block in shown.short(evidence):
                    yield _markdown(block) if isinstance(block, Table) else str(block).replace("*", "\\*")


def in_short(evidence: Evidence) -> Table:
    """The page's answer: a row for each question."""
    rows: dict[str, list[str]] = {}
    for part, words in (("table2", "best as published"), ("equal", "best tuned alike, one pool")):
        differences = against(evidence.cells(evidence.places(part), METRICS))  # as the part's own tests are corrected
        for place in evidence.places(part):
            methods = evidence.methods(place, RECALL)
            first = max(methods, key=lambda label: methods[label].mean)
            mark = "*" * any(one.label == first and one.resolved(+1) for one in differences[place, RECALL])
            rival = f" ({METHOD} {methods[METHOD]})" if first != METHOD else ""
            rows.setdefault(words, []).append(f"{first} {methods[first]}{mark}{rival}")
    for one in evidence.design.sets:
        best = use.best_baseline(evidence, one.folder)
        rows.setdefault("best without gradient", []).append(f"{best[0]} {number(100 * best[1])}" if best else "–")
    for place in evidence.places("table2"):
        methods, last = (evidence.methods(one, RECALL) for one in (place, place._replace(reading="last")))
        lost = {label: number(methods[label].percent - last[label].percent) for label in ("DNS", "MixGCF", METHOD)}
        for words, cell in {
            f"{METHOD} minus RNS": number(methods[METHOD].percent - methods["RNS"].percent, sign=True),
            "below RNS as published": ", ".join(one for one in NINE if methods[one].mean < methods["RNS"].mean),
            "lost after the best epoch": ", ".join(f"{label} {by}" for label, by in lost.items()),
        }.items():
            rows.setdefault(words, []).append(cell)
    parts = evidence.cells(places_of_parts(evidence), (RECALL,))
    tests = {(one, key): parts[key][one].minus(parts[key]["DNS"]) for one in ("HC-only", "SA-only") for key in parts}
    for (part, key), mark in stars(tests).items():
        rows.setdefault(f"{part} minus DNS", []).append(points(tests[part, key]) + mark)
    columns = ["Recall@20", *(one.name for one in evidence.design.sets)]
    return Table("in-short", "In short", columns, [[words, *cells] for words, cells in rows.items()])
