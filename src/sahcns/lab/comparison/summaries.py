"""One cell of a table as data: a method's metric over its seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sahcns.lab.comparison.boards import Board, Row


@dataclass(frozen=True)
class Summary:
    """A metric of one method on one set, over its seeds; values as they are, not in percent."""

    data: str
    row: Row
    metric: str
    reading: str
    seeds: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def std(self) -> float:
        """With n − 1; NaN for one seed."""
        return float(np.std(self.values, ddof=1)) if self.n > 1 else math.nan


def summary(board: Board, data: str, row: Row, metric: str, reading: str = "best", part: str = "test") -> Summary:
    """Of what was run, which may be nothing."""
    runs = board.seeds(data, row)
    seeds = tuple(sorted(runs))
    values = tuple(runs[seed].metric(metric, reading, part) for seed in seeds)
    return Summary(data, row, metric, reading, seeds, values)


def summarised(
    board: Board, metrics: Sequence[str], reading: str = "best", part: str = "test"
) -> dict[tuple[str, Row, str], Summary]:
    """Every cell of a board: (data, row, metric) → its summary, for what was run."""
    return {
        (data, row, metric): summary(board, data, row, metric, reading, part)
        for data, row in board.runs
        for metric in metrics
    }
