"""From the raw columns of a batch to numbers and ids, refusing each row that does not hold one of each.

Every format ends here, so what is an id, a rating or a time is decided in one place:
an id is any text that is not blank, or any whole number; a rating is finite as float32; a time is of the one unit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sahcns.data.readers.clock import Clock, numbers_of
from sahcns.data.readers.faults import Faults, Lines, Where, Wrong, shown
from sahcns.data.readers.layouts import likely

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]
LARGEST = float(np.finfo(np.float32).max)
NO_RATINGS = "correct it, leave ratings out with rating=0"
NO_TIMES = "correct it, leave times out with time=0"


@dataclass
class Batch:
    """Raw columns [n] of some rows and where they stand; `tokens` when ids are text only because the file is."""

    users: "pl.Series"
    items: "pl.Series"
    ratings: "pl.Series | None"
    times: "pl.Series | None"
    lines: Lines
    where: Where
    tokens: bool = True
    events: "pl.Series | None" = None  # texts

    @classmethod
    def of(cls, columns: "Mapping[str, pl.Series]", lines: Lines, where: Where, tokens: bool) -> "Batch":
        """From columns by their roles, of which a file has user and item at least."""
        rating, time, event = (columns.get(role) for role in ("rating", "time", "event"))
        return cls(columns["user"], columns["item"], rating, time, lines, where, tokens, event)


class Sieve:
    """Refuses rows of one batch; a row is counted once, under the first thing wrong with it."""

    def __init__(self, batch: Batch, faults: Faults) -> None:
        self.batch = batch
        self.faults = faults
        self.good: Mask = np.ones(len(batch.users), np.bool_)

    def ids(self, column: "pl.Series", what: str, offset: int) -> "pl.Series":
        """Int64 or String [n]."""
        import polars as pl

        self._refuse(_missing(column, nan=True), column, lambda _: Wrong(f"empty {what} id", f"the {what} id is empty"))
        if not offset and (column.dtype == pl.String or (column.dtype == pl.Int64 and not column.null_count())):
            return column  # nothing else can be wrong
        numbers = column.cast(pl.Int64, strict=False)
        if column.dtype.is_float():
            broken = (numbers.cast(pl.Float64) != column.cast(pl.Float64)).fill_null(True).to_numpy()
            self._refuse(
                broken, column, lambda v: Wrong(f"{what} id not whole", f"{what} id {v} is not a whole number")
            )
        elif column.dtype not in (pl.String, pl.Int64):
            large = numbers.is_null().to_numpy()
            self._refuse(
                large, column, lambda v: Wrong(f"{what} id beyond 64 bits", f"{what} id {v} needs over 64 bits")
            )
        if offset:
            low = (numbers < offset).fill_null(False).to_numpy()
            sentence = f"is below items_offset={offset}"
            self._refuse(low, column, lambda v: Wrong("item below items_offset", f"item {v} {sentence}"))
        return column if column.dtype == pl.String else numbers

    def ratings(self, column: "pl.Series") -> npt.NDArray[np.float32]:
        import polars as pl

        self._refuse(_missing(column), column, lambda _: Wrong("empty rating", "the rating is empty", NO_RATINGS))
        numbers = numbers_of(column) if column.dtype == pl.String else column
        numbers = numbers if numbers.dtype == pl.Float32 else numbers.cast(pl.Float64, strict=False)
        if numbers.null_count():
            self._refuse(numbers.is_null().to_numpy(), column, _not_a_rating)
            numbers = numbers.fill_null(0)
        values = numbers.to_numpy()
        endless = ~(np.abs(values) <= LARGEST)
        self._refuse(endless, column, lambda v: Wrong("rating not finite", f"rating {v} is not a finite number"))
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(np.float32, copy=False)

    def times(self, column: "pl.Series", clock: Clock) -> npt.NDArray[np.int64]:
        self._refuse(_missing(column), column, lambda _: Wrong("empty time", "the time is empty", NO_TIMES))
        seconds, unread, other = clock.seconds(column)
        told = clock.expected()
        remedy = NO_TIMES
        if not clock.forced and unread.any():
            remedy += f", say how they are written with {_told_how(column, unread & self.good)}"
        self._refuse(
            unread, column, lambda v: Wrong("time not understood", f"time {v} cannot be read as {told}", remedy)
        )
        self._refuse(
            other,
            column,
            lambda v: Wrong(
                "time in another unit",
                f"time {v} does not fit the others, which are {told}",
                "bring them to one unit",
            ),
        )
        return seconds

    def _refuse(self, bad: Mask | None, column: "pl.Series", wrong: Callable[[str], Wrong]) -> None:
        """Refuse the rows that are bad [n]; `wrong` says why, given the first such value as it stands in the file."""
        if bad is None or not bad.any():
            return
        bad = bad & self.good
        if not bad.any():
            return
        first = int(np.flatnonzero(bad)[0])
        line, value = int(self.batch.lines[first]), "" if column[first] is None else str(column[first])
        self.faults.row(self.batch.where, line, wrong(shown(value)), value=value, rows=int(bad.sum()))
        self.good &= ~bad


def _missing(column: "pl.Series", *, nan: bool = False) -> Mask | None:
    """Null or blank [n] (and NaN, for ids), or None when no row is."""
    import polars as pl

    if column.dtype == pl.String:
        return (column.str.strip_chars() == "").fill_null(True).to_numpy()
    if nan and column.dtype.is_float():
        return (column.is_nan().fill_null(True)).to_numpy()
    return column.is_null().to_numpy() if column.null_count() else None


def _told_how(times: "pl.Series", unread: Mask) -> str:
    """The `time_unit` by which the rows [n] that could not be read could be, if there is one."""
    import polars as pl

    found = likely(times.filter(pl.Series(unread))) if times.dtype == pl.String else []
    return ", or ".join(f"time_unit={layout!r}" for layout in found) or "time_unit='%d.%m.%Y' or alike"


def _not_a_rating(value: str) -> Wrong:
    remedy = NO_RATINGS.replace("correct it", "write a dot, not a comma") if "," in value else NO_RATINGS
    return Wrong("rating not a number", f"rating {value} is not a number", remedy)
