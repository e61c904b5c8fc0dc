"""One record a line: JSON objects (Amazon reviews version 2, Yelp's open data, others), or `user item item …`."""

import json
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from sahcns.data.columns import Column, Columns, choose
from sahcns.data.readers.checks import ANY_BYTES, BROKEN, Batch, Fault, Faults, Source, is_utf8, not_utf8, quote
from sahcns.data.readers.collect import NUMBERS, Collector
from sahcns.data.readers.detect import json_fields, sample
from sahcns.data.readers.opening import Chunk
from sahcns.data.readers.titles import json_text
from sahcns.errors import DataError

Value = str | int | None


def choose_fields(data: bytes, wanted: Mapping[str, Column], name: str) -> Columns:
    """Which field is the user, the item, the rating, the time and the event: told or usual."""
    lines = [text for _, text in sample(data, name)]
    names = json_fields(lines)
    if not names:
        raise DataError(f"{name}: no line is a JSON object; the first is {quote(lines[0])}; write one object a line")
    return choose([*names], wanted, name)


def read_jsonlines(chunks: Iterator[Chunk], fields: Mapping[str, str], source: Source, into: Collector) -> None:
    """All objects of one file; polars where each field is plainly there, line by line in Python elsewhere."""
    line = 1
    for chunk in chunks:
        batch = _by_polars(chunk.data, line, fields, source)
        into.add(batch or _by_line(chunk.data, line, fields, source, into.faults))
        line += chunk.data.count(b"\n")


def _by_polars(data: bytes, line: int, fields: Mapping[str, str], source: Source) -> Batch | None:
    """The batch, if every line has its ids as text under one key and its numbers as numbers."""
    data = data if data.endswith(b"\n") else data + b"\n"
    rows = data.count(b"\n")
    if "title" in fields:
        return None
    for role, field in fields.items():
        # Within a text the quotes would be escaped, so this finds keys only: one a line, and each holds a text.
        starts = [json.dumps(field).encode() + colon for colon in (b": ", b":")]
        if role in ("user", "item") and sum(data.count(start + b'"') for start in starts) != rows:
            return None
        if any(start + truth in data for start in starts for truth in (b"t", b"f")):  # older polars: true is 1.0
            return None
    for times in (pl.Int64(), pl.String()):
        types = {role: pl.Float64() if role in NUMBERS else times if role == "time" else pl.String() for role in fields}
        try:
            frame = pl.read_ndjson(data, schema={field: types[role] for role, field in fields.items()})
        except BROKEN:
            continue
        columns = {role: frame[field] for role, field in fields.items()}
        if frame.height != rows or any(column.null_count() for role, column in columns.items() if role != "event"):
            continue
        if any(columns[role].str.contains("\x00", literal=True).any() for role in ("user", "item")):
            return None  # what polars makes of half a character
        return Batch(columns, range(line, line + rows), source, tokens=False)
    return None


def _by_line(data: bytes, line: int, fields: Mapping[str, str], source: Source, faults: Faults) -> Batch:
    rows: list[dict[str, Value]] = []
    lines: list[int] = []
    for at, text in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), line):
        if not text.strip(" \t\r"):
            continue
        row = _row(text, fields)
        if isinstance(row, Fault):
            faults.refuse(source, at, row, text)
        else:
            lines.append(at)
            rows.append(row)
    columns = {}
    for role in fields:
        values = [row[role] for row in rows]
        whole = role in ("user", "item") and values and all(isinstance(value, int) for value in values)
        texts = values if whole else [None if value is None else str(value) for value in values]
        columns[role] = pl.Series(texts, dtype=pl.Int64 if whole else pl.String)
    return Batch(columns, lines, source, tokens=False)


def _row(text: str, fields: Mapping[str, str]) -> dict[str, Value] | Fault:
    """Ids as text or whole numbers, the rest as text; or what is wrong."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Fault("not JSON", f"{quote(text)} is not JSON ({error})")
    if not isinstance(record, dict):
        return Fault("not an object", f"{quote(text)} is not a JSON object")
    row: dict[str, Value] = {}
    for role, name in fields.items():
        value, field, is_id = record.get(name), f"the field {name!r} ({role})", role in ("user", "item")
        if role in ANY_BYTES:  # whatever stands there: it may be of a row that nobody wants
            if role == "event" and not isinstance(value, str):
                value = "" if value is None else json.dumps(value, ensure_ascii=False)
            row[role] = json_text(value).encode("utf-8", "backslashreplace").decode()
            continue
        if name not in record and is_id:
            return Fault(f"no {role} field", f"{field} is missing")
        if isinstance(value, bool | list | dict) or (is_id and isinstance(value, float)):
            kind = "text or a whole number" if is_id else "a number or text"
            return Fault(f"{role} of a wrong type", f"{field} holds {quote(value)}; it must be {kind}")
        if is_id and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            return Fault(f"{role} id beyond 64 bits", f"{role} id {quote(value)} does not fit in 64 bits")
        if isinstance(value, str) and (fault := not_utf8(value)):
            return fault._replace(message=f"{fault.message} in {field}")
        row[role] = value if value is None or (is_id and isinstance(value, int)) else str(value)
    return row


def read_adjacency(chunks: Iterator[Chunk], source: Source, into: Collector) -> int:
    """All pairs of a file of `user item item …` lines; returns how many lines name a user and no item."""
    users_alone, line = 0, 1
    for chunk in chunks:
        texts = chunk.data.decode("utf-8", "surrogateescape").split("\n")
        if not is_utf8(chunk.data):
            for at, text in enumerate(texts):
                if fault := not_utf8(text):
                    into.faults.refuse(source, line + at, fault, text)
                    texts[at] = ""
        tokens = pl.Series(texts).str.extract_all("[^ \t\r]+")
        frame = pl.DataFrame({"line": np.arange(line, line + len(texts)), "tokens": tokens})
        users_alone += int((tokens.list.len() == 1).sum())
        rows = (
            frame.filter(pl.col("tokens").list.len() > 1)
            .select("line", user=pl.col("tokens").list.first(), item=pl.col("tokens").list.slice(1))
            .explode("item")
        )
        if len(rows):
            columns = {"user": rows["user"], "item": rows["item"]}
            into.add(Batch(columns, rows["line"].to_numpy().astype(np.int32), source))
        line += chunk.data.count(b"\n")
    return users_alone
