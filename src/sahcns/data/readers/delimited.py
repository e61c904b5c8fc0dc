"""Rows of fields between delimiters: CSV and TSV of any kind, RecBole `.inter`, MovieLens `.dat` and `u.data`, pairs.

Three ways to the same rows, each falling back on the next, which is slower and sees more: numbers straight through
polars; text through polars; line by line in Python, which finds the line of a structural fault.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sahcns.data.readers.faults import Where
from sahcns.data.readers.gathering import Gathered
from sahcns.data.readers.line_by_line import rows_by_line
from sahcns.data.readers.opening import Chunk
from sahcns.data.readers.sniffing import Layout
from sahcns.data.readers.values import Batch

if TYPE_CHECKING:
    import polars as pl

STAND_IN = b"\x1f"  # takes the place of a delimiter of several characters; polars splits at single bytes only


def read_delimited(chunks: Iterator[Chunk], layout: Layout, where: Where, into: Gathered) -> None:
    """All rows of one file; the header, where there is one, is in the first chunk."""
    import polars as pl

    held, held_line = b"", 1
    for chunk in chunks:
        data, line = (held + chunk.data, held_line) if held else (chunk.data, chunk.line)
        held = b""
        if chunk.line == 1 and layout.header is not None:
            data, line = (
                b"".join(data.split(b"\n", layout.header_line + 1)[layout.header_line + 1 :]),
                layout.header_line + 2,
            )
        if not data:
            continue
        batch = _by_polars(data, line, layout, where, into)
        if batch is None:
            columns, lines, used = rows_by_line(data, line, layout, where, into.faults, chunk.last)
            held, held_line = data[used:], line + data.count(b"\n", 0, used)
            batch = _batch({role: pl.Series(texts, dtype=pl.String) for role, texts in columns.items()}, lines, where)
        into.add(batch)


def _by_polars(data: bytes, line: int, layout: Layout, where: Where, into: Gathered) -> Batch | None:
    """The batch, if every row has the right number of fields and nothing needs a closer look."""
    mark = layout.delimiter.encode()
    if (layout.quoting and b'"' in data) or (len(mark) > 1 and STAND_IN in data) or (mark == b" " and b"\t" in data):
        return None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            return None
    if layout.skip_space:
        data = data.replace(mark + b" ", mark)
    if len(mark) > 1:
        data, mark = data.replace(mark, STAND_IN), STAND_IN
    if not data.endswith(b"\n"):
        data += b"\n"
    rows, as_written = _shape(data, mark[0], layout.chosen.width)
    if not rows or (not as_written and mark == b" "):
        return None
    lines = range(line, line + rows)
    if as_written and (columns := _columns(data, mark, layout, _numeric(layout, into))):
        return _batch(columns, lines, where)
    columns = _columns(data, mark, layout, {})
    if layout.skip_space:
        columns = {role: column.str.strip_chars_start(" ") for role, column in columns.items()}
    if not columns or (layout.header and bool((columns["user"] == layout.header[layout.chosen.user]).any())):
        return None  # a header in the middle, perhaps
    return _batch(columns, lines, where)


def _columns(data: bytes, mark: bytes, layout: Layout, types: Mapping[str, Any]) -> "dict[str, pl.Series]":
    """The columns in use, each of its type or text; nothing if polars cannot read them so."""
    import polars as pl

    places = layout.chosen.places()
    schema = {f"column_{k + 1}": pl.String() for k in range(layout.chosen.width)}
    schema |= {f"column_{places[role] + 1}": kind for role, kind in types.items()}
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            schema=schema,
            columns=sorted(places.values()),
            separator=mark.decode(),
            quote_char=None,
        )
    except pl.exceptions.PolarsError:
        return {}
    return {role: frame[f"column_{place + 1}"] for role, place in places.items()}


def _numeric(layout: Layout, into: Gathered) -> dict[str, Any]:
    """Numbers wherever no text has been met so far."""
    import polars as pl

    types: dict[str, Any] = {
        "user": pl.Int64() if into.users.tables is None else pl.String(),
        "item": pl.Int64() if into.items.tables is None else pl.String(),
        "rating": pl.Float32(),
        "time": pl.String() if into.clock.unit == "iso" else pl.Int64(),
    }
    return {role: types[role] for role in layout.chosen.places()}


def _shape(data: bytes, mark: int, width: int) -> tuple[int, bool]:
    """Number of rows, or 0 if one has not `width` fields; and whether no field begins in a way that numbers forget.

    polars reads ' 7', '+7', '007' and '-0' as numbers; as ids they are texts of their own, so they must be seen here.
    """
    text = np.frombuffer(data, np.uint8)
    ends = text == 10
    rows = int(np.count_nonzero(ends))
    ends |= text == mark
    edges = np.flatnonzero(ends)
    if len(edges) != rows * width or not (text[edges[width - 1 :: width]] == 10).all():
        return 0, False
    edges += 1
    edges[-1] = 0  # after the last line end comes nothing; the first field begins at 0
    begins = text[edges]
    doubtful = edges[begins <= 48]  # a blank, a sign, a dot, a zero, or an empty field
    begins, follows = text[doubtful], text[np.minimum(doubtful + 1, len(text) - 1)]
    forgets = (begins == 32) | (begins == 9) | (begins == 43)
    forgets |= ((begins == 48) & (follows >= 48) & (follows <= 57)) | ((begins == 45) & (follows == 48))
    return rows, not forgets.any()


def _batch(columns: "dict[str, pl.Series]", lines: Any, where: Where) -> Batch:
    return Batch(columns["user"], columns["item"], columns.get("rating"), columns.get("time"), lines, where)
