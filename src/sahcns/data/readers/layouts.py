"""How dates that are not ISO 8601 may be written, to be offered to whoever has such a file; nothing is read by a guess."""

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

DAYS = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%b %d, %Y")
SHORT = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
YEARS = (1900, 2100)  # a year of two digits, read as one of four, is none of these
LOOK = 1000  # texts that have to fit


def likely(texts: "pl.Series") -> list[str]:
    """Layouts that fit each of the first texts [n]; two where day and month could be either."""
    some = texts.drop_nulls().head(LOOK).str.strip_chars()
    return [layout for layout in map("".join, product(DAYS + SHORT, HOURS)) if len(some) and _fits(some, layout)]


def _fits(texts: "pl.Series", layout: str) -> bool:
    years = texts.str.to_datetime(layout, strict=False, time_unit="us").dt.year()
    return not years.null_count() and bool(years.is_between(*YEARS).all())
