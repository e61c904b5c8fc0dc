"""Rows beyond memory: checked as all are, kept as Parquet on disk, and numbered and sorted there by DuckDB.

Only ids are a matter of DuckDB's: what an id, a number or a time is, the readers say, and what a recipe does, the steps.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sahcns.data.filters import Mask
from sahcns.data.ids import IdMap
from sahcns.data.interactions import Events
from sahcns.data.readers.checks import Batch, Faults
from sahcns.data.readers.collect import NUMBERS, Collector
from sahcns.data.readers.database import Database
from sahcns.data.readers.id_column import IdColumn, texts_of
from sahcns.data.readers.times import TimeParser
from sahcns.data.stored import BLOCK, Scratch, Stored
from sahcns.errors import SettingError


@dataclass
class DiskIds(IdColumn):
    """Ids whose rows are on disk: of each in `table`, how many rows have it and the first that does."""

    rows: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    first: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def hand_over(self) -> dict[str, pl.Series]:
        """The rows since the last call: as numbers or as texts."""
        parts, self.parts = self.parts, []
        kind = pl.String() if self.is_text else pl.Int64()
        ids = pl.concat([pl.Series(part).cast(kind) for part in parts])
        number, text = pl.Series([None], dtype=pl.Int64), pl.Series([None], dtype=pl.String)
        number, text = (
            (number.new_from_index(0, len(ids)), ids) if self.is_text else (ids, text.new_from_index(0, len(ids)))
        )
        return {f"{self.role}_number": number, f"{self.role}_text": text}

    @property
    def expression(self) -> str:
        """The id of a row, in SQL. What came before the first text were whole numbers as one writes them."""
        number, text = f"{self.role}_number", f"{self.role}_text"
        return f"coalesce({text}, {number}::VARCHAR)" if self.is_text else number

    def met(self, texts: Mask) -> tuple[int, int, str]:
        assert self.table is not None
        at = int(np.flatnonzero(texts)[self.first[texts].argmin()])
        return int(self.rows[texts].sum()), int(self.first[at]), str(self.table[at])


class DiskCollector(Collector):
    """Keeps no more than some million rows in memory; `sorted` is what `finish` is for those that do fit."""

    def __init__(
        self, faults: Faults, times: TimeParser, items_offset: int | str, memory: str | None, scratch: str | Path | None
    ) -> None:
        self.ids = users, items = DiskIds("user"), DiskIds("item")
        super().__init__(faults, times, items_offset, users=users, items=items, room=BLOCK)
        self.scratch, self.memory = Scratch(scratch), memory
        self.database = Database(self.scratch.folder, memory)

    def _add(self, batch: Batch) -> None:
        super()._add(batch)
        if self.size - self.on_disk >= BLOCK:
            self._write()

    def _write(self) -> None:
        """Bring what is in memory to the disk."""
        columns = {"row": pl.Series(np.arange(self.on_disk, self.size))}
        for ids in self.ids:
            columns |= ids.hand_over()
        for role, parts in self.columns.items():
            columns[role] = pl.Series(np.concatenate(parts))
            parts.clear()
        if self.events.codes is not None:
            columns["event"] = pl.Series(np.concatenate(self.events.codes).astype(np.uint32))
            self.events.codes.clear()
        self.scratch.write(f"part-{self.on_disk}.parquet", pl.DataFrame(columns))
        self.on_disk = self.size

    def sorted(self, source: dict[str, Any]) -> Stored:
        """All rows by user, item and place in the files, ids dense, and the record of what was read and skipped."""
        self.check_rows(source)
        if self.size > self.on_disk:
            self._write()
        roles = [role for role in (*NUMBERS, "time", "past") if role in self.columns]
        kinds = events = None
        with self.database as database:
            database.open_rows()
            user_ids, item_ids = map(self._number, self.ids)
            missing = {role: found for role in roles if role != "past" and (found := database.missing(role))[0]}
            ends = database.ends() if "time" in roles else None
            if "past" in roles and not database.all("SELECT max(past) FROM rows")[0][0]:
                roles.remove("past")
            if self.events.codes is not None and self.events.texts:
                rows = np.zeros(len(self.events.texts), np.int64)
                for code, count in database.all("SELECT event, count(*) FROM rows GROUP BY event"):
                    rows[code] = count
                names, kinds = self.events.kinds(rows)
                events = Events(np.empty(0, np.uint8), names, np.bincount(kinds, rows, len(names)).astype(np.int64))
                roles.append("event")
            remarks = self.remarks(missing)
            item_ids = self.describe(source, user_ids, item_ids, remarks, ends)
            path = database.sort(roles, [ids.expression for ids in self.ids])
        where = path, self.size, user_ids, item_ids, frozenset(roles), source, self.scratch, self.memory
        return Stored(*where, events, kinds)

    def _number(self, ids: DiskIds) -> IdMap:
        """The sorted ids of one role; one that is none beside the others is an error."""
        table = self.database.ids(ids.role, ids.expression)
        if not ids.is_text:
            return IdMap(table["id"].to_numpy())
        ids.table, ids.rows, ids.first = table["id"], table["rows"].to_numpy(), table["first"].to_numpy()
        for fault, texts in ids.faults().items():
            rows, first, value = ids.met(texts)
            if self.faults.lenient:
                source, line = self.place(first)
                raise SettingError(
                    f"{source.at(line)}: {fault.about(value).message}, one of {rows:,} such rows; rows on disk are not left "
                    f"out for that: {fault.remedy}, or read them with engine='polars' (`read`)"
                )
            self.faults.report(*self.place(first), fault.about(value), value=value, rows=rows)
        return IdMap(texts_of(ids.table))
