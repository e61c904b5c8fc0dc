"""Times of any common kind to seconds since 1970-01-01 UTC and nanoseconds past them, all of one unit.

The unit of a number shows in its size: below 10^11 it counts seconds (until the year 5138), below 10^14 milliseconds,
below 10^17 microseconds, else nanoseconds. Numbers that all are dates of 1900 to 2100, such as 20260331, are read as
those, and not as a few weeks of 1970. Text is ISO 8601, or as a layout such as `%d.%m.%Y` says, to the microsecond; a
time without a zone is UTC.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sahcns.errors import SettingError, nearest

if TYPE_CHECKING:
    import polars as pl

UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
SIZES = {"s": (0, 10**11), "ms": (10**11, 10**14), "us": (10**14, 10**17), "ns": (10**17, 2**63)}
CALENDAR = (-62_135_596_800, 253_402_300_800)  # seconds; the years 1 to 9999
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEARS = ("%Y", "%y", "%F", "%D", "%x", "%c", "%s", "%+")  # fields of a layout that tell the year
FIXED_FORMATS = {  # by length: the common ones go through polars, whatever else ISO 8601 allows through Python
    8: ("%Y%m%d",),
    10: ("%Y-%m-%d",),
    19: ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"),
    20: ("%Y-%m-%dT%H:%M:%SZ",),
    23: ("%Y-%m-%d %H:%M:%S%.3f", "%Y-%m-%dT%H:%M:%S%.3f"),
    24: ("%Y-%m-%dT%H:%M:%S%.3fZ",),
    26: ("%Y-%m-%d %H:%M:%S%.6f", "%Y-%m-%dT%H:%M:%S%.6f"),
    27: ("%Y-%m-%dT%H:%M:%S%.6fZ",),
}


class Clock:
    """The one unit of a time column: given, or settled by the majority of the first values."""

    def __init__(self, time_unit: str = "auto") -> None:
        allowed = ("auto", "iso", *UNITS)
        self.layout = time_unit if "%" in str(time_unit) else None
        if time_unit not in allowed and self.layout is None:
            raise SettingError(
                f"time_unit is {time_unit!r}; {nearest(str(time_unit), allowed)}, "
                "or say how dates are written, such as '%d.%m.%Y'"
            )
        if self.layout is not None and not any(field in self.layout for field in YEARS):
            raise SettingError(
                f"time_unit is {time_unit!r}, which has no year; say how dates are written, such as '%d.%m.%Y'"
            )
        self.forced = time_unit != "auto"
        self.unit: str | None = "layout" if self.layout else time_unit if self.forced else None
        self.typed = False  # whether some column held dates and times that need no reading
        self.zoned: npt.NDArray[np.bool_] | None = None  # of the rows just read [n]: which say their zone, if any might
        self.past: npt.NDArray[np.int32] | None = None  # of the same [n]: nanoseconds past the second, if any might

    def name(self) -> str | None:
        """For the manifest: `seconds`, `milliseconds (as told)`, `iso`."""
        if self.unit is None:
            return "iso" if self.typed else None
        return UNITS.get(self.unit, self.layout or self.unit) + (" (as told)" if self.forced else "")

    def settle(self, times: "pl.Series") -> None:
        """Take the unit from these values unless it is known already."""
        import polars as pl

        if times.dtype.is_temporal():
            self.typed = True  # which says nothing of how another file writes its times
            return
        if self.unit is not None or not len(times):
            return
        if times.dtype == pl.String:
            times = times.drop_nulls()
            times = times.filter(times.str.strip_chars() != "")
            numbers = numbers_of(times)
            if numbers.null_count() * 2 > len(times):
                self.unit = "iso" if any(iso_seconds(text) is not None for text in times) else None
                return
            times = numbers
        values = times.drop_nulls().cast(pl.Float64, strict=False).to_numpy()
        sizes = np.abs(values[np.isfinite(values) & (values != 0)])
        if _are_dates(values):
            self.unit = "iso"
        elif len(sizes):
            found = np.searchsorted([10**11, 10**14, 10**17], sizes, side="right")
            self.unit = list(UNITS)[int(np.bincount(found).argmax())]

    def seconds(self, times: "pl.Series") -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Whole seconds [n], which rows are not a time at all [n], and which are one in another unit [n].

        What else there is to say of these rows is in `zoned` and `past`.
        """
        import polars as pl

        self.settle(times)
        n = len(times)
        self.zoned = self.past = None
        if times.dtype.is_temporal():
            self.zoned = np.full(n, getattr(times.dtype, "time_zone", None) is not None)
            whole = self._parted(times.cast(pl.Datetime("us")) if times.dtype == pl.Date else times)
            return whole, times.is_null().to_numpy() | _off_calendar(whole), np.zeros(n, np.bool_)
        if self.layout is not None:
            return self._laid_out(times.cast(pl.String), self.layout)
        if self.unit == "iso":
            numeric = times.dtype != pl.String
            return self._from_iso(times.cast(pl.Int64, strict=False).cast(pl.String) if numeric else times)
        numbers = numbers_of(times) if times.dtype == pl.String else times
        unreadable = numbers.is_null().to_numpy() if numbers.null_count() else np.zeros(n, np.bool_)
        other = np.zeros(n, np.bool_)
        if times.dtype == pl.String and unreadable.any():  # a date among numbers is a time, of another kind
            texts = times.to_list()
            for k in np.flatnonzero(unreadable):
                other[k] = texts[k] is not None and iso_seconds(texts[k]) is not None
        unit = self.unit if self.unit in UNITS else "s"
        values, rest, infinite = _whole(numbers)
        low, high = SIZES[unit]
        if self.forced:
            low, high = 0, min(CALENDAR[1] * PER_SECOND[unit], 2**63)
        fits = (values < high) & (values > -high) & ((values >= low) | (values <= -low) | (values == 0))
        unreadable = (unreadable | infinite) & ~other
        seconds, self.past = _past_the_second(values, PER_SECOND[unit], rest)
        return seconds, unreadable, other | (~fits & ~unreadable)

    def _parted(self, moments: "pl.Series") -> npt.NDArray[np.int64]:
        """Whole seconds of dates with times [n]; what is past them goes to `past`."""
        import polars as pl

        assert isinstance(moments.dtype, pl.Datetime)
        values = moments.to_physical().fill_null(0).to_numpy()
        seconds, self.past = _past_the_second(values, PER_SECOND[moments.dtype.time_unit])
        return seconds

    def _laid_out(
        self, times: "pl.Series", layout: str
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        import polars as pl

        try:
            parsed = times.str.strip_chars().str.to_datetime(layout, strict=False, time_unit="us")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).splitlines()[0]
            raise SettingError(f"time_unit is {layout!r}, which is not how a date is written ({reason})") from None
        seconds = self._parted(parsed)
        return seconds, parsed.is_null().to_numpy() | _off_calendar(seconds), np.zeros(len(times), np.bool_)

    def _from_iso(
        self, times: "pl.Series"
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        import polars as pl

        seconds, unread = np.zeros(len(times), np.int64), np.ones(len(times), np.bool_)
        zoned = self.zoned = np.zeros(len(times), np.bool_)
        lengths = times.str.len_bytes()
        width = lengths.max()
        if width is not None and lengths.min() == width:
            for layout in FIXED_FORMATS.get(int(str(width)), ()):
                parsed = times.str.to_datetime(layout, strict=False, time_unit="us")
                if parsed.null_count() < len(times):
                    seconds = self._parted(parsed)
                    unread = parsed.is_null().to_numpy() | _off_calendar(seconds)
                    zoned[:] = layout.endswith("Z")
                    break
        texts = times.to_list() if unread.any() else []
        other = np.zeros(len(times), np.bool_)
        past = self.past = np.zeros(len(times), np.int32) if self.past is None else self.past
        for k in np.flatnonzero(unread):
            found = iso_moment(texts[k]) if texts[k] is not None else None
            if found is not None:
                seconds[k], past[k], zoned[k] = found
                unread[k] = False
            elif texts[k] is not None:
                other[k] = numbers_of(pl.Series([texts[k]], dtype=pl.String)).null_count() == 0
        return seconds, unread & ~other, other

    def expected(self) -> str:
        if self.unit in UNITS:
            return f"{UNITS[self.unit]} since 1970"
        if self.layout is not None:
            return f"a date written {self.layout}"
        return "dates written YYYY-MM-DD or YYYY-MM-DD HH:MM:SS"


def _are_dates(values: npt.NDArray[np.float64]) -> bool:
    """Whether every number [n] is written YYYYMMDD, of the years 1900 to 2100."""
    if not len(values) or not ((values >= 19_000_101) & (values <= 21_001_231) & (values == np.floor(values))).all():
        return False
    months, days = values // 100 % 100, values % 100
    return bool(((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())


def iso_seconds(text: str) -> int | None:
    """Seconds of an ISO 8601 date or time, or None; ` UTC` may follow, as many exports have it."""
    found = iso_moment(text)
    return None if found is None else found[0]


def iso_moment(text: str) -> tuple[int, int, bool] | None:
    """The same, the nanoseconds past it, and whether the text says its zone."""
    bare = text.strip()
    try:
        moment = datetime.fromisoformat(bare.removesuffix(" UTC"))
        zoned = moment.tzinfo is not None
        moment = moment.astimezone(UTC) if zoned else moment.replace(tzinfo=UTC)
        seconds, past = divmod(moment - EPOCH, timedelta(seconds=1))
        return seconds, past.microseconds * 1000, zoned or bare.endswith(" UTC")
    except (ValueError, OverflowError):
        return None


def numbers_of(texts: "pl.Series") -> "pl.Series":
    """Int64 where every text is a whole number, else Float64; null where a text is no number."""
    import polars as pl

    trimmed = texts.str.strip_chars()
    whole = trimmed.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == texts.null_count() else trimmed.cast(pl.Float64, strict=False)


def _off_calendar(seconds: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return (seconds < CALENDAR[0]) | (seconds >= CALENDAR[1])


def _past_the_second(
    values: npt.NDArray[np.int64], per_second: int, rest: npt.NDArray[np.float64] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32] | None]:
    """Whole seconds [n] of `values` + `rest`, where 0 ≤ rest < 1, and nanoseconds past them [n], if there can be any."""
    seconds = values // per_second
    if per_second == 1 and rest is None:
        return seconds, None
    size = 10**9 // per_second  # nanoseconds of a unit
    past = (values - seconds * per_second) * size
    if rest is not None:
        past += np.minimum((rest * size).astype(np.int64), size - 1)
    return seconds, past.astype(np.int32)


def _whole(
    numbers: "pl.Series",
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64] | None, npt.NDArray[np.bool_]]:
    """Numbers floored to int64 [n], what that took from them [n], if anything, and which were not finite or too large [n]."""
    import polars as pl

    if numbers.dtype.is_integer() and numbers.dtype not in (pl.UInt64, pl.Int128):
        whole = numbers if numbers.dtype == pl.Int64 else numbers.cast(pl.Int64)
        return (whole.fill_null(0) if whole.null_count() else whole).to_numpy(), None, np.zeros(len(numbers), np.bool_)
    floats = numbers.cast(pl.Float64, strict=False).fill_null(0).to_numpy()
    bad = ~np.isfinite(floats) | (np.abs(floats) >= 2.0**62)
    floats = np.where(bad, 0, floats)
    floored = np.floor(floats)
    return floored.astype(np.int64), floats - floored, bad
