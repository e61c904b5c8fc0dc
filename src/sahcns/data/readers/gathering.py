"""All batches of all files, put together as one `Interactions`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sahcns.data.ids import IdMap
from sahcns.data.interactions import Interactions
from sahcns.data.readers.clock import Clock
from sahcns.data.readers.collecting import Growing, IdColumn
from sahcns.data.readers.faults import Faults
from sahcns.data.readers.kinds import Kinds
from sahcns.data.readers.values import Batch, Mask, Sieve
from sahcns.data.readers.zones import Zones
from sahcns.errors import DataError

if TYPE_CHECKING:
    import polars as pl


@dataclass
class Gathered:
    """What the batches have given so far; `items_offset` is subtracted from every item id, "auto" finds it."""

    faults: Faults
    clock: Clock
    items_offset: int | str = 0
    users: IdColumn = field(default_factory=lambda: IdColumn("user"))
    items: IdColumn = field(default_factory=lambda: IdColumn("item"))
    ratings: Growing | None = None
    times: Growing | None = None
    past: Growing | None = None  # nanoseconds past the second, from the first row on, once one has some
    kinds: Kinds = field(default_factory=Kinds)
    zones: Zones = field(default_factory=Zones)
    begun: bool = False

    def __len__(self) -> int:
        return self.users.values.size

    def add(self, batch: Batch) -> None:
        """Check every value, refuse the faulty rows, keep the rest."""
        self._same_columns(batch)
        self.faults.rows_read += len(batch.users)
        sieve = Sieve(batch, self.faults)
        users = sieve.ids(batch.users, "user", 0)
        items = sieve.ids(batch.items, "item", self.items_offset if isinstance(self.items_offset, int) else 0)
        ratings = sieve.ratings(batch.ratings) if batch.ratings is not None else None
        times = sieve.times(batch.times, self.clock) if batch.times is not None else None
        if batch.times is not None and self.clock.zoned is not None:
            self.zones.note(self.clock.zoned, sieve.good, batch.times, batch.lines, batch.where)
        keep = None if sieve.good.all() else sieve.good
        _add_ids(self.users, users, batch, keep)
        _add_ids(self.items, items, batch, keep)
        for column, values in ((self.ratings, ratings), (self.times, times)):
            if column is not None and values is not None:
                column.append(values if keep is None else values[keep])
        if batch.times is not None:
            self._add_past(self.clock.past, keep)
        self.kinds.add(batch.events, keep)

    def _add_past(self, past: npt.NDArray[np.int32] | None, keep: Mask | None) -> None:
        """After the times were added."""
        if past is not None and keep is not None:
            past = past[keep]
        if self.past is None and past is not None and past.any():
            self.past = Growing(np.int32, np.zeros(len(self) - len(past), np.int32))
        if self.past is not None:
            self.past.append(np.zeros(len(self) - self.past.size, np.int32) if past is None else past)

    def _same_columns(self, batch: Batch) -> None:
        if not self.begun:
            self.ratings = Growing(np.float32) if batch.ratings is not None else None
            self.times = Growing(np.int64) if batch.times is not None else None
            self.begun = True
        for what, raw, kept in (("rating", batch.ratings, self.ratings), ("time", batch.times, self.times)):
            if (raw is None) != (kept is None):
                has, others = ("no", "have one") if raw is None else ("a", "have none")
                raise DataError(
                    f"{batch.where.name} has {has} {what} column while the files before it {others}; "
                    f"read files of one kind together, or leave the column out with {what}=0"
                )

    def finish(self, source: dict[str, Any]) -> Interactions:
        """Dense positions, sorted id maps, and the record of what was read and skipped."""
        dropped = self.users.drop_odd(self.faults, np.zeros(len(self), np.bool_))
        dropped = self.items.drop_odd(self.faults, dropped)
        if dropped.any():
            start = 0
            for entry in source["files"]:
                start, entry["rows"] = (
                    start + entry["rows"],
                    entry["rows"] - int(dropped[start : start + entry["rows"]].sum()),
                )
            self._keep(~dropped)
        if not len(self):
            raise DataError(_nothing(source, self.faults))
        columns = (self.users, self.items)
        doubts = {
            "doubtful": {column.what: found for column in columns if (found := column.doubtful())},
            "twins": {column.what: found for column in columns if (found := column.twins())},
            "rounded": {column.what: found for column in columns if (found := column.rounded())},
            "zones": self.zones.mixed(),
        }
        users, user_ids = self.users.finish()
        items, item_ids = self.items.finish()
        offset = self._offset(user_ids, item_ids)
        if offset:
            item_ids = IdMap(_numbers(item_ids, offset) - offset)
        source |= {
            "time_unit": self.clock.name() if self.times is not None else None,
            "items_offset": offset,
            "rows_read": self.faults.rows_read,
            "rows_skipped": self.faults.rows_skipped,
            "skipped": self.faults.skipped,
        } | {name: found for name, found in doubts.items() if found}
        ratings = self.ratings.take() if self.ratings is not None else None
        times = self.times.take() if self.times is not None else None
        past = self.past.take() if self.past is not None else None
        if times is not None:
            ends = {"first": int(times.argmin()), "last": int(times.argmax())}
            source["times"] = {name: _when(times, row, source["files"]) for name, row in ends.items()}
        events = self.kinds.finish()
        if events is not None and len(events.codes) < len(users):
            source["glance"] = {"rows": len(events.codes), "kinds": events.counts()}
            events = None
        return Interactions(users, items, user_ids, item_ids, ratings, times, None, source, events, past)

    def _keep(self, rows: Mask) -> None:
        for column in (self.users.values, self.items.values, self.ratings, self.times, self.past, self.kinds.codes):
            if column is not None and column.size == len(rows):  # kinds may be those of the first rows only
                column.append(column.take()[rows])

    def _offset(self, user_ids: IdMap, item_ids: IdMap) -> int:
        """The number to subtract; "auto" takes it where items go on exactly after the last user."""
        if isinstance(self.items_offset, int):
            return self.items_offset
        if isinstance(user_ids.values, np.ndarray) and isinstance(item_ids.values, np.ndarray):
            first_user, last_user, first_item = user_ids.values[0], user_ids.values[-1], item_ids.values[0]
            if first_item == last_user + 1:
                return int(last_user - first_user + 1)
            if first_item > last_user:
                raise DataError(
                    f'items_offset="auto" cannot tell the offset: users end at {last_user} and items begin at '
                    f"{first_item}, with a gap between; give the number of users, or read all files of the set together"
                )
        return 0


def _when(times: npt.NDArray[np.int64], row: int, files: list[dict[str, Any]]) -> dict[str, str]:
    """The time of a row, and the file where it stands."""
    ends = np.cumsum([entry["rows"] for entry in files])
    file = {"file": files[int(np.searchsorted(ends, row, side="right"))]["path"]} if files else {}
    return {"time": f"{times[row].astype('datetime64[s]')}Z", **file}


def _numbers(item_ids: IdMap, offset: int) -> npt.NDArray[np.int64]:
    if not isinstance(item_ids.values, np.ndarray):
        raise DataError(f"items_offset={offset} needs whole-number item ids; item {item_ids[0]!r} is text")
    return item_ids.values


def _add_ids(column: IdColumn, ids: "pl.Series", batch: Batch, keep: Mask | None) -> None:
    import polars as pl

    if keep is not None:
        ids = ids.filter(pl.Series(keep))
    if not len(ids):
        return
    if ids.dtype != pl.String:
        column.add_ints(ids.to_numpy())
    elif batch.tokens:
        column.add_tokens(ids, batch.where, batch.lines if keep is None else np.asarray(batch.lines)[keep])
    else:
        column.typed = True
        column.add_texts(ids)


def _nothing(source: dict[str, Any], faults: Faults) -> str:
    names = ", ".join(str(entry["path"]) for entry in source.get("files", [])) or "the frame"
    if faults.rows_read:
        return f"{names}: none of the {faults.rows_read:,} rows can be used: {faults.summary()}"
    return f"{names} holds no rows; check the download or the command that wrote it"
