"""Interactions that lie sorted on disk, for logs that do not fit into memory: made by `read_stored`, taken by `prepare`."""

import shutil
import tempfile
import weakref
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sahcns.data.filters import Int32, Int64, Rows
from sahcns.data.ids import IdMap, Texts
from sahcns.data.interactions import Events, named
from sahcns.errors import DataError

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 22  # rows in memory at a time, and all those of one user


class Scratch:
    """A folder for what does not fit into memory, gone with its last user, or with this process."""

    def __init__(self, parent: str | Path | None = None) -> None:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="sahcns-", dir=parent)).absolute()
        except OSError as error:
            raise DataError(
                f"scratch={str(parent)!r} cannot be written: {error.strerror}; give another folder"
            ) from None
        weakref.finalize(self, shutil.rmtree, self.folder, True)

    def write(self, name: str, table: "pl.DataFrame") -> None:
        from polars.exceptions import PolarsError

        path = self.folder / name
        try:  # in statistics no number is NaN, and DuckDB believes them
            table.write_parquet(path, compression="lz4", statistics=False)
        except (OSError, PolarsError) as error:
            raise DataError(f"{path} cannot be written ({error}); give a folder with more room with scratch=") from None


@dataclass(frozen=True, eq=False, repr=False)
class Stored:
    """What `Interactions` are, by user, item and place in the files, in the file `rows`; `len(self)` rows.

    columns   what the file has beside users and items
    kinds     the kind of event that each of its codes stands for
    """

    rows: Path
    size: int
    user_ids: IdMap
    item_ids: IdMap
    columns: frozenset[str]
    source: dict[str, Any]
    scratch: Scratch
    memory: str | None
    events: Events | None = None
    kinds: Int64 | None = None
    titles: Texts | None = None
    categories: Texts | None = None

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Stored({len(self):,} rows of {len(self.user_ids):,} users and {len(self.item_ids):,} items, on disk)"

    @property
    def name(self) -> str:
        return named(self.source)

    def blocks(self, wanted: Container[str]) -> Iterator[Rows]:
        """All rows of some users, then of the next, with the columns that are wanted; `row` is the place in the files."""
        import polars as pl

        roles = [role for role in (*self.columns, "row") if role in wanted]
        table = pl.scan_parquet(self.rows, glob=False).select("user", "item", *roles)
        rest = table.clear().collect()  # the rows of a block's last user, who may go on in the next
        for start in range(0, self.size, BLOCK):
            block = pl.concat([rest, table.slice(start, BLOCK).collect()])
            users = block["user"].to_numpy()
            end = len(users) if start + BLOCK >= self.size else int(np.searchsorted(users, users[-1]))
            rest = block[end:]
            if end:
                yield self._rows(block[:end], roles)

    def put_times(self, start: int, rows: Rows) -> None:
        """Rows that are left, the first of which is number `start` of all of them; their times go to the disk."""
        import polars as pl

        if not start:
            self._clear_times()
        columns = {name: rows.columns[name] for name in ("time", "past", "row") if name in rows.columns}
        table = pl.DataFrame({"past": 0, "number": np.arange(start, start + len(rows)), **columns})
        self.scratch.write(f"times-{start}.parquet", table)

    def places(self, count: int) -> Int32:
        """The place [count] of each row of `put_times` when all are sorted by time, those of one moment in file order."""
        import polars as pl

        from sahcns.data.readers.database import Database

        with Database(self.scratch.folder, self.memory) as database:
            order = pl.scan_parquet(database.order(), glob=False)
        place = np.empty(count, np.int32)
        for start in range(0, count, BLOCK):
            numbers = order.slice(start, BLOCK).collect()["number"].to_numpy()
            place[numbers] = np.arange(start, start + len(numbers), dtype=np.int32)
        self._clear_times()
        return place

    def _clear_times(self) -> None:
        for path in self.scratch.folder.glob("times-*.parquet"):
            path.unlink()

    def _rows(self, block: "pl.DataFrame", roles: list[str]) -> Rows:
        columns = {role: block[role].to_numpy() for role in roles}
        if "event" in columns and self.kinds is not None:
            columns["event"] = self.kinds[columns["event"]]
        return Rows(block["user"].to_numpy(), block["item"].to_numpy(), columns=columns)
