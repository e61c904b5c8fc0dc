"""How much the split moves things: random splits of the same pairs beside the authors' own."""

from statistics import fmean, stdev

from sahcns.reports.parts import Cell, Figure, Section, Series, Table
from sahcns.studies.comparison.naming import long_name, number
from sahcns.studies.comparison.summaries import Summary, summary
from sahcns.studies.paper.cells import shown
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.experiments import FOUR
from sahcns.studies.paper.leading import AT_20
from sahcns.studies.paper.methods import NINE
from sahcns.studies.paper.sections.standing import unfinished


def splits_section(evidence: Evidence) -> Section:
    found: list[str | Table | Figure] = [*unfinished(evidence, "splits")]
    for metric in AT_20:
        cells = split_cells(evidence, metric)
        if any(data != evidence.design.data(evidence.design.single).name for data, _ in cells):
            found += [_table(evidence, metric, cells), _figure(evidence, metric, cells)]
    return Section("Other splits", found)


def split_cells(evidence: Evidence, metric: str, reading: str = "best") -> dict[tuple[str, str], Summary]:
    """(name of the split, method) → the metric over seeds."""
    board = evidence.board("splits")
    if board is None:
        return {}
    return {
        (data, row.method): own
        for data in board.data
        for row in board.of("lightgcn")
        if (own := summary(board, data, row, metric, reading)).n
    }


def _sets(evidence: Evidence) -> dict[str, str]:
    own = evidence.design.data(evidence.design.single)
    return {
        own.name: "as given",
        **{one.name: one.name.removeprefix(f"{own.name}, ") for one in evidence.design.resplits},
    }


def _table(evidence: Evidence, metric: str, cells: dict[tuple[str, str], Summary]) -> Table:
    sets = _sets(evidence)
    random = list(sets)[1:]
    rows: list[list[Cell | str]] = []
    for method in FOUR:
        line: list[Cell | str] = [method]
        for name in sets:
            own = cells.get((name, method))
            best = max((one.mean for (other, _), one in cells.items() if other == name), default=None)
            line.append(shown(own, "best" if own is not None and own.mean == best else ""))
        there = [100 * cells[name, method].mean for name in random if (name, method) in cells]
        seeds = [100 * one.std for (_, other), one in cells.items() if other == method and one.n > 1]
        line += [number(fmean(there)) if there else "–", number(stdev(there)) if len(there) > 1 else "–"]
        line.append(number(fmean(seeds)) if seeds else "–")
        rows.append(line)
    return Table(
        f"splits-{metric}",
        f"{long_name(metric)} on random splits of the same pairs",
        [
            "Method",
            *(f">{words}" for words in sets.values()),
            ">mean of the random",
            ">std over splits",
            ">std over seeds",
        ],
        rows,
        "In percent, on the test part at the best validation epoch. Random splits are 8:1:1 over all pairs; the one given "
        "has its own shares. std over splits is that of the means of the random splits, std over seeds the mean of those "
        "within a split. The best of each split is bold.",
    )


def _figure(evidence: Evidence, metric: str, cells: dict[tuple[str, str], Summary]) -> Figure:
    sets = _sets(evidence)
    series = []
    for method in FOUR:
        there = [(words, cells[name, method]) for name, words in sets.items() if (name, method) in cells]
        y = [100 * own.mean for _, own in there]
        spread = [100 * own.std if own.n > 1 else 0.0 for _, own in there]
        low = [mean - std for mean, std in zip(y, spread, strict=True)]
        high = [mean + std for mean, std in zip(y, spread, strict=True)]
        series.append(Series(method, [words for words, _ in there], y, low, high, NINE[method]))
    return Figure(
        f"splits-{metric}",
        f"{long_name(metric)} on each split",
        "",
        f"test {long_name(metric)}, %",
        series,
        kind="bar",
        caption="Mean over seeds; whiskers are one standard deviation over seeds.",
    )
