"""Methods beside each other, beside the paper, and against SAHC-NS: the tables that every part of the study shares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reproduction.evidence import Evidence, Place, Twins
from reproduction.methods import AT_20, BASELINES, METHOD, METRICS, NAMES, NDCG, NINE, READINGS, RECALL
from reproduction.scores import Difference, against, corrected, seeds, spread_cell, star
from sahcns.lab import Cell, Figure, Paired, Series, Table, against_published, chance, comparison_tables, joined, number

FAR = 0.05  # of a value: what is further off than this is another outcome, and would flatten a figure
TWINS = "Recall@20 / NDCG@20 in percent on the test part, mean over seeds."
Blocks = list[str | Table | Figure]
Column = Mapping[str, Cell | str]
"""Label of a method → its cell."""
Marks = Mapping[tuple[Any, str, str], str]
"""(what tells columns apart, label, metric) → a sign behind the number."""


def twins(methods: Twins, marks: Marks | None = None, key: Any = None) -> Column:
    """`13.24 / 7.65*`: Recall@20 and NDCG@20, each with its mark."""
    cells = {}
    for label, own in methods[RECALL].items():
        its, (first, second) = methods[NDCG][label], ((marks or {}).get((key, label, metric), "") for metric in AT_20)
        spread = f"± {number(own.spread)} / {number(its.spread)} over " if own.n > 1 else ""
        cells[label] = Cell(f"{own}{first} / {its}", note=second, hint=f"{spread}{seeds(own.n)}")
    return cells


def methods_table(
    name: str, title: str, labels: Iterable[str], columns: Mapping[str, Column], caption: str = ""
) -> Table:
    """A row for each method, a dash where a column has none."""
    rows = [[label, *(column.get(label, "–") for column in columns.values())] for label in labels]
    return Table(name, title, ["Method", *(f">{head}" for head in columns)], rows, caption or TWINS)


def with_baselines(
    evidence: Evidence, labels: Iterable[str], columns: Mapping[str, Column]
) -> tuple[list[str], dict[str, Column]]:
    """A table's rows and columns with what needs no gradient below; columns are known by the names of the sets."""
    below: dict[str, Column] = {}
    for folder, found in evidence.baselines.items():
        cells = {BASELINES[key]: [100 * one["test"][metric] for metric in AT_20] for key, one in found.items()}
        below[evidence.design.data(folder).name] = {label: " / ".join(map(number, own)) for label, own in cells.items()}
    shown: dict[str, Column] = {head: {**column, **below.get(head, {})} for head, column in columns.items()}
    return [*labels, *(one for one in BASELINES.values() if any(one in column for column in shown.values()))], shown


def places_table(evidence: Evidence, title: str, places: Sequence[Place], labels: Iterable[str] = NINE) -> Table:
    """Methods at each place; at the best epoch beside what the paper prints for its own data."""
    columns: dict[str, Column] = {}
    for place in places:
        columns[evidence.name(place)] = twins(evidence.at_20(place))
        numbers = evidence.printed(place._replace(part=place.part.replace("power", "table3")))
        if numbers and evidence.design.data(place.data).same and place.reading == "best":
            shown = {label: [number(numbers[label, metric][0]) for metric in AT_20] for label, _ in numbers}
            columns[f"{evidence.name(place)}, paper"] = {label: " / ".join(cell) for label, cell in shown.items()}
    reading, part = places[0].reading, places[-1].part
    if part == "table2" and reading == "best":
        labels, columns = with_baselines(evidence, labels, columns)
    return methods_table(f"{part}-{reading}", f"{title}, {READINGS[reading]}", labels, columns)


def compared(evidence: Evidence, part: str, figure: str = "") -> Blocks:
    """The places of a part in words, as a figure, beside the paper, and as `sahcns compare` shows runs."""
    places, runs = evidence.places(part), evidence.labelled(part)
    blocks: Blocks = [] if part == "equal" else [*resolved_in_words(evidence, places)]
    blocks += [differences_figure(evidence, places, figure)] * bool(figure)
    blocks += [beside_paper(evidence, part)] * part.startswith("table")
    tables = comparison_tables(runs, metrics=METRICS, against=METHOD, reading="both")
    return [*blocks, *(replace(one, name=f"{part}-{one.name}") for one in tables)]


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


def beside_paper(evidence: Evidence, part: str) -> Table:
    """Ours minus what the paper prints for its own data, under both readings; Holm over each set, backbone and reading."""
    rows: list[list[Cell | str]] = []
    for place in (place for reading in READINGS for place in evidence.places(part, reading)):
        numbers = evidence.printed(place) if evidence.design.data(place.data).same else {}
        ours = {key: own for key in numbers if (own := evidence.methods(place, key[1]).get(key[0]))}
        values = {key: [100 * value for value in own.values.values()] for key, own in ours.items()}
        tests = {key: against_published(own, numbers[key][0], numbers[key][1] or 0.0) for key, own in values.items()}
        for (label, metric), p in corrected(tests).items():
            mean, std = numbers[label, metric]
            printed = number(mean) + (f" ± {number(std)}" if std is not None else "")
            by = Cell(number(tests[label, metric].difference, sign=True), note=star(p))
            cells = printed, spread_cell(ours[label, metric]), by, chance(p)
            rows.append([f"{evidence.name(place)}, {READINGS[place.reading]}", NAMES[metric], label, *cells])
    caption = (
        "In percent, on the test part; mean ± standard deviation over seeds. p: Welch's t-test of our seeds against the "
        "printed mean and deviation, which is exact where no deviation is printed. * p < 0.05 after Holm."
    )
    columns = ["Data", "Metric", "Method", ">paper", ">ours", ">− paper", ">Holm"]
    return Table(f"{part}-paper", "Ours beside the paper, on its own data", columns, rows, caption)
