"""One method against another on the same set and backbone, over seeds and over users."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sahcns.errors import DataError, SettingError
from sahcns.lab.comparison.boards import Board, Row
from sahcns.lab.comparison.naming import ranked
from sahcns.lab.comparison.summaries import summary
from sahcns.lab.grid.result import PerUser, Result
from sahcns.ranking.significance import (
    Bootstrap,
    Paired,
    SignedRank,
    bootstrap_columns,
    differences,
    holm,
    paired_t,
    wilcoxon_users,
)

TESTS = ("t", "wilcoxon", "bootstrap")
ALPHA = 0.05  # a difference is shown where Holm's p is below it


@dataclass(frozen=True)
class Contrast:
    """What is known about first − second; users' tests are None where no user's values were kept."""

    data: str
    metric: str
    first: Row
    second: Row
    seeds: tuple[int, ...]  # those that both have
    unshared: tuple[int, ...]  # those that only one has, left out of every test
    paired: Paired
    signed_rank: SignedRank | None = None
    bootstrap: Bootstrap | None = None

    @property
    def place(self) -> tuple[str, str]:
        """The set and the backbone, as in `Board.places`."""
        return self.data, self.first.backbone

    def p(self, test: str) -> float:
        """Of the test by this name; NaN where it could not be made."""
        found = {"t": self.paired, "wilcoxon": self.signed_rank, "bootstrap": self.bootstrap}[test]
        return math.nan if found is None else found.p


def contrast(
    board: Board, data: str, first: Row, second: Row, metric: str, reading: str = "best", part: str = "test"
) -> Contrast:
    """The paired t-test over the seeds that both methods have."""
    one, other = (summary(board, data, row, metric, reading, part) for row in (first, second))
    shared = tuple(sorted(set(one.seeds) & set(other.seeds)))
    a, b = (dict(zip(each.seeds, each.values, strict=True)) for each in (one, other))
    return Contrast(
        data,
        metric,
        first,
        second,
        shared,
        tuple(sorted(set(one.seeds) ^ set(other.seeds))),
        paired_t([a[seed] for seed in shared], [b[seed] for seed in shared]),
    )


def leads(
    board: Board, metrics: Sequence[str], baseline: str | None = None, reading: str = "best", part: str = "test"
) -> list[Contrast]:
    """For each set, backbone and metric the best method against the strongest other, or against the baseline.

    Where the baseline itself is best, or was not run, there is nothing to test.
    """
    found = []
    for data, backbone in board.places:
        for metric in filter(ranked, metrics):
            order = ranking(board, data, backbone, metric, reading, part)
            rivals = [row for row in order[1:] if baseline in (None, row.method)]
            if rivals:
                found.append(contrast(board, data, order[0], rivals[0], metric, reading, part))
    return found


def ranking(
    board: Board, data: str, backbone: str, metric: str, reading: str = "best", part: str = "test"
) -> list[Row]:
    """The methods from the highest mean to the lowest; those without a number are left out."""
    means = {row: summary(board, data, row, metric, reading, part).mean for row in board.of(backbone)}
    return sorted((row for row in means if not math.isnan(means[row])), key=lambda row: -means[row])


def adjusted(contrasts: Iterable[Contrast], test: str = "t") -> list[float]:
    """Holm's p-values of all these contrasts together."""
    if test not in TESTS:
        raise SettingError(f"test={test!r} is not known; choose one of {', '.join(TESTS)}")
    return holm([one.p(test) for one in contrasts])


def with_users(board: Board, contrasts: Sequence[Contrast], tests: Sequence[str] = TESTS[1:]) -> list[Contrast]:
    """The same, with tests over users wherever both methods' seeds kept each user's values.

    A user's value is the mean over the shared seeds; the values belong to the best epoch's test ranking.
    """
    kept, found = _Kept(), list(contrasts)
    columns: dict[str, list[tuple[int, npt.NDArray[np.float64]]]] = {}
    for at, one in enumerate(contrasts):
        first, second = (
            kept.means(board.seeds(one.data, row), one.seeds, one.metric) for row in (one.first, one.second)
        )
        if first is not None and second is not None:
            if "wilcoxon" in tests:
                found[at] = replace(one, signed_rank=wilcoxon_users(first, second))
            columns.setdefault(one.data, []).append((at, differences(first, second)))
    for own in columns.values() if "bootstrap" in tests else ():  # of one set, so over the same users
        drawn = bootstrap_columns(np.stack([d for _, d in own], 1))
        for (at, _), one_drawn in zip(own, drawn, strict=True):
            found[at] = replace(found[at], bootstrap=one_drawn)
    return found


class _Kept:
    """Each user's values, read once from each result."""

    def __init__(self) -> None:
        self.files: dict[str, PerUser | None] = {}
        self.who: dict[str, npt.NDArray[np.int32]] = {}  # of each set

    def means(self, runs: Mapping[int, Result], seeds: Sequence[int], metric: str) -> npt.NDArray[np.float64] | None:
        """[U] each user's mean over the seeds, or None where a seed's values are missing."""
        found = [self._values(runs[seed], metric) for seed in seeds]
        there = [values for values in found if values is not None]
        return np.mean(there, 0) if there and len(there) == len(found) else None

    def _values(self, result: Result, metric: str) -> npt.NDArray[np.float64] | None:
        if result.key not in self.files:
            self.files[result.key] = result.users()
        own = self.files[result.key]
        if own is None or metric not in own:
            return None
        who = self.who.setdefault(result.data["fingerprint"], own["user"])
        if not np.array_equal(who, own["user"]):
            raise DataError(
                f"{result.key} was judged on other users than the rest of its set; delete it and run it again"
            )
        return own[metric].astype(np.float64)
