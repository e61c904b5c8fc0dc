"""The filters: calendar window, repeated pairs and the k-core. Hand-written for memory: columns stay int32."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sahcns.data.recipe import Duplicates

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
CHUNK = 1 << 20  # rows a pass works on at a time, so that temporaries stay small beside the columns


@dataclass(frozen=True, eq=False)
class Rows:
    """Interactions on their way through the steps, all columns [E].

    when   place of the row in (time, file) order; only carried when the split asks for time
    """

    users: Int32
    items: Int32
    when: Int32 | None = None

    def __len__(self) -> int:
        return len(self.users)

    def keep(self, mask: Mask) -> "Rows":
        """The rows where `mask` holds, in the same order."""
        if mask.all():
            return self
        return Rows(self.users[mask], self.items[mask], None if self.when is None else self.when[mask])


def concatenate(several: Sequence[Rows]) -> Rows | None:
    """The users and items of all, one after the other; None if there are none."""
    if not any(map(len, several)):
        return None
    return Rows(np.concatenate([rows.users for rows in several]), np.concatenate([rows.items for rows in several]))


def chunks(count: int) -> Iterator[slice]:
    """`0 … count` in slices of at most CHUNK."""
    return (slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK))


def degrees(column: Int32, size: int) -> Int64:
    """How many rows each of `size` users (or items) has, [size]."""
    total = np.zeros(size, np.int64)
    for part in chunks(len(column)):
        total += np.bincount(column[part], minlength=size)
    return total


def within_years(times: Int64, years: tuple[int, int]) -> Mask:
    """Rows of the calendar years `years`, both included, UTC."""
    first, last = years
    start, end = np.array([f"{first:04d}-01-01", f"{last + 1:04d}-01-01"], "datetime64[s]").astype(np.int64).tolist()
    within: Mask = (times >= start) & (times < end)
    return within


def time_order(times: npt.NDArray[np.integer], nanoseconds: Int32 | None = None) -> Int32:
    """Place [E] of each row when all are sorted by time, rows of one moment in file order.

    nanoseconds   how far each row is past its second, where any is
    """
    rows = np.arange(len(times), dtype=np.int32)
    within = rows if nanoseconds is None else time_order(nanoseconds)  # the order of rows of one second
    place = np.empty(len(times), np.int32)
    row_bits, start = len(times).bit_length(), int(times.min(initial=0))
    if (int(times.max(initial=0)) - start).bit_length() + row_bits > 64:
        place[np.lexsort((within, times))] = rows
        return place
    keys = (times - start).astype(np.uint64)  # second and `within` in one number: sorting those is ten times as fast
    keys <<= np.uint64(row_bits)
    keys |= within.astype(np.uint64)
    keys.sort()
    keys &= np.uint64((1 << row_bits) - 1)
    place[keys] = rows
    return place if nanoseconds is None else place[within]


def sort_pairs(rows: Rows) -> Rows:
    """The rows by user, then item, then `when`: an order that does not depend on the file's.

    One sort of packed 64-bit keys; user, item and `when` are read back from the sorted keys, so nothing is gathered.
    """
    item_bits, when_bits = _bits(rows.items), 0 if rows.when is None else _bits(rows.when)
    if _bits(rows.users) + item_bits + when_bits > 64:
        order = np.lexsort((rows.items, rows.users) if rows.when is None else (rows.when, rows.items, rows.users))
        return Rows(rows.users[order], rows.items[order], None if rows.when is None else rows.when[order])
    keys = np.empty(len(rows), np.uint64)
    for part in chunks(len(rows)):
        key = rows.users[part].astype(np.uint64) << np.uint64(item_bits) | rows.items[part].astype(np.uint64)
        keys[part] = key if rows.when is None else key << np.uint64(when_bits) | rows.when[part].astype(np.uint64)
    keys.sort()
    users, items = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    when = None if rows.when is None else np.empty(len(rows), np.int32)
    for part in chunks(len(rows)):
        key = keys[part]
        if when is not None:
            when[part] = key & np.uint64((1 << when_bits) - 1)
            key = key >> np.uint64(when_bits)
        items[part] = key & np.uint64((1 << item_bits) - 1)
        users[part] = key >> np.uint64(item_bits)
    return Rows(users, items, when)


def _bits(column: Int32) -> int:
    return int(column.max(initial=0)).bit_length()


def pair_starts(rows: Rows) -> Mask:
    """Where a new (user, item) begins in rows that `sort_pairs` sorted."""
    starts = np.ones(len(rows), np.bool_)
    np.not_equal(rows.users[1:], rows.users[:-1], out=starts[1:])
    starts[1:] |= rows.items[1:] != rows.items[:-1]
    return starts


def distinct(rows: Rows, keep: Duplicates) -> Mask:
    """The one row of each pair that stays: its first or last in time; all of them for "none". Rows are sorted."""
    if keep == "none":
        return np.ones(len(rows), np.bool_)
    starts = pair_starts(rows)
    return starts if keep == "first" else np.append(starts[1:], np.True_)


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
        low_users, low_items = _subtract(user_degrees, users[gone], k), _subtract(item_degrees, items[gone], k)
    return stays, int(np.count_nonzero(user_degrees)), int(np.count_nonzero(item_degrees))


def _subtract(degree: Int64, lost: Int32, k: int) -> npt.NDArray[np.integer]:
    """Take the lost rows, once for each, from `degree`; who has fallen below k, but not to none."""
    whose, rows = np.unique(lost, return_counts=True)
    degree[whose] -= rows
    return whose[(degree[whose] < k) & (degree[whose] > 0)]


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
