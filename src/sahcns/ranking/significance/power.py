"""How many seeds it takes to see a difference of a given size."""

import math

from sahcns.errors import SettingError
from sahcns.ranking.significance.noncentral_t import noncentral_t_cdf


def power(effect: float, n: int, alpha: float = 0.05) -> float:
    """The chance that a two-sided paired t-test over n seeds finds a difference of d_z = `effect` at level alpha."""
    from scipy import special

    if n < 2:
        raise SettingError(f"n={n} must be 2 or more: a paired test needs two pairs")
    df, shift = n - 1, abs(effect) * math.sqrt(n)
    bound = float(special.stdtrit(df, 1 - alpha / 2))
    return min(1.0, 1.0 - noncentral_t_cdf(bound, df, shift) + noncentral_t_cdf(-bound, df, shift))


def seeds_needed(effect: float, target: float = 0.8, alpha: float = 0.05, most: int = 100_000) -> int | None:
    """The fewest seeds with which a paired t-test finds an effect of this size with probability `target`.

    None where it would take more than `most`, and so for an effect of zero.
    """
    from scipy import special

    for name, value in (("target", target), ("alpha", alpha)):
        if not 0 < value < 1:
            raise SettingError(f"{name}={value} is not allowed; it must lie between 0 and 1")
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
