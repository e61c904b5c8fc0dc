"""Ids that grow batch by batch and end as dense int32 positions over sorted original ids.

Hand-written for memory: a hundred million rows fit in about twenty bytes each, as int32 numbers (or codes of a text
table), never Python objects, in arrays that grow by `realloc`, which moves pages instead of copying them.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sahcns.data.ids import IdMap, Texts
from sahcns.data.readers.checks import Fault, Faults, Lines, Mask, Source, quote

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 20  # rows handled at a time where a temporary would otherwise double the memory
NO_ID = ("null", "NULL", "Null", "NaN", "nan", "None", "none", "NA", "N/A", "<NA>", "\\N")
ROUNDED = r"^-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{2}$"  # 1.23E+12, as a spreadsheet shortens long numbers


class GrowingArray:
    """A one-dimensional array with an append."""

    def __init__(self, dtype: npt.DTypeLike, values: npt.NDArray[Any] | None = None) -> None:
        self._array: npt.NDArray[Any] = np.empty(0, dtype) if values is None else values
        self.size = len(self._array)

    def append(self, values: npt.NDArray[Any]) -> None:
        need = self.size + len(values)
        if need > len(self._array):
            self._array.resize(max(need, self.size + self.size // 16), refcheck=False)
        self._array[self.size : need] = values
        self.size = need

    def widen(self, dtype: npt.DTypeLike) -> None:
        self._array = self._array[: self.size].astype(dtype)

    def take(self) -> npt.NDArray[Any]:
        """The values; the array gives them away and is empty after."""
        array, self._array = self._array, np.empty(0, self._array.dtype)
        array.resize(self.size, refcheck=False)
        self.size = 0
        return array

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype


@dataclass
class IdColumn:
    """Ids of one role: whole numbers until the first text arrives, then codes into a table of texts.

    `doubtful` remembers where a text first stood that may be no id at all: `NaN`, or a number beyond 64 bits. Whether
    it is one shows only at the end, when the rest of the column is known. `typed` columns never doubt a text.
    """

    role: str
    values: GrowingArray = field(default_factory=lambda: GrowingArray(np.int32))
    tables: "list[pl.Series] | None" = None
    table_size: int = 0
    merged_size: int = 0
    doubtful: dict[str, tuple[Source, int]] = field(default_factory=dict)
    typed: bool = False

    def add_ints(self, ids: npt.NDArray[np.int64]) -> None:
        import polars as pl

        if self.tables is not None:
            self.add_texts(pl.Series(ids).cast(pl.String))
            return
        if self.values.dtype == np.int32 and not (ids.min() >= -(2**31) and ids.max() < 2**31):
            self.values.widen(np.int64)
        self.values.append(ids)

    def add_texts(self, ids: "pl.Series") -> "pl.Series":
        """Returns the distinct texts, in order of appearance."""
        import polars as pl

        if self.tables is None:  # what came before were whole numbers as one writes them, so their text is exact
            numbers, self.tables, self.values = self.values.take(), [], GrowingArray(np.int32)
            for start in range(0, len(numbers), BLOCK):
                self.add_texts(pl.Series(numbers[start : start + BLOCK]).cast(pl.String))
        table, codes = _encode(ids)
        self.values.append(codes + np.int32(self.table_size))
        self.tables.append(table)
        self.table_size += len(table)
        if self.table_size > 2 * self.merged_size + BLOCK:
            self._merge()
        return table

    def add_tokens(self, ids: "pl.Series", source: Source, lines: Lines) -> None:
        """Texts of a file without types: numbers if each is one as one writes it ('7', not '007' or '+7')."""
        import polars as pl

        numbers = ids.cast(pl.Int64, strict=False) if self.tables is None else None
        if numbers is not None and numbers.null_count() == 0 and bool((numbers.cast(pl.String) == ids).all()):
            self.add_ints(numbers.to_numpy())
            return
        table = self.add_texts(ids)
        for kind, doubtful in _doubtful(table).items():
            if kind not in self.doubtful and doubtful.any():
                first = int(ids.is_in(table.filter(doubtful).implode()).arg_true()[0])
                self.doubtful[kind] = source, int(lines[first])

    def drop_doubtful(self, faults: Faults, dropped: Mask) -> Mask:
        """`dropped` [n] and the rows with a doubtful id, if all other ids are whole numbers; they then become numbers."""
        import polars as pl

        if self.tables is None or not self.doubtful or self.typed:
            return dropped
        table = self._merge()
        numbers = table.cast(pl.Int64, strict=False)
        whole = (numbers.cast(pl.String) == table).fill_null(False).to_numpy()
        kinds = {kind: doubtful.to_numpy() for kind, doubtful in _doubtful(table).items()}
        if not whole.any() or not (whole | kinds["beyond"] | kinds["missing"]).all():
            return dropped
        codes = self.values.take()
        for kind, (source, line) in self.doubtful.items():
            rows = kinds[kind][codes] & ~dropped
            if rows.any():
                value = table[int(codes[rows.argmax()])]
                faults.report(source, line, self._fault(kind, value), value=value, rows=int(rows.sum()))
            dropped = dropped | rows
        self.tables, self.values = None, GrowingArray(np.int64, numbers.fill_null(0).to_numpy()[codes])
        return dropped

    def _fault(self, kind: str, value: str) -> Fault:
        if kind == "missing":
            message = f"{self.role} id {quote(value)} among whole numbers stands for a missing id"
            return Fault(f"empty {self.role} id", message, "fill it in")
        return Fault(
            f"{self.role} id beyond 64 bits",
            f"{self.role} id {value} does not fit in 64 bits while other {self.role} ids are whole numbers that do",
            "correct it, put a letter before every id to make them text",
        )

    def warnings(self) -> dict[str, dict[str, object]]:
        """Ids that are kept and look wrong, by kind: the first of them, and how many.

        doubtful   a word for nothing, such as NaN, among texts
        twins      the same as another id but for blanks around it, zeros before it, `.0` behind it ('007' beside '7'),
                   or the Unicode form: é as one letter (NFC), or as an e and its accent (NFD), which look the same
        rounded    such as 1.23E+12: different ids may have become one
        """
        if self.tables is None:
            return {}
        table = self._merge()
        entries: dict[str, dict[str, object]] = {}
        if "missing" in self.doubtful and not self.typed:
            codes = self.values.take()
            rows = _doubtful(table)["missing"].to_numpy()[codes]
            self.values = GrowingArray(np.int32, codes)
            if rows.any():
                source, line = self.doubtful["missing"]
                first = {"value": table[int(codes[rows.argmax()])], "rows": int(rows.sum())}
                entries["doubtful"] = {**first, "file": source.name, "first_line": line}
        is_ascii = table.str.len_bytes().sum() == table.str.len_chars().sum()  # as nearly always
        bare = (table if is_ascii else table.str.normalize("NFC")).str.strip_chars()
        bare = bare.str.replace(r"^\+?(-?)0*([0-9]+?)(\.0*)?$", "${1}${2}")
        twins = table.filter((bare != table) & bare.is_duplicated())
        if len(twins):
            same = table.filter(bare == bare.filter(table == twins[0])[0])
            like = next(text for text in same if text != twins[0])
            entries["twins"] = {"value": twins[0], "like": like, "ids": len(twins)}
        rounded = table.filter(table.str.contains(ROUNDED))
        if len(rounded) and not self.typed:
            entries["rounded"] = {"value": rounded[0], "ids": len(rounded)}
        return entries

    def finish(self) -> tuple[npt.NDArray[np.int32], IdMap]:
        """Positions [n] and the map of the ids that occur."""
        import polars as pl

        if self.tables is None:
            return _dense(self.values.take())
        table, codes = self._merge(), self.values.take()
        used = np.bincount(codes, minlength=len(table)) > 0
        if not used.all():
            table = table.filter(pl.Series(used))
            codes = (np.cumsum(used) - 1).astype(np.int32)[codes]
        offsets = np.zeros(len(table) + 1, np.int64)
        np.cumsum(table.str.len_bytes().to_numpy(), out=offsets[1:])
        texts = Texts(np.frombuffer("".join(table.to_list()).encode(), np.uint8), offsets)
        return codes.astype(np.int32, copy=False), IdMap(texts)

    def _merge(self) -> "pl.Series":
        """One sorted table without repeats for the many, and the codes moved onto it."""
        import polars as pl

        assert self.tables is not None
        if len(self.tables) == 1 and self.table_size == self.merged_size:
            return self.tables[0]  # nothing has come since
        table, place = _encode(pl.concat(self.tables) if self.tables else pl.Series([], dtype=pl.String))
        order = table.arg_sort().to_numpy()
        moved = np.empty(len(table), np.int32)
        moved[order] = np.arange(len(table), dtype=np.int32)
        table, place = table.gather(order), moved[place]
        codes = self.values.take()
        for start in range(0, len(codes), BLOCK):
            codes[start : start + BLOCK] = place[codes[start : start + BLOCK]]
        self.values = GrowingArray(np.int32, codes)
        self.tables, self.table_size, self.merged_size = [table], len(table), len(table)
        return table


def _encode(ids: "pl.Series") -> "tuple[pl.Series, npt.NDArray[np.int32]]":
    """The distinct texts in order of appearance, and the place of each row's text among them [n]."""
    import polars as pl

    rows = pl.DataFrame({"id": ids}).with_row_index("row")
    first = rows.select(pl.col("row").first().over("id")).to_series().to_numpy()
    new = first == np.arange(len(ids))
    return ids.filter(pl.Series(new)), (np.cumsum(new, dtype=np.int32) - np.int32(1))[first]


def _doubtful(table: "pl.Series") -> "dict[str, pl.Series]":
    """Which texts are whole numbers that int64 cannot hold, and which are words for nothing."""
    import polars as pl

    digits = table.str.contains(r"^-?[1-9][0-9]{18,}$")
    return {"beyond": digits & table.cast(pl.Int64, strict=False).is_null(), "missing": table.is_in(NO_ID)}


def _dense(numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], IdMap]:
    """Positions among the sorted distinct numbers: by a look-up table where the range is narrow, else by search."""
    import polars as pl

    low, high = int(numbers.min()), int(numbers.max())
    blocks = [slice(start, start + BLOCK) for start in range(0, len(numbers), BLOCK)]
    places = np.empty(len(numbers), np.int32) if numbers.dtype != np.int32 else numbers
    if high - low < 4 * len(numbers) + BLOCK:
        seen = np.zeros(high - low + 1, np.bool_)
        for block in blocks:
            seen[numbers[block] - np.int64(low)] = True
        distinct = np.flatnonzero(seen) + low
        place = np.cumsum(seen, dtype=np.int32) - np.int32(1)
        for block in blocks:
            places[block] = place[numbers[block] - np.int64(low)]
    else:
        distinct = pl.Series(numbers).unique().sort().to_numpy().astype(np.int64)
        for block in blocks:
            places[block] = np.searchsorted(distinct, numbers[block])
    return places, IdMap(distinct.astype(np.int64, copy=False))
