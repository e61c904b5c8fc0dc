"""Tables that know their types: Parquet files, and pandas, polars and Arrow frames."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.data.readers.checks import Batch, Source
from sahcns.data.readers.collect import Collector
from sahcns.data.readers.columns import OPTIONAL, Column, Columns, choose, find_column
from sahcns.data.readers.opening import InputFile
from sahcns.data.readers.titles import ItemTexts, find_category, is_title_file, titles_in_columns, titles_in_file
from sahcns.errors import DataError, SahcnsError, nearest

if TYPE_CHECKING:
    import polars as pl

ROWS = 1 << 20  # passed on at a time, so that what is made from a column stays small beside it


def is_frame(source: object) -> bool:
    """A pandas, polars or Arrow table, told by where its class comes from, so that none of them is imported."""
    return _library(source) in ("pandas", "polars", "pyarrow")


def _library(source: object) -> str:
    return type(source).__module__.partition(".")[0]


def read_parquet(
    file: InputFile, wanted: Mapping[str, Column], title: str | Path | None, into: Collector
) -> tuple[Columns, ItemTexts | None]:
    """All rows of a Parquet file; which column is which, and the titles."""
    import polars as pl

    try:
        table = pl.scan_parquet(file.table, glob=False, hive_partitioning=False)
        return read_frame(table, wanted, title, into, Source(str(file.path), "row"))
    except SahcnsError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a damaged file can end in any of polars' errors
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"{file.path} is damaged or not a Parquet file ({reason}); write or download it again"
        ) from None


def read_frame(
    frame: Any, wanted: Mapping[str, Column], title: str | Path | None, into: Collector, source: Source | None = None
) -> tuple[Columns, ItemTexts | None]:
    """All rows of a frame; which column is which, and the titles."""
    source = source or Source(f"the {_library(frame)} frame", "row")
    names = _names(frame)
    columns = choose(names, wanted, source.name, _index_hint(frame))
    title_place = category_place = None
    if title is not None and (str(title) in names or not is_title_file(title)):
        title_place = find_column(names, str(title))
        if title_place is None:
            hint = nearest(str(title), names)
            raise DataError(f"title={str(title)!r} is neither a file nor a column of {source.name}; {hint}")
        category_place = find_category(names, columns.by_role().get("event"))
    places = {role: place for role, place in columns.places.items() if role != "event"}
    texts = [place for place in (title_place, category_place) if place is not None]
    series = _load(frame, [*places.values(), *texts])
    titles: ItemTexts | None = None
    if title_place is not None:
        categories = None if category_place is None else series[category_place]
        titles = titles_in_columns(series[columns.places["item"]], series[title_place], categories, str(title))
    elif title is not None:
        titles = titles_in_file(Path(title))
    used = {role: _usable(series[place], role, source) for role, place in places.items()}
    if "event" in columns.places:
        event = _load(frame, [columns.places["event"]], into.events.rows)[columns.places["event"]]
        kinds = _event_texts(event)
        if kinds is not None:
            used["event"] = kinds
        elif into.events.asked_for:
            raise _unusable(event, "event", source)
    series.clear()
    for start in range(0, len(used["user"]), ROWS):
        part = {role: column.slice(start, ROWS) for role, column in used.items()}
        into.add(Batch(part, range(start + 1, start + 1 + len(part["user"])), source, tokens=False))
    return columns, titles


def _names(frame: Any) -> list[str]:
    if type(frame).__name__ == "LazyFrame":
        return list(frame.collect_schema().names())
    names = frame.column_names if hasattr(frame, "column_names") else getattr(frame, "columns", None)
    if names is None:
        raise DataError(
            f"a {type(frame).__module__}.{type(frame).__name__} is not a table; pass a DataFrame or a Table"
        )
    return [str(name) for name in names]


def _index_hint(frame: Any) -> str:
    """What else to do where no column is recognised: pandas may have one as its index, which is not a column."""
    names = [repr(str(name)) for name in getattr(getattr(frame, "index", None), "names", ()) if name is not None]
    return f"; its index is {', '.join(names)}: pass frame.reset_index() to have it as columns" if names else ""


def _load(frame: Any, places: Sequence[int], rows: int | None = None) -> "dict[int, pl.Series]":
    """The columns at some places as polars series, all rows or the first ones."""
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        names = frame.collect_schema().names()
        try:
            selected = frame.select([names[place] for place in dict.fromkeys(places)])
            frame = (selected if rows is None else selected.head(rows)).collect()
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the polars frame cannot be computed: {str(error).splitlines()[0]}") from None
        return dict(zip(dict.fromkeys(places), frame.iter_columns(), strict=True))
    rows = len(frame) if rows is None else rows
    if isinstance(frame, pl.DataFrame):
        return {place: frame.to_series(place).head(rows) for place in places}
    if hasattr(frame, "column_names"):
        return {place: pl.Series(pl.from_arrow(frame.column(place).slice(0, rows))) for place in places}
    return {place: _from_pandas(frame.iloc[:rows, place]) for place in places}


def _from_pandas(column: Any) -> "pl.Series":
    import polars as pl

    try:
        return pl.Series(pl.from_pandas(column))
    except ImportError:
        raise DataError("pandas frames need one more package; install it with: pip install 'sahcns[pandas]'") from None
    except Exception:  # pyarrow's own classes, for values of several types, as in a sheet's column of codes
        values = zip(column.tolist(), column.isna(), strict=True)
        return pl.Series([None if missing else str(value) for value, missing in values], dtype=pl.String)


def _usable(column: "pl.Series", role: str, source: Source) -> "pl.Series":
    """A column as numbers, text or times; anything else is refused by its type."""
    import polars as pl

    kind = column.dtype
    if kind.is_numeric() or kind == pl.String or (kind == pl.Boolean and role == "rating"):
        return column
    if role == "time" and kind in (pl.Date, pl.Datetime):
        return column
    if isinstance(kind, pl.Categorical | pl.Enum) or kind == pl.Null:
        return column.cast(pl.String)
    if role in ("user", "item") and kind in (pl.Date, pl.Datetime, pl.Boolean, pl.Binary):
        with suppress(pl.exceptions.PolarsError):  # Hive and Impala write texts as binary
            return column.cast(pl.String)
    raise _unusable(column, role, source)


def _unusable(column: "pl.Series", role: str, source: Source) -> DataError:
    leave = f", or leave it out with {role}=0" if role in OPTIONAL else ""
    what = f"the {role} column {column.name!r} is of type {column.dtype}"
    return DataError(f"{source.name}: {what}; convert it to numbers or text first{leave}")


def _event_texts(column: "pl.Series") -> "pl.Series | None":
    """Kinds of events as texts, whole numbers without `.0`; None if the column holds lists or the like."""
    import polars as pl

    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        column = whole if bool((whole == column).all()) else column
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        return None
    return column.cast(pl.String)
