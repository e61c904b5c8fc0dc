"""A comparison as figures: the course of training, the metrics of each method, and what the pool's size does."""

from collections.abc import Mapping, Sequence

import numpy as np

from sahcns.lab.comparison.boards import Board, Row, boards_of
from sahcns.lab.comparison.captions import READ
from sahcns.lab.comparison.contrasts import Contrast
from sahcns.lab.comparison.naming import frozen, listed, long_name, number, ranked, scale
from sahcns.lab.comparison.summaries import Summary, summary
from sahcns.lab.grid.result import Result
from sahcns.lab.report.parts import Figure, Series

METRICS = ("recall@20", "ndcg@20")


def comparison_figures(
    results: Sequence[Result], *, metrics: Sequence[str] = METRICS, reading: str = "best"
) -> list[Figure]:
    """For each protocol, set and backbone: learning curves, the metrics of each method, and pool sizes where they vary.

    `metrics` are those of the test part, for the bars and the pool sizes.
    """
    found = []
    boards = boards_of(results)
    for at, board in enumerate(boards):
        for data, backbone in board.places:
            rows = [row for row in board.of(backbone) if board.seeds(data, row)]
            where = f"{data}, {backbone}" + (f", table {at + 1}" if len(boards) > 1 else "")
            found += [
                *curves(board, data, rows, where),
                bars(board, data, rows, where, metrics, reading),
                *pool_sizes(board, data, rows, where, metrics, reading),
            ]
    return found


def curves(board: Board, data: str, rows: Sequence[Row], where: str) -> list[Figure]:
    """What epochs are picked by, over epochs and over seconds of training: mean over seeds, a band of one std.

    A curve ends where the first of its seeds stopped: beyond, the mean would be one of other seeds.
    """
    by_epoch, by_second = [], []
    watched = str(dict(board.protocol).get("monitor", "recall@20"))
    for row in rows:
        runs = [run.history["looks"] for run in board.seeds(data, row).values() if run.history.get("looks")]
        length = min((len(one.get(watched, ())) for one in runs), default=0)
        if not length:
            continue
        values = scale(watched) * np.array([one[watched][:length] for one in runs])  # [seeds, looks]
        mean, spread = values.mean(0), values.std(0, ddof=1) if len(runs) > 1 else np.zeros(length)
        epochs = [float(epoch) for epoch in runs[0]["epoch"][:length]]
        clocked = [run.look_seconds[:length] for run in board.clocked(data, row).values()]
        band = (mean - spread, mean + spread) if len(runs) > 1 else ((), ())
        low, high = ([float(value) for value in end] for end in band)
        y = [float(value) for value in mean]
        by_epoch.append(Series(row.method, epochs, y, low, high, row.sampler, variant=row.variant))
        hints = [f"epoch {epoch:.0f}" for epoch in epochs]
        if clocked:
            seconds = [float(x) for x in np.mean(clocked, 0)]
            by_second.append(Series(row.method, seconds, y, low, high, row.sampler, hints=hints, variant=row.variant))
    if not by_epoch:
        return []
    label = f"validation {long_name(watched)}, %"
    said = "Mean over seeds; the band is one standard deviation. A curve ends where the first of its seeds stopped."
    devices = sorted({str(run.machine.get("device", "?")) for row in rows for run in board.seeds(data, row).values()})
    sharing = min((run.processes for row in rows for run in board.clocked(data, row).values()), default=1)
    shared = f", shared by {sharing} processes" if sharing > 1 else ""
    clock = (
        f"{said} Seconds are those of training alone, on {' and '.join(devices)}{shared}: epochs times the median one."
    )
    if sources := board.timed_by(data, rows):
        clock += (
            f" Not all were timed by the same sources, so what was made faster in between is not in all: {sources}."
        )
    return [
        Figure(f"epochs {where}", f"Training over epochs: {where}", "epoch", label, by_epoch, caption=said),
        Figure(f"seconds {where}", f"Training over time: {where}", "seconds", label, by_second, caption=clock),
    ]


def bars(
    board: Board, data: str, rows: Sequence[Row], where: str, metrics: Sequence[str] = METRICS, reading: str = "best"
) -> Figure:
    """Each method's test metrics."""
    shown = [metric for metric in metrics if scale(metric) == 100] or list(metrics)
    series = []
    for row in rows:
        cells = [summary(board, data, row, metric, reading) for metric in shown]
        y, low, high = _ends(cells)
        series.append(
            Series(
                row.method,
                [long_name(one) for one in shown],
                y,
                low,
                high,
                row.sampler,
                hints=_hints(cells),
                variant=row.variant,
            )
        )
    return Figure(
        f"metrics {where}",
        f"Test metrics: {where}",
        "",
        "%" if scale(shown[0]) == 100 else "",
        series,
        kind="bar",
        caption=f"Mean over seeds {READ[reading]}. Whiskers are one standard deviation over seeds: they show the spread of "
        "single trainings and are no test of a difference; the tables have those.",
    )


def pool_sizes(
    board: Board, data: str, rows: Sequence[Row], where: str, metrics: Sequence[str] = METRICS, reading: str = "best"
) -> list[Figure]:
    """Each metric against the number of candidates, for samplers that were run with several and alike in all else."""
    families: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        sampler = next(iter(board.seeds(data, row).values())).sampler
        if isinstance(sampler.get("pool"), int):
            rest = {name: value for name, value in sampler.items() if name != "pool"}
            families.setdefault((row.sampler, frozen(rest)), {})[sampler["pool"]] = row
    grown = {kind: dict(sorted(found.items())) for kind, found in families.items() if len(found) > 1}
    names = _family_names(grown)
    figures = []
    for metric in metrics if grown else ():
        series = []
        for kind, found in grown.items():
            cells = [summary(board, data, row, metric, reading) for row in found.values()]
            y, low, high = _ends(cells)
            pools = [float(pool) for pool in found]
            series.append(Series(names[kind], pools, y, low, high, kind[0], hints=_hints(cells)))
        figures.append(
            Figure(
                f"pool {metric} {where}",
                f"{long_name(metric)} against the pool's size: {where}",
                "candidates in the pool",
                f"test {long_name(metric)}" + (", %" if scale(metric) == 100 else ""),
                series,
                caption=f"Mean over seeds {READ[reading]}; the band is one standard deviation.",
                x_log=True,
            )
        )
    return figures


def differences(contrasts: Sequence[Contrast], adjusted: Sequence[float], where: str) -> Figure | None:
    """Each method minus the reference, with the 95 % interval over seeds, in metrics of which more is better.

    None where no such interval is known.
    """
    known = [
        (one, p)
        for one, p in zip(contrasts, adjusted, strict=True)
        if ranked(one.metric) and one.paired.low == one.paired.low
    ]
    if not known:
        return None
    metrics = list(dict.fromkeys(one.metric for one, _ in known))
    series = []
    for row in dict.fromkeys(one.first for one, _ in known):
        own = {one.metric: (one, p) for one, p in known if one.first == row}
        there = [metric for metric in metrics if metric in own]
        paired = [own[metric][0].paired for metric in there]
        series.append(
            Series(
                row.method,
                [long_name(metric) for metric in there],
                [100 * one.difference for one in paired],
                [100 * one.low for one in paired],
                [100 * one.high for one in paired],
                row.sampler,
                hints=[f"after Holm p {own[metric][1]:.2g}" for metric in there],
                variant=row.variant,
            )
        )
    reference = known[0][0].second.method
    return Figure(
        f"differences {where}",
        f"Each method minus {reference}: {where}",
        "",
        "percentage points",
        series,
        kind="bar",
        caption="Whiskers are 95 % intervals of the paired difference over seeds, each for itself: one in twenty misses the "
        "true difference. The table of pairs corrects for their number.",
    )


def _ends(cells: Sequence[Summary]) -> tuple[list[float], list[float], list[float]]:
    """Means with one standard deviation to either side, none where every cell is of one seed."""
    factor = [scale(one.metric) for one in cells]
    means = [f * one.mean for f, one in zip(factor, cells, strict=True)]
    if all(one.n < 2 for one in cells):
        return means, [], []
    spread = [f * one.std if one.n > 1 else 0.0 for f, one in zip(factor, cells, strict=True)]
    low = [mean - std for mean, std in zip(means, spread, strict=True)]
    return means, low, [mean + std for mean, std in zip(means, spread, strict=True)]


def _hints(cells: Sequence[Summary]) -> list[str]:
    return [
        f"{one.n} seed{'s' * (one.n > 1)}, {listed(one.seeds)}"
        + (f"; std {number(scale(one.metric) * one.std)}" if one.n > 1 else "")
        for one in cells
    ]


def _family_names(grown: Mapping[tuple[str, str], Mapping[int, Row]]) -> dict[tuple[str, str], str]:
    """The sampler's name, or where one sampler has several families, the name of each one's first row."""
    count = [sampler for sampler, _ in grown]
    return {
        kind: kind[0] if count.count(kind[0]) == 1 else next(iter(found.values())).method
        for kind, found in grown.items()
    }
