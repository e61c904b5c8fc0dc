"""What the seeds and the users can tell: each cell of a table, one method against another, and the best against all."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from sahcns.errors import DataError, SettingError
from sahcns.lab.comparison.boards import Board, Row
from sahcns.lab.comparison.naming import ranked, scale
from sahcns.lab.grid.result import PerUser
from sahcns.ranking.significance import (
    Paired,
    Tested,
    bootstrap_columns,
    differences,
    equivalence,
    holm,
    paired_t,
    wilcoxon_users,
)

TESTS = ("t", "wilcoxon", "bootstrap")
ALPHA = 0.05  # a difference is significant where Holm's p is below it
MARGIN = 0.1  # points: what is shown to differ by less is equivalent, unless another margin is asked for
MIN_SEEDS = 3  # with fewer no difference is called significant: one degree of freedom says nothing about normality

Verdict = Literal["better", "worse", "equivalent", "not resolved"]


@dataclass(frozen=True)
class Summary:
    """A metric of one method on one set, over its seeds; values as they are, not in percent."""

    data: str
    row: Row
    metric: str
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


@dataclass(frozen=True)
class Contrast:
    """What is known about first − second; `over_users` has no tests where no user's values were kept."""

    data: str
    metric: str
    first: Row
    second: Row
    seeds: tuple[int, ...]  # those that both have
    unshared: tuple[int, ...]  # those that only one has, left out of every test
    paired: Paired
    over_users: Mapping[str, Tested] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, str]:
        """The set and the backbone, as in `Board.places`."""
        return self.data, self.first.backbone

    def tested(self, test: str) -> Tested:
        """The test by this name; over seeds it takes at least three."""
        if test != "t":
            return self.over_users.get(test, Tested(0, why="no user's values were kept"))
        few = Tested(len(self.seeds), why=self.paired.why or f"fewer than {MIN_SEEDS} seeds")
        return self.paired if len(self.seeds) >= MIN_SEEDS else few

    def p(self, test: str) -> float:
        """NaN where it could not be made."""
        return self.tested(test).p

    def p_equivalent(self, margin: float) -> float:
        """That the two differ by less than `margin` points; over seeds it takes at least three."""
        enough = len(self.seeds) >= MIN_SEEDS and ranked(self.metric)
        return equivalence(self.paired, margin / scale(self.metric)) if enough else math.nan


@dataclass(frozen=True)
class Lead:
    """The best method of a column against each rival. It has a star only if it beats them all.

    Its p is the largest of them: the claim "better than every other" is wrong where any one of them is (an
    intersection-union test), so within a column no correction is needed. Holm's is over the columns of the table.
    """

    contrasts: tuple[Contrast, ...]  # from the strongest rival to the weakest

    @property
    def second(self) -> Contrast:
        """Against the strongest rival by its mean."""
        return self.contrasts[0]

    @property
    def hardest(self) -> Contrast:
        """Against the rival that speaks most against the lead: untested, ahead on the shared seeds, or of the largest p."""
        return max(self.contrasts, key=lambda one: (math.isnan(one.p("t")), one.paired.difference <= 0, one.p("t")))

    def p(self, test: str) -> float:
        ps = [one.p(test) for one in self.contrasts]
        return math.nan if any(map(math.isnan, ps)) else max(ps)

    def significant(self, adjusted_p: float) -> bool:
        """Whether it has its star: three seeds or more, ahead of every rival on the seeds they share, p below 0.05."""
        enough = all(len(one.seeds) >= MIN_SEEDS and one.paired.difference > 0 for one in self.contrasts)
        return enough and adjusted_p < ALPHA


def summary(board: Board, data: str, row: Row, metric: str) -> Summary:
    """Over all seeds that were run, which may be none."""
    runs = sorted(board.seeds_of(data, row).items())
    values = tuple(run.metric(metric, board.reading) for _, run in runs)
    return Summary(data, row, metric, tuple(seed for seed, _ in runs), values)


def summaries(board: Board, metrics: Sequence[str]) -> dict[tuple[str, Row, str], Summary]:
    """Every cell of a board: (data, row, metric) → its summary, for what was run."""
    return {(data, row, metric): summary(board, data, row, metric) for data, row in board.runs for metric in metrics}


def contrast(board: Board, data: str, first: Row, second: Row, metric: str) -> Contrast:
    """The paired t-test over the seeds that both methods have."""
    cells = (summary(board, data, row, metric) for row in (first, second))
    a, b = (dict(zip(one.seeds, one.values, strict=True)) for one in cells)
    seeds = tuple(sorted(a.keys() & b.keys()))
    paired = paired_t([a[seed] for seed in seeds], [b[seed] for seed in seeds])
    return Contrast(data, metric, first, second, seeds, tuple(sorted(a.keys() ^ b.keys())), paired)


def ranking(board: Board, data: str, backbone: str, metric: str) -> list[Row]:
    """The methods from the highest mean to the lowest; those without a number are left out."""
    means = {row: summary(board, data, row, metric).mean for row in board.of(data, backbone)}
    return sorted((row for row in means if not math.isnan(means[row])), key=lambda row: -means[row])


def leads(board: Board, metrics: Sequence[str], baseline: str | None = None) -> list[Lead]:
    """For each set, backbone and metric the best method against every other, or against the baseline alone.

    Where the baseline itself is best, or was not run, there is nothing to test.
    """
    result = []
    for data, backbone in board.places:
        for metric in filter(ranked, metrics):
            order = ranking(board, data, backbone, metric)
            rivals = [row for row in order[1:] if baseline in (None, row.method)]
            if rivals:
                result.append(Lead(tuple(contrast(board, data, order[0], row, metric) for row in rivals)))
    return result


def reference_of(board: Board) -> str:
    """What the others are held against unless one is named: the row called sahc, else one of that sampler, else the first.

    Not the winner: of many equal methods the luckiest differs from the unluckiest far more often than a test allows for.
    """
    rows = sorted(board.rows, key=lambda row: (row.method != "sahc", row.sampler != "sahc"))
    return rows[0].method


def pairs(board: Board, metrics: Sequence[str], reference: str) -> list[Contrast]:
    """Every other method minus the reference, on each set and backbone where both were run."""
    contrasts = []
    for data, backbone in board.places:
        rows = board.of(data, backbone)
        for fixed in (row for row in rows if row.method == reference):
            others = [row for row in rows if row != fixed]
            contrasts += [contrast(board, data, row, fixed, metric) for metric in metrics for row in others]
    return contrasts


def adjusted(tested: Iterable[Contrast | Lead], test: str = "t") -> list[float]:
    """Holm's p-values of all these together; NaN stays, and is not counted."""
    return holm([one.p(test) for one in tested])


def verdicts(contrasts: Sequence[Contrast], margin: float = MARGIN) -> list[tuple[Verdict, float]]:
    """What seeds say of each first against its second, and Holm's p of being within `margin` points.

    Tests of a difference and tests of equivalence are corrected apart, each over all the contrasts. One that is resolved
    and within the margin all the same is better or worse, by less than the margin.
    """
    if not margin > 0:
        raise SettingError(f"margin={margin} must be above 0 points")
    within = holm([one.p_equivalent(margin) for one in contrasts])
    found: list[tuple[Verdict, float]] = []
    for one, p, equal in zip(contrasts, adjusted(contrasts), within, strict=True):
        verdict: Verdict = "equivalent" if equal < ALPHA else "not resolved"
        if p < ALPHA:
            verdict = "better" if one.paired.difference > 0 else "worse"
        found.append((verdict, equal))
    return found


def with_users(board: Board, contrasts: Sequence[Contrast], tests: Sequence[str] = TESTS[1:]) -> list[Contrast]:
    """The same, with tests over users wherever both methods' seeds kept each user's values.

    A user's value is the mean over the shared seeds; the values belong to the best epoch's test ranking, so a board of
    the last epoch has none.
    """
    if board.reading != "best":
        return list(contrasts)
    files: dict[str, PerUser] = {}  # each is read once
    users: dict[str, npt.NDArray[np.int32]] = {}  # of each set

    def means(one: Contrast, row: Row) -> npt.NDArray[np.float64] | None:
        """[U], or None where a seed's values are missing."""
        values = []
        for run in (board.seeds_of(one.data, row)[seed] for seed in one.seeds):
            if run.key not in files:
                own = files[run.key] = run.users() or {}
                if own and not np.array_equal(users.setdefault(one.data, own["user"]), own["user"]):
                    raise DataError(
                        f"{run.key} was judged on other users than the rest of its set; delete it and run it again"
                    )
            if one.metric not in files[run.key]:
                return None
            values.append(files[run.key][one.metric].astype(np.float64))
        return np.mean(values, 0) if values else None

    found: list[dict[str, Tested]] = [{} for _ in contrasts]
    columns: dict[str, dict[int, npt.NDArray[np.float64]]] = {}  # of one set, so over the same users
    for at, one in enumerate(contrasts):
        first, second = means(one, one.first), means(one, one.second)
        if first is not None and second is not None:
            if "wilcoxon" in tests:
                found[at]["wilcoxon"] = wilcoxon_users(first, second)
            columns.setdefault(one.data, {})[at] = differences(first, second)
    for own in columns.values() if "bootstrap" in tests else ():
        for at, drawn in zip(own, bootstrap_columns(np.stack([*own.values()], 1)), strict=True):
            found[at]["bootstrap"] = drawn
    return [replace(one, over_users={**one.over_users, **tests}) for one, tests in zip(contrasts, found, strict=True)]


def leads_with_users(board: Board, gains: Sequence[Lead], test: str) -> list[Lead]:
    """The same, with a test over users in every contrast."""
    flat = iter(with_users(board, [one for lead in gains for one in lead.contrasts], [test]))
    return [Lead(tuple(next(flat) for _ in lead.contrasts)) for lead in gains]
