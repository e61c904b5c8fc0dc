"""How much the split moves things: random splits of the same pairs beside the authors' own."""

from statistics import fmean, stdev

from reproduction.beside import FAR
from reproduction.cells import shown
from reproduction.evidence import Evidence
from reproduction.experiments import FOUR
from reproduction.leading import AT_20
from reproduction.methods import METHOD, NINE
from reproduction.sections.against import difference_cell
from reproduction.sections.choices import change
from reproduction.sections.standing import unfinished
from reproduction.sections.tuning import switched_off
from sahcns.lab import (
    Cell,
    Figure,
    Paired,
    Section,
    Series,
    Summary,
    Table,
    holm,
    joined,
    long_name,
    number,
    paired_t,
    summary,
)


def splits_section(evidence: Evidence) -> Section:
    found: list[str | Table | Figure] = [
        *unfinished(evidence, "splits"),
        *switched_off(evidence, [evidence.design.single]),
    ]
    for metric in AT_20:
        cells = split_cells(evidence, metric)
        if any(data != evidence.design.data(evidence.design.single).name for data, _ in cells):
            found += [_table(evidence, metric, cells), *_against(evidence, metric, cells)]
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
            ">random · mean",
            ">std · splits",
            ">std · seeds",
        ],
        rows,
        "In percent, on the test part at the best validation epoch. Random splits are 8:1:1 over all pairs; the one given "
        "has its own shares. random mean is over the random splits, std of splits that of their means, std of seeds the "
        "mean of those within a split. The best of each split is bold.",
    )


def against(
    evidence: Evidence, cells: dict[tuple[str, str], Summary]
) -> tuple[dict[tuple[str, str], Paired], dict[str, Paired]]:
    """SAHC-NS minus each other: (name of the split, method) over its seeds, and by method over the random splits' means."""
    others = [method for method in FOUR if method != METHOD]
    within = {
        (name, method): change(cells[name, METHOD], cells[name, method])
        for name in _sets(evidence)
        for method in others
        if {(name, METHOD), (name, method)} <= cells.keys()
    }
    over = {}
    for method in others:
        there = [name for name in list(_sets(evidence))[1:] if (name, method) in within]
        if there:
            mine, theirs = ([cells[name, one].mean for name in there] for one in (METHOD, method))
            over[method] = paired_t(mine, theirs)
    return within, over


def _against(evidence: Evidence, metric: str, cells: dict[tuple[str, str], Summary]) -> list[Table | Figure]:
    sets = _sets(evidence)
    within, over = against(evidence, cells)
    if not within:
        return []
    first = dict(zip(within, holm([one.p for one in within.values()]), strict=True))
    second = dict(zip(over, holm([one.p for one in over.values()]), strict=True))
    methods = list(dict.fromkeys(method for _, method in within))
    rows: list[list[Cell | str]] = []
    for method in methods:
        keys = [(name, method) for name in sets]
        line = [
            difference_cell(within[key], first[key]) if key in within else Cell("–", hint="not run") for key in keys
        ]
        rows.append([method, *line, difference_cell(over[method], second[method]) if method in over else "–"])
    table = Table(
        f"splits-against-{metric}",
        f"{METHOD} minus each other: {long_name(metric)}",
        ["Method", *(f">{words}" for words in sets.values()), ">over the random splits"],
        rows,
        "In percentage points; above 0 SAHC-NS is better. * p < 0.05 in a paired t-test, over the seeds of a split with Holm "
        "over all splits, and in the last column over the random splits' means with Holm over that column. The splits are "
        "of the same pairs, so they are not independent, and the last column's p is somewhat too small.",
    )
    near = [
        method
        for method in methods
        if all(
            abs(within[name, method].difference) <= FAR * cells[name, METHOD].mean
            for name in sets
            if (name, method) in within
        )
    ]
    series = []
    for method in near:
        there = [(words, within[name, method]) for name, words in sets.items() if (name, method) in within]
        y = [100 * one.difference for _, one in there]
        low, high = [100 * one.low for _, one in there], [100 * one.high for _, one in there]
        series.append(Series(f"minus {method}", [words for words, _ in there], y, low, high, NINE[method]))
    far = [method for method in methods if method not in near]
    left = f" {joined(far)} {'is' if len(far) == 1 else 'are'} too far off to be drawn." if far else ""
    figure = Figure(
        f"splits-{metric}",
        f"{METHOD} minus each other on each split: {long_name(metric)}",
        "",
        "percentage points",
        series,
        kind="bar",
        caption=f"Whiskers are 95 % intervals of the paired difference over seeds, each for itself.{left}",
    )
    return [table, figure] if series else [table]
