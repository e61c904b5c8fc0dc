"""Whether a difference between two methods is more than luck; docs/statistics.md says which test answers what.

Every result has a field `why`: the reason, in words, where a number is missing (NaN). The bootstrap is our own: scipy's
draws differ from machine to machine, and it draws anew for each of many comparisons over the same users.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sahcns.counter import bits, stream_key
from sahcns.errors import SettingError
from sahcns.ranking.effect_size import effect_interval as effect_interval
from sahcns.ranking.effect_size import power as power
from sahcns.ranking.effect_size import seeds_needed as seeds_needed

Values = Sequence[float] | npt.NDArray[np.float64]
CHUNK = 1 << 22  # bootstrap draws held at once: 32 MiB
# Values of a user are shares, stored as float32, which rounds them by up to 6e-8; true differences are far larger.
ROUNDING = 1e-6
ONE_SEED = "one seed: nothing is known about its luck"


@dataclass(frozen=True)
class Tested:
    """What a test says about first − second over n seeds or users; `p` is two-sided."""

    n: int
    difference: float = math.nan  # the mean
    low: float = math.nan  # its confidence interval
    high: float = math.nan
    p: float = math.nan
    why: str = ""


@dataclass(frozen=True)
class Paired(Tested):
    """What n pairs of seeds say."""

    std: float = math.nan  # of the differences, with n − 1
    t: float = math.nan
    level: float = 0.95

    @property
    def effect(self) -> float:
        """Cohen's d_z: the difference divided by its standard deviation; NaN where that is unknown or zero."""
        if self.difference == 0 == self.std:
            return 0.0
        return self.difference / self.std if self.std > 0 else math.nan

    @cached_property
    def effect_interval(self) -> tuple[float, float]:
        """Of d_z, at the same level as that of the difference."""
        return effect_interval(self.effect, self.n, self.level) if self.std > 0 else (math.nan, math.nan)

    @cached_property
    def seeds(self) -> int | None:
        """Needed to find an effect of this size with power 0.8 at level 0.05; None for more than 100,000, or unknown."""
        return seeds_needed(self.effect)


@dataclass(frozen=True)
class SignedRank(Tested):
    """`better` and `worse` are shares of all users."""

    better: float = math.nan
    worse: float = math.nan


def paired_t(first: Sequence[float], second: Sequence[float], level: float = 0.95) -> Paired:
    """Two-sided paired t-test of equal means, with the interval of the difference and its size.

    first, second [n]: one value a seed, in the same order of seeds. t = √n · mean(d) / std(d), n − 1 degrees of freedom.
    """
    a, b = _two(first, second)
    d, n = a - b, len(a)
    if why := _missing(d, "seeds", "no seed in common"):
        return Paired(n, why=why)
    mean = float(d.mean())
    if n == 1:
        return Paired(1, mean, why=ONE_SEED)
    if not d.any():
        return Paired(n, 0.0, 0.0, 0.0, 1.0, "identical in every seed", std=0.0, t=0.0)
    std = float(d.std(ddof=1))
    if std <= 1e-12 * max(np.abs(a).max(), np.abs(b).max()):  # what rounding leaves of equal differences
        return Paired(n, mean, mean, mean, why="the same difference in every seed: t is not defined", std=0.0)
    from scipy import special

    error = std / math.sqrt(n)
    half = float(special.stdtrit(n - 1, (1 + level) / 2)) * error
    p = float(2 * special.stdtr(n - 1, -abs(mean / error)))
    return Paired(n, mean, mean - half, mean + half, p, std=std, t=mean / error, level=level)


def equivalence(found: Paired, margin: float) -> float:
    """p of two one-sided tests that the true difference lies within ±margin, in the unit of the values.

    The larger of P(T ≥ (d + margin) / e) and P(T ≤ (d - margin) / e), with e = std / √n and n - 1 degrees of freedom:
    both "it is -margin or lower" and "it is margin or higher" must be rejected. NaN of fewer than two seeds.

    Schuirmann: A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing the Equivalence of
    Average Bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 1987.
    """
    if not margin > 0:
        raise SettingError(f"margin={margin} must be above 0")
    if math.isnan(found.std):
        return math.nan
    from scipy import special

    error, gap = found.std / math.sqrt(found.n), margin - abs(found.difference)
    if error == 0:
        return float(gap <= 0)
    return float(special.stdtr(found.n - 1, -gap / error))


def against_published(ours: Sequence[float], mean: float, std: float, n: int = 5, level: float = 0.95) -> Tested:
    """Welch's t-test of our values against a mean ± std over n runs, in the same unit.

    t = (m₁ − m₂) / √(s₁²/n₁ + s₂²/n₂), with Welch and Satterthwaite's degrees of freedom. Their seeds are not ours, so
    nothing is paired. A std without a word on it is taken to be the one with n − 1.
    """
    if n < 2 or not std >= 0:
        raise SettingError(f"std={std}, n={n}: a published spread needs std >= 0 over 2 runs or more")
    values = np.asarray(ours, float)
    if why := _missing(values, "seeds", "no runs of ours"):
        return Tested(len(values), why=why)
    difference = float(values.mean() - mean)
    if len(values) == 1:
        return Tested(1, difference, why=ONE_SEED)
    from scipy import special

    own, other = float(values.var(ddof=1)) / len(values), std**2 / n
    if own + other == 0:
        return Tested(len(values), difference, why="no spread on either side: t is not defined")
    error = math.sqrt(own + other)
    df = (own + other) ** 2 / (own**2 / (len(values) - 1) + other**2 / (n - 1))
    half = float(special.stdtrit(df, (1 + level) / 2)) * error
    p = float(2 * special.stdtr(df, -abs(difference) / error))
    return Tested(len(values), difference, difference - half, difference + half, p)


def wilcoxon_users(first: Values, second: Values) -> SignedRank:
    """Two-sided signed-rank test that first − second is symmetric about zero over the users.

    first, second [U]: one value a user, in the same order of users. Users without a difference are left out of the ranks,
    as Wilcoxon did. The p-value is exact where few users differ, else the normal approximation, corrected for ties.
    """
    d = differences(first, second)
    if why := _missing(d, "users", "no users"):
        return SignedRank(len(d), why=why)
    mean, better, worse = float(d.mean()), float((d > 0).mean()), float((d < 0).mean())
    if not d.any():
        return SignedRank(len(d), 0.0, p=1.0, why="identical for every user", better=0.0, worse=0.0)
    from scipy import stats

    p = float(stats.wilcoxon(_with_ties(d[d != 0]), zero_method="wilcox").pvalue)
    return SignedRank(len(d), mean, p=p, better=better, worse=worse)


def _two(first: Values, second: Values) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise SettingError(f"a paired test needs two lists of equal length; these have shapes {a.shape} and {b.shape}")
    return a, b


def _missing(d: npt.NDArray[np.float64], what: str, none: str) -> str:
    """Why nothing can be said; empty where all are numbers."""
    absent = int((~np.isfinite(d)).sum())
    return none if not len(d) else f"{absent} of {len(d)} {what} have no number" if absent else ""


def differences(first: Values, second: Values) -> npt.NDArray[np.float64]:
    """first − second [U], zero where only rounding differs: stored values are float32, and means are added in any order."""
    a, b = _two(first, second)
    d = a - b
    d[np.abs(d) <= ROUNDING * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return d


def _with_ties(d: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Differences [U] with sizes that only rounding tells apart made equal, so that they share a rank."""
    order = np.argsort(np.abs(d))
    size = np.abs(d)[order]
    apart = np.diff(size, prepend=-1.0) > ROUNDING
    equal = np.empty_like(size)
    equal[order] = size[np.maximum.accumulate(np.where(apart, np.arange(len(size)), 0))]
    return np.copysign(equal, d)


def bootstrap_users(
    first: Values, second: Values, *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Tested:
    """Draw the users anew, with replacement, and average first − second over each draw.

    first, second [U]: one value a user, in the same order of users. With m the mean and m* that of a draw, the interval
    is m*'s percentiles and p = (1 + #{|m* − m| ≥ |m|}) / (1 + resamples), so it is never below 1 / (1 + resamples).
    The draws are a function of `seed` alone, the same on every machine and for every pair of methods.
    """
    return bootstrap_columns(differences(first, second)[:, None], resamples=resamples, seed=seed, level=level)[0]


def bootstrap_columns(
    d: npt.NDArray[np.float64], *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> list[Tested]:
    """`bootstrap_users` for C comparisons over the same users at once, which costs little more than one; d [U, C]."""
    users = len(d)
    if users < 2:
        why = "one user: every draw is the same" if users else "no users"
        return [Tested(users, float(column.sum()) if users else math.nan, why=why) for column in d.T]
    reasons = [_missing(values, "users", "") for values in d.T]
    means = _resampled(np.where([not why for why in reasons], d, 0.0), resamples, seed)
    results = []
    for values, drawn, why in zip(d.T, means.T, reasons, strict=True):
        if why:
            results.append(Tested(users, why=why))
            continue
        mean = float(values.mean())
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        # A draw as far away as the sample itself must count, whatever order its users are added in.
        beyond = int((np.abs(drawn - mean) >= abs(mean) - 1e-12 * np.abs(values).max()).sum())
        results.append(Tested(users, mean, float(low), float(high), (1 + beyond) / (1 + resamples)))
    return results


def _resampled(d: npt.NDArray[np.float64], resamples: int, seed: int) -> npt.NDArray[np.float64]:
    """[resamples, C] means of d [U, C] over U users drawn with replacement; draw k reads numbers k·U … of the stream."""
    users, key = len(d), stream_key(seed, "bootstrap")
    means = np.empty((resamples, d.shape[1]))
    rows = max(1, CHUNK // users)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        numbers = bits(key, count * users, start * users)
        who = (((numbers >> np.uint64(32)) * np.uint64(users)) >> np.uint64(32)).astype(np.int64)
        who += np.repeat(np.arange(count) * users, users)
        times = np.bincount(who, minlength=count * users).reshape(count, users)  # how often each user was drawn
        means[start : start + count] = times @ d / users
    return means


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given; one below 0.05 is significant with all the tests of the table counted.

    The k-th smallest of m is multiplied by m − k + 1, and none may be smaller than the one before it. NaN, a test that
    could not be made, stays NaN and is not counted.

    Holm: A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 1979.
    """
    p = np.asarray(ps, float)
    order = np.argsort(p, kind="stable")[: int((~np.isnan(p)).sum())]  # NaN is sorted last
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.arange(len(order), 0, -1) * p[order]))
    return [float(value) for value in adjusted]
