"""Wilcoxon's signed-rank test over users: do these two trained models serve the users differently?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sahcns.errors import SettingError

# Values of a user are shares, stored as float32, which rounds them by up to 6e-8; true differences are far larger.
ROUNDING = 1e-6

Values = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class SignedRank:
    """`better` and `worse` are shares of all users; `p` is two-sided; `why` says in words why there is none."""

    users: int
    better: float = math.nan
    worse: float = math.nan
    p: float = math.nan
    why: str = ""


def wilcoxon_users(first: Values, second: Values) -> SignedRank:
    """Two-sided signed-rank test that first − second is symmetric about zero over the users.

    first, second [U]: one value a user, in the same order of users. Users without a difference are left out of the ranks,
    as Wilcoxon did. The p-value is exact where few users differ, else the normal approximation, corrected for ties.
    """
    d = differences(first, second)
    if not len(d):
        return SignedRank(0, why="no users")
    if not np.isfinite(d).all():
        return SignedRank(len(d), why=f"{int((~np.isfinite(d)).sum())} of {len(d)} users have no number")
    better, worse = float((d > 0).mean()), float((d < 0).mean())
    if not d.any():
        return SignedRank(len(d), 0.0, 0.0, 1.0, "identical for every user")
    from scipy import stats

    return SignedRank(len(d), better, worse, float(stats.wilcoxon(_with_ties(d[d != 0]), zero_method="wilcox").pvalue))


def differences(first: Values, second: Values) -> npt.NDArray[np.float64]:
    """first − second [U], zero where only rounding differs: stored values are float32, and means are added in any order."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise SettingError(
            f"a test over users needs two lists of equal length; these have shapes {a.shape} and {b.shape}"
        )
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
