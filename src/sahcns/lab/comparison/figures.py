"""A comparison as figures: the course of training, the metrics of each method, and what the pool's size does."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sahcns.lab.comparison.boards import Board, Row, boards_of
from sahcns.lab.comparison.naming import chance, frozen, listed, long_name, number, ranked, scale
from sahcns.lab.comparison.prose import READ
from sahcns.lab.comparison.statistics import Contrast, Summary, summary
from sahcns.lab.grid.result import Result
from sahcns.lab.report.parts import Figure, Series

METRICS = ("recall@20", "ndcg@20")


def comparison_figures(
    results: Sequence[Result], *, metrics: Sequence[str] = METRICS, reading: str = "best"
) -> list[Figure]:
    """For each protocol, set and backbone: learning curves, the metrics of each method, and pool sizes where they vary.

    `metrics` are those of the test part, for the bars and the pool sizes.
    """
    figures = []
    boards = boards_of(results)
    for at, board in enumerate(boards):
        for data, backbone in board.places:
            rows = [row for row in board.of(backbone) if board.seeds(data, row)]
            where = f"{data}, {backbone}" + (f", table {at + 1}" if len(boards) > 1 else "")
            figures += [
                *curves(board, data, rows, where),
                bars(board, data, rows, where, metrics, reading),
                *pool_sizes(board, data, rows, where, metrics, reading),
            ]
    return figures


def curves(board: Board, data: str, rows: Sequence[Row], where: str) -> list[Figure]:
    """What epochs are picked by, over epochs and over seconds of training: mean over seeds, a band of one std.

    A curve ends where the first of its seeds stopped: beyond, the mean would be one of other seeds.
    """
    by_epoch, by_second, timed = [], [], list[Result]()
    monitor = str(dict(board.protocol).get("monitor", "recall@20"))
    for row in rows:
        looks = [run.history["looks"] for run in board.seeds(data, row).values() if run.history.get("looks")]
        length = min((len(one.get(monitor, ())) for one in looks), default=0)
        if not length:
            continue
        values = scale(monitor) * np.array([one[monitor][:length] for one in looks])  # [seeds, looks]
        mean, spread = values.mean(0), values.std(0, ddof=1) if len(looks) > 1 else None
        low, high = ([], []) if spread is None else ((mean - spread).tolist(), (mean + spread).tolist())
        epochs = [float(epoch) for epoch in looks[0]["epoch"][:length]]
        by_epoch.append(Series(row.method, epochs, mean.tolist(), low, high, row.sampler, variant=row.variant))
        own = list(board.timed(data, row).values())
        if own:
            timed += own
            seconds = np.mean([run.look_seconds[:length] for run in own], 0).tolist()
            hints = [f"epoch {epoch:.0f}" for epoch in epochs]
            timed_series = Series(
                row.method, seconds, mean.tolist(), low, high, row.sampler, hints=hints, variant=row.variant
            )
            by_second.append(timed_series)
    if not by_epoch:
        return []
    label = f"validation {long_name(monitor)}, %"
    caption = "Mean over seeds; the band is one standard deviation. A curve ends where the first of its seeds stopped."
    devices = " and ".join(sorted({str(run.machine.get("device", "?")) for run in timed}))
    sharing = min((run.processes for run in timed), default=1)
    shared = f", shared by {sharing} processes" if sharing > 1 else ""
    clock = f"{caption} Seconds are those of training alone, on {devices}{shared}: epochs times the median one."
    if len({run.commit for run in timed} - {None}) > 1:
        clock += " Not all were timed with the same sources, which may differ in speed."
    return [
        Figure(f"epochs {where}", f"Training over epochs: {where}", "epoch", label, by_epoch, caption=caption),
        Figure(f"seconds {where}", f"Training over time: {where}", "seconds", label, by_second, caption=clock),
    ]


def bars(
    board: Board, data: str, rows: Sequence[Row], where: str, metrics: Sequence[str] = METRICS, reading: str = "best"
) -> Figure:
    """Each method's test metrics."""
    shown = [metric for metric in metrics if scale(metric) == 100] or list(metrics)
    names, series = [long_name(one) for one in shown], []
    for row in rows:
        cells = [summary(board, data, row, metric, reading) for metric in shown]
        series.append(Series(row.method, names, *_ends(cells), row.sampler, hints=_hints(cells), variant=row.variant))
    caption = (
        f"Mean over seeds {READ[reading]}. Whiskers are one standard deviation over seeds: they show the spread of single "
        "trainings and are no test of a difference; the tables have those."
    )
    unit = "%" if scale(shown[0]) == 100 else ""
    return Figure(f"metrics {where}", f"Test metrics: {where}", "", unit, series, kind="bar", caption=caption)


def pool_sizes(
    board: Board, data: str, rows: Sequence[Row], where: str, metrics: Sequence[str] = METRICS, reading: str = "best"
) -> list[Figure]:
    """Each metric against the number of candidates, for samplers that were run with several and alike in all else."""
    families: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        settings = next(iter(board.seeds(data, row).values())).sampler
        if isinstance(settings.get("pool"), int):
            rest = frozen({name: value for name, value in settings.items() if name != "pool"})
            families.setdefault((row.sampler, rest), {})[settings["pool"]] = row
    lines = {family: dict(sorted(pools.items())) for family, pools in families.items() if len(pools) > 1}
    count = Counter(sampler for sampler, _ in lines)
    figures = []
    for metric in metrics if lines else ():
        series = []
        for (sampler, _), pools in lines.items():
            name = sampler if count[sampler] == 1 else next(iter(pools.values())).method
            cells = [summary(board, data, row, metric, reading) for row in pools.values()]
            series.append(Series(name, [float(pool) for pool in pools], *_ends(cells), sampler, hints=_hints(cells)))
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

    `adjusted` are their p-values after Holm. None where no such interval is known.
    """
    pairs = zip(contrasts, adjusted, strict=True)
    known = [(one, p) for one, p in pairs if ranked(one.metric) and one.paired.low == one.paired.low]
    if not known:
        return None
    series = []
    for row in dict.fromkeys(one.first for one, _ in known):
        own = [(one, p) for one, p in known if one.first == row]
        y, low, high = ([100 * getattr(one.paired, end) for one, _ in own] for end in ("difference", "low", "high"))
        names, hints = [long_name(one.metric) for one, _ in own], [f"after Holm p {chance(p)}" for _, p in own]
        series.append(Series(row.method, names, y, low, high, row.sampler, hints=hints, variant=row.variant))
    title = f"Each method minus {known[0][0].second.method}: {where}"
    caption = (
        "Whiskers are 95 % intervals of the paired difference over seeds, each for itself: one in twenty misses the true "
        "difference. The table of pairs corrects for their number."
    )
    return Figure(f"differences {where}", title, "", "percentage points", series, kind="bar", caption=caption)


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
