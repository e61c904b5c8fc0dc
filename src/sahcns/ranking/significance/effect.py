"""How large a difference is, measured in its own spread: Cohen's d_z, and what is known about it."""

import math

from sahcns.ranking.significance.noncentral_t import noncentral_t_cdf


def effect_interval(effect: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """The confidence interval of d_z = mean(d) / std(d) over n pairs, from the noncentral t distribution.

    √n·d_z is a noncentral t with n − 1 degrees of freedom and noncentrality √n·δ; the interval holds each δ under which
    what was seen is not among the outer `1 − level` of outcomes.
    """
    if n < 2 or not math.isfinite(effect):
        return math.nan, math.nan
    root, tail = math.sqrt(n), (1 - level) / 2
    return _noncentrality(root * effect, n - 1, 1 - tail) / root, _noncentrality(root * effect, n - 1, tail) / root


def _noncentrality(t: float, df: int, p: float) -> float:
    """The noncentrality under which a noncentral t stays below `t` with probability p; it falls as p rises."""
    from scipy import optimize, special

    if t < 0:
        return -_noncentrality(-t, df, 1 - p)
    # With T = (Z + nc) / S and t >= 0, P(T <= t) is at least P(Z <= -nc), and at most P(S > s) + P(Z <= t·s - nc) for
    # any s, here the one that gives each term half of p.
    s = math.sqrt(special.chdtri(df, p / 2) / df)
    low, high = -special.ndtri(p) - 0.1, t * s - special.ndtri(p / 2) + 0.1
    return float(optimize.brentq(lambda nc: noncentral_t_cdf(t, df, nc) - p, low, high, xtol=1e-9))
