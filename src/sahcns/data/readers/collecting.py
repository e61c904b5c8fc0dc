"""Columns that grow batch by batch and end as dense int32 positions over sorted original ids.

Ten million rows fit in about twenty bytes each: ids are kept as int32 (or as codes of a text table), never as Python
objects, and arrays grow by `realloc`, which moves pages instead of copying them.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sahcns.data.ids import IdMap, Texts
from sahcns.data.readers.faults import Faults, Lines, Where, Wrong, shown

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]
BLOCK = 1 << 20  # rows handled at a time where a temporary would otherwise double the memory
NO_ID = ("null", "NULL", "Null", "NaN", "nan", "None", "none", "NA", "N/A", "<NA>", "\\N")
ROUNDED = r"^-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{2}$"


class Growing:
    """A one-dimensional array with an append."""

    def __init__(self, dtype: npt.DTypeLike, held: npt.NDArray[Any] | None = None) -> None:
        self._held: npt.NDArray[Any] = np.empty(0, dtype) if held is None else held
        self.size = len(self._held)

    def append(self, values: npt.NDArray[Any]) -> None:
        need = self.size + len(values)
        if need > len(self._held):
            self._held.resize(max(need, self.size + self.size // 16), refcheck=False)
        self._held[self.size : need] = values
        self.size = need

    def widen(self, dtype: npt.DTypeLike) -> None:
        self._held = self._held[: self.size].astype(dtype)

    def take(self) -> npt.NDArray[Any]:
        """The values; the array gives them away and is empty after."""
        held, self._held = self._held, np.empty(0, self._held.dtype)
        held.resize(self.size, refcheck=False)
        self.size = 0
        return held

    def view(self) -> npt.NDArray[Any]:
        """The values, which stay where they are."""
        return self._held[: self.size]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._held.dtype


@dataclass
class IdColumn:
    """Ids of one side: whole numbers until the first text arrives, then codes into a table of texts.

    `odd` remembers where a text first stood that may be no id at all: `NaN`, or a number beyond 64 bits. Whether it
    is one shows only at the end, when the rest of the column is known. `typed` columns never doubt a text.
    """

    what: str
    values: Growing = field(default_factory=lambda: Growing(np.int32))
    tables: "list[pl.Series] | None" = None
    table_size: int = 0
    merged_size: int = 0
    odd: dict[str, tuple[Where, int]] = field(default_factory=dict)
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
            numbers, self.tables, self.values = self.values.take(), [], Growing(np.int32)
            for start in range(0, len(numbers), BLOCK):
                self.add_texts(pl.Series(numbers[start : start + BLOCK]).cast(pl.String))
        table, codes = _coded(ids)
        self.values.append(codes + np.int32(self.table_size))
        self.tables.append(table)
        self.table_size += len(table)
        if self.table_size > 2 * self.merged_size + BLOCK:
            self._merge()
        return table

    def add_tokens(self, ids: "pl.Series", where: Where, lines: Lines) -> None:
        """Texts of a file without types: numbers if each is one as one writes it ('7', not '007' or '+7')."""
        import polars as pl

        numbers = ids.cast(pl.Int64, strict=False) if self.tables is None else None
        if numbers is not None and numbers.null_count() == 0 and bool((numbers.cast(pl.String) == ids).all()):
            self.add_ints(numbers.to_numpy())
            return
        table = self.add_texts(ids)
        for kind, odd in _oddities(table).items():
            if kind not in self.odd and odd.any():
                self.odd[kind] = where, int(lines[int(ids.is_in(table.filter(odd).implode()).arg_true()[0])])

    def drop_odd(self, faults: Faults, dropped: Mask) -> Mask:
        """`dropped` [n] and the rows with an odd id, if all other ids are whole numbers; the column is then numbers."""
        import polars as pl

        if self.tables is None or not self.odd or self.typed:
            return dropped
        table = self._merge()
        numbers = table.cast(pl.Int64, strict=False)
        whole = (numbers.cast(pl.String) == table).fill_null(False).to_numpy()
        kinds = {kind: odd.to_numpy() for kind, odd in _oddities(table).items()}
        if not whole.any() or not (whole | kinds["beyond"] | kinds["missing"]).all():
            return dropped
        codes = self.values.take()
        for kind, (where, line) in self.odd.items():
            rows = kinds[kind][codes] & ~dropped
            if rows.any():
                value = table[int(codes[rows.argmax()])]
                faults.row(where, line, _odd(self.what, kind, value), value=value, rows=int(rows.sum()))
            dropped = dropped | rows
        self.tables, self.values = None, Growing(np.int64, numbers.fill_null(0).to_numpy()[codes])
        return dropped

    def doubtful(self) -> dict[str, object] | None:
        """A word for nothing, such as NaN, that was kept because it stands among texts: the word, and where."""
        if self.tables is None or "missing" not in self.odd or self.typed:
            return None
        table, (where, line) = self._merge(), self.odd["missing"]
        codes = self.values.view()
        rows = _oddities(table)["missing"].to_numpy()[codes]
        if not rows.any():
            return None
        found = table[int(codes[rows.argmax()])]
        return {"value": found, "rows": int(rows.sum()), "file": where.name, "first_line": line}

    def twins(self) -> dict[str, object] | None:
        """Ids that are another one but for blanks around them, zeros before them or `.0` behind: '007' beside '7'.

        Or but for the Unicode form: é as one letter (NFC), or as an e and its accent (NFD), which look the same.

        The first of them, the one that it may be, and how many there are.
        """
        if self.tables is None:
            return None
        table = self._merge()
        ascii_alone = table.str.len_bytes().sum() == table.str.len_chars().sum()  # as nearly always
        bare = (
            (table if ascii_alone else table.str.normalize("NFC"))
            .str.strip_chars()
            .str.replace(r"^\+?(-?)0*([0-9]+?)(\.0*)?$", "${1}${2}")
        )
        twins = table.filter((bare != table) & bare.is_duplicated())
        if not len(twins):
            return None
        same = table.filter(bare == bare.filter(table == twins[0])[0])
        return {"value": twins[0], "like": next(text for text in same if text != twins[0]), "ids": len(twins)}

    def rounded(self) -> dict[str, object] | None:
        """Ids such as 1.23E+12, as a spreadsheet shortens long numbers: different ones may have become one.

        The first of them, and how many there are.
        """
        if self.tables is None or self.typed:
            return None
        table = self._merge()
        found = table.filter(table.str.contains(ROUNDED))
        return {"value": found[0], "ids": len(found)} if len(found) else None

    def finish(self) -> tuple[npt.NDArray[np.int32], IdMap]:
        """Positions [n] and the map of the ids that occur."""
        if self.tables is None:
            return _dense(self.values.take())
        table = self._merge()
        codes = self.values.take()
        used = np.bincount(codes, minlength=len(table)) > 0
        if not used.all():
            table, place = table.filter(_series(used)), (np.cumsum(used) - 1).astype(np.int32)
            codes = place[codes]
        return codes.astype(np.int32, copy=False), IdMap(texts_of(table))

    def _merge(self) -> "pl.Series":
        """One sorted table without repeats for the many, and the codes moved onto it."""
        import polars as pl

        assert self.tables is not None
        if len(self.tables) == 1 and self.table_size == self.merged_size:
            return self.tables[0]  # nothing has come since
        pooled = pl.concat(self.tables) if self.tables else pl.Series([], dtype=pl.String)
        table, place = _coded(pooled)
        order = table.arg_sort().to_numpy()
        moved = np.empty(len(table), np.int32)
        moved[order] = np.arange(len(table), dtype=np.int32)
        table, place = table.gather(order), moved[place]
        codes = self.values.take()
        for start in range(0, len(codes), BLOCK):
            codes[start : start + BLOCK] = place[codes[start : start + BLOCK]]
        self.values = Growing(np.int32, codes)
        self.tables, self.table_size, self.merged_size = [table], len(table), len(table)
        return table


def _coded(ids: "pl.Series") -> "tuple[pl.Series, npt.NDArray[np.int32]]":
    """The distinct texts in order of appearance, and the place of each row's text among them [n]."""
    import polars as pl

    rows = pl.DataFrame({"id": ids}).with_row_index("row")
    first = rows.select(pl.col("row").first().over("id")).to_series().to_numpy()
    new = first == np.arange(len(ids))
    return ids.filter(pl.Series(new)), (np.cumsum(new, dtype=np.int32) - np.int32(1))[first]


def _oddities(table: "pl.Series") -> "dict[str, pl.Series]":
    """Which texts are whole numbers that int64 cannot hold, and which are words for nothing."""
    import polars as pl

    digits = table.str.contains(r"^-?[1-9][0-9]{18,}$")
    return {"beyond": digits & table.cast(pl.Int64, strict=False).is_null(), "missing": table.is_in(NO_ID)}


def texts_of(table: "pl.Series") -> Texts:
    offsets = np.zeros(len(table) + 1, np.int64)
    np.cumsum(table.str.len_bytes().to_numpy(), out=offsets[1:])
    return Texts(np.frombuffer("".join(table.to_list()).encode(), np.uint8), offsets)


def _odd(what: str, kind: str, value: str) -> Wrong:
    if kind == "missing":
        return Wrong(
            f"empty {what} id", f"{what} id {shown(value)} among whole numbers stands for a missing id", "fill it in"
        )
    return Wrong(
        f"{what} id beyond 64 bits",
        f"{what} id {value} does not fit in 64 bits while other {what} ids are whole numbers that do",
        "correct it, put a letter before every id to make them text",
    )


def _series(values: npt.NDArray[Any]) -> "pl.Series":
    import polars as pl

    return pl.Series(values)


def _dense(ids: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], IdMap]:
    """Positions among the sorted distinct numbers: by a look-up table where the range is narrow, else by search."""
    numbers = ids.astype(np.int64, copy=False) if ids.dtype != np.int32 else ids
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
        distinct = _series(numbers).unique().sort().to_numpy().astype(np.int64)
        for block in blocks:
            places[block] = np.searchsorted(distinct, numbers[block])
    return places.astype(np.int32, copy=False), IdMap(distinct.astype(np.int64, copy=False))
