"""The filters: calendar window, repeated pairs and the k-core. Hand-written for memory: columns stay int32."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.data.recipe import Duplicates, Weight

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
CHUNK = 1 << 20  # rows a pass works on at a time, so that temporaries stay small beside the columns


@dataclass(frozen=True, eq=False)
class Rows:
    """Interactions on their way through the steps, all columns [E].

    when      place of the row in (time, file) order; only carried when the split asks for time
    columns   what later steps look at: ratings, times, quantities, the weight of the row's pair, …
    """

    users: Int32
    items: Int32
    when: Int32 | None = None
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.users)

    def keep(self, mask: Mask | Int64) -> "Rows":
        """The rows where `mask` holds, in the same order; or those of some numbers."""
        if mask.dtype == np.bool_ and mask.all():
            return self
        columns = {name: column[mask] for name, column in self.columns.items()}
        return Rows(self.users[mask], self.items[mask], None if self.when is None else self.when[mask], columns)

    def bare(self) -> "Rows":
        """Users and items alone."""
        return Rows(self.users, self.items)

    def drop(self, *names: str) -> "Rows":
        """Without these columns, whose memory is free then."""
        return replace(self, columns={name: column for name, column in self.columns.items() if name not in names})

    def starts(self) -> Mask:
        """Where a new (user, item) begins in rows that `sort_pairs` sorted [E]."""
        starts = np.ones(len(self), np.bool_)
        np.not_equal(self.users[1:], self.users[:-1], out=starts[1:])
        starts[1:] |= self.items[1:] != self.items[:-1]
        return starts


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
    start, end = np.array([f"{years[0]:04d}-01-01", f"{years[1] + 1:04d}-01-01"], "datetime64[s]").astype(np.int64)
    mask: Mask = (times >= start) & (times < end)
    return mask


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
    if rows.columns or _bits(rows.users) + item_bits + when_bits > 64:
        return rows.keep(np.lexsort((*([] if rows.when is None else [rows.when]), rows.items, rows.users)))
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


def distinct(rows: Rows, keep: Duplicates) -> Mask:
    """The one row of each pair that stays: its first or last in time; all of them for "none". Rows are sorted."""
    if keep == "none":
        return np.ones(len(rows), np.bool_)
    return rows.starts() if keep == "first" else np.append(rows.starts()[1:], np.True_)


def take_back(rows: Rows) -> tuple[Rows, Rows, int]:
    """The purchases that stay, the rows of pairs that were returned as a whole, and how many rows were returns.

    A pair whose quantities, 1 where there is none, add up to 0 or less is no purchase; of another what was returned
    goes from its quantities, so that they still add up to what was kept.
    """
    quantities = np.nan_to_num(rows.columns["quantity"], nan=1.0).astype(np.float64)
    if (quantities > 0).all():
        return rows, rows.keep(np.empty(0, np.int64)), 0
    width = np.int64(1 + int(rows.items.max(initial=0)))
    _, pair = np.unique(rows.users.astype(np.int64) * width + rows.items, return_inverse=True)
    total, bought = np.bincount(pair, quantities), np.bincount(pair, np.maximum(quantities, 0))
    kept = total[pair] > 0
    quantities *= (total / np.where(bought > 0, bought, 1))[pair]
    net = replace(rows, columns={**rows.columns, "quantity": quantities.astype(np.float32)})
    return net.keep(kept & (quantities > 0)), rows.keep(~kept), int(np.count_nonzero(rows.columns["quantity"] < 0))


def weigh(rows: Rows, weight: Weight | None, dated: bool = False) -> Rows:
    """Rows, sorted, with the column `weight` [E]: that of their pair; and `last` [E], its latest time, where `dated`.

    log(1 + amount), where the amount is the sum of a pair's quantities, of what was paid for them, or its number of rows;
    its mean rating as it is; or 1.
    """
    starts = rows.starts()
    first, pair = np.flatnonzero(starts), np.cumsum(starts) - 1
    weights: npt.NDArray[Any] = np.ones(len(first))
    if weight == "rating":
        weights = np.bincount(pair, rows.columns["rating"]) / np.bincount(pair)
    elif weight is not None:
        quantity = np.nan_to_num(rows.columns.get("quantity", np.ones(1)), nan=1.0).astype(np.float64)
        amount = np.ones(len(rows)) if weight == "rows" else quantity
        total = np.bincount(pair, amount * rows.columns["price"] if weight == "price" else amount)
        weights = np.log1p(np.maximum(total, 0))
    columns = {name: rows.columns[name] for name in ("time", "past", "row") if name in rows.columns}
    columns = {**(columns if "row" in columns else {}), "weight": weights[pair]}
    if dated:
        columns["last"] = np.maximum.reduceat(rows.columns["time"], first)[pair]
    return replace(rows, columns=columns)


def decay(weights: npt.NDArray[Any], last: Int64, half_life: float) -> npt.NDArray[Any]:
    """Weights [E] times ½ for each `half_life` days by which the latest time of a pair, `last`, is before that of all."""
    age = (last.max() - last) / (86_400 * half_life)
    return np.asarray(weights * np.exp2(-age))


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
