"""Rows of fields between delimiters: CSV and TSV of any kind, RecBole `.inter`, MovieLens `.dat` and `u.data`, pairs.

Three ways to the same rows, each falling back on the next, which is slower and sees more: numbers straight through
polars; text through polars; line by line in Python, which finds the line of a structural fault.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sahcns.data.readers.faults import Where
from sahcns.data.readers.gathering import Gathered
from sahcns.data.readers.line_by_line import rows_by_line
from sahcns.data.readers.opening import Chunk
from sahcns.data.readers.sniffing import Layout
from sahcns.data.readers.values import Batch

if TYPE_CHECKING:
    import polars as pl

AHEAD = 2  # chunks parsed by other threads while one is taken in
STAND_IN = b"\x1f"  # takes the place of a delimiter of several characters; polars splits at single bytes only


def read_delimited(chunks: Iterator[Chunk], layout: Layout, where: Where, into: Gathered) -> None:
    """All rows of one file; the header, where there is one, is in the first chunk."""
    import polars as pl

    held, line = b"", 1 if layout.header is None else layout.header_line + 2  # `line`: of the first row at hand
    with ThreadPoolExecutor(AHEAD) as workers:
        for chunk, guess, ahead in _parsed_ahead(chunks, line, layout, where, into, workers):
            data = held + chunk.data if held else chunk.data
            if not data:
                continue
            types = _numeric(layout, into)
            # What was parsed ahead may stand on something that has changed since.
            changed = held or guess != Guess(line, types)
            batch = _by_polars(data, line, layout, where, types) if changed else ahead.result()
            held = b""
            if batch is not None:
                line += len(batch.users)
            else:
                columns, lines, used = rows_by_line(data, line, layout, where, into.faults, chunk.last)
                line, held = line + data.count(b"\n", 0, used), data[used:]
                batch = Batch.of(
                    {role: pl.Series(texts, dtype=pl.String) for role, texts in columns.items()},
                    lines,
                    where,
                    tokens=True,
                )
            into.add(batch)


class Guess(NamedTuple):
    """What parsing a chunk ahead of its turn stands on."""

    line: int
    types: dict[str, Any]


def _parsed_ahead(
    chunks: Iterator[Chunk], line: int, layout: Layout, where: Where, into: Gathered, workers: ThreadPoolExecutor
) -> Iterator[tuple[Chunk, Guess, "Future[Batch | None]"]]:
    """Chunks without the header, the next ones being parsed by other threads meanwhile (numpy and polars let them)."""
    waiting: deque[tuple[Chunk, Guess, Future[Batch | None]]] = deque()
    for first, chunk in zip(chain([True], repeat(False)), chunks, strict=False):
        if first and line > 1:
            chunk = chunk._replace(data=b"".join(chunk.data.split(b"\n", line - 1)[line - 1 :]))
        guess = Guess(line, _numeric(layout, into))
        waiting.append((chunk, guess, workers.submit(_by_polars, chunk.data, line, layout, where, guess.types)))
        line += chunk.data.count(b"\n")
        if len(waiting) > AHEAD:
            yield waiting.popleft()
    yield from waiting


def _by_polars(data: bytes, line: int, layout: Layout, where: Where, types: Mapping[str, Any]) -> Batch | None:
    """The batch, if every row has the right number of fields and nothing needs a closer look."""
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
    if layout.quoting and b'"' in data:
        bare = _without_quotes(data, mark[0])
        if bare is None:
            return None
        data = bare
    rows, as_written = _shape(data, mark[0], layout.chosen.width)
    if not rows or (not as_written and mark == b" "):
        return None
    lines = range(line, line + rows)
    if as_written and (columns := _columns(data, mark, layout, types)):
        rating = columns.get("rating")
        if rating is None or np.isfinite(rating.to_numpy()).all():  # else the text is wanted, to be named
            return Batch.of(columns, lines, where, tokens=True)
    columns = _columns(data, mark, layout, {})
    if layout.skip_space:
        columns = {role: column.str.strip_chars_start(" ") for role, column in columns.items()}
    if not columns or (layout.header and bool((columns["user"] == layout.header[layout.chosen.user]).any())):
        return None  # a header in the middle, perhaps
    return Batch.of(columns, lines, where, tokens=True)


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
            separator=mark.decode(),
            quote_char=None,
            truncate_ragged_lines=False,  # and no choice of columns, with which polars lets such rows pass
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return {}
    return {role: frame[f"column_{place + 1}"] for role, place in places.items()}


def _numeric(layout: Layout, into: Gathered) -> dict[str, Any]:
    """Numbers wherever no text has been met so far."""
    import polars as pl

    types: dict[str, Any] = {
        "user": pl.Int64() if into.users.tables is None else pl.String(),
        "item": pl.Int64() if into.items.tables is None else pl.String(),
        "rating": pl.Float32(),
        "time": pl.String() if into.clock.unit in ("iso", "layout") else pl.Int64(),
        "event": pl.String(),
    }
    return {role: types[role] for role in layout.chosen.places()}


def _without_quotes(data: bytes, mark: int) -> bytes | None:
    """The text without its quotes, if each pair only wraps a field that needs none; else None."""
    text = np.frombuffer(data, np.uint8)
    signs = np.flatnonzero((text == 34) | (text == mark) | (text == 10))
    quotes = np.flatnonzero(text[signs] == 34)
    opening, closing = quotes[0::2], quotes[1::2]
    if len(quotes) % 2 or (closing != opening + 1).any():  # something that counts stands between two quotes
        return None
    before, after = text[signs[opening] - 1], text[signs[closing] + 1]
    before = np.where(signs[opening] == 0, 10, before)
    if not (((before == mark) | (before == 10)) & ((after == mark) | (after == 10))).all():
        return None
    return data.translate(None, b'"')


def _shape(data: bytes, mark: int, width: int) -> tuple[int, bool]:
    """Number of rows, or 0 if there are too few or too many fields; and whether none begins in a way numbers forget.

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
    doubtful = np.append(
        0, np.flatnonzero(edges[:-1] & (text[1:] <= 48)) + 1
    )  # a blank, a sign, a dot, a zero, nothing
    begins, follows = text[doubtful], text[np.minimum(doubtful + 1, len(text) - 1)]
    forgets = (begins == 32) | (begins == 9) | (begins == 43) | ((begins == 10) & (mark == 32))
    forgets |= ((begins == 48) & (follows >= 48) & (follows <= 57)) | ((begins == 45) & (follows == 48))
    return rows, not forgets.any()
