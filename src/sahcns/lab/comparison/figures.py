"""A comparison as figures: the course of training, the metrics of each method, and what the pool's size does."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sahcns.lab.comparison.boards import READINGS, Board, Row, boards_of
from sahcns.lab.comparison.naming import chance, frozen, listed, long_name, number, ranked, scale
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
    figures, boards = list[Figure](), boards_of(results, reading)
    for at, board in enumerate(boards):
        for data, backbone in board.places:
            where = f"{data}, {backbone}" + (f", table {at + 1}" if len(boards) > 1 else "")
            figures += _curves(board, data, backbone, where)
            figures.append(_bars(board, data, backbone, where, metrics))
            figures += _pool_sizes(board, data, backbone, where, metrics)
    return figures


def _curves(board: Board, data: str, backbone: str, where: str) -> list[Figure]:
    """What epochs are picked by, over epochs and over seconds of training: mean over seeds, a band of one std.

    A curve ends where the first of its seeds stopped: beyond, the mean would be one of other seeds. Of all runs on the
    set, only those give seconds that shared the machine with the fewest.
    """
    by_epoch, by_second, timed = list[Series](), list[Series](), list[Result]()
    monitor = str(dict(board.terms.protocol).get("monitor", "recall@20"))
    sharing = min(run.processes for (name, _), runs in board.runs.items() if name == data for run in runs.values())
    for row in board.of(data, backbone):
        runs = [run for run in board.seeds_of(data, row).values() if run.history.get("looks")]
        looks = [run.history["looks"] for run in runs]
        length = min((len(one.get(monitor, ())) for one in looks), default=0)
        if not length:
            continue
        values = scale(monitor) * np.array([one[monitor][:length] for one in looks])  # [seeds, looks]
        mean, spread = values.mean(0), values.std(0, ddof=1) if len(looks) > 1 else np.empty(0)
        low, high = ((mean + side * spread).tolist() if len(spread) else [] for side in (-1, 1))
        epochs = [float(epoch) for epoch in looks[0]["epoch"][:length]]
        curve = Series(row.method, epochs, mean.tolist(), low, high, row.sampler, variant=row.variant)
        by_epoch.append(curve)
        own = [run for run in runs if run.processes == sharing]
        if own:
            timed += own
            seconds = np.mean([run.look_seconds[:length] for run in own], 0).tolist()
            hints = [f"epoch {epoch:.0f}" for epoch in epochs]
            by_second.append(replace(curve, x=seconds, hints=hints))
    if not by_epoch:
        return []
    label = f"validation {long_name(monitor)}, %"
    caption = "Mean over seeds; the band is one standard deviation. A curve ends where the first of its seeds stopped."
    devices = " and ".join(sorted({str(run.machine.get("device", "?")) for run in timed}))
    shared = f", shared by {sharing} processes" if sharing > 1 else ""
    clock = f"{caption} Seconds are those of training alone, on {devices}{shared}: epochs times the median one."
    return [
        Figure(f"epochs {where}", f"Training over epochs: {where}", "epoch", label, by_epoch, caption=caption),
        Figure(f"seconds {where}", f"Training over time: {where}", "seconds", label, by_second, caption=clock),
    ]


def _bars(board: Board, data: str, backbone: str, where: str, metrics: Sequence[str]) -> Figure:
    """Each method's test metrics."""
    shown = [metric for metric in metrics if scale(metric) == 100] or list(metrics)
    names, series = [long_name(one) for one in shown], list[Series]()
    for row in board.of(data, backbone):
        cells = [summary(board, data, row, metric) for metric in shown]
        series.append(_series(row.method, names, cells, row.sampler, row.variant))
    caption = (
        f"Mean over seeds {READINGS[board.reading]}. Whiskers are one standard deviation over seeds: they show the spread "
        "of single trainings and are no test of a difference; the tables have those."
    )
    unit = "%" if scale(shown[0]) == 100 else ""
    return Figure(f"metrics {where}", f"Test metrics: {where}", "", unit, series, kind="bar", caption=caption)


def _pool_sizes(board: Board, data: str, backbone: str, where: str, metrics: Sequence[str]) -> list[Figure]:
    """Each metric against the number of candidates, for samplers that were run with several and alike in all else."""
    families: dict[tuple[str, str], dict[int, Row]] = {}
    for row in board.of(data, backbone):
        settings = dict(next(iter(board.seeds_of(data, row).values())).sampler)
        pool = settings.pop("pool", None)
        if isinstance(pool, int):
            families.setdefault((row.sampler, frozen(settings)), {})[pool] = row
    lines = [(sampler, dict(sorted(pools.items()))) for (sampler, _), pools in families.items() if len(pools) > 1]
    count = Counter(sampler for sampler, _ in lines)
    figures = []
    for metric in metrics if lines else ():
        series = []
        for sampler, pools in lines:
            name = sampler if count[sampler] == 1 else next(iter(pools.values())).method
            cells = [summary(board, data, row, metric) for row in pools.values()]
            series.append(_series(name, [float(pool) for pool in pools], cells, sampler))
        title, unit = f"{long_name(metric)} against the pool's size: {where}", ", %" if scale(metric) == 100 else ""
        x_label, y_label = "candidates in the pool", f"test {long_name(metric)}{unit}"
        caption = f"Mean over seeds {READINGS[board.reading]}; the band is one standard deviation."
        figures.append(Figure(f"pool {metric} {where}", title, x_label, y_label, series, caption=caption, x_log=True))
    return figures


def differences(tested: Sequence[tuple[Contrast, float]], where: str) -> list[Figure]:
    """Each method minus the reference, with the 95 % interval over seeds, in metrics of which more is better.

    Beside each contrast its p-value after Holm. None where no such interval is known.
    """
    known = [(one, p) for one, p in tested if ranked(one.metric) and one.paired.low == one.paired.low]
    series = []
    for row in dict.fromkeys(one.first for one, _ in known):
        own = [(one, p) for one, p in known if one.first == row]
        y, low, high = ([100 * getattr(one.paired, end) for one, _ in own] for end in ("difference", "low", "high"))
        names, hints = [long_name(one.metric) for one, _ in own], [f"after Holm p {chance(p)}" for _, p in own]
        series.append(Series(row.method, names, y, low, high, row.sampler, hints=hints, variant=row.variant))
    caption = (
        "Whiskers are 95 % intervals of the paired difference over seeds, each for itself: one in twenty misses the true "
        "difference. The table of pairs corrects for their number."
    )
    title = f"Each method minus {known[0][0].second.method if known else ''}: {where}"
    made = Figure(f"differences {where}", title, "", "percentage points", series, kind="bar", caption=caption)
    return [made] if known else []


def _series(name: str, x: Sequence[float | str], cells: Sequence[Summary], role: str, variant: int = 0) -> Series:
    """Means with one standard deviation to either side, none where every cell is of one seed."""
    means = [scale(one.metric) * one.mean for one in cells]
    stds = [scale(one.metric) * one.std if one.n > 1 else 0.0 for one in cells]
    band = list(zip(means, stds, strict=True)) if any(one.n > 1 for one in cells) else []
    low, high = [mean - std for mean, std in band], [mean + std for mean, std in band]
    hints = [
        f"{one.n} seed{'s' * (one.n > 1)}, {listed(one.seeds)}" + (f"; std {number(std)}" if one.n > 1 else "")
        for one, std in zip(cells, stds, strict=True)
    ]
    return Series(name, x, means, low, high, role, hints=hints, variant=variant)
