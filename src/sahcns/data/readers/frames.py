"""Tables that know their types: Parquet files, and pandas, polars and Arrow frames."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.data.readers.faults import Where
from sahcns.data.readers.gathering import Gathered
from sahcns.data.readers.kinds import kinds_in
from sahcns.data.readers.naming import OPTIONAL, Chosen, Column, choose, place_of
from sahcns.data.readers.opening import TextFile
from sahcns.data.readers.titles import Titles, is_title_file, titles_from, titles_in_file
from sahcns.data.readers.values import Batch
from sahcns.errors import DataError, SahcnsError, nearest

if TYPE_CHECKING:
    import polars as pl

ROWS = 1 << 20  # handed on at a time, so that what is made from a column stays small beside it


def is_frame(source: object) -> bool:
    """A pandas, polars or Arrow table, told by where its class comes from, so that none of them is imported."""
    return type(source).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")


def names_in(frame: Any) -> list[str]:
    if type(frame).__name__ == "LazyFrame":
        return list(frame.collect_schema().names())
    if hasattr(frame, "column_names"):
        return [str(name) for name in frame.column_names]
    if hasattr(frame, "columns"):
        return [str(name) for name in frame.columns]
    raise DataError(f"a {type(frame).__module__}.{type(frame).__name__} is not a table; pass a DataFrame or a Table")


def read_frame(
    frame: Any, wanted: Mapping[str, Column], title: str | Path | None, into: Gathered
) -> tuple[dict[str, Any], Titles]:
    """All rows of a frame; its part of the record, and the titles."""
    library = type(frame).__module__.partition(".")[0]
    where = Where(f"the {library} frame", "row")
    names = names_in(frame)
    chosen = choose(names, wanted, where.name, _in_the_index(frame))
    title_at = _title_column(names, title, where.name)
    columns = columns_of(frame, _all_rows(chosen, title_at, into))
    titles = _titles(columns, chosen, title, title_at)
    if chosen.event is not None and chosen.event not in columns:
        columns |= columns_of(_first(frame, into.kinds.rows), [chosen.event])
    _add(columns, chosen, where, into)
    record = {"format": f"{library} frame", "columns": chosen.recorded(), "unused": chosen.unused(title)}
    return record, titles


def _in_the_index(frame: Any) -> str:
    """What else to do where no column is recognised: pandas may have one as its index, which is not a column."""
    names = [str(name) for name in getattr(getattr(frame, "index", None), "names", ()) if name is not None]
    return (
        f"; its index is {', '.join(map(repr, names))}: pass frame.reset_index() to have it as columns" if names else ""
    )


def read_parquet(
    file: TextFile, wanted: Mapping[str, Column], title: str | Path | None, into: Gathered
) -> tuple[Chosen, Titles]:
    """All rows of a Parquet file; which column was which, and the titles."""
    import polars as pl

    path = file.path
    where = Where(str(path), "row")
    try:
        table = pl.scan_parquet(file.table, glob=False, hive_partitioning=False)
        names = table.collect_schema().names()
        chosen = choose(names, wanted, str(path))
        title_at = _title_column(names, title, str(path))
        places = _all_rows(chosen, title_at, into)
        read = table.select([names[place] for place in places]).collect()
        columns = {place: read.to_series(k) for k, place in enumerate(places)}
        if chosen.event is not None and chosen.event not in columns:
            some = table.select(names[chosen.event]).head(into.kinds.rows or 0)
            columns[chosen.event] = some.collect().to_series()
    except SahcnsError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a damaged file can end in any of polars' errors
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path} is damaged or not a Parquet file ({reason}); write or download it again") from None
    del read
    titles = _titles(columns, chosen, title, title_at)
    _add(columns, chosen, where, into)
    return chosen, titles


def _all_rows(chosen: Chosen, title_at: Sequence[int], into: Gathered) -> list[int]:
    """Places of the columns that are read from end to end: of the kinds of events a glance may do."""
    wanted = {role: place for role, place in chosen.places().items() if role != "event" or into.kinds.rows is None}
    return sorted({*wanted.values(), *title_at})


def _first(frame: Any, rows: int | None) -> Any:
    return frame.slice(0, rows) if hasattr(frame, "column_names") else frame.head(rows)


def _title_column(names: Sequence[str], title: str | Path | None, where: str) -> list[int]:
    """Place of the title column, if the titles are in the table itself."""
    if title is None or (str(title) not in names and is_title_file(title)):
        return []
    place = place_of(names, str(title))
    if place is None:
        raise DataError(f"title={str(title)!r} is neither a file nor a column of {where}; {nearest(str(title), names)}")
    return [place]


def _titles(
    columns: "dict[int, pl.Series]", chosen: Chosen, title: str | Path | None, title_at: Sequence[int]
) -> Titles:
    if title is None:
        return None
    if not title_at:
        return titles_in_file(Path(title))
    return titles_from(columns[chosen.item], columns[title_at[0]]), {"column": str(title)}


def columns_of(frame: Any, places: Sequence[int]) -> "dict[int, pl.Series]":
    """The columns at some places, as polars series."""
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        names = frame.collect_schema().names()
        try:
            frame = frame.select([names[place] for place in places]).collect()
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the polars frame cannot be computed: {str(error).splitlines()[0]}") from None
        return {place: frame.to_series(k) for k, place in enumerate(places)}
    if isinstance(frame, pl.DataFrame):
        return {place: frame.to_series(place) for place in places}
    if hasattr(frame, "column_names"):
        return {place: _series(frame.column(place)) for place in places}
    return {place: _from_pandas(frame.iloc[:, place]) for place in places}


def _series(column: Any) -> "pl.Series":
    import polars as pl

    made = pl.from_arrow(column)
    assert isinstance(made, pl.Series)
    return made


def _from_pandas(column: Any) -> "pl.Series":
    """Numbers and times by their arrays, everything else by its distinct values; no pyarrow needed."""
    import numpy as np
    import pandas as pd
    import polars as pl

    if column.dtype.kind in "iufb" and isinstance(column.dtype.type, type) and hasattr(column.dtype, "newbyteorder"):
        return pl.Series(column.to_numpy())
    if column.dtype.kind == "M":
        aware = getattr(column.dtype, "tz", None) is not None
        return pl.Series((column.dt.tz_convert("UTC").dt.tz_localize(None) if aware else column).to_numpy())
    # Values of several types may be equal without being the same, as 1, 1.0 and True are; then each is looked at.
    if pd.api.types.infer_dtype(column, skipna=True) not in ("string", "integer", "categorical"):
        return _from_values(column.tolist())
    places, distinct = column.factorize()  # -1 for one that is missing
    return _from_values([*distinct.tolist(), None]).gather(np.where(places < 0, len(distinct), places))


def _from_values(given: list[Any]) -> "pl.Series":
    import polars as pl

    values = [None if _is_missing(value) else value for value in given]
    present = [value for value in values if value is not None]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return pl.Series(values, dtype=pl.Int64 if all(-(2**63) <= v < 2**63 for v in present) else pl.Int128)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return pl.Series([None if value is None else float(value) for value in values], dtype=pl.Float64)
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _is_missing(value: object) -> bool:
    """None, NaN, NaT or pandas' NA: none of them equals itself."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value is not value or value != value


def _add(columns: "dict[int, pl.Series]", chosen: Chosen, where: Where, into: Gathered) -> None:
    used = {role: _usable(columns[place], role, where) for role, place in chosen.places().items() if role != "event"}
    if chosen.event is not None:
        kinds = kinds_in(columns[chosen.event])
        if kinds is not None:
            used["event"] = kinds
        elif into.kinds.told:
            raise _unusable(columns[chosen.event], "event", where)
    columns.clear()
    rows = len(used["user"])
    for start in range(0, rows, ROWS):
        part = {role: column.slice(start, ROWS) for role, column in used.items()}
        lines = range(start + 1, start + 1 + len(part["user"]))
        into.add(Batch.of(part, lines, where, tokens=False))


def _usable(column: "pl.Series", role: str, where: Where) -> "pl.Series":
    """A column as numbers, text or times; anything else is refused by its type."""
    import polars as pl

    kind = column.dtype
    if isinstance(kind, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    if kind.is_numeric() or kind == pl.String or (kind == pl.Boolean and role == "rating"):
        return column
    if kind == pl.Null:
        return column.cast(pl.String)
    if kind == pl.Binary and role in ("user", "item"):  # as Hive and Impala write texts
        with suppress(pl.exceptions.PolarsError):
            return column.cast(pl.String)
    if role == "time" and kind in (pl.Date, pl.Datetime):
        return column
    if role in ("user", "item") and kind in (pl.Date, pl.Datetime, pl.Boolean):
        return column.cast(pl.String)
    raise _unusable(column, role, where)


def _unusable(column: "pl.Series", role: str, where: Where) -> DataError:
    what = f"the {role} column {column.name!r} is of type {column.dtype}"
    leave = f", or leave it out with {role}=0" if role in OPTIONAL else ""
    return DataError(f"{where.name}: {what}; convert it to numbers or text first{leave}")
