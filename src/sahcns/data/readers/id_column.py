"""Ids that come batch by batch and end as dense int32 positions over sorted original ids.

Four bytes a row until the end, numbers as int32 or codes of polars' categories, so that a hundred million rows fit.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sahcns.data.filters import Mask
from sahcns.data.ids import IdMap, Texts
from sahcns.data.readers.checks import Fault

Int32 = npt.NDArray[np.int32]
NO_ID = ("null", "NULL", "Null", "NaN", "nan", "None", "none", "NA", "N/A", "<NA>", "\\N")
ROUNDED = r"^-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{2}$"  # 1.23E+12, as a spreadsheet shortens long numbers
BLOCK = 1 << 20  # rows of a temporary, which would otherwise be as large as the column


@dataclass
class IdColumn:
    """Ids of one role: whole numbers until the first text arrives, then texts.

    parts   int32 or int64, later Categorical
    typed   whether the texts of some file are texts because it says so; those are never doubted
    table   sorted distinct texts, once they are known
    """

    role: str
    parts: list[npt.NDArray[Any] | pl.Series] = field(default_factory=list)
    is_text: bool = False
    typed: bool = False
    table: pl.Series | None = None
    codes: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int32))

    def add(self, ids: pl.Series, tokens: bool) -> None:
        """Int64 or String [n]; `tokens` of a file without types are numbers if each is one as one writes it ('7')."""
        if not len(ids):
            return
        if ids.dtype == pl.String and tokens and not self.is_text:
            whole = ids.cast(pl.Int64, strict=False)
            ids = whole if not whole.null_count() and bool((whole.cast(pl.String) == ids).all()) else ids
        if ids.dtype == pl.String:
            self.typed |= not tokens
            if not self.is_text:  # what came before were whole numbers as one writes them, so their text is exact
                self.parts = [pl.Series(part).cast(pl.String).cast(pl.Categorical) for part in self.parts]
                self.is_text = True
        elif not self.is_text:
            numbers = ids.to_numpy()
            small = numbers.min() >= -(2**31) and numbers.max() < 2**31
            self.parts.append(numbers.astype(np.int32) if small else numbers)
            return
        self.parts.append(ids.cast(pl.String).cast(pl.Categorical))

    def settle(self) -> None:
        """Put the parts together, once all are there."""
        parts, self.parts = self.parts, []
        if not self.is_text:
            self.codes = np.concatenate(parts) if parts else self.codes
            return
        column = pl.concat([pl.Series(part) for part in parts])
        distinct = column.unique()
        pairs = pl.DataFrame({"code": distinct.to_physical(), "id": distinct.cast(pl.String)}).sort("id")
        codes = column.to_physical().to_numpy()
        del parts, column
        place = np.zeros(int(codes.max()) + 1, np.int32)
        place[pairs["code"].to_numpy()] = np.arange(len(pairs), dtype=np.int32)
        self.table, self.codes = pairs["id"], _look_up(place, codes)

    def faults(self) -> dict[Fault, Mask]:
        """Texts of `table` that are no ids if all others are whole numbers, which the column then is."""
        if self.table is None or self.typed:
            return {}
        numbers = self.table.cast(pl.Int64, strict=False)
        whole = (numbers.cast(pl.String) == self.table).fill_null(False)
        beyond = self.table.str.contains(r"^-?[1-9][0-9]{18,}$") & numbers.is_null()
        absent = self.table.is_in(NO_ID)
        if not whole.any() or not (whole | beyond | absent).all():
            return {}
        what, remedy = f"{self.role} id", "correct it, put a letter before every id to make them text"
        message = f"{what} {{}} does not fit in 64 bits while other {what}s are whole numbers that do"
        large = Fault(f"{what} beyond 64 bits", message, remedy)
        empty = Fault(f"empty {what}", f"{what} {{}} among whole numbers stands for a missing id", "fill it in")
        return {fault: texts.to_numpy() for fault, texts in ((empty, absent), (large, beyond)) if texts.any()}

    def to_numbers(self) -> None:
        """What the texts are once those of `faults` are left out."""
        if self.table is not None:
            self.codes, self.table = self.table.cast(pl.Int64, strict=False).fill_null(0).to_numpy()[self.codes], None

    def met(self, texts: Mask) -> tuple[int, int, str]:
        """How many rows have one of some texts of `table`, which is the first, and what it has."""
        assert self.table is not None
        rows = texts[self.codes]
        first = int(rows.argmax())
        return int(np.count_nonzero(rows)), first, str(self.table[int(self.codes[first])])

    def warnings(self) -> dict[str, dict[str, object]]:
        """Ids that are kept and look wrong, by kind: the first of them, and how many.

        doubtful   a word for nothing, such as NaN, among texts; with the row where it first stands
        twins      the same as another id but for blanks around it, zeros before it, `.0` behind it ('007' beside '7'),
                   or the Unicode form: é as one letter (NFC), or as an e and its accent (NFD), which look the same
        rounded    such as 1.23E+12: different ids may have become one
        """
        table = self.table
        if table is None:
            return {}
        entries: dict[str, dict[str, object]] = {}
        absent = table.is_in(NO_ID)
        if absent.any() and not self.typed:
            rows, first, value = self.met(absent.to_numpy())
            entries["doubtful"] = {"value": value, "rows": rows, "row": first} if rows else {}
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
        return {kind: entry for kind, entry in entries.items() if entry}

    def finish(self) -> tuple[Int32, IdMap]:
        """Positions [n] and the map of the ids that occur."""
        codes, table, self.codes, self.table = self.codes, self.table, np.empty(0, np.int32), None
        if table is None:
            return _dense(codes)
        used = np.bincount(codes, minlength=len(table)) > 0
        if not used.all():
            table = table.filter(pl.Series(used))
            codes = _look_up(np.cumsum(used, dtype=np.int32) - np.int32(1), codes)
        return codes, IdMap(texts_of(table))


def texts_of(table: pl.Series) -> Texts:
    """A column of texts as ours."""
    offsets = np.zeros(len(table) + 1, np.int64)
    np.cumsum(table.str.len_bytes().to_numpy(), out=offsets[1:])
    return Texts(np.frombuffer("".join(table.to_list()).encode(), np.uint8), offsets)


def _dense(numbers: npt.NDArray[Any]) -> tuple[Int32, IdMap]:
    """Positions among the sorted distinct numbers: by a look-up table where the range is narrow, else by search."""
    low, high = int(numbers.min()), int(numbers.max())
    if high - low < 4 * len(numbers) + BLOCK:
        seen = np.zeros(high - low + 1, np.bool_)
        for start in range(0, len(numbers), BLOCK):
            seen[numbers[start : start + BLOCK] - np.int64(low)] = True
        place = np.cumsum(seen, dtype=np.int32) - np.int32(1)
        return _look_up(place, numbers, low), IdMap(np.flatnonzero(seen) + low)
    distinct = pl.Series(numbers).unique().sort().to_numpy().astype(np.int64)
    return np.searchsorted(distinct, numbers).astype(np.int32), IdMap(distinct)


def _look_up(place: Int32, codes: npt.NDArray[Any], low: int = 0) -> Int32:
    """`place[codes - low]`, in the place of `codes` where they are int32."""
    found = codes if codes.dtype == np.int32 else np.empty(len(codes), np.int32)
    for start in range(0, len(codes), BLOCK):
        found[start : start + BLOCK] = place[codes[start : start + BLOCK] - np.int64(low)]
    return found
