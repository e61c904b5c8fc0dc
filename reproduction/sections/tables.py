"""Methods beside each other, beside the paper, and against SAHC-NS: the tables that every part of the study shares."""

import math
from collections.abc import Iterable, Mapping, Sequence

from reproduction.evidence import Evidence, Place
from reproduction.methods import METHOD, NINE
from reproduction.scores import ALPHA, Difference, Scores, against, spread_cell
from reproduction.words import (
    AT_20,
    METRICS,
    NAMES,
    NDCG,
    READINGS,
    RECALL,
    chance,
    interval,
    joined,
    number,
    points,
    seeds,
)
from sahcns.lab import Cell, Figure, Paired, Series, Table, against_published, holm

FAR = 0.05  # of a value: what is further off than this is another outcome, and would flatten a figure
TWINS = "Recall@20 / NDCG@20 in percent on the test part, mean over seeds."
Blocks = list[str | Table | Figure]
Column = Mapping[str, Cell | str]
"""Label of a method → its cell."""
Notes = Mapping[tuple[str, str], str]
"""(label, metric) → a sign behind the number."""


def twins(recall: Mapping[str, Scores], ndcg: Mapping[str, Scores], notes: Notes | None = None) -> Column:
    """`13.24 / 7.65*`: Recall@20 and NDCG@20, each with its note."""
    cells = {}
    for label, own in recall.items():
        its = ndcg[label]
        first, second = ((notes or {}).get((label, metric), "") for metric in AT_20)
        spread = f"± {number(own.spread)} / {number(its.spread)} over " if own.n > 1 else ""
        cells[label] = Cell(f"{own}{first} / {its}", note=second, hint=f"{spread}{seeds(own.n)}")
    return cells


def methods_table(
    name: str, title: str, labels: Iterable[str], columns: Mapping[str, Column], caption: str = ""
) -> Table:
    """A row for each method, a dash where a column has none."""
    rows = [[label, *(column.get(label, "–") for column in columns.values())] for label in labels]
    return Table(name, title, ["Method", *(f">{head}" for head in columns)], rows, caption or TWINS)


def places_table(evidence: Evidence, title: str, places: Sequence[Place], labels: Iterable[str] = NINE) -> Table:
    """Methods at each place; at the best epoch beside what the paper prints for its own data."""
    columns: dict[str, Column] = {}
    for place in places:
        columns[evidence.name(place)] = twins(evidence.methods(place, RECALL), evidence.methods(place, NDCG))
        numbers = evidence.printed(place._replace(part=place.part.replace("power", "table3")))
        if numbers and evidence.design.data(place.data).same and place.reading == "best":
            shown = {label: [number(numbers[label, metric][0]) for metric in AT_20] for label, _ in numbers}
            columns[f"{evidence.name(place)}, paper"] = {label: " / ".join(cell) for label, cell in shown.items()}
    reading, part = places[0].reading, places[-1].part
    return methods_table(f"{part}-{reading}", f"{title}, {READINGS[reading]}", labels, columns)


def compared(evidence: Evidence, part: str, metrics: Sequence[str], figure: str = "") -> Blocks:
    """The places of a part in words, as a figure if it has a title, beside the paper, and each method against SAHC-NS."""
    places = evidence.places(part)
    blocks: Blocks = [] if part == "equal" else [*resolved_in_words(evidence, places)]
    blocks += [differences_figure(evidence, places, figure)] * bool(figure)
    blocks += [beside_paper(evidence, place, metrics) for place in places if part.startswith("table")]
    return [*blocks, *(pairs_table(evidence, evidence.places(part, reading), metrics) for reading in READINGS)]


def resolved_in_words(evidence: Evidence, places: Sequence[Place]) -> list[str]:
    """A sentence for each place: whom SAHC-NS is ahead of, behind, and not told apart from; after Holm."""
    differences = against(evidence.cells(places, METRICS))
    phrases = []
    for place in places:
        cells = [(metric, differences[place, metric]) for metric in AT_20 if (place, metric) in differences]
        lines = [f"in {NAMES[metric]} {METHOD} is {_sides(cell)}" for metric, cell in cells]
        phrases += [f"{evidence.name(place)}: {'; '.join(lines)}."] * bool(lines)
    return phrases


def _sides(differences: Sequence[Difference]) -> str:
    """`ahead of A and B, behind C, not told apart from the others`."""
    ahead, behind = ([one.label for one in differences if one.resolved(sign)] for sign in (-1, +1))
    if not ahead and not behind:
        return "not told apart from any other"
    phrases = [f"{words} {joined(labels)}" for words, labels in (("ahead of", ahead), ("behind", behind)) if labels]
    rest = len(differences) > len(ahead) + len(behind)
    return ", ".join([*phrases, *["not told apart from the others"] * rest])


def pairs_table(evidence: Evidence, places: Sequence[Place], metrics: Sequence[str]) -> Table:
    """Each other method minus SAHC-NS, with interval and p."""
    rows: list[list[Cell | str]] = []
    for (place, metric), differences in against(evidence.cells(places, metrics)).items():
        for label, paired, p in differences:
            tested = Cell(chance(paired.p), hint=paired.why), Cell(chance(p), note="*" * (p < ALPHA)), str(paired.n)
            rows.append([evidence.name(place), NAMES[metric], label, points(paired), interval(paired), *tested])
    columns = ["Data", "Metric", "Method", ">difference", ">95 %", ">p", ">Holm", ">seeds"]
    reading = places[0].reading
    caption = (
        f"The method minus {METHOD} in percentage points, {READINGS[reading]}. Two-sided paired t-test over the seeds that "
        "both have; Holm over this table. * p < 0.05."
    )
    title = f"Each method against {METHOD}, {READINGS[reading]}"
    return Table(f"{places[0].part}-pairs-{reading}", title, columns, rows, caption)


def differences_figure(evidence: Evidence, places: Sequence[Place], title: str) -> Figure:
    """Each method minus SAHC-NS in Recall@20 with its interval; those far off are named, not drawn."""
    near: dict[str, dict[str, Paired]] = {}
    far = []
    cells = evidence.cells(places, (RECALL,))
    for (place, metric), differences in against(cells).items():
        for label, paired, _ in differences:
            if abs(paired.difference) > FAR * cells[place, metric][METHOD].mean:
                far.append(f"{label} on {evidence.name(place)}")
            else:
                near.setdefault(label, {})[evidence.name(place)] = paired
    series = []
    for label, tests in near.items():
        y, low, high = ([100 * getattr(one, what) for one in tests.values()] for what in ("difference", "low", "high"))
        series.append(Series(label, list(tests), y, low, high, NINE.get(label, "")))
    left = f" Too far off to be drawn: {joined(far)}." if far else ""
    caption = f"Above 0 the method is better than {METHOD}. Whiskers are 95 % intervals of the paired difference.{left}"
    name, label = f"{places[0].part}-differences", "Recall@20, percentage points"
    return Figure(name, title, "", label, series, kind="bar", caption=caption)


def beside_paper(evidence: Evidence, place: Place, metrics: Sequence[str]) -> Table:
    """Ours under both readings beside the printed numbers: Welch's test, where the data are the paper's own."""
    same, numbers = evidence.design.data(place.data).same, evidence.printed(place)
    places = {reading: place._replace(reading=reading) for reading in READINGS}
    cells = {reading: {metric: evidence.methods(one, metric) for metric in metrics} for reading, one in places.items()}
    tests = {
        (reading, label, metric): against_published(
            [100 * value for value in own.values.values()],
            numbers[label, metric][0],
            numbers[label, metric][1] or 0.0,
            5,
        )
        for reading, by_metric in cells.items()
        for metric, methods in by_metric.items()
        for label, own in methods.items()
        if (label, metric) in numbers
    }
    ps: dict[tuple[str, str, str], float] = {}
    for reading in READINGS if same else ():
        keys = [key for key in tests if key[0] == reading]
        ps |= zip(keys, holm([tests[key].p for key in keys]), strict=True)
    rows = []
    for label in dict.fromkeys(label for methods in cells["best"].values() for label in methods):
        for metric in metrics:
            mean, std = numbers.get((label, metric), (math.nan, None))
            printed = number(mean) + (f" ± {number(std)}" if std is not None else "")
            line: list[Cell | str] = [label, NAMES[metric], printed]
            for reading in READINGS:
                test, p = tests.get((reading, label, metric)), ps.get((reading, label, metric), math.nan)
                by = "–" if test is None else Cell(number(test.difference, sign=True), note="*" * (p < ALPHA))
                line += [spread_cell(cells[reading][metric][label]), by, chance(p)]
            rows.append(line)
    columns = ["Method", "Metric", ">paper"]
    columns += [f">{words} · {what}" for words in READINGS.values() for what in ("ours", "− paper", "p")]
    caption = (
        "In percent, on the test part; mean ± standard deviation over seeds. p: Welch's t-test of our seeds against the "
        "printed mean and deviation, which is exact where no deviation is printed; Holm over the column. * p < 0.05."
        if same
        else "In percent, on the test part. This is other data than the paper's, so a difference is not tested."
    )
    name = f"{place.part}-{place.backbone}-{place.data}"
    return Table(name, f"{evidence.name(place)}: ours beside the paper", columns, rows, caption)
