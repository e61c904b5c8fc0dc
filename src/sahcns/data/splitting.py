"""Which rows train, which validate, which test: exact counts, and the same answer on every machine."""

from fractions import Fraction
from math import floor

import numpy as np
import numpy.typing as npt

from sahcns.counter import bits, stream_key
from sahcns.data.filters import Int32, Rows, chunks
from sahcns.data.recipe import Recipe

Int64 = npt.NDArray[np.int64]
Labels = npt.NDArray[np.uint8]

TRAIN, VALID, TEST = 0, 1, 2  # positions in `split.PARTS`; the smaller wins where a repeated pair has several


def assign(rows: Rows, recipe: Recipe) -> Labels:
    """Part [E] of each row: TRAIN, VALID or TEST. Rows are sorted by (user, item), and carry `when` for time splits."""
    match recipe.split:
        case "random":
            return _by_rank(_draws(len(rows), recipe.seed), recipe.ratios)
        case "random-user":
            place = np.empty(len(rows), np.int32)
            place[np.argsort(_draws(len(rows), recipe.seed))] = np.arange(len(rows), dtype=np.int32)
            return _within_users(rows.users, place, part_sizes(_counts(rows.users), recipe.ratios))
        case "given":
            raise ValueError("given parts are not assigned")
    assert rows.when is not None
    match recipe.split:
        case "time":
            return _by_rank(rows.when, recipe.ratios)
        case "time-user":
            return _within_users(rows.users, rows.when, part_sizes(_counts(rows.users), recipe.ratios))
        case "leave-last-out":
            held_out = (_counts(rows.users) >= 3).astype(np.int64)
            return _within_users(rows.users, rows.when, (held_out, held_out))


def part_sizes(counts: Int64, ratios: tuple[float, float, float]) -> tuple[Int64, Int64]:
    """Rows for validation and for test out of each of `counts`: its share, halves rounded up; training gets the rest.

    Validation and test are rounded alike, so equal shares give equal counts, and training keeps at least one row.
    The arithmetic is on whole numbers: 0.1 means one tenth, not the nearest binary fraction.
    """
    shares = [Fraction(str(ratio)) for ratio in ratios]
    kinds, kind_of = np.unique(counts, return_inverse=True)
    sizes = np.array([_sizes(int(count), shares) for count in kinds], np.int64).reshape(-1, 2)
    return sizes[kind_of, 0], sizes[kind_of, 1]


def _sizes(count: int, shares: list[Fraction]) -> tuple[int, int]:
    whole, room = sum(shares), max(count - 1, 0)
    valid = min(floor(count * shares[1] / whole + Fraction(1, 2)), room)
    return valid, min(floor(count * shares[2] / whole + Fraction(1, 2)), room - valid)


def _draws(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """One number a row. Numbers of one stream never repeat, so ranking them is `counter.permutation` without ties."""
    key = stream_key(seed, "split")
    drawn = np.empty(count, np.uint64)
    for part in chunks(count):
        drawn[part] = bits(key, part.stop - part.start, part.start)
    return drawn


def _by_rank(values: npt.NDArray[np.integer], ratios: tuple[float, float, float]) -> Labels:
    """The rows of the lowest values train, the next validate, the highest test; no value comes twice."""
    count = len(values)
    valid, test = (int(size[0]) for size in part_sizes(np.array([count]), ratios))
    begins = [rank for rank in (count - valid - test, count - test) if rank < count]  # of validation, of test
    ranked = np.partition(values, begins) if begins else values
    labels = np.zeros(count, np.uint8)
    for rank in begins:
        labels += values >= ranked[rank]
    return labels


def _within_users(users: Int32, place: Int32, sizes: tuple[Int64, Int64]) -> Labels:
    """Of each user's rows the last `sizes[1]` test, the `sizes[0]` before them validate; no two rows share a place."""
    row_at = np.empty(int(place.max(initial=-1)) + 1, np.int32)
    row_at[place] = np.arange(len(place), dtype=np.int32)
    keys = users.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= place.astype(np.uint64)
    keys.sort()  # user by user, each user's rows by place
    keys &= np.uint64(0xFFFFFFFF)
    counts, (valid, test) = _counts(users), sizes
    labels = np.empty(len(users), np.uint8)
    labels[row_at[keys]] = np.repeat(
        np.tile(np.array([TRAIN, VALID, TEST], np.uint8), len(counts)),
        np.stack([counts - valid - test, valid, test], axis=1).ravel(),
    )
    return labels


def _counts(users: Int32) -> Int64:
    """How many rows each user has, in the order of the (sorted) users."""
    starts = np.flatnonzero(np.append(np.True_, users[1:] != users[:-1])) if len(users) else np.empty(0, np.int64)
    return np.diff(starts, append=len(users))
