"""Our seeds against a published mean ± std, where the other runs themselves are not to be had."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sahcns.errors import SettingError


@dataclass(frozen=True)
class Published:
    """ours − theirs with its interval and two-sided p; `why` says in words what is missing."""

    n: int
    difference: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    why: str = ""


def against_published(ours: Sequence[float], mean: float, std: float, n: int = 5, level: float = 0.95) -> Published:
    """Welch's t-test of our values against a mean ± std over n runs, in the same unit.

    t = (m₁ − m₂) / √(s₁²/n₁ + s₂²/n₂), with Welch and Satterthwaite's degrees of freedom. Their seeds are not ours, so
    nothing is paired. A std without a word on it is taken to be the one with n − 1.
    """
    if n < 2 or not std >= 0:
        raise SettingError(f"std={std}, n={n}: a published spread needs std >= 0 over 2 runs or more")
    values = np.asarray(ours, float)
    if not len(values):
        return Published(0, math.nan, why="no runs of ours")
    if not np.isfinite(values).all():
        missing = int((~np.isfinite(values)).sum())
        return Published(len(values), math.nan, why=f"{missing} of {len(values)} seeds have no number")
    difference = float(values.mean() - mean)
    if len(values) == 1:
        return Published(1, difference, why="one seed: nothing is known about its luck")
    from scipy import stats

    own, other = float(values.var(ddof=1)) / len(values), std**2 / n
    if own + other == 0:
        return Published(len(values), difference, why="no spread on either side: t is not defined")
    error = math.sqrt(own + other)
    df = (own + other) ** 2 / (own**2 / (len(values) - 1) + other**2 / (n - 1))
    half = float(stats.t.isf((1 - level) / 2, df)) * error
    p = float(2 * stats.t.sf(abs(difference) / error, df))
    return Published(len(values), difference, difference - half, difference + half, p)
