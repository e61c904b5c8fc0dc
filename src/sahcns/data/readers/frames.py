"""Tables that know their types: Parquet files, and pandas, polars and Arrow frames."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from sahcns.data.columns import OPTIONAL, Column, Columns, choose
from sahcns.data.readers.checks import BROKEN, Batch, Source, not_utf8, quote, reported
from sahcns.data.readers.collect import NUMBERS, Collector
from sahcns.data.readers.opening import InputFile
from sahcns.errors import DataError

ROWS = 1 << 20  # passed on at a time, so that what is made from a column stays small beside it


def library(source: object) -> str:
    """`pandas`, `polars` or `pyarrow` for their tables: where the class comes from, so that none is imported."""
    return type(source).__module__.partition(".")[0]


def read_parquet(file: InputFile, wanted: Mapping[str, Column], into: Collector) -> Columns:
    """All rows of a Parquet file; which column is which."""
    # a damaged file can end in any of polars' errors
    with reported(file.name, Exception, remedy="it is damaged or not a Parquet file; write or download it again"):
        table = pl.scan_parquet(file.table, glob=False, hive_partitioning=False)
        return read_frame(table, wanted, into, Source(file.name, "row"), into.room)


def read_frame(
    frame: Any, wanted: Mapping[str, Column], into: Collector, source: Source, room: int | None = None
) -> Columns:
    """All rows of a frame, `room` of them at a time where it is a file; which column is which."""
    lazy = isinstance(frame, pl.LazyFrame)
    named = frame.collect_schema().names() if lazy else getattr(frame, "column_names", getattr(frame, "columns", None))
    if named is None:
        raise DataError(f"a {library(frame)}.{type(frame).__name__} is not a table; pass a DataFrame or a Table")
    index = [repr(str(name)) for name in getattr(getattr(frame, "index", None), "names", ()) if name is not None]
    hint = f"; the index is {', '.join(index)}, which frame.reset_index() makes columns of" if index else ""
    columns = choose([str(name) for name in named], wanted, source.name, hint)
    line = 1
    for loaded in _loaded(frame, [*dict.fromkeys(columns.places.values())], room):
        used = {
            role: _usable(loaded[place], role, source, into.events.asked_for) for role, place in columns.places.items()
        }
        kept = {role: column for role, column in used.items() if column.dtype != pl.Null}
        del loaded
        for start in range(0, len(used["user"]), ROWS):
            part = {role: column.slice(start, ROWS) for role, column in kept.items()}
            into.add(Batch(part, range(line, line + len(part["user"])), source, tokens=False))
            line += len(part["user"])
    return columns


def _loaded(frame: Any, needed: list[int], room: int | None) -> Iterator[dict[int, pl.Series]]:
    """The columns that are needed, by place: all their rows, or `room` of them at a time."""
    if not isinstance(frame, pl.LazyFrame):
        yield {place: _series(frame, place) for place in needed}
        return
    frame = frame.select(pl.nth(*needed))
    rows = 1 if room is None else int(frame.select(pl.len()).collect().item())
    for start in range(0, rows, room or 1):
        table = (frame if room is None else frame.slice(start, room)).collect()
        yield dict(zip(needed, table.get_columns(), strict=True))


def _series(frame: Any, place: int) -> pl.Series:
    if isinstance(frame, pl.DataFrame):
        return frame.to_series(place)
    if hasattr(frame, "column_names"):
        return pl.Series(pl.from_arrow(frame.column(place)))
    column = frame.iloc[:, place]
    try:
        return pl.Series(pl.from_pandas(column))
    except ImportError:
        raise DataError("pandas frames need one more package; install it with: pip install 'sahcns[pandas]'") from None
    except Exception:  # pyarrow's own classes, for values of several types, as in a sheet's column of codes
        values = zip(column.tolist(), column.isna(), strict=True)
        texts = [None if missing else str(value) for value, missing in values]
        for row, text in enumerate(texts, 1):
            if text is not None and not_utf8(text):
                raise DataError(
                    f"the pandas frame, row {row:,}: {quote(text)} in column {str(column.name)!r} is not Unicode text; "
                    "correct it"
                ) from None
        return pl.Series(texts, dtype=pl.String)


def _usable(column: pl.Series, role: str, source: Source, events: bool) -> pl.Series:
    """A column as numbers, text or times; anything else is refused by its type, or all null where nobody wanted it."""
    kind = column.dtype
    try:
        if role in ("title", "category"):
            return (
                column.cast(pl.List(pl.String)).list.join("|") if isinstance(kind, pl.List) else column.cast(pl.String)
            )
        if role == "event":  # whole numbers without `.0`
            whole = column.cast(pl.Int64, strict=False) if kind.is_float() else column
            return (whole if bool((whole == column).all()) else column).cast(pl.String)
        if role == "time" and kind in (pl.Date, pl.Datetime):
            return column
        if kind.is_numeric() or kind == pl.String:
            return column
        is_id = role in ("user", "item") and kind in (pl.Date, pl.Datetime, pl.Boolean, pl.Binary)
        if is_id or isinstance(kind, pl.Categorical | pl.Enum) or kind == pl.Null:
            return column.cast(pl.String)  # Hive and Impala write texts as binary
        if kind == pl.Boolean and role in NUMBERS:
            return column.cast(pl.Float32)
    except BROKEN:
        pass
    if role == "event" and not events:
        return pl.Series(dtype=pl.Null)
    leave = f", or leave it out with {role}=0" if role in OPTIONAL else ""
    what = f"the {role} column {column.name!r} is of type {column.dtype}"
    raise DataError(f"{source.name}: {what}; convert it to numbers or text first{leave}")
