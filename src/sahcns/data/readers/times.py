"""Times of any common kind to seconds since 1970-01-01 UTC and nanoseconds past them, all of one unit.

The unit of a number shows in its size: below 10^11 it counts seconds (until the year 5138), below 10^14 milliseconds,
below 10^17 microseconds, else nanoseconds. Numbers that all are dates of 1900 to 2100, such as 20260331, are read as
those, and not as a few weeks of 1970. Text is ISO 8601, or as a layout such as `%d.%m.%Y` says, to the microsecond; a
time without a zone is UTC.
"""

from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from sahcns.data.filters import Mask
from sahcns.errors import SettingError, nearest

Int64 = npt.NDArray[np.int64]
Parsed = tuple[Int64, Mask, Mask]
UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
SIZES = {"s": (0, 10**11), "ms": (10**11, 10**14), "us": (10**14, 10**17), "ns": (10**17, 2**63)}
CALENDAR = (-62_135_596_800, 253_402_300_800)  # seconds; the years 1 to 9999
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEAR_FIELDS = ("%Y", "%y", "%F", "%D", "%x", "%c", "%s", "%+")
TIME = "%Y-%m-%d %H:%M:%S"
# By length, without T and Z: the common ones go through polars, whatever else ISO 8601 allows through Python.
ISO_LAYOUTS = {8: "%Y%m%d", 10: "%Y-%m-%d", 19: TIME, 23: f"{TIME}%.3f", 26: f"{TIME}%.6f"}
# Layouts that an error may suggest; nothing is read by a guess.
DAYS = (
    *("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%b %d, %Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
)
HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def to_numbers(texts: pl.Series) -> pl.Series:
    """Int64 where every text is a whole number, else Float64; null where a text is no number."""
    trimmed = texts.str.strip_chars()
    whole = trimmed.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == texts.null_count() else trimmed.cast(pl.Float64, strict=False)


class TimeParser:
    """Reads a time column whose one unit is given, or taken from the majority of the first values.

    Of the rows just read, `zoned` [n] says which name their zone and `past` [n] how many nanoseconds past the second
    each is; both are None where no row can.
    """

    def __init__(self, time_unit: str = "auto") -> None:
        allowed = ("auto", "iso", *UNITS)
        self.layout = time_unit if "%" in str(time_unit) else None
        hint = "say how dates are written, such as '%d.%m.%Y'"
        if time_unit not in allowed and self.layout is None:
            raise SettingError(f"time_unit is {time_unit!r}; {nearest(str(time_unit), allowed)}, or {hint}")
        if self.layout is not None and not any(year in self.layout for year in YEAR_FIELDS):
            raise SettingError(f"time_unit is {time_unit!r}, which has no year; {hint}")
        self.fixed = time_unit != "auto"
        self.unit: str | None = "layout" if self.layout else time_unit if self.fixed else None
        self.typed = False  # whether some column held dates and times that need no reading
        self.zoned: Mask | None = None
        self.past: npt.NDArray[np.int32] | None = None

    def name(self) -> str | None:
        """For the manifest: `seconds`, `milliseconds (as told)`, `iso`."""
        if self.unit is None:
            return "iso" if self.typed else None
        return UNITS.get(self.unit, self.layout or self.unit) + (" (as told)" if self.fixed else "")

    def describe(self) -> str:
        """For messages: what a time is expected to be."""
        if self.unit in UNITS:
            return f"{UNITS[self.unit]} since 1970"
        return f"a date written {self.layout}" if self.layout else "dates written YYYY-MM-DD or YYYY-MM-DD HH:MM:SS"

    def suggest(self, times: pl.Series, unreadable: Mask) -> str:
        """The `time_unit` by which the first thousand unreadable rows [n] could be read, if there is one."""
        texts = times.cast(pl.String).filter(pl.Series(unreadable)).drop_nulls().head(1000).str.strip_chars()
        fitting = [layout for layout in map("".join, product(DAYS, HOURS)) if len(texts) and _fits(texts, layout)]
        return ", or ".join(f"time_unit={layout!r}" for layout in fitting) or "time_unit='%d.%m.%Y' or alike"

    def seconds(self, times: pl.Series) -> Parsed:
        """Whole seconds [n], which rows are not a time at all [n], and which are one in another unit [n]."""
        self._find_unit(times)
        self.zoned = self.past = None
        if times.dtype.is_temporal():
            self.zoned = np.full(len(times), getattr(times.dtype, "time_zone", None) is not None)
            return self._from_datetimes(times.cast(pl.Datetime("us")) if times.dtype == pl.Date else times)
        if self.unit in ("layout", "iso"):
            times = times if times.dtype == pl.String else times.cast(pl.Int64, strict=False).cast(pl.String)
            return self._from_iso(times) if self.layout is None else self._from_layout(times, self.layout)
        return self._from_numbers(times)

    def _find_unit(self, times: pl.Series) -> None:
        if times.dtype.is_temporal():
            self.typed = True  # which says nothing of how another file writes its times
            return
        if self.unit is not None or not len(times):
            return
        if times.dtype == pl.String:
            times = times.drop_nulls()
            times = times.filter(times.str.strip_chars() != "")
            numbers = to_numbers(times)
            if numbers.null_count() * 2 > len(times):
                self.unit = "iso" if any(parse_iso(text) is not None for text in times) else None
                return
            times = numbers
        values = times.drop_nulls().cast(pl.Float64, strict=False).to_numpy()
        sizes = np.abs(values[np.isfinite(values) & (values != 0)])
        if _are_dates(values):
            self.unit = "iso"
        elif len(sizes):
            units = np.searchsorted([10**11, 10**14, 10**17], sizes, side="right")
            self.unit = list(UNITS)[int(np.bincount(units).argmax())]

    def _from_numbers(self, times: pl.Series) -> Parsed:
        numbers = to_numbers(times) if times.dtype == pl.String else times
        unreadable = numbers.is_null().to_numpy()
        is_date = np.zeros(len(times), np.bool_)
        if times.dtype == pl.String:  # a date among numbers is a time, of another unit
            rows = np.flatnonzero(unreadable)
            is_date[rows] = [parse_iso(text or "") is not None for text in times.gather(rows)]
        unit = self.unit if self.unit in UNITS else "s"
        fractions: npt.NDArray[np.float64] | None = None
        if numbers.dtype.is_integer() and numbers.dtype not in (pl.UInt64, pl.Int128):
            values = numbers.cast(pl.Int64).fill_null(0).to_numpy()
        else:
            floats = numbers.cast(pl.Float64, strict=False).fill_null(0).to_numpy()
            infinite = ~(np.abs(floats) < 2.0**62)
            floats, unreadable = np.where(infinite, 0, floats), unreadable | infinite
            values = np.floor(floats).astype(np.int64)
            fractions = floats - values
        low, high = (0, min(CALENDAR[1] * PER_SECOND[unit], 2**63)) if self.fixed else SIZES[unit]
        fits = (values < high) & (values > -high) & ((values >= low) | (values <= -low) | (values == 0))
        unreadable &= ~is_date
        seconds, self.past = _split_seconds(values, PER_SECOND[unit], fractions)
        return seconds, unreadable, is_date | (~fits & ~unreadable)

    def _from_datetimes(self, moments: pl.Series) -> Parsed:
        assert isinstance(moments.dtype, pl.Datetime)
        values = moments.to_physical().fill_null(0).to_numpy()
        seconds, self.past = _split_seconds(values, PER_SECOND[moments.dtype.time_unit])
        off_calendar = (seconds < CALENDAR[0]) | (seconds >= CALENDAR[1])
        return seconds, moments.is_null().to_numpy() | off_calendar, np.zeros(len(moments), np.bool_)

    def _from_layout(self, times: pl.Series, layout: str) -> Parsed:
        try:
            return self._from_datetimes(times.str.strip_chars().str.to_datetime(layout, strict=False, time_unit="us"))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).splitlines()[0]
            raise SettingError(f"time_unit is {layout!r}, which is not how a date is written ({reason})") from None

    def _from_iso(self, times: pl.Series) -> Parsed:
        plain = times.str.strip_suffix("Z").str.replace("T", " ", literal=True)
        lengths = plain.str.len_bytes().drop_nulls().unique()
        layout = ISO_LAYOUTS.get(lengths[0]) if len(lengths) == 1 else None
        moments = plain.str.to_datetime(layout, strict=False, time_unit="us") if layout else None
        if moments is None:
            moments = pl.Series([None] * len(times), dtype=pl.Datetime("us"))
        seconds, unreadable, other = self._from_datetimes(moments)
        zoned = self.zoned = times.str.ends_with("Z").fill_null(False).to_numpy().copy()
        past = self.past = np.zeros(len(times), np.int32) if self.past is None else self.past
        rows = np.flatnonzero(unreadable)
        texts = times.gather(rows)
        other[rows] = to_numbers(texts).is_not_null().to_numpy()
        for row, text in zip(rows, texts, strict=True):
            if (moment := parse_iso(text or "")) is not None:
                seconds[row], past[row], zoned[row] = moment
                unreadable[row] = other[row] = False
        return seconds, unreadable & ~other, other


def parse_iso(text: str) -> tuple[int, int, bool] | None:
    """Seconds, nanoseconds past them and whether a zone is named, of an ISO 8601 date or time; ` UTC` may follow."""
    bare = text.strip()
    try:
        moment = datetime.fromisoformat(bare.removesuffix(" UTC"))
        zoned = moment.tzinfo is not None
        moment = moment.astimezone(UTC) if zoned else moment.replace(tzinfo=UTC)
        seconds, past = divmod(moment - EPOCH, timedelta(seconds=1))
        return seconds, past.microseconds * 1000, zoned or bare.endswith(" UTC")
    except (ValueError, OverflowError):
        return None


def _fits(texts: pl.Series, layout: str) -> bool:
    """Whether a layout reads all texts; a year of two digits, read as one of four, is none of these centuries."""
    years = texts.str.to_datetime(layout, strict=False, time_unit="us").dt.year()
    return not years.null_count() and bool(years.is_between(1900, 2100).all())


def _are_dates(values: npt.NDArray[np.float64]) -> bool:
    """Whether every number [n] is written YYYYMMDD, of the years 1900 to 2100."""
    if not len(values) or not ((values >= 19_000_101) & (values <= 21_001_231) & (values == np.floor(values))).all():
        return False
    months, days = values // 100 % 100, values % 100
    return bool(((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())


def _split_seconds(
    values: Int64, per_second: int, fractions: npt.NDArray[np.float64] | None = None
) -> tuple[Int64, npt.NDArray[np.int32] | None]:
    """Whole seconds [n] of `values + fractions` and nanoseconds past them [n], if there can be any."""
    seconds = values // per_second
    if per_second == 1 and fractions is None:
        return seconds, None
    nanoseconds = 10**9 // per_second  # of a unit
    past = (values - seconds * per_second) * nanoseconds
    if fractions is not None:
        past += np.minimum((fractions * nanoseconds).astype(np.int64), nanoseconds - 1)
    return seconds, past.astype(np.int32)
