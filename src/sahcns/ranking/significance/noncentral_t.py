"""The noncentral t distribution, which effect sizes and power rest on.

scipy's own gives NaN where a probability is near 0 or 1 and takes minutes at a noncentrality of 10^4, so it is not used.
"""

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


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
