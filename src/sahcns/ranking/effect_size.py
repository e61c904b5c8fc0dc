"""How large a difference is in its own spread (Cohen's d_z), and how many seeds it takes to see one of that size.

The noncentral t distribution behind both is our own: scipy's gives NaN where a probability is near 0 or 1, and takes
minutes at a noncentrality of 10^4.
"""

import math

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


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


def power(effect: float, n: int, alpha: float = 0.05) -> float:
    """The chance that a two-sided paired t-test over n seeds finds a difference of d_z = `effect` at level alpha."""
    from scipy import special

    df, shift = n - 1, abs(effect) * math.sqrt(n)
    bound = float(special.stdtrit(df, 1 - alpha / 2))
    return min(1.0, 1.0 - noncentral_t_cdf(bound, df, shift) + noncentral_t_cdf(-bound, df, shift))


def seeds_needed(effect: float, target: float = 0.8, alpha: float = 0.05, most: int = 100_000) -> int | None:
    """The fewest seeds with which a paired t-test finds an effect of this size with probability `target`.

    None where it would take more than `most`, and so for an effect of zero.
    """
    from scipy import special

    if not math.isfinite(effect) or effect == 0:
        return None
    # The normal approximation is a few seeds short of the answer, so the walk from there is a few steps.
    about = ((special.ndtri(1 - alpha / 2) + special.ndtri(target)) / effect) ** 2
    if about > most:
        return None
    n = max(2, int(about))
    while n > 2 and power(effect, n - 1, alpha) >= target:
        n -= 1
    while power(effect, n, alpha) < target:
        n += 1
    return n if n <= most else None


def noncentral_t_cdf(t: float, df: float, nc: float) -> float:
    """P(T ≤ t) for T = (Z + nc) / S, with Z standard normal and df·S² a chi-square of `df` degrees of freedom.

    P = ∫ Φ(t·s − nc) f(s) ds over the density f of S, by Gauss and Legendre between points that enclose the places where
    either factor bends.
    """
    from scipy import special

    if t < 0:
        return 1.0 - noncentral_t_cdf(-t, df, -nc)
    shares = np.array([1e-16, 1e-9, 1e-4, 0.05, 0.5])
    ends = np.sqrt(np.concatenate([special.gammaincinv(df / 2, shares), special.gammainccinv(df / 2, shares)]) * 2 / df)
    if t > 0:
        bends = (nc + np.array([-8.0, -3.0, 0.0, 3.0, 8.0])) / t
        ends = np.concatenate([ends, bends.clip(ends.min(), ends.max())])
    ends = np.unique(ends)
    half = np.diff(ends)[:, None] / 2  # [pieces, 1]
    s = (ends[:-1, None] + half) + half * NODES  # [pieces, 40]
    v = df * s * s / 2
    density = 2 * v / s * np.exp((df / 2 - 1) * np.log(v) - v - special.gammaln(df / 2))
    # Over pieces without a bend the sum is exact to rounding; what little lies outside of all of them is not asked for.
    return float(np.clip((half * WEIGHTS * special.ndtr(t * s - nc) * density).sum(), 0.0, 1.0))
