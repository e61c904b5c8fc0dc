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
            return _random(len(rows), recipe)
        case "random-user":
            order = _user_order(rows.users, np.argsort(np.argsort(_draws(len(rows), recipe.seed))))
            return _within_users(rows.users, order, recipe.ratios)
        case "time":
            order = np.argsort(_when(rows))
            valid, test = part_sizes(np.array([len(rows)]), recipe.ratios)
            return _by_rank(order, int(valid[0]), int(test[0]))
        case "time-user":
            return _within_users(rows.users, _user_order(rows.users, _when(rows)), recipe.ratios)
        case "leave-last-out":
            return _leave_last_out(rows.users, _user_order(rows.users, _when(rows)))
        case "given":
            raise ValueError("given parts are not assigned")


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


def _random(count: int, recipe: Recipe) -> Labels:
    """Rows ranked by their draws: the lowest train, the next validate, the highest test."""
    valid, test = (int(size[0]) for size in part_sizes(np.array([count]), recipe.ratios))
    drawn = _draws(count, recipe.seed)
    cuts = [count - valid - test, count - test]  # ranks at which validation and test begin
    inside = [cut for cut in cuts if cut < count]
    ranked = np.partition(drawn, inside) if inside else drawn
    labels = np.zeros(count, np.uint8)
    for cut in inside:
        labels += drawn >= ranked[cut]
    return labels


def _by_rank(order: Int64, valid: int, test: int) -> Labels:
    """The last `test` rows of `order` test, the `valid` before them validate."""
    labels = np.zeros(len(order), np.uint8)
    labels[order[len(order) - test - valid :]] = VALID
    labels[order[len(order) - test :]] = TEST
    return labels


def _within_users(users: Int32, order: Int64, ratios: tuple[float, float, float]) -> Labels:
    """`ratios` within each user; `order` runs through the rows user by user, training first."""
    counts, from_end = _places(users, order)
    valid, test = part_sizes(counts, ratios)
    labels = np.zeros(len(users), np.uint8)
    labels[order] = np.where(from_end < test, TEST, np.where(from_end < test + valid, VALID, TRAIN))
    return labels


def _leave_last_out(users: Int32, order: Int64) -> Labels:
    """A user's last row tests, the one before validates; users with fewer than three rows only train."""
    counts, from_end = _places(users, order)
    labels = np.zeros(len(users), np.uint8)
    labels[order] = np.where(counts < 3, TRAIN, np.where(from_end == 0, TEST, np.where(from_end == 1, VALID, TRAIN)))
    return labels


def _user_order(users: Int32, places: npt.NDArray[np.integer]) -> Int64:
    """The rows user by user, each user's by ascending place. No two rows share a place, so the place finds its row."""
    row_at = np.empty(int(places.max(initial=-1)) + 1, np.int32)
    row_at[places] = np.arange(len(places), dtype=np.int32)
    keys = users.astype(np.uint64) << np.uint64(32) | places.astype(np.uint64)
    keys.sort()
    return np.asarray(row_at[keys & np.uint64(0xFFFFFFFF)], np.int64)


def _places(users: Int32, order: Int64) -> tuple[Int64, Int64]:
    """For each row of `order`: how many rows its user has, and how many of them come after it."""
    _, counts = np.unique(users[order], return_counts=True)
    ends = np.cumsum(counts)
    return np.repeat(counts, counts), np.repeat(ends, counts) - np.arange(len(users)) - 1


def _when(rows: Rows) -> Int32:
    if rows.when is None:
        raise ValueError("a split by time needs rows that carry `when`")
    return rows.when
