"""Rows of fields between delimiters: CSV and TSV of any kind, RecBole `.inter`, MovieLens `.dat` and `u.data`, pairs.

Three ways to the same rows, each falling back on the next, which is slower and sees more: numbers straight through
polars; text through polars; line by line in Python, which finds the line of a structural fault.
"""

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from sahcns.data.readers.checks import Batch, Fault, Faults, Source, is_utf8, not_utf8, quote
from sahcns.data.readers.collect import Collector
from sahcns.data.readers.detect import Layout
from sahcns.data.readers.opening import Chunk

if TYPE_CHECKING:
    from _csv import Reader

    import polars as pl

AHEAD = 2  # chunks parsed by other threads while one is taken in
STAND_IN = b"\x1f"  # takes the place of a delimiter of several characters; polars splits at single bytes only
STRAY_RETURN = Fault(
    "stray carriage return", "a carriage return stands within the line", "remove it or quote the field"
)
Row = list[str] | Fault | None
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


def parse_lines(
    data: bytes, line: int, layout: Layout, source: Source, faults: Faults, last: bool
) -> tuple[dict[str, list[str]], Sequence[int], int]:
    """Texts of each column in use, the line of each row, and how many bytes were used.

    A quoted field still open at the end of the data waits, unused, for what comes next, unless this is the last.
    """
    text = data.decode("utf-8", "surrogateescape")
    texts = text.removesuffix("\n").split("\n")
    places, width = layout.columns.places, len(layout.columns.names)
    header_word = layout.header[places["user"]] if layout.header else None
    used, valid = len(data), is_utf8(data)
    quoted = layout.quotes and b'"' in data
    rows: list[list[str]] = []
    if quoted and valid:  # all at once, if Python's csv finds nothing wrong
        try:
            rows = list(_csv(io.StringIO(text, newline="\n"), layout))
        except csv.Error:
            rows = []
    if len(rows) == len(texts) and all(
        len(row) == width and row[places["user"]].strip() != header_word for row in rows
    ):
        return _columns(rows, layout), range(line, line + len(rows)), used
    rows, lines = [], list[int]()
    for at, row in _quoted(texts, layout, last) if quoted else _plain(texts, layout):
        if row is None:
            used = len("\n".join([*texts[:at], ""]).encode("utf-8", "surrogateescape"))
            break
        fault = row if isinstance(row, Fault) else None
        if fault is None and (not valid or len(row) != width or row[places["user"]].strip() == header_word):
            fault = _find_fault([*row], texts[at], layout)
        if fault is not None:
            faults.rows_read += 1
            faults.report(source, line + at, fault, value=texts[at])
        else:
            rows.append([*row])
            lines.append(line + at)
    return _columns(rows, layout), lines, used


def _columns(rows: list[list[str]], layout: Layout) -> dict[str, list[str]]:
    columns = {role: [row[place] for row in rows] for role, place in layout.columns.places.items()}
    if "event" in columns:  # may be of rows that nobody wants, so a byte that is not UTF-8 is no fault there
        columns["event"] = [text if text.isascii() else _escape_bytes(text) for text in columns["event"]]
    return columns


def _csv(lines: Iterable[str], layout: Layout) -> "Reader":
    skip_space = layout.skip_space or layout.delimiter == " "
    return csv.reader(lines, delimiter=layout.delimiter, strict=True, skipinitialspace=skip_space)


def _find_fault(row: list[str], text: str, layout: Layout) -> Fault | None:
    """What is wrong with the fields, or None for a sound row."""
    width = len(layout.columns.names)
    if len(row) != width:
        fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
        rest = "the header has" if layout.header else "the other rows have"
        message = f"{fields} where {rest} {width} (between {layout.delimiter!r}), in {quote(text)}"
        return Fault("wrong number of fields", message)
    if layout.header and [field.strip() for field in row] == [*layout.header]:
        return Fault("header again", "the header stands here a second time (were files joined?)", "remove it")
    return not_utf8("\n".join(row[place] for role, place in layout.columns.places.items() if role != "event"))


def _plain(texts: list[str], layout: Layout) -> Iterator[tuple[int, Row]]:
    mark = layout.delimiter
    for at, text in enumerate(texts):
        text = text.removesuffix("\r")
        if not text.strip(" "):
            continue
        if "\r" in text:
            yield at, STRAY_RETURN
        elif mark == " ":
            if bare := text.strip(" \t"):
                yield at, re.split("[ \t]+", bare)
        elif layout.skip_space:
            yield at, [field.lstrip(" ") for field in text.split(mark)]
        else:
            yield at, text.split(mark)


def _quoted(texts: list[str], layout: Layout, last: bool) -> Iterator[tuple[int, Row]]:
    """Rows by Python's csv; after a quote that does not close properly, reading goes on with the next line."""
    at, at_end = 0, False

    def lines_from(start: int) -> Iterator[str]:
        nonlocal at_end
        for k in range(start, len(texts)):
            yield f"{texts[k]}\n"
        at_end = True

    while at < len(texts):
        start = at
        reader = _csv(lines_from(start), layout)
        try:
            while True:
                at = start + reader.line_num
                row = next(reader)
                if layout.delimiter == " " and row and not row[-1] and len(row) == len(layout.columns.names) + 1:
                    row.pop()
                if len(row) > 1 or texts[at].strip(" \r"):
                    yield at, row
        except StopIteration:
            return
        except csv.Error as error:
            if at_end and not last:
                yield at, None
                return
            at_end = False
            mismatch = Fault("broken quotes", f"the quotes do not match ({error}), in {quote(texts[at])}")
            yield at, STRAY_RETURN if "\r" in texts[at].removesuffix("\r") else mismatch
            at += 1


def _escape_bytes(text: str) -> str:
    r"""The text, decoded with surrogate escapes, with `\xe9` for a byte that was not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
