"""From the four raw columns of a batch to numbers and ids, refusing each row that does not hold one of each.

Every format ends here, so what is an id, a rating or a time is decided in one place:
an id is any text that is not blank, or any whole number; a rating is finite as float32; a time is of the one unit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sahcns.data.readers.clock import Clock, numbers_of
from sahcns.data.readers.faults import SKIP_HINT, Faults, Lines, Where, shown

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]
LARGEST = float(np.finfo(np.float32).max)


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


class Sieve:
    """Refuses rows of one batch; a row is counted once, under the first thing wrong with it."""

    def __init__(self, batch: Batch, faults: Faults) -> None:
        self.batch = batch
        self.faults = faults
        self.good: Mask = np.ones(len(batch.users), np.bool_)

    def ids(self, column: "pl.Series", what: str, offset: int) -> "pl.Series":
        """Int64 or String [n]."""
        import polars as pl

        self._refuse(_missing(column, nan=True), f"empty {what} id", column, lambda _: f"the {what} id is empty")
        if column.dtype == pl.Int64 and column.null_count() == 0 and not offset:
            return column  # nothing can be wrong, and ten million rows pass here
        numbers = column.cast(pl.Int64, strict=False)
        if column.dtype.is_float():
            broken = (numbers.cast(pl.Float64) != column.cast(pl.Float64)).fill_null(True).to_numpy()
            self._refuse(broken, f"{what} id not whole", column, lambda v: f"{what} id {v} is not a whole number")
        elif column.dtype not in (pl.String, pl.Int64):
            large = numbers.is_null().to_numpy()
            self._refuse(large, f"{what} id beyond 64 bits", column, lambda v: f"{what} id {v} does not fit in 64 bits")
        if offset:
            low = (numbers < offset).fill_null(False).to_numpy()
            self._refuse(low, "item below items_offset", column, lambda v: f"item {v} is below items_offset={offset}")
        return column if column.dtype == pl.String else numbers

    def ratings(self, column: "pl.Series") -> npt.NDArray[np.float32]:
        import polars as pl

        self._refuse(_missing(column), "empty rating", column, lambda _: "the rating is empty")
        numbers = numbers_of(column) if column.dtype == pl.String else column
        numbers = numbers if numbers.dtype == pl.Float32 else numbers.cast(pl.Float64, strict=False)
        if numbers.null_count():
            self._refuse(numbers.is_null().to_numpy(), "rating not a number", column, _not_a_rating)
            numbers = numbers.fill_null(0)
        values = numbers.to_numpy()
        endless = ~(np.abs(values) <= LARGEST)
        self._refuse(endless, "rating not finite", column, lambda v: f"rating {v} is not a finite number")
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(np.float32, copy=False)

    def times(self, column: "pl.Series", clock: Clock) -> npt.NDArray[np.int64]:
        self._refuse(_missing(column), "empty time", column, lambda _: "the time is empty")
        seconds, unread, other = clock.seconds(column)
        self._refuse(unread, "time not understood", column, lambda v: f"time {v} is not one of {clock.expected()}")
        self._refuse(
            other,
            "time in another unit",
            column,
            lambda v: f"time {v} does not fit the other times, which are {clock.expected()} (time_unit= forces a unit)",
        )
        return seconds

    def _refuse(self, bad: Mask | None, reason: str, column: "pl.Series", sentence: Callable[[str], str]) -> None:
        if bad is None or not bad.any():
            return
        bad = bad & self.good
        if not bad.any():
            return
        first = int(np.flatnonzero(bad)[0])
        line, value = int(self.batch.lines[first]), "" if column[first] is None else str(column[first])
        text = f"{sentence(shown(value))}; {SKIP_HINT}"
        self.faults.row(self.batch.where, line, reason, text, value=value, rows=int(bad.sum()))
        self.good &= ~bad


def plain_numbers(texts: "pl.Series") -> "pl.Series | None":
    """The texts as Int64 if each is a whole number as one writes it ('7', not '007' or '+7'), else None."""
    import polars as pl

    numbers = texts.cast(pl.Int64, strict=False)
    return numbers if numbers.null_count() == 0 and bool((numbers.cast(pl.String) == texts).all()) else None


def _missing(column: "pl.Series", *, nan: bool = False) -> Mask | None:
    """Null or blank [n] (and NaN, for ids), or None when no row is."""
    import polars as pl

    if column.dtype == pl.String:
        return (column.str.strip_chars() == "").fill_null(True).to_numpy()
    if nan and column.dtype.is_float():
        return (column.is_nan().fill_null(True)).to_numpy()
    return column.is_null().to_numpy() if column.null_count() else None


def _not_a_rating(value: str) -> str:
    hint = " (write a dot, not a comma)" if "," in value else ""
    return f"rating {value} is not a number{hint}; if this column holds no ratings, leave it out with rating=0"
