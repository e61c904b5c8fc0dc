"""What may stand in a row: ids, ratings and times are checked here, for every format alike.

An id is any text that is not blank, or any whole number; a rating is finite as float32; a time is of the one unit. A
row that fails is an error that names it, or, when lenient, a count that ends up in the manifest.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sahcns.errors import DataError

if TYPE_CHECKING:
    import polars as pl

    from sahcns.data.readers.times import TimeParser

Mask = npt.NDArray[np.bool_]
Lines = Sequence[int] | npt.NDArray[np.int64]
LONGEST_VALUE = 60  # characters of a value that a message quotes
LARGEST_RATING = float(np.finfo(np.float32).max)
NO_RATINGS = "correct it, leave ratings out with rating=0"
NO_TIMES = "correct it, leave times out with time=0"


def quote(value: object) -> str:
    """A value for a message: quoted, on one line, cut when it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


class EmptyFile(DataError):
    """A file without a single row or header; among several, a day on which nothing happened."""

    def __init__(self, message: str, name: object = None) -> None:
        super().__init__(message)
        self.name = str(name)


class Fault(NamedTuple):
    """What is wrong with a row: the reason it is counted under, a message, and what to do about it."""

    reason: str
    message: str
    remedy: str = "correct it"


@dataclass(frozen=True)
class Source:
    """A file or a table by its name, and what its rows are counted in."""

    name: str
    unit: str = "line"

    def at(self, line: int) -> str:
        return f"{self.name}, {self.unit} {line:,}"


@dataclass
class Faults:
    """The rows that cannot be used; `rows_read` counts them and the good ones alike."""

    lenient: bool
    rows_read: int = 0
    skipped: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def rows_skipped(self) -> int:
        return sum(entry["rows"] for entry in self.skipped.values())

    def report(self, source: Source, line: int, fault: Fault, *, value: object = "", rows: int = 1) -> None:
        """Refuse `rows` rows alike, the first on `line`: raise, or count them under their reason."""
        if not self.lenient:
            raise DataError(
                f"{source.at(line)}: {fault.message}; {fault.remedy}, or read with lenient to skip such rows"
            )
        first = {"rows": 0, "file": source.name, "first_line": line, "example": quote(value)}
        self.skipped.setdefault(fault.reason, first)["rows"] += rows

    def summary(self) -> str:
        """`3 wrong number of fields (first: line 7 of a.csv), …`."""
        return ", ".join(
            f"{entry['rows']} {reason} (first: line {entry['first_line']} of {entry['file']})"
            for reason, entry in self.skipped.items()
        )


@dataclass
class Batch:
    """Raw columns [n] of some rows by role, and where the rows stand; `tokens` if ids are text because the file is."""

    columns: "Mapping[str, pl.Series]"
    lines: Lines
    source: Source
    tokens: bool = True

    def __len__(self) -> int:
        return len(self.columns["user"])


class RowChecks:
    """Refuses rows of one batch; a row is counted once, under the first thing wrong with it. `good` [n] are the rest."""

    def __init__(self, batch: Batch, faults: Faults) -> None:
        self.batch = batch
        self.faults = faults
        self.good: Mask = np.ones(len(batch), np.bool_)

    def ids(self, role: str, offset: int = 0) -> "pl.Series":
        """Int64 or String [n]."""
        import polars as pl

        column = self.batch.columns[role]
        column = column.fill_nan(None) if column.dtype.is_float() else column
        self._refuse(_missing(column), column, lambda _: Fault(f"empty {role} id", f"the {role} id is empty"))
        if not offset and (column.dtype == pl.String or (column.dtype == pl.Int64 and not column.null_count())):
            return column  # nothing else can be wrong
        numbers = column.cast(pl.Int64, strict=False)
        if column.dtype.is_float():
            broken = (numbers.cast(pl.Float64) != column.cast(pl.Float64)).fill_null(True).to_numpy()
            self._refuse(
                broken, column, lambda v: Fault(f"{role} id not whole", f"{role} id {v} is not a whole number")
            )
        elif column.dtype not in (pl.String, pl.Int64):
            large = numbers.is_null().to_numpy()
            self._refuse(
                large, column, lambda v: Fault(f"{role} id beyond 64 bits", f"{role} id {v} needs over 64 bits")
            )
        if offset:
            low = (numbers < offset).fill_null(False).to_numpy()
            self._refuse(
                low, column, lambda v: Fault("item below items_offset", f"item {v} is below items_offset={offset}")
            )
        return column if column.dtype == pl.String else numbers

    def ratings(self) -> npt.NDArray[np.float32]:
        import polars as pl

        column = self.batch.columns["rating"]
        self._refuse(_missing(column), column, lambda _: Fault("empty rating", "the rating is empty", NO_RATINGS))
        numbers = to_numbers(column) if column.dtype == pl.String else column
        numbers = numbers if numbers.dtype == pl.Float32 else numbers.cast(pl.Float64, strict=False)
        if numbers.null_count():
            self._refuse(numbers.is_null().to_numpy(), column, _not_a_rating)
            numbers = numbers.fill_null(0)
        values = numbers.to_numpy()
        infinite = ~(np.abs(values) <= LARGEST_RATING)
        self._refuse(infinite, column, lambda v: Fault("rating not finite", f"rating {v} is not a finite number"))
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(np.float32, copy=False)

    def times(self, parser: "TimeParser") -> npt.NDArray[np.int64]:
        column = self.batch.columns["time"]
        self._refuse(_missing(column), column, lambda _: Fault("empty time", "the time is empty", NO_TIMES))
        seconds, unreadable, other_unit = parser.seconds(column)
        remedy = NO_TIMES
        if not parser.fixed and unreadable.any():
            remedy += f", say how they are written with {parser.suggest(column, unreadable & self.good)}"
        unit = parser.describe()
        self._refuse(
            unreadable, column, lambda v: Fault("time not understood", f"time {v} cannot be read as {unit}", remedy)
        )
        other = f"does not fit the others, which are {unit}"
        self._refuse(
            other_unit, column, lambda v: Fault("time in another unit", f"time {v} {other}", "bring them to one unit")
        )
        return seconds

    def _refuse(self, bad: Mask | None, column: "pl.Series", fault: Callable[[str], Fault]) -> None:
        """Refuse the rows that are bad [n]; `fault` says why, given the first such value as it stands in the file."""
        if bad is None or not (bad := bad & self.good).any():
            return
        first = int(bad.argmax())
        value = "" if column[first] is None else str(column[first])
        line = int(self.batch.lines[first])
        self.faults.report(self.batch.source, line, fault(quote(value)), value=value, rows=int(bad.sum()))
        self.good &= ~bad


def to_numbers(texts: "pl.Series") -> "pl.Series":
    """Int64 where every text is a whole number, else Float64; null where a text is no number."""
    import polars as pl

    trimmed = texts.str.strip_chars()
    whole = trimmed.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == texts.null_count() else trimmed.cast(pl.Float64, strict=False)


def _missing(column: "pl.Series") -> Mask | None:
    """Which rows are null or blank [n]; None when none is."""
    import polars as pl

    if column.dtype == pl.String:
        return (column.str.strip_chars() == "").fill_null(True).to_numpy()
    return column.is_null().to_numpy() if column.null_count() else None


def _not_a_rating(value: str) -> Fault:
    remedy = NO_RATINGS.replace("correct it", "write a dot, not a comma") if "," in value else NO_RATINGS
    return Fault("rating not a number", f"rating {value} is not a number", remedy)


def is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or data.decode() is not None
    except UnicodeDecodeError:
        return False


def not_utf8(text: str) -> Fault | None:
    """The fault of a text, decoded with surrogate escapes, that holds a byte that was not UTF-8."""
    stray = re.search("[\udc80-\udcff]", text)
    if not stray:
        return None
    message = f"byte 0x{ord(stray[0]) - 0xDC00:02x} is not UTF-8 text"
    return Fault("not UTF-8", message, "convert a Latin-1 file (iconv -f latin1 -t utf-8 FILE)")
