"""Rows that lie as Parquet in a folder, numbered and sorted by DuckDB within a limit of memory."""

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from sahcns.data.interactions import NAT
from sahcns.errors import DataError, SahcnsError, SettingError

ROW_GROUP = 1 << 20  # rows of the sorted file that are read as one


class Database:
    """DuckDB over the parts in a folder; it takes `memory` at most, and the folder beyond that."""

    def __init__(self, folder: Path, memory: str | None) -> None:
        try:
            import duckdb
        except ImportError:
            raise SahcnsError(
                "rows beyond memory need one more package; install it with: pip install 'sahcns[duckdb]'"
            ) from None
        self.folder, self.broken = folder, duckdb.Error
        self.connection = duckdb.connect()
        settings = {"temp_directory": str(folder / "spilled"), "preserve_insertion_order": "false"}
        try:
            for name, value in {**settings, **({} if memory is None else {"memory_limit": memory})}.items():
                self.connection.execute(f"SET {name} = {_text(value)}")
        except duckdb.Error:
            raise SettingError(f"memory={memory!r} is not an amount of memory; give one such as '8GB'") from None

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()

    @contextmanager
    def _asked(self) -> Iterator[None]:
        try:
            yield
        except self.broken as error:
            reason = str(error).strip().splitlines()[0]
            raise DataError(
                f"DuckDB cannot sort the rows ({reason}); give it more with memory=, or a folder with more room with scratch="
            ) from None

    def all(self, query: str) -> list[tuple[Any, ...]]:
        with self._asked():
            return list(self.connection.execute(query).fetchall())

    def open_rows(self) -> None:
        self.all(f"CREATE VIEW rows AS SELECT * FROM {self._table('part-*', 'union_by_name')}")

    def _table(self, stem: str, option: str = "file_row_number") -> str:
        return f"read_parquet({_text(f'{glob.escape(str(self.folder))}/{stem}.parquet')}, {option} = true)"

    def ids(self, role: str, expression: str) -> pl.DataFrame:
        """The distinct ids in order, how many rows have each, and the first that does."""
        path = self.folder / f"{role}.parquet"
        query = f"SELECT {expression} AS id, count(*) AS rows, min(row) AS first FROM rows GROUP BY 1 ORDER BY 1"
        self.all(f"COPY ({query}) TO {_text(path)} (FORMAT parquet)")
        return pl.read_parquet(path, glob=False)

    def missing(self, role: str) -> tuple[int, int]:
        """How many rows have no such number or time, and the first of them."""
        absent = f"time = {NAT}" if role == "time" else f"isnan({role})"
        rows, first = self.all(f"SELECT count(*), min(row) FROM rows WHERE {absent}")[0]
        return rows, first or 0

    def ends(self) -> dict[str, tuple[int, int]]:
        """The first and the last time, and the first row of each; none where no row has a time."""
        query = f"SELECT min(row), time FROM rows WHERE time = (SELECT {{}}(time) FROM rows WHERE time <> {NAT}) GROUP BY time"
        found = {name: self.all(query.format(end)) for name, end in (("first", "min"), ("last", "max"))}
        return {name: (rows[0][1], rows[0][0]) for name, rows in found.items() if rows}

    def sort(self, roles: list[str], ids: list[str]) -> Path:
        """The file of all rows with dense ids, and nothing else in the folder."""
        path = self.folder / "rows.parquet"
        columns = ["row", *(f"coalesce({role}, 0) AS {role}" if role == "past" else role for role in roles)]
        joins = (
            f"JOIN (SELECT id, file_row_number::INTEGER AS place FROM {self._table(role)}) {role}s ON {role}s.id = {expression}"
            for role, expression in zip(("user", "item"), ids, strict=True)
        )
        query = f"SELECT users.place AS user, items.place AS item, {', '.join(columns)} FROM rows {' '.join(joins)}"
        self.all(
            f"COPY ({query} ORDER BY users.place, items.place, row) TO {_text(path)} "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})"
        )
        for part in [*self.folder.glob("part-*.parquet"), self.folder / "user.parquet", self.folder / "item.parquet"]:
            part.unlink()
        return path

    def order(self) -> Path:
        """The file of the numbers of the rows in `times-*`, in the order of time and place in the files."""
        path = self.folder / "times-sorted.parquet"
        self.all(
            f"COPY (SELECT number FROM {self._table('times-*', 'union_by_name')} ORDER BY time, past, row) TO {_text(path)} "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})"
        )
        return path


def _text(value: object) -> str:
    """A text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"
