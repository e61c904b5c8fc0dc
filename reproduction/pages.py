"""The pages docs/does-it-hold.md, the paper's claims one by one, and docs/results.md, which sampler to use."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from reproduction.claims import BEYOND, Judgement, counts_in_words, judge
from reproduction.evidence import Evidence, NotRun, Place
from reproduction.experiments import HARD
from reproduction.methods import METHOD, NINE
from reproduction.reasons import loss_after_best
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
from reproduction.sections.methods import highest_means, places_of_parts, ranking_by_reading, readings_table
from reproduction.sections.settings import settings_in_words
from reproduction.words import AT_20, METRICS, NAMES, READINGS, RECALL, joined, number, points
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
        yield "\n".join(f"* {line}" for line in in_short(evidence))
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
        for block in shown.short(evidence) if shown.short else ():
            yield _markdown(block) if isinstance(block, Table) else str(block).replace("*", "\\*")


def in_short(evidence: Evidence) -> list[str]:
    """The page's answer: one line for each question, with the numbers that decide it."""
    lost = loss_after_best(evidence)
    return [
        _hard_against_random(evidence),
        _as_published(evidence),
        _tuned_alike(evidence),
        _pools(evidence),
        _part(evidence, "Calibration alone (HC-only)", "HC-only"),
        _part(evidence, "The structure-aware choice alone (SA-only)", "SA-only"),
        f"**If training is not stopped in time**: {lost[:1].lower()}{lost[1:]}",
        _backbones(evidence),
    ]


def _hard_against_random(evidence: Evidence) -> str:
    gains = []
    below: dict[str, list[str]] = {}
    for place in evidence.places("table2"):
        cells, name = evidence.methods(place, RECALL), evidence.name(place)
        gains.append(f"{number(cells[METHOD].percent - cells['RNS'].percent, 1, sign=True)} on {name}")
        for label in (label for label in HARD if cells[label].mean < cells["RNS"].mean):
            below.setdefault(label, []).append(name)
    words = f"**Hard against random negatives**: {METHOD} minus RNS in points of Recall@20 is {joined(gains)}."
    return (
        f"{words} Below random as published: {joined([f'{one} on {joined(names)}' for one, names in below.items()])}."
    )


def _as_published(evidence: Evidence) -> str:
    cells, first = highest_means(evidence)
    return (
        f"**With the paper's settings** {METHOD} has the highest mean in {first} of {cells} cells (a metric on a set). "
        f"Resolved ahead of it with {evidence.design.many} seeds: {_ahead(evidence, evidence.places('power'), AT_20)}."
    )


def _tuned_alike(evidence: Evidence) -> str:
    cells = evidence.cells(evidence.places("equal"), METRICS)
    leaders = Counter(max(one, key=lambda label: one[label].mean) for one in cells.values())
    spans = []
    for place in evidence.places("equal"):
        one = cells[place, RECALL]
        means = [one[label].percent for label in HARD if one[label].mean > one["RNS"].mean]
        spans.append(f"{number(max(means, default=0.0) - min(means, default=0.0))} on {evidence.name(place)}")
    best, last = (_ahead(evidence, evidence.places("equal", reading), METRICS) for reading in READINGS)
    leads = joined([f"{label} in {count}" for label, count in leaders.most_common()])
    return (
        f"**Tuned alike with one pool**, those above random are within {joined(spans)} points of Recall@20. The highest mean "
        f"is that of {leads} of {len(cells)} cells; resolved ahead of {METHOD}: at the best epoch {best}, where training "
        f"stopped {last}."
    )


def _ahead(evidence: Evidence, places: Sequence[Place], metrics: Sequence[str]) -> str:
    """`DNS(M,N) on Amazon-toys (+0.30 Recall@20)`: corrected over all methods, metrics and sets."""
    leads: dict[str, list[str]] = {}
    for (place, metric), differences in against(evidence.cells(places, metrics)).items():
        for one in (one for one in differences if one.resolved(+1)):
            where = f"{one.label} on {evidence.name(place)}"
            leads.setdefault(where, []).append(f"{points(one.paired)} {NAMES[metric]}")
    return joined([f"{where} ({', '.join(by)})" for where, by in leads.items()]) or "none"


def _pools(evidence: Evidence) -> str:
    data, sizes = evidence.design.single, [str(size) for size in evidence.design.wide_pools]
    cells = {key: own.percent for key, own in evidence.groups("pools", data, RECALL).items()}
    gains = [cells[label, sizes[2]] - cells[label, sizes[0]] for label in HARD]
    apart = max(abs(cells["DNS", size] - cells[METHOD, size]) for size in sizes)
    best = {label: max(sizes, key=lambda size: cells[label, size]) for label in HARD}
    with_size = {size: [label for label in HARD if best[label] == size] for size in sizes}
    return (
        f"**The pool**: from {sizes[0]} candidates to {sizes[2]} the hard samplers gain {number(min(gains), 1)} to "
        f"{number(max(gains), 1)} points on {evidence.design.data(data).name}, while DNS and {METHOD} differ by at most "
        f"{number(apart)} at any size. Best with "
        f"{'; with '.join(f'{size}: {joined(labels)}' for size, labels in with_size.items() if labels)}."
    )


def _part(evidence: Evidence, words: str, label: str) -> str:
    """A part of SAHC-NS alone against DNS, with as many seeds as there are."""
    cells = evidence.cells(places_of_parts(evidence), AT_20)
    tests = {key: one[label].minus(one["DNS"]) for key, one in cells.items()}
    shown = {key: points(tests[key]) + mark.replace("*", "\\*") for key, mark in stars(tests).items()}
    places = dict.fromkeys(place for place, _ in cells)
    phrases = [f"{' / '.join(shown[place, metric] for metric in AT_20)} on {evidence.name(place)}" for place in places]
    return f"**{words}** minus DNS: {', '.join(phrases)}."


def _backbones(evidence: Evidence) -> str:
    phrases = []
    for place in evidence.places("table4"):
        cells = evidence.methods(place, RECALL)
        first = max(NINE, key=lambda label: cells[label].mean)
        behind = [f"{label} {number(cells[label].percent - cells[first].percent)}" for label in ("RNS", METHOD)]
        phrases.append(f"{first} on {evidence.name(place)} ({', '.join(behind)})")
    return f"**On other backbones** the highest Recall@20, and how far behind others are: {'; '.join(phrases)}."
