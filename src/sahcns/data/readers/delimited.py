"""Rows of fields between delimiters: CSV and TSV of any kind, RecBole `.inter`, MovieLens `.dat` and `u.data`, pairs.

Three ways to the same rows, each falling back on the next, which is slower and sees more: numbers straight through
polars; text through polars; line by line in Python, which finds the line of a structural fault.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from sahcns.data.readers.checks import Batch, Source
from sahcns.data.readers.collect import Collector
from sahcns.data.readers.detect import Layout
from sahcns.data.readers.lines import parse_lines
from sahcns.data.readers.opening import Chunk

if TYPE_CHECKING:
    import polars as pl

AHEAD = 2  # chunks parsed by other threads while one is taken in
STAND_IN = b"\x1f"  # takes the place of a delimiter of several characters; polars splits at single bytes only
Types = dict[str, Any]
Parsed = dict[str, "pl.Series"]


def read_delimited(chunks: Iterator[Chunk], layout: Layout, source: Source, into: Collector) -> None:
    """All rows of one file; the header, where there is one, is in the first chunk."""
    import polars as pl

    line = 1 if layout.header is None else layout.header_line + 2  # of the first row at hand
    unfinished = b""  # a quoted field that is open at the end of a chunk
    with ThreadPoolExecutor(AHEAD) as workers:
        for chunk, types, ahead in _parse_ahead(chunks, line - 1, layout, into, workers):
            data = unfinished + chunk.data
            if not data:
                continue
            # What was parsed ahead may stand on types that have changed since.
            changed = unfinished or types != _types(layout, into)
            columns = _parse(data, layout, _types(layout, into)) if changed else ahead.result()
            unfinished = b""
            if columns is not None:
                lines: Any = range(line, line + len(columns["user"]))
                line += len(lines)
            else:
                texts, lines, used = parse_lines(data, line, layout, source, into.faults, chunk.last)
                line, unfinished = line + data.count(b"\n", 0, used), data[used:]
                columns = {role: pl.Series(column, dtype=pl.String) for role, column in texts.items()}
            into.add(Batch(columns, lines, source))


def _parse_ahead(
    chunks: Iterator[Chunk], header_lines: int, layout: Layout, into: Collector, workers: ThreadPoolExecutor
) -> Iterator[tuple[Chunk, Types, "Future[Parsed | None]"]]:
    """Chunks without the header, the next ones being parsed by other threads meanwhile (numpy and polars let them)."""
    waiting: deque[tuple[Chunk, Types, Future[Parsed | None]]] = deque()
    for chunk in chunks:
        if header_lines:
            chunk = chunk._replace(data=b"".join(chunk.data.split(b"\n", header_lines)[header_lines:]))
            header_lines = 0
        types = _types(layout, into)
        waiting.append((chunk, types, workers.submit(_parse, chunk.data, layout, types)))
        if len(waiting) > AHEAD:
            yield waiting.popleft()
    yield from waiting


def _types(layout: Layout, into: Collector) -> Types:
    """Numbers wherever no text has been met so far."""
    import polars as pl

    types: Types = {
        "user": pl.Int64() if into.users.tables is None else pl.String(),
        "item": pl.Int64() if into.items.tables is None else pl.String(),
        "rating": pl.Float32(),
        "time": pl.String() if into.times.unit in ("iso", "layout") else pl.Int64(),
        "event": pl.String(),
    }
    return {role: types[role] for role in layout.columns.places}


def _parse(data: bytes, layout: Layout, types: Types) -> Parsed | None:
    """The columns by polars, if every row has the right number of fields and nothing needs a closer look."""
    if not data:
        return None
    mark = layout.delimiter.encode()
    if (len(mark) > 1 and STAND_IN in data) or (mark == b" " and b"\t" in data):
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
    if layout.quotes and b'"' in data:
        unquoted = _unquote(data, mark[0])
        if unquoted is None:
            return None
        data = unquoted
    rows, plain_numbers = _check_shape(data, mark[0], len(layout.columns.names))
    if not rows or (not plain_numbers and mark == b" "):
        return None
    if plain_numbers and (columns := _read_csv(data, mark, layout, types)):
        rating = columns.get("rating")
        if rating is None or np.isfinite(rating.to_numpy()).all():  # else the text is wanted, for the message
            return columns
    columns = _read_csv(data, mark, layout, {})
    if layout.skip_space:
        columns = {role: column.str.strip_chars_start(" ") for role, column in columns.items()}
    if not columns or (layout.header and (columns["user"] == layout.header[layout.columns.places["user"]]).any()):
        return None  # a header in the middle, perhaps
    return columns


def _read_csv(data: bytes, mark: bytes, layout: Layout, types: Mapping[str, Any]) -> Parsed:
    """The columns in use, each of its type or text; nothing if polars cannot read them so."""
    import polars as pl

    places = layout.columns.places
    schema = {f"column_{k}": pl.String() for k in range(len(layout.columns.names))}
    schema |= {f"column_{places[role]}": kind for role, kind in types.items()}
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            schema=schema,
            separator=mark.decode(),
            quote_char=None,
            truncate_ragged_lines=False,  # and no choice of columns, with which polars lets such rows pass
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return {}
    return {role: frame[f"column_{place}"] for role, place in places.items()}


def _unquote(data: bytes, mark: int) -> bytes | None:
    """The text without its quotes, if each pair only wraps a field that needs none; else None."""
    text = np.frombuffer(data, np.uint8)
    signs = np.flatnonzero((text == 34) | (text == mark) | (text == 10))
    quotes = np.flatnonzero(text[signs] == 34)
    opening, closing = quotes[0::2], quotes[1::2]
    if len(quotes) % 2 or (closing != opening + 1).any():  # a delimiter or a line end stands between two quotes
        return None
    before, after = text[signs[opening] - 1], text[signs[closing] + 1]
    before = np.where(signs[opening] == 0, 10, before)
    if not (((before == mark) | (before == 10)) & ((after == mark) | (after == 10))).all():
        return None
    return data.translate(None, b'"')


def _check_shape(data: bytes, mark: int, width: int) -> tuple[int, bool]:
    """Number of rows, or 0 if there are too few or too many fields; and whether all numbers are written plainly.

    A row with too many fields polars refuses itself, so with the right number in all, each row has the right number.
    polars reads ' 7', '+7', '007' and '-0' as numbers; as ids they are texts of their own, so they must be seen here.
    """
    text = np.frombuffer(data, np.uint8)
    ends = text == 10
    rows = int(np.count_nonzero(ends))
    edges = text == mark
    if int(np.count_nonzero(edges)) != rows * (width - 1):
        return 0, False
    edges |= ends
    doubtful = np.append(0, np.flatnonzero(edges[:-1] & (text[1:] <= 48)) + 1)  # a blank, sign, dot, zero, or nothing
    first, second = text[doubtful], text[np.minimum(doubtful + 1, len(text) - 1)]
    odd = (first == 32) | (first == 9) | (first == 43) | ((first == 10) & (mark == 32))
    odd |= ((first == 48) & (second >= 48) & (second <= 57)) | ((first == 45) & (second == 48))
    return rows, not odd.any()
