"""What may stand in a row: ids, numbers and times are checked here, for every format alike.

An id is any text that is not blank, or any whole number; a number is finite as float32; a time is of the one unit. A row
that fails is an error that names it, or, when lenient, a count that ends up in the manifest. An empty number or time is
no fault but missing (NaN, NAT): whether it is needed shows later.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from sahcns.data.filters import Mask
from sahcns.data.interactions import NAT
from sahcns.data.readers.times import TimeParser, to_numbers
from sahcns.errors import DataError, SahcnsError

Lines = Sequence[int] | npt.NDArray[np.int64]
Entries = dict[str, dict[str, Any]]
LONGEST_VALUE = 60  # characters of a value that a message quotes
LENIENT_LIMIT = 0.5
BROKEN: tuple[type[BaseException], ...] = (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError)
ANY_BYTES = ("event", "title", "category")  # may be of rows that nobody wants, so a byte not UTF-8 is no fault there


def quote(value: object) -> str:
    """A value for a message: quoted, on one line, cut when it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


class EmptyFile(DataError):
    """A file without a single row or header; among several, a day on which nothing happened."""


class Fault(NamedTuple):
    """What is wrong with a row: the reason it is counted under, a message (`{}` where the value comes), and what to do."""

    reason: str
    message: str
    remedy: str = "correct it"

    def about(self, value: str) -> "Fault":
        return self._replace(message=self.message.replace("{}", quote(value)))


@dataclass(frozen=True)
class Source:
    """A file or a table by its name, and what its rows are counted in."""

    name: str
    unit: str = "line"

    def at(self, line: int) -> str:
        return f"{self.name}, {self.unit} {line:,}"


def count(entries: Entries, name: str, source: Source, line: int, value: object, rows: int) -> None:
    """Add rows to those counted under a name, which remembers the first of them."""
    first = {"rows": 0, "file": source.name, "first_line": int(line), "example": quote(value)}
    entries.setdefault(name, first)["rows"] += int(rows)


@dataclass
class Faults:
    """The rows that cannot be used; `rows_read` counts them and the good ones alike."""

    lenient: bool
    limit: float = LENIENT_LIMIT
    rows_read: int = 0
    skipped: Entries = field(default_factory=dict)

    @property
    def rows_skipped(self) -> int:
        return sum(entry["rows"] for entry in self.skipped.values())

    def report(self, source: Source, line: int, fault: Fault, *, value: object = "", rows: int = 1) -> None:
        """Refuse `rows` rows alike, the first on `line`: raise, or count them under their reason."""
        if not self.lenient:
            raise DataError(
                f"{source.at(line)}: {fault.message}; {fault.remedy}, or read with lenient to skip such rows"
            )
        count(self.skipped, fault.reason, source, line, value, rows)

    def refuse(self, source: Source, line: int, fault: Fault, text: str) -> None:
        """A whole line, which comes to no batch."""
        self.rows_read += 1
        self.report(source, line, fault, value=text)

    def check_limit(self) -> None:
        """An error where so many rows were skipped that what is left says little about the file."""
        if self.rows_skipped > self.limit * self.rows_read or 0 < self.rows_read == self.rows_skipped:
            reasons = ", ".join(
                f"{entry['rows']:,} {reason} (first: line {entry['first_line']:,} of {entry['file']}: {entry['example']})"
                for reason, entry in self.skipped.items()
            )
            raise DataError(
                f"{self.rows_skipped:,} of the {self.rows_read:,} rows cannot be used, more than "
                f"lenient_limit={self.limit:g} of them: {reasons}; name the right columns, or raise the limit"
            )


@dataclass
class Batch:
    """Raw columns [n] of some rows by role, and where the rows stand; `tokens` if ids are text because the file is."""

    columns: Mapping[str, pl.Series]
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

    def ids(self, role: str, offset: int = 0) -> pl.Series:
        """Int64 or String [n]."""
        column = self.batch.columns[role]
        self._refuse(missing(column), role, Fault(f"empty {role} id", f"the {role} id is empty"))
        if not offset and column.dtype in (pl.String, pl.Int64):
            return column
        numbers = column.cast(pl.Int64, strict=False)
        if column.dtype not in (pl.String, pl.Int64):
            wrong = (numbers.cast(pl.Float64) != column.cast(pl.Float64)).fill_null(True).to_numpy()
            message = f"{role} id {{}} is not a whole number of at most 64 bits"
            self._refuse(wrong, role, Fault(f"{role} id not a whole number", message))
        if offset:
            low = (numbers < offset).fill_null(False).to_numpy()
            message = f"item {{}} is below items_offset={offset}"
            self._refuse(low, role, Fault("item below items_offset", message))
        return column if column.dtype == pl.String else numbers

    def numbers(self, role: str) -> npt.NDArray[np.float32]:
        """NaN where there is none."""
        column = self.batch.columns[role]
        numbers = to_numbers(column) if column.dtype == pl.String else column
        if numbers.dtype != pl.Float32:
            numbers = numbers.cast(pl.Float64, strict=False)
        if numbers.null_count():
            comma = column.dtype == pl.String and column.str.contains(",", literal=True).any()
            remedy = f"{'write a dot, not a comma' if comma else 'correct it'}, leave {role}s out with {role}=0"
            unread = numbers.is_null().to_numpy() & ~missing(column)
            self._refuse(unread, role, Fault(f"{role} not a number", f"{role} {{}} is not a number", remedy))
        values = numbers.to_numpy()  # NaN for null
        infinite = np.abs(values) > np.finfo(np.float32).max
        self._refuse(infinite, role, Fault(f"{role} not finite", f"{role} {{}} is not a finite number"))
        with np.errstate(over="ignore"):
            return values.astype(np.float32, copy=False)

    def times(self, parser: TimeParser) -> npt.NDArray[np.int64]:
        """Seconds; NAT where there is none."""
        column = self.batch.columns["time"]
        absent = missing(column)
        seconds, unread, other_unit = parser.seconds(column)
        unread, remedy, unit = unread & ~absent, "correct it, leave times out with time=0", parser.describe()
        if not parser.fixed and unread.any():
            remedy += f", say how they are written with {parser.suggest(column, unread & self.good)}"
        self._refuse(unread, "time", Fault("time not understood", f"time {{}} cannot be read as {unit}", remedy))
        message = f"time {{}} does not fit the others, which are {unit}"
        self._refuse(other_unit, "time", Fault("time in another unit", message, "bring them to one unit"))
        return np.where(absent, NAT, seconds) if absent.any() else seconds

    def _refuse(self, bad: Mask, role: str, fault: Fault) -> None:
        """Refuse the rows that are bad [n]."""
        if not bad.any() or not (bad := bad & self.good).any():
            return
        first = int(bad.argmax())
        value = self.batch.columns[role][first]
        text = "" if value is None else str(value)
        line, rows = int(self.batch.lines[first]), int(np.count_nonzero(bad))
        self.faults.report(self.batch.source, line, fault.about(text), value=text, rows=rows)
        self.good &= ~bad


@contextmanager
def reported(place: str, *more: type[BaseException], remedy: str = "correct it, or write it again") -> Iterator[None]:
    """What polars refuses or breaks off at, and text that is not Unicode, as an error that names the place."""
    try:
        yield
    except SahcnsError:
        raise
    except (*BROKEN, *more) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(f"{place} cannot be read ({reason}); {remedy}") from None


def missing(column: pl.Series) -> Mask:
    """Which values are null, not a number or blank [n]."""
    if column.dtype == pl.String:
        return (column.str.strip_chars() == "").fill_null(True).to_numpy()
    if column.dtype.is_float():
        return np.asarray(np.isnan(column.to_numpy()))
    return column.is_null().to_numpy() if column.null_count() else np.zeros(len(column), np.bool_)


def is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or data.decode() is not None
    except UnicodeDecodeError:
        return False


def not_utf8(text: str) -> Fault | None:
    """The fault of a text that holds a byte that was not UTF-8, decoded as a surrogate escape, or half a character."""
    stray = re.search("[\ud800-\udfff]", text)
    if not stray:
        return None
    byte = ord(stray[0]) - 0xDC00
    what = f"byte 0x{byte:02x}" if 0x80 <= byte <= 0xFF else f"half a character, {stray[0]!r},"
    return Fault("not UTF-8", f"{what} is not UTF-8 text", "say what it is, such as encoding='latin-1'")
