"""Methods beside each other, beside the paper, and against SAHC-NS: the tables that every part of the study shares."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from reproduction.evidence import Evidence
from reproduction.methods import METHOD, NINE
from reproduction.published import PrintedNumbers
from reproduction.scores import (
    ALPHA,
    AT_20,
    METRICS,
    NAMES,
    NDCG,
    READINGS,
    RECALL,
    chance,
    joined,
    number,
    points,
    spread_cell,
    twin_cell,
)
from sahcns.lab import Cell, Figure, Paired, Series, Table, against_published, holm

FAR = 0.1  # of a value: what is further off than this is another outcome, and would flatten a figure
Column = Callable[[str], Cell | str]
"""Label of a method → its cell."""


class Place(NamedTuple):
    """Where methods are held against one another: a part of the study, a set and a backbone."""

    part: str
    data: str  # folder of the set
    backbone: str = "lightgcn"


class Difference(NamedTuple):
    """A method minus SAHC-NS, with its p after Holm over all that was tested together."""

    label: str
    paired: Paired
    p: float


def ours(evidence: Evidence, place: Place, reading: str = "best") -> Column:
    """Recall@20 / NDCG@20 of our runs."""
    recall, ndcg = (
        evidence.methods(place.part, place.data, metric, reading, place.backbone) for metric in (RECALL, NDCG)
    )
    return lambda label: twin_cell(recall.get(label), ndcg.get(label))


def printed(numbers: PrintedNumbers) -> Column:
    """Recall@20 / NDCG@20 as the paper prints them."""
    return lambda label: (
        " / ".join(number(numbers[label, metric][0]) for metric in AT_20) if (label, RECALL) in numbers else "–"
    )


def methods_table(
    name: str, title: str, labels: Iterable[str], columns: Mapping[str, Column], caption: str = ""
) -> Table:
    """A row for each method."""
    rows = [[label, *(column(label) for column in columns.values())] for label in labels]
    return Table(name, title, ["Method", *(f">{head}" for head in columns)], rows, caption)


def against(
    evidence: Evidence, places: Sequence[Place], metrics: Sequence[str] = AT_20, reading: str = "best"
) -> dict[tuple[Place, str], list[Difference]]:
    """(place, metric) → each other method minus SAHC-NS; Holm over all of them."""
    tests: dict[tuple[Place, str, str], Paired] = {}
    for place in places:
        for metric in metrics:
            methods = evidence.methods(place.part, place.data, metric, reading, place.backbone)
            for label, scores in methods.items():
                if METHOD in methods and label != METHOD:
                    tests[place, metric, label] = scores.minus(methods[METHOD])
    differences: dict[tuple[Place, str], list[Difference]] = {}
    for ((place, metric, label), paired), p in zip(tests.items(), holm([one.p for one in tests.values()]), strict=True):
        differences.setdefault((place, metric), []).append(Difference(label, paired, p))
    return differences


def resolved_in_words(evidence: Evidence, places: Sequence[Place], reading: str = "best") -> list[str]:
    """A sentence for each place: whom SAHC-NS is ahead of, behind, and not told apart from; after Holm."""
    differences = against(evidence, places, METRICS, reading)
    phrases = []
    for place in places:
        lines = [
            f"in {NAMES[metric]} {METHOD} is {_sides(differences[place, metric])}"
            for metric in AT_20
            if (place, metric) in differences
        ]
        name = evidence.design.data(place.data).name
        where = name if place.backbone == "lightgcn" else f"{name}, {place.backbone}"
        phrases += [f"{where}: {'; '.join(lines)}."] * bool(lines)
    return phrases


def _sides(differences: Sequence[Difference]) -> str:
    """`ahead of A and B, behind C, not told apart from the others`."""
    ahead, behind = (
        [one.label for one in differences if one.p < ALPHA and (one.paired.difference < 0) is low]
        for low in (True, False)
    )
    if not ahead and not behind:
        return "not told apart from any other"
    phrases = [f"ahead of {joined(ahead)}"] * bool(ahead) + [f"behind {joined(behind)}"] * bool(behind)
    rest = len(differences) - len(ahead) - len(behind)
    return ", ".join([*phrases, *["not told apart from the others"] * bool(rest)])


def pairs_table(
    evidence: Evidence, places: Sequence[Place], name: str, metrics: Sequence[str] = AT_20, reading: str = "best"
) -> Table:
    """Each other method minus SAHC-NS, with interval and p."""
    rows: list[list[Cell | str]] = [
        [
            evidence.design.data(place.data).name,
            place.backbone,
            NAMES[metric],
            one.label,
            points(one.paired),
            number(100 * one.paired.low, sign=True),
            number(100 * one.paired.high, sign=True),
            Cell(chance(one.paired.p), hint=one.paired.why),
            Cell(chance(one.p), note="*" if one.p < ALPHA else ""),
            str(one.paired.n),
        ]
        for (place, metric), differences in against(evidence, places, metrics, reading).items()
        for one in differences
    ]
    columns = [
        "Data",
        "Backbone",
        "Metric",
        "Method",
        ">difference",
        ">95 % low",
        ">95 % high",
        ">p",
        ">Holm",
        ">seeds",
    ]
    caption = (
        f"The method minus {METHOD} in percentage points, {READINGS[reading]}. Two-sided paired t-test over the seeds that "
        "both have; Holm over this table. * p < 0.05."
    )
    title = f"Each method against {METHOD}, {READINGS[reading]}"
    return Table(name, title, columns, rows, caption)


def differences_figure(evidence: Evidence, places: Sequence[Place], name: str, title: str) -> Figure:
    """Each method minus SAHC-NS in Recall@20 with its interval; those further off than a tenth are named, not drawn."""
    near: dict[str, dict[str, Paired]] = {}
    far = []
    for (place, _), differences in against(evidence, places, (RECALL,)).items():
        data = evidence.design.data(place.data).name
        own = evidence.methods(place.part, place.data, RECALL, backbone=place.backbone)[METHOD]
        for one in differences:
            if abs(one.paired.difference) > FAR * own.mean:
                far.append(f"{one.label} on {data}")
            else:
                near.setdefault(one.label, {})[data] = one.paired
    series = []
    for label, tests in near.items():
        y, low, high = ([100 * getattr(one, what) for one in tests.values()] for what in ("difference", "low", "high"))
        series.append(Series(label, list(tests), y, low, high, NINE.get(label, "")))
    left = f" Too far off to be drawn: {joined(far)}." if far else ""
    caption = f"Above 0 the method is better than {METHOD}. Whiskers are 95 % intervals of the paired difference.{left}"
    return Figure(name, title, "", "Recall@20, percentage points", series, kind="bar", caption=caption)


def beside_paper(evidence: Evidence, place: Place, numbers: PrintedNumbers, metrics: Sequence[str]) -> Table:
    """Ours under both readings beside the printed numbers: Welch's test, where the data are the paper's own."""
    one, ours, tests = evidence.design.data(place.data), {}, {}
    for metric in metrics:
        for reading in READINGS:
            for label, own in evidence.methods(place.part, place.data, metric, reading, place.backbone).items():
                ours[label, metric, reading] = own
                if (label, metric) in numbers:
                    mean, std = numbers[label, metric]
                    values = [100 * value for value in own.values.values()]
                    tests[label, metric, reading] = against_published(values, mean, std or 0.0, 5)
    ps: dict[tuple[str, str, str], float] = {}
    for reading in READINGS if one.same else ():
        keys = [key for key in tests if key[2] == reading]
        ps |= dict(zip(keys, holm([tests[key].p for key in keys]), strict=True))
    rows = []
    for label, metric in dict.fromkeys((label, metric) for label, metric, _ in ours):
        mean, std = numbers.get((label, metric), (math.nan, None))
        line: list[Cell | str] = [label, NAMES[metric], number(mean) + (f" ± {number(std)}" if std is not None else "")]
        for reading in READINGS:
            test, p = tests.get((label, metric, reading)), ps.get((label, metric, reading), math.nan)
            by = "–" if test is None else Cell(number(test.difference, sign=True), note="*" if p < ALPHA else "")
            line += [spread_cell(ours[label, metric, reading]), by, chance(p)]
        rows.append(line)
    columns = ["Method", "Metric", ">paper"]
    columns += [f">{words} · {what}" for words in READINGS.values() for what in ("ours", "− paper", "p")]
    caption = (
        "In percent, on the test part; mean ± standard deviation over seeds. p: Welch's t-test of our seeds against the "
        "printed mean and deviation, which is exact where no deviation is printed; Holm over the column. * p < 0.05."
        if one.same
        else "In percent, on the test part. This is other data than the paper's, so a difference is not tested."
    )
    where = one.name if place.backbone == "lightgcn" else f"{one.name}, {place.backbone}"
    name = f"{place.part}-{place.backbone}-{place.data}"
    return Table(name, f"{where}: ours beside the paper", columns, rows, caption)
