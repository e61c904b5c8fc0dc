"""All batches of all files, checked and put together as one `Interactions`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sahcns.data.ids import IdMap
from sahcns.data.interactions import Events, Interactions, fold_case
from sahcns.data.readers.checks import Batch, Faults, Mask, RowChecks
from sahcns.data.readers.id_column import GrowingArray, IdColumn
from sahcns.data.readers.times import TimeParser, Zones
from sahcns.errors import DataError

if TYPE_CHECKING:
    import polars as pl

MOST_KINDS = 256  # kinds of events of a column that nobody asked for; one of more is dropped
GLANCE = 1 << 17  # rows of a file that tell which kinds there are, where none is to be chosen


@dataclass
class EventColumn:
    """Kinds of events as codes, one byte a row as long as there are few; a row without a kind is of kind ''.

    asked_for   whether the caller named the column, and so wants it whatever it holds
    glance      take the first rows of each file only
    """

    asked_for: bool = False
    glance: bool = False
    rows_left: int = field(default_factory=lambda: GLANCE)  # of the file at hand, to be glanced at
    codes: GrowingArray | None = field(default_factory=lambda: GrowingArray(np.uint8))  # None if a row has none
    kinds: dict[str, int] = field(default_factory=dict)  # a kind without case and blanks → its number
    texts: dict[str, int] = field(default_factory=dict)  # a text as it stands → number of its kind

    @property
    def rows(self) -> int | None:
        """How many rows of the column of a file are wanted; None for all."""
        return self.rows_left if self.glance else None

    def next_file(self) -> None:
        self.rows_left = GLANCE

    def add(self, events: "pl.Series | None", keep: Mask | None) -> None:
        """The texts [≤ n] of a batch, None if its file has no such column; `keep` [n] says which rows stay."""
        import polars as pl

        if self.codes is None or events is None:
            self.codes = None
            return
        texts = events.head(self.rows_left) if self.glance else events
        self.rows_left -= len(texts)
        if keep is not None:
            texts = texts.filter(pl.Series(keep[: len(texts)]))
        texts = texts.fill_null("")
        codes = texts.cast(pl.Enum([*self.texts]), strict=False).to_physical()
        if codes.null_count():  # texts that are new
            for text in texts.filter(codes.is_null()).unique(maintain_order=True):
                self.texts[text] = self.kinds.setdefault(fold_case(text), len(self.kinds))
                if len(self.kinds) > MOST_KINDS and not self.asked_for:
                    self.codes = None
                    return
            codes = texts.cast(pl.Enum([*self.texts])).to_physical()
            if (wide := np.min_scalar_type(len(self.texts) - 1)) != self.codes.dtype:
                self.codes.widen(wide)
        self.codes.append(codes.to_numpy())

    def finish(self) -> Events | None:
        """The kinds, each as it is written most often."""
        if self.codes is None:
            return None
        codes = self.codes.take()
        if len(self.texts) == len(self.kinds):  # each is written in one way
            return Events(codes, tuple(text.strip() for text in self.texts))
        rows = np.bincount(codes, minlength=len(self.texts)).tolist()
        names: dict[int, str] = {}
        for _, (text, kind) in sorted(zip(rows, self.texts.items(), strict=True), key=lambda entry: -entry[0]):
            names.setdefault(kind, text.strip())
        kinds = np.fromiter(self.texts.values(), codes.dtype)
        return Events(kinds[codes], tuple(names[kind] for kind in range(len(names))))


@dataclass
class Collector:
    """The columns collected so far; `items_offset` is subtracted from every item id, "auto" finds it."""

    faults: Faults
    times: TimeParser
    items_offset: int | str = 0
    events: EventColumn = field(default_factory=EventColumn)
    users: IdColumn = field(default_factory=lambda: IdColumn("user"))
    items: IdColumn = field(default_factory=lambda: IdColumn("item"))
    ratings: GrowingArray | None = None
    seconds: GrowingArray | None = None
    past: GrowingArray | None = None  # nanoseconds past the second, from the first row on, once one has some
    zones: Zones = field(default_factory=Zones)
    started: bool = False

    def __len__(self) -> int:
        return self.users.values.size

    def add(self, batch: Batch) -> None:
        """Check every value, refuse the faulty rows, keep the rest."""
        self._check_same_columns(batch)
        self.faults.rows_read += len(batch)
        checks = RowChecks(batch, self.faults)
        users = checks.ids("user")
        items = checks.ids("item", self.items_offset if isinstance(self.items_offset, int) else 0)
        ratings = checks.ratings() if self.ratings is not None else None
        seconds = checks.times(self.times) if self.seconds is not None else None
        if seconds is not None and self.times.zoned is not None:
            self.zones.count(self.times.zoned, checks.good, batch)
        keep = None if checks.good.all() else checks.good
        _add_ids(self.users, users, batch, keep)
        _add_ids(self.items, items, batch, keep)
        for column, values in ((self.ratings, ratings), (self.seconds, seconds)):
            if column is not None and values is not None:
                column.append(values if keep is None else values[keep])
        if seconds is not None:
            self._add_past(self.times.past, keep)
        self.events.add(batch.columns.get("event"), keep)

    def _add_past(self, past: npt.NDArray[np.int32] | None, keep: Mask | None) -> None:
        """After the ids were added."""
        if past is not None and keep is not None:
            past = past[keep]
        if self.past is None and past is not None and past.any():
            self.past = GrowingArray(np.int32, np.zeros(len(self) - len(past), np.int32))
        if self.past is not None:
            self.past.append(np.zeros(len(self) - self.past.size, np.int32) if past is None else past)

    def _check_same_columns(self, batch: Batch) -> None:
        if not self.started:
            self.ratings = GrowingArray(np.float32) if "rating" in batch.columns else None
            self.seconds = GrowingArray(np.int64) if "time" in batch.columns else None
            self.started = True
        for role, column in (("rating", self.ratings), ("time", self.seconds)):
            if (role in batch.columns) != (column is not None):
                has, others = ("no", "have one") if column is not None else ("a", "have none")
                raise DataError(
                    f"{batch.source.name} has {has} {role} column while the files before it {others}; "
                    f"read files of one kind together, or leave the column out with {role}=0"
                )

    def finish(self, source: dict[str, Any]) -> Interactions:
        """Dense positions, sorted id maps, and the record of what was read and skipped."""
        dropped = self.users.drop_doubtful(self.faults, np.zeros(len(self), np.bool_))
        dropped = self.items.drop_doubtful(self.faults, dropped)
        if dropped.any():
            self._drop(dropped, source["files"])
        if not len(self):
            raise DataError(_nothing_left(source, self.faults))
        warnings: dict[str, Any] = {}
        for column in (self.users, self.items):
            for kind, found in column.warnings().items():
                warnings.setdefault(kind, {})[column.role] = found
        if zones := self.zones.mixed():
            warnings["zones"] = zones
        users, user_ids = self.users.finish()
        items, item_ids = self.items.finish()
        offset = self._find_offset(user_ids, item_ids)
        if offset:
            if not isinstance(item_ids.values, np.ndarray):
                raise DataError(f"items_offset={offset} needs whole-number item ids; item {item_ids[0]!r} is text")
            item_ids = IdMap(item_ids.values - offset)
        source |= {
            "time_unit": self.times.name() if self.seconds is not None else None,
            "items_offset": offset,
            "rows_read": self.faults.rows_read,
            "rows_skipped": self.faults.rows_skipped,
            "skipped": self.faults.skipped,
            **warnings,
        }
        ratings, times, past = (
            None if column is None else column.take() for column in (self.ratings, self.seconds, self.past)
        )
        if times is not None:
            ends = {"first": int(times.argmin()), "last": int(times.argmax())}
            source["times"] = {name: _describe_time(times, row, source["files"]) for name, row in ends.items()}
        events = self.events.finish()
        if events is not None and len(events.codes) < len(users):
            source["glance"] = {"rows": len(events.codes), "kinds": events.counts()}
            events = None
        return Interactions(users, items, user_ids, item_ids, ratings, times, None, source, events, past)

    def _drop(self, dropped: Mask, files: list[dict[str, Any]]) -> None:
        start = 0
        for entry in files:
            end = start + entry["rows"]
            entry["rows"] -= int(dropped[start:end].sum())
            start = end
        for column in (self.users.values, self.items.values, self.ratings, self.seconds, self.past, self.events.codes):
            if column is not None and column.size == len(dropped):  # events may be those of the first rows only
                column.append(column.take()[~dropped])

    def _find_offset(self, user_ids: IdMap, item_ids: IdMap) -> int:
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


def _add_ids(column: IdColumn, ids: "pl.Series", batch: Batch, keep: Mask | None) -> None:
    import polars as pl

    if keep is not None:
        ids = ids.filter(pl.Series(keep))
    if not len(ids):
        return
    if ids.dtype != pl.String:
        column.add_ints(ids.to_numpy())
    elif batch.tokens:
        column.add_tokens(ids, batch.source, batch.lines if keep is None else np.asarray(batch.lines)[keep])
    else:
        column.typed = True
        column.add_texts(ids)


def _describe_time(times: npt.NDArray[np.int64], row: int, files: list[dict[str, Any]]) -> dict[str, str]:
    """The time of a row, and the file where it stands."""
    ends = np.cumsum([entry["rows"] for entry in files])
    file = {"file": files[int(np.searchsorted(ends, row, side="right"))]["path"]} if files else {}
    return {"time": f"{times[row].astype('datetime64[s]')}Z", **file}


def _nothing_left(source: dict[str, Any], faults: Faults) -> str:
    names = ", ".join(str(entry["path"]) for entry in source.get("files", [])) or "the frame"
    if faults.rows_read:
        return f"{names}: none of the {faults.rows_read:,} rows can be used: {faults.summary()}"
    return f"{names} holds no rows; check the download or the command that wrote it"
