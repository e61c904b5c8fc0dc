"""Degrees, and the iterative k-core of the bipartite graph of users and items."""

import numpy as np
import numpy.typing as npt

from sahcns.data.filters import Int32, Mask, chunks

Int64 = npt.NDArray[np.int64]


def degrees(column: Int32, size: int) -> Int64:
    """How many rows each of `size` users (or items) has, [size]."""
    total = np.zeros(size, np.int64)
    for part in chunks(len(column)):
        total += np.bincount(column[part], minlength=size)
    return total


def k_core(users: Int32, items: Int32, k: int, n_users: int, n_items: int) -> tuple[Mask, int, int]:
    """Rows [E] of the k-core, the largest set of rows in which each user and each item has k or more, and how many
    users and items are left.

    Dropping a user takes rows from items, which may then fall below k, and so on; every round drops all that are below.
    The core is unique, so the order of dropping does not matter. Repeated pairs count as often as they occur.

    Rows come sorted by user, so a user's rows are a range; an item's are a range of `by_item`. A round looks only at
    the rows it drops and at whom they belong to: however many rounds there are, each row is looked at twice.
    """
    stays = np.ones(len(users), np.bool_)
    user_degrees, item_degrees = degrees(users, n_users), degrees(items, n_items)
    user_ends, item_ends = np.cumsum(user_degrees), np.cumsum(item_degrees)
    user_sizes, item_sizes = user_degrees.copy(), item_degrees.copy()
    by_item = _order(items)
    low_users: npt.NDArray[np.integer] = np.flatnonzero((user_degrees < k) & (user_degrees > 0))
    low_items: npt.NDArray[np.integer] = np.flatnonzero((item_degrees < k) & (item_degrees > 0))
    while len(low_users) or len(low_items):
        dropped = []
        for rows in (
            _ranges(user_ends[low_users], user_sizes[low_users]),
            by_item[_ranges(item_ends[low_items], item_sizes[low_items])],
        ):
            dropped.append(rows[stays[rows]])
            stays[dropped[-1]] = False
        gone = np.concatenate(dropped)
        low_users, low_items = _fallen(user_degrees, users[gone], k), _fallen(item_degrees, items[gone], k)
    return stays, int(np.count_nonzero(user_degrees)), int(np.count_nonzero(item_degrees))


def _fallen(left: Int64, lost: Int32, k: int) -> npt.NDArray[np.integer]:
    """Who of those that lost a row, once for each, has fewer than k `left` and not none; `left` is brought up to date."""
    whose, rows = np.unique(lost, return_counts=True)
    left[whose] -= rows
    return whose[(left[whose] < k) & (left[whose] > 0)]


def _order(column: Int32) -> Int32:
    """Row numbers sorted by the column's values."""
    keys = column.astype(np.uint64)
    keys <<= np.uint64(32)
    for part in chunks(len(column)):
        keys[part] |= np.arange(part.start, part.stop, dtype=np.uint64)
    keys.sort()
    order = np.empty(len(column), np.int32)
    for part in chunks(len(column)):
        order[part] = keys[part] & np.uint64(0xFFFFFFFF)
    return order


def _ranges(ends: Int64, sizes: Int64) -> Int64:
    """`ends[0] - sizes[0] … ends[0] - 1`, then the same for the next."""
    return np.repeat(ends - np.cumsum(sizes), sizes) + np.arange(sizes.sum())
