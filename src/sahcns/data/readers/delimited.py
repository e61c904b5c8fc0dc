"""Rows of fields between delimiters: CSV and TSV of any kind, RecBole `.inter`, MovieLens `.dat` and `u.data`, pairs.

polars reads what is plain, numbers straight and else text; whatever needs a closer look is read line by line in Python,
which finds the line of a structural fault.
"""

import csv
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl

from sahcns.data.readers.checks import ANY_BYTES, BROKEN, Batch, Fault, Faults, Source, is_utf8, not_utf8, quote
from sahcns.data.readers.collect import Collector
from sahcns.data.readers.detect import Layout, split_plain
from sahcns.data.readers.opening import Chunk

AHEAD = 2  # chunks parsed by other threads while one is taken in
LONGEST_ROW = 1000  # lines that a quoted field may take; without a limit, many open quotes would take for ever
STAND_IN = b"\x1f"  # takes the place of a delimiter of several characters; polars splits at single bytes only
STRAY_RETURN = Fault(
    "stray carriage return", "a carriage return stands within the line", "remove it or quote the field"
)
Parsed = dict[str, pl.Series]


def read_delimited(chunks: Iterator[Chunk], layout: Layout, source: Source, into: Collector) -> None:
    """All rows of one file; the header, where there is one, is in the first chunk."""
    header = 0 if layout.header is None else layout.header_line + 1
    line = 1 + header  # of the first row at hand
    unfinished = b""  # a quoted field that is open at the end of a chunk
    with ThreadPoolExecutor(AHEAD) as workers:
        for chunk, parsed in _parse_ahead(chunks, header, layout, into, workers):
            data = unfinished + chunk.data
            if not data:
                continue
            columns = parse_fast(data, layout, into) if unfinished else parsed.result()
            unfinished = b""
            if columns is not None:
                into.add(Batch(columns, range(line, line + len(columns["user"])), source))
                line += len(columns["user"])
                continue
            rows, places, used = _by_line(data, line, layout, source, into.faults, chunk.last)
            line, unfinished = line + data.count(b"\n", 0, used), data[used:]
            roles = layout.columns.places.items()
            columns = {role: pl.Series([row[at] for row in rows], dtype=pl.String) for role, at in roles}
            into.add(Batch(columns, places, source))


def _parse_ahead(
    chunks: Iterator[Chunk], header: int, layout: Layout, into: Collector, workers: ThreadPoolExecutor
) -> Iterator[tuple[Chunk, "Future[Parsed | None]"]]:
    """Chunks without the header, the next ones being parsed by other threads meanwhile (numpy and polars let them)."""
    waiting: deque[tuple[Chunk, Future[Parsed | None]]] = deque()
    for chunk in chunks:
        if header:
            chunk, header = chunk._replace(data=b"".join(chunk.data.split(b"\n", header)[header:])), 0
        waiting.append((chunk, workers.submit(parse_fast, chunk.data, layout, into)))
        if len(waiting) > AHEAD:
            yield waiting.popleft()
    yield from waiting


def parse_fast(data: bytes, layout: Layout, into: Collector) -> Parsed | None:
    """The columns by polars, if every row has the right number of fields and nothing needs a closer look."""
    mark = layout.delimiter.encode()
    if not data or (len(mark) > 1 and STAND_IN in data) or (mark == b" " and b"\t" in data):
        return None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            return None
    if layout.skip_space:
        data = data.replace(mark + b" ", mark)
    if len(mark) > 1:
        data, mark = data.replace(mark, STAND_IN), STAND_IN
    data += b"" if data.endswith(b"\n") else b"\n"
    if layout.quotes and b'"' in data and not (data := _unquote(data, mark[0])):
        return None
    sound, plain_numbers = _check_shape(data, mark[0], len(layout.columns.names))
    if not sound or (not plain_numbers and mark == b" "):
        return None
    columns = _read_csv(data, mark, layout, _types(layout, into)) if plain_numbers else {}
    if columns and not any(np.isinf(column.to_numpy()).any() for column in columns.values() if column.dtype.is_float()):
        return columns  # else the text is wanted, for the message
    columns = _read_csv(data, mark, layout, {})
    if layout.skip_space:
        columns = {role: column.str.strip_chars_start(" ") for role, column in columns.items()}
    if not columns or (layout.header and (columns["user"] == layout.header[layout.columns.places["user"]]).any()):
        return None  # a header in the middle, perhaps
    return columns


def _types(layout: Layout, into: Collector) -> dict[str, Any]:
    """Numbers wherever no text has been met so far."""
    types: dict[str, Any] = dict.fromkeys(layout.columns.places, pl.String())
    ids = {role: pl.Int64() for role, ids in (("user", into.users), ("item", into.items)) if not ids.is_text}
    times = {} if into.times.unit in ("iso", "layout") else {"time": pl.Int64()}
    numbers = dict.fromkeys(("rating", "quantity", "price"), pl.Float32())
    return types | {role: kind for role, kind in (ids | times | numbers).items() if role in types}


def _read_csv(data: bytes, mark: bytes, layout: Layout, types: Mapping[str, Any]) -> Parsed:
    """The columns in use, each of its type or text; nothing if polars cannot read them so."""
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
    except BROKEN:
        return {}
    return {role: frame[f"column_{place}"] for role, place in places.items()}


def _unquote(data: bytes, mark: int) -> bytes:
    """The text without its quotes, if each pair only wraps a field that needs none; else nothing."""
    text = np.frombuffer(data, np.uint8)
    signs = np.flatnonzero((text == 34) | (text == mark) | (text == 10))
    quotes = np.flatnonzero(text[signs] == 34)
    opening, closing = quotes[0::2], quotes[1::2]
    if len(quotes) % 2 or (closing != opening + 1).any():  # a delimiter or a line end stands between two quotes
        return b""
    before, after = np.where(signs[opening] == 0, 10, text[signs[opening] - 1]), text[signs[closing] + 1]
    alone = ((before == mark) | (before == 10)) & ((after == mark) | (after == 10))
    return data.translate(None, b'"') if alone.all() else b""


def _check_shape(data: bytes, mark: int, width: int) -> tuple[bool, bool]:
    """Whether there are as many fields as there must be, and whether all numbers are written plainly.

    A row with too many fields polars refuses itself, so with the right number in all, each row has the right number.
    polars reads ' 7', '+7', '007' and '-0' as numbers; as ids they are texts of their own, so they must be seen here.
    """
    text = np.frombuffer(data, np.uint8)
    ends, edges = text == 10, text == mark
    if int(np.count_nonzero(edges)) != int(np.count_nonzero(ends)) * (width - 1):
        return False, False
    edges |= ends
    doubtful = np.append(0, np.flatnonzero(edges[:-1] & (text[1:] <= 48)) + 1)  # a blank, sign, dot, zero, or nothing
    first, second = text[doubtful], text[np.minimum(doubtful + 1, len(text) - 1)]
    odd = (first == 32) | (first == 9) | (first == 43) | ((first == 10) & (mark == 32))
    odd |= ((first == 48) & (second >= 48) & (second <= 57)) | ((first == 45) & (second == 48))
    return True, not odd.any()


def _by_line(
    data: bytes, line: int, layout: Layout, source: Source, faults: Faults, last: bool
) -> tuple[list[list[str]], Sequence[int], int]:
    """The sound rows, the line of each, and how many bytes were used.

    A quoted field still open at the end of the data waits, unused, for what comes next, unless this is the last.
    """
    texts = data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    valid, used = is_utf8(data), len(data)
    rows, lines = list[list[str]](), list[int]()
    for at, row in _quoted(texts, layout, last) if layout.quotes and b'"' in data else _plain(texts, layout):
        if row is None:
            used = len("\n".join([*texts[:at], ""]).encode("utf-8", "surrogateescape"))
            break
        fault = row if isinstance(row, Fault) else _find_fault(row, texts[at], layout, valid)
        if fault is not None:
            faults.refuse(source, line + at, fault, texts[at])
        else:
            rows.append([*row])
            lines.append(line + at)
    return rows, lines, used


def _find_fault(row: list[str], text: str, layout: Layout, valid: bool) -> Fault | None:
    """What is wrong with the fields, or None for a sound row."""
    width, header = len(layout.columns.names), layout.header
    if len(row) != width:
        fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
        rest = "the header has" if header else "the other rows have"
        message = f"{fields} where {rest} {width} (between {layout.delimiter!r}), in {quote(text)}"
        return Fault("wrong number of fields", message)
    if header and row[0].strip() == header[0] and [field.strip() for field in row] == [*header]:
        return Fault("header again", "the header stands here a second time (were files joined?)", "remove it")
    if valid:
        return None
    for role, place in layout.columns.places.items():
        if role not in ANY_BYTES and (fault := not_utf8(row[place])):
            return fault
        row[place] = row[place].encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return None


def _plain(texts: list[str], layout: Layout) -> Iterator[tuple[int, list[str] | Fault]]:
    mark = layout.delimiter
    for at, text in enumerate(texts):
        text = text.removesuffix("\r")
        if not text.strip(" \t" if mark == " " else " "):
            continue
        yield at, STRAY_RETURN if "\r" in text else split_plain(text, mark, layout.skip_space)


def _quoted(texts: list[str], layout: Layout, last: bool) -> Iterator[tuple[int, list[str] | Fault | None]]:
    """Rows by Python's csv; after a quote that does not close properly, reading goes on with the next line."""
    at, at_end, mark = 0, False, layout.delimiter

    def lines_from(start: int) -> Iterator[str]:
        nonlocal at_end
        for k in range(start, len(texts)):
            if k - at > LONGEST_ROW:
                raise csv.Error(f"not closed within {LONGEST_ROW:,} lines")
            yield f"{texts[k]}\n"
        at_end = True

    while at < len(texts):
        start = at
        skip_space = layout.skip_space or mark == " "
        reader = csv.reader(lines_from(start), delimiter=mark, strict=True, skipinitialspace=skip_space)
        try:
            while True:
                at = start + reader.line_num
                row = next(reader)
                if mark == " " and row and not row[-1] and len(row) == len(layout.columns.names) + 1:
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
            message = f"the quotes do not match ({error}), in {quote(texts[at])}"
            stray = "\r" in texts[at].removesuffix("\r")
            yield at, STRAY_RETURN if stray else Fault("broken quotes", message)
            at += 1
