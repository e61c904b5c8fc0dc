"""The paired bootstrap over users: how far would the difference move on another draw of users?"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sahcns.counter import bits, stream_key
from sahcns.errors import SettingError
from sahcns.ranking.significance.signed_rank import Values, differences

CHUNK = 1 << 22  # draws held at once: 32 MiB


@dataclass(frozen=True)
class Bootstrap:
    """The mean difference over users, its percentile interval and two-sided p; `why` says in words what is missing."""

    users: int
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    why: str = ""


def bootstrap_users(
    first: Values, second: Values, *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Bootstrap:
    """Draw the users anew, with replacement, and average first − second over each draw.

    first, second [U]: one value a user, in the same order of users. With m the mean and m* that of a draw, the interval
    is m*'s percentiles and p = (1 + #{|m* − m| ≥ |m|}) / (1 + resamples), so it is never below 1 / (1 + resamples).
    The draws are a function of `seed` alone, the same on every machine and for every pair of methods.
    """
    return bootstrap_columns(differences(first, second)[:, None], resamples=resamples, seed=seed, level=level)[0]


def bootstrap_columns(
    d: npt.NDArray[np.float64], *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> list[Bootstrap]:
    """`bootstrap_users` for C comparisons over the same users at once, which costs little more than one; d [U, C]."""
    if resamples < 100:
        raise SettingError(f"resamples={resamples} is not allowed; it must be 100 or more")
    if not 0 < level < 1:
        raise SettingError(f"level={level} is not allowed; it must lie between 0 and 1")
    users = len(d)
    if users == 0:
        return [Bootstrap(0, why="no users") for _ in range(d.shape[1])]
    if users == 1:
        return [Bootstrap(1, float(value), why="one user: every draw is the same") for value in d[0]]
    missing = (~np.isfinite(d)).sum(0)
    means = _resampled(np.where(missing == 0, d, 0.0), resamples, seed)
    found = []
    for values, drawn, gone in zip(d.T, means.T, missing, strict=True):
        if gone:
            found.append(Bootstrap(users, why=f"{gone} of {users} users have no number"))
            continue
        mean = float(values.mean())
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        # A draw as far away as the sample itself must count, whatever order its users are added in.
        beyond = int((np.abs(drawn - mean) >= abs(mean) - 1e-12 * np.abs(values).max()).sum())
        found.append(Bootstrap(users, mean, float(low), float(high), (1 + beyond) / (1 + resamples)))
    return found


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
