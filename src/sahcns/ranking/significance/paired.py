"""The paired t-test over identical seeds: would another training of the same two methods show the same difference?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sahcns.errors import SettingError
from sahcns.ranking.significance.effect import effect_interval
from sahcns.ranking.significance.power import seeds_needed


@dataclass(frozen=True)
class Paired:
    """What n pairs say about the difference first − second; `why` says in words what they cannot say."""

    n: int
    difference: float  # mean of first − second
    std: float = math.nan  # of the differences, with n − 1
    low: float = math.nan  # confidence interval of the mean difference
    high: float = math.nan
    t: float = math.nan
    p: float = math.nan  # two-sided
    why: str = ""
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


def paired_t(first: Sequence[float], second: Sequence[float], level: float = 0.95) -> Paired:
    """Two-sided paired t-test of equal means, with the interval of the difference and its size.

    first, second [n]: one value a seed, in the same order of seeds. t = √n · mean(d) / std(d), n − 1 degrees of freedom.
    """
    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.ndim != 1 or a.shape != b.shape:
        raise SettingError(f"a paired test needs two lists of equal length; these have shapes {a.shape} and {b.shape}")
    if not 0 < level < 1:
        raise SettingError(f"level={level} is not allowed; it must lie between 0 and 1")
    d, n = a - b, len(a)
    if n == 0:
        return Paired(0, math.nan, why="no seed in common")
    if not np.isfinite(d).all():
        return Paired(n, math.nan, why=f"{int((~np.isfinite(d)).sum())} of {n} seeds have no number")
    mean = float(d.mean())
    if n == 1:
        return Paired(1, mean, why="one seed: nothing is known about its luck")
    if not d.any():
        return Paired(n, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, why="identical in every seed")
    std = float(d.std(ddof=1))
    if std <= 1e-12 * max(np.abs(a).max(), np.abs(b).max()):  # what rounding leaves of equal differences
        return Paired(n, mean, 0.0, mean, mean, why="the same difference in every seed: t is not defined")
    from scipy import special

    error = std / math.sqrt(n)
    half = float(special.stdtrit(n - 1, (1 + level) / 2)) * error
    p = float(2 * special.stdtr(n - 1, -abs(mean / error)))
    return Paired(n, mean, std, mean - half, mean + half, mean / error, p, level=level)
