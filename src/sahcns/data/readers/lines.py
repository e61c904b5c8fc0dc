"""Text taken apart in Python, one line at a time: slower than polars, and able to say what is wrong where.

Delimited files come here where polars finds something odd; LightGCN's `user item item …` lines always do.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sahcns.data.readers.checks import Batch, Fault, Faults, Source, quote
from sahcns.data.readers.collect import Collector
from sahcns.data.readers.detect import Layout
from sahcns.data.readers.opening import Chunk

if TYPE_CHECKING:
    from _csv import Reader

STRAY_RETURN = Fault(
    "stray carriage return", "a carriage return stands within the line", "remove it or quote the field"
)
Row = list[str] | Fault | None


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
        columns["event"] = [text if text.isascii() else escape_bytes(text) for text in columns["event"]]
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


def read_adjacency(chunks: Iterator[Chunk], source: Source, into: Collector) -> int:
    """All pairs of a file of `user item item …` lines; returns how many lines name a user and no item."""
    import polars as pl

    users_alone, line = 0, 1
    for chunk in chunks:
        rows: list[tuple[int, list[str]]] = []
        valid = is_utf8(chunk.data)
        for at, text in enumerate(chunk.data.decode("utf-8", "surrogateescape").split("\n"), line):
            tokens = text.split()
            fault = None if valid else not_utf8(text)
            if fault:
                into.faults.rows_read += 1
                into.faults.report(source, at, fault, value=text)
            elif len(tokens) > 1:
                rows.append((at, tokens))
            else:
                users_alone += len(tokens)
        items = [item for _, tokens in rows for item in tokens[1:]]
        if items:
            counts = [len(tokens) - 1 for _, tokens in rows]
            users = pl.Series([tokens[0] for _, tokens in rows]).gather(np.repeat(np.arange(len(rows)), counts))
            lines = np.repeat(np.array([at for at, _ in rows]), counts)
            into.add(Batch({"user": users, "item": pl.Series(items)}, lines, source))
        line += chunk.data.count(b"\n")
    return users_alone


def is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or data.decode() is not None
    except UnicodeDecodeError:
        return False


def escape_bytes(text: str) -> str:
    r"""The text, decoded with surrogate escapes, with `\xe9` for a byte that was not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def not_utf8(text: str) -> Fault | None:
    """The fault of a text, decoded with surrogate escapes, that holds a byte that was not UTF-8."""
    found = re.search("[\udc80-\udcff]", text)
    if not found:
        return None
    message = f"byte 0x{ord(found[0]) - 0xDC00:02x} is not UTF-8 text"
    return Fault("not UTF-8", message, "convert a Latin-1 file (iconv -f latin1 -t utf-8 FILE)")
