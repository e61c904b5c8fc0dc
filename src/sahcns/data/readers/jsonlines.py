"""One JSON object a line: Amazon reviews (version 2), Yelp's open data, or any other with named fields."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sahcns.data.readers.faults import Faults, Where, Wrong, shown
from sahcns.data.readers.gathering import Gathered
from sahcns.data.readers.naming import OPTIONAL, ROLES, Chosen, Column, choose
from sahcns.data.readers.opening import Chunk
from sahcns.data.readers.sniffing import sample
from sahcns.data.readers.values import Batch
from sahcns.errors import DataError

KNOWN: dict[str, dict[str, str]] = {
    "amazon": {"user": "reviewerID", "item": "asin", "rating": "overall", "time": "unixReviewTime"},
    "yelp": {"user": "user_id", "item": "business_id", "rating": "stars", "time": "date"},
}
Row = dict[str, str | int | None]


def fields_of(data: bytes, kind: str, wanted: Mapping[str, Column], where: str) -> Chosen:
    """Which field is the user, the item, the rating, the time and the event: told, known for the format, or recognised."""
    told: dict[str, Column] = {role: wanted.get(role) for role in ROLES}
    names: dict[str, None] = {}
    lines = [text for _, text in sample(data, where)]
    for text in lines:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            names |= dict.fromkeys(found)
    if not names:
        raise DataError(f"{where}: no line is a JSON object; the first is {shown(lines[0])}; write one object a line")
    for role, name in KNOWN.get(kind, {}).items():
        if told[role] is None and name in names:
            told[role] = name
    return choose(list(names), told, where)


def read_jsonlines(chunks: Iterator[Chunk], fields: Mapping[str, str], where: Where, into: Gathered) -> None:
    """All objects of one file; polars where each field is plainly there, line by line in Python elsewhere."""
    line = 1
    for chunk in chunks:
        into.add(_by_polars(chunk.data, line, fields, where) or _by_line(chunk.data, line, fields, where, into.faults))
        line += chunk.data.count(b"\n")


def _by_polars(data: bytes, line: int, fields: Mapping[str, str], where: Where) -> Batch | None:
    """The batch, if every line has its ids as text under one key and its numbers as numbers."""
    import polars as pl

    data = data if data.endswith(b"\n") else data + b"\n"
    rows = data.count(b"\n")
    for role, field in fields.items():
        # Within a text the quotes would be escaped, so this finds keys only: one a line, and each holds a text.
        starts = [json.dumps(field).encode() + colon for colon in (b": ", b":")]
        if role in ("user", "item") and sum(data.count(start + b'"') for start in starts) != rows:
            return None
        if any(start + truth in data for start in starts for truth in (b"t", b"f")):  # older polars: true is 1.0
            return None
    types: dict[str, Any] = {role: pl.String() for role in fields} | {"rating": pl.Float64()}
    for times in (pl.Int64(), pl.String()):
        types["time"] = times
        try:
            frame = pl.read_ndjson(data, schema={name: types[role] for role, name in fields.items()})
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            continue
        columns = {role: frame[name] for role, name in fields.items()}
        if frame.height != rows or any(column.null_count() for role, column in columns.items() if role != "event"):
            continue
        if any(columns[role].str.contains("\x00", literal=True).any() for role in ("user", "item")):
            return None  # what polars makes of half a character
        lines = range(line, line + rows)
        return Batch.of(columns, lines, where, tokens=False)
    return None


def _by_line(data: bytes, line: int, fields: Mapping[str, str], where: Where, faults: Faults) -> Batch:
    import polars as pl

    columns: dict[str, list[str | int | None]] = {role: [] for role in fields}
    lines: list[int] = []
    for at, text in enumerate(data.decode("utf-8", "surrogateescape").split("\n")):
        if not text.strip(" \t\r"):
            continue
        row, wrong = _row(text, fields)
        if wrong:
            faults.rows_read += 1
            faults.row(where, line + at, wrong, value=text)
            continue
        lines.append(line + at)
        for role, value in row.items():
            columns[role].append(value)
    made = {role: _ids(values) for role, values in columns.items() if role in ("user", "item")}
    made |= {role: pl.Series(values, dtype=pl.String) for role, values in columns.items() if role in OPTIONAL}
    return Batch.of(made, lines, where, tokens=False)


def _ids(values: list[str | int | None]) -> Any:
    import polars as pl

    if values and all(isinstance(value, int) for value in values):
        return pl.Series(values, dtype=pl.Int64)
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _row(text: str, fields: Mapping[str, str]) -> tuple[Row, Wrong | None]:
    """Ids as text or whole numbers, rating and time as text; or what is wrong."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, Wrong("not JSON", f"{shown(text)} is not JSON ({error})")
    if not isinstance(found, dict):
        return {}, Wrong("not an object", f"{shown(text)} is not a JSON object")
    row: Row = {}
    for role, name in fields.items():
        if role == "event":
            row[role] = _kind(found.get(name))
            continue
        if name not in found:
            return {}, Wrong(f"no {role} field", f"the field {name!r} ({role}) is missing")
        value = found[name]
        is_id = role in ("user", "item")
        if isinstance(value, bool | list | dict) or (is_id and isinstance(value, float)):
            kind = "text or a whole number" if is_id else "a number or text"
            return {}, Wrong(
                f"{role} of a wrong type",
                f"the field {name!r} ({role}) holds {shown(value)}; it must be {kind}",
            )
        if is_id and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            return {}, Wrong(f"{role} id beyond 64 bits", f"{role} id {shown(value)} does not fit in 64 bits")
        if isinstance(value, str) and not value.isascii() and not _encodes(value):
            return {}, Wrong("not UTF-8", f"the field {name!r} ({role}) holds {shown(value)}, which is not UTF-8 text")
        row[role] = value if value is None or (is_id and isinstance(value, int)) else str(value)
    return row, None


def _kind(value: object) -> str:
    """Whatever stands there, as text: it may be of a row that nobody wants."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if text.isascii() or _encodes(text) else text.encode("utf-8", "backslashreplace").decode()


def _encodes(text: str) -> bool:
    """False for bytes that were not UTF-8 (here as surrogate escapes) and for half a character."""
    try:
        return text.encode() is not None
    except UnicodeEncodeError:
        return False
