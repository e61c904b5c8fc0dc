"""All batches of all files, checked and put together as one `Interactions`."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sahcns.data.filters import Mask
from sahcns.data.ids import IdMap
from sahcns.data.interactions import NAT, Events, Interactions, fold_case
from sahcns.data.readers.checks import Batch, Entries, Faults, Lines, RowChecks, Source, count, reported
from sahcns.data.readers.id_column import IdColumn
from sahcns.data.readers.times import TimeParser
from sahcns.data.readers.titles import ItemTexts
from sahcns.errors import DataError

Array = npt.NDArray[Any]
MOST_KINDS = 256  # kinds of events of a column that nobody asked for; one of more is dropped
NUMBERS = ("rating", "quantity", "price")


@dataclass
class EventColumn:
    """Kinds of events as codes, one byte a row as long as there are few; a row without a kind is of kind ''.

    asked_for   whether the caller named the column, and so wants it whatever it holds
    """

    asked_for: bool = False
    codes: list[Array] | None = field(default_factory=list)  # None if a row has none
    texts: dict[str, int] = field(default_factory=dict)  # a text as it stands → its code

    def add(self, events: pl.Series | None) -> None:
        """The texts [n] of the rows of a batch that stay, None if its file has no such column."""
        if self.codes is None or events is None:
            self.codes = None
            return
        texts = events.fill_null("")
        codes = texts.cast(pl.Enum([*self.texts]), strict=False).to_physical()
        if codes.null_count():  # texts that are new
            for text in texts.filter(codes.is_null()).unique(maintain_order=True):
                self.texts[text] = len(self.texts)
            if not self.asked_for and len(set(map(fold_case, self.texts))) > MOST_KINDS:
                self.codes = None
                return
            codes = texts.cast(pl.Enum([*self.texts])).to_physical()
        self.codes.append(codes.to_numpy())

    def finish(self, keep: Mask | None) -> Events | None:
        """What the rows that stay are of."""
        if not self.codes:
            return None
        codes = np.concatenate(self.codes)
        codes = codes if keep is None else codes[keep]
        names, kinds = self.kinds(np.bincount(codes, minlength=len(self.texts)))
        return Events(kinds.astype(codes.dtype)[codes] if len(names) < len(self.texts) else codes, names)

    def kinds(self, rows: npt.NDArray[np.int64]) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
        """The kinds, each as it is written most often, and that of each text, of which there are so many `rows`."""
        folded = list(map(fold_case, self.texts))
        kinds = {kind: at for at, kind in enumerate(dict.fromkeys(folded))}
        names: dict[str, str] = {}
        for text, _ in sorted(zip(self.texts, rows.tolist(), strict=True), key=lambda entry: -entry[1]):
            names.setdefault(fold_case(text), text.strip())
        return tuple(names[kind] for kind in kinds), np.array([kinds[kind] for kind in folded])


@dataclass
class Collector:
    """The rows collected so far; `items_offset` is subtracted from every item id, "auto" finds it.

    room   rows that a table's columns are read by at a time; None for all at once
    """

    faults: Faults
    times: TimeParser
    items_offset: int | str = 0
    events: EventColumn = field(default_factory=EventColumn)
    titles: ItemTexts = field(default_factory=ItemTexts)
    users: IdColumn = field(default_factory=lambda: IdColumn("user"))
    items: IdColumn = field(default_factory=lambda: IdColumn("item"))
    columns: dict[str, list[Array]] = field(default_factory=dict)
    batches: list[tuple[Source, Lines]] = field(default_factory=list)  # where the rows stand
    zones: Entries = field(default_factory=dict)  # rows whose times name a zone, and rows whose times do not
    size: int = 0
    on_disk: int = 0  # of these, rows that have left memory
    room: int | None = None
    kept: Mask | None = None  # rows that stayed in the end, where some did not

    def __len__(self) -> int:
        return self.size

    def add(self, batch: Batch) -> None:
        """Check every value, refuse the faulty rows, keep the rest."""
        if len(batch):
            with reported(f"{batch.source.name}, {batch.source.unit}s {batch.lines[0]:,} to {batch.lines[-1]:,}"):
                self._add(batch)

    def _add(self, batch: Batch) -> None:
        self._check_same_columns(batch)
        self.faults.rows_read += len(batch)
        checks = RowChecks(batch, self.faults)
        users = checks.ids("user")
        items = checks.ids("item", self.items_offset if isinstance(self.items_offset, int) else 0)
        columns: dict[str, Array | None] = {role: checks.numbers(role) for role in NUMBERS if role in batch.columns}
        if "time" in batch.columns:
            columns["time"] = checks.times(self.times)
            if "past" in self.columns or (self.times.past is not None and self.times.past.any()):
                self.columns.setdefault("past", [np.zeros(self.size - self.on_disk, np.int32)])  # of rows before
                columns["past"] = self.times.past
        keep = pl.Series(checks.good)
        lines = batch.lines if checks.good.all() else np.asarray(batch.lines)[checks.good]
        if self.times.zoned is not None and (times := columns.get("time")) is not None:
            for name, zoned in (("with", self.times.zoned), ("without", ~self.times.zoned)):
                if (rows := checks.good & zoned & (times != NAT)).any():
                    first = int(rows.argmax())
                    value = str(batch.columns["time"][first])
                    count(self.zones, name, batch.source, batch.lines[first], value, int(np.count_nonzero(rows)))
        self.size += len(lines)
        self.batches.append((batch.source, lines))
        for column, ids in ((self.users, users), (self.items, items)):
            column.add(ids.filter(keep) if len(lines) < len(ids) else ids, batch.tokens)
        for role, values in columns.items():
            kept = np.zeros(len(batch), np.int32) if values is None else values
            self.columns.setdefault(role, []).append(kept[checks.good] if len(lines) < len(batch) else kept)
        events, title = batch.columns.get("event"), batch.columns.get("title")
        self.events.add(None if events is None else events.filter(keep))
        if title is not None:
            category = batch.columns.get("category")
            self.titles.add_columns(
                items.filter(keep), title.filter(keep), None if category is None else category.filter(keep)
            )

    def _check_same_columns(self, batch: Batch) -> None:
        for role in (*NUMBERS, "time"):
            if self.batches and (role in batch.columns) != (role in self.columns):
                has, others = ("no", "have one") if role in self.columns else ("a", "have none")
                raise DataError(
                    f"{batch.source.name} has {has} {role} column while the files before it {others}; "
                    f"read files of one kind together, or leave the column out with {role}=0"
                )

    def finish(self, source: dict[str, Any]) -> Interactions:
        """Dense positions, sorted id maps, and the record of what was read and skipped."""
        columns: dict[str, Array] = {}
        for role in [*self.columns]:  # one after the other, so that only one is there twice
            columns[role] = np.concatenate(self.columns.pop(role))
        self._drop_doubtful(source["files"], columns)
        self.check_rows(source)
        missing, ends = dict[str, tuple[int, int]](), dict[str, tuple[int, int]]()
        for role, values in columns.items():
            absent = values == NAT if role == "time" else np.isnan(values)
            if absent.any():
                missing[role] = int(np.count_nonzero(absent)), int(absent.argmax())
        times, past = columns.get("time"), columns.get("past")
        if times is not None and (times != NAT).any():
            known = np.where(times == NAT, -(NAT + 1), times) if "time" in missing else times
            ends = {
                name: (int(times[row]), int(row)) for name, row in (("first", known.argmin()), ("last", times.argmax()))
            }
        remarks = self.remarks(missing)
        users, user_ids = self.users.finish()
        items, item_ids = self.items.finish()
        item_ids = self.describe(source, user_ids, item_ids, remarks, None if times is None else ends)
        return Interactions(
            users,
            items,
            user_ids,
            item_ids,
            ratings=columns.get("rating"),
            times=times,
            source=source,
            events=self.events.finish(self.kept),
            nanoseconds=past if past is not None and past.any() else None,
            quantities=columns.get("quantity"),
            prices=columns.get("price"),
        )

    def check_rows(self, source: dict[str, Any]) -> None:
        """An error where too few are left."""
        self.faults.check_limit()
        if not len(self):
            names = ", ".join(str(entry["path"]) for entry in source["files"]) or "the frame"
            raise DataError(f"{names} holds no rows; check the download or the command that wrote it")

    def remarks(self, missing: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
        """What looks wrong and is kept; `missing` is how many rows lack a number or a time, and the first of them."""
        found: dict[str, Any] = {"zones": self.zones} if len(self.zones) == 2 else {}
        for column in (self.users, self.items):
            for kind, entry in column.warnings().items():
                row = entry.pop("row", None)
                found.setdefault(kind, {})[column.role] = entry | ({} if row is None else self._first(int(str(row))))
        for role, (rows, first) in missing.items():
            found.setdefault("missing", {})[role] = {"rows": rows, **self._first(first)}
        return found

    def describe(
        self,
        source: dict[str, Any],
        user_ids: IdMap,
        item_ids: IdMap,
        remarks: dict[str, Any],
        ends: Mapping[str, tuple[int, int]] | None,
    ) -> IdMap:
        """Complete the record; the item ids with the offset taken off.

        ends   the first and the last time and their rows, where any row has a time; None where there is no such column
        """
        offset = self._find_offset(user_ids, item_ids)
        if offset:
            if not isinstance(item_ids.values, np.ndarray):
                raise DataError(f"items_offset={offset} needs whole-number item ids; item {item_ids[0]!r} is text")
            item_ids = IdMap(item_ids.values - offset)
        source |= {
            "time_unit": None if ends is None else self.times.name(),
            "items_offset": offset,
            "lenient": self.faults.lenient,
            "rows_read": self.faults.rows_read,
            "rows_skipped": self.faults.rows_skipped,
            "skipped": self.faults.skipped,
            **remarks,
        }
        if ends:
            source["times"] = {name: _describe_time(*end, source["files"]) for name, end in ends.items()}
        return item_ids

    def place(self, row: int) -> tuple[Source, int]:
        """Where a row stands."""
        row = row if self.kept is None else int(np.flatnonzero(self.kept)[row])
        starts = [0, *accumulate(len(lines) for _, lines in self.batches)]
        at = bisect_right(starts, row) - 1
        source, lines = self.batches[at]
        return source, int(lines[row - starts[at]])

    def _first(self, row: int) -> dict[str, Any]:
        source, line = self.place(row)
        return {"file": source.name, "first_line": line}

    def _drop_doubtful(self, files: list[dict[str, Any]], columns: dict[str, Array]) -> None:
        """Refuse the rows with an id that is none beside the others."""
        good = np.ones(len(self), np.bool_)
        for column in (self.users, self.items):
            column.settle()
            for fault, texts in (doubtful := column.faults()).items():
                if (rows := texts[column.codes] & good).any():
                    value = str(column.table[int(column.codes[rows.argmax()])])  # type: ignore[index]
                    self.faults.report(
                        *self.place(int(rows.argmax())), fault.about(value), value=value, rows=int(rows.sum())
                    )
                    good &= ~rows
            if doubtful:
                column.to_numbers()
        if good.all():
            return
        start = 0
        for entry in files:
            end = start + entry["rows"]
            entry["rows"] = int(np.count_nonzero(good[start:end]))
            start = end
        for column in (self.users, self.items):
            column.codes = column.codes[good]
        for role, values in columns.items():
            columns[role] = values[good]
        self.kept, self.size = good, int(np.count_nonzero(good))

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


def _describe_time(seconds: int, row: int, files: list[dict[str, Any]]) -> dict[str, str]:
    """The time of a row, and the file where it stands."""
    ends = np.cumsum([entry["rows"] for entry in files])
    file = {"file": files[int(np.searchsorted(ends, row, side="right"))]["path"]} if files else {}
    return {"time": f"{np.datetime64(seconds, 's')}Z", **file}
