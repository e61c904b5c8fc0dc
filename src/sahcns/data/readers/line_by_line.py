"""Delimited text taken apart in Python, one line at a time: slower than polars, and able to say what is wrong where."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sahcns.data.readers.faults import Faults, Where, Wrong, shown
from sahcns.data.readers.sniffing import Layout

if TYPE_CHECKING:
    from _csv import Reader

STRAY_RETURN = Wrong(
    "stray carriage return", "a carriage return stands within the line", "remove it or quote the field"
)


def rows_by_line(
    data: bytes, line: int, layout: Layout, where: Where, faults: Faults, last: bool
) -> tuple[dict[str, list[str]], Sequence[int], int]:
    """Texts of each column in use, the line of each row, and how many bytes were used.

    A quoted field still open at the end of the data waits, unused, for what comes next, unless this is the last.
    """
    text = data.decode("utf-8", "surrogateescape")
    texts = text.removesuffix("\n").split("\n")
    header_word = layout.header[layout.chosen.user] if layout.header else None
    width, user = layout.chosen.width, layout.chosen.user
    used, valid = len(data), decodes(data)
    quoted = layout.quoting and b'"' in data
    rows: list[list[str]] = _all_at_once(text, layout) if quoted and valid else []
    if len(rows) == len(texts) and all(len(row) == width and row[user].strip() != header_word for row in rows):
        return _columns(rows, layout), range(line, line + len(rows)), used
    rows, lines = [], list[int]()
    for at, row in _quoted(texts, layout, last) if quoted else _plain(texts, layout):
        if row is None:
            used = len("\n".join([*texts[:at], ""]).encode("utf-8", "surrogateescape"))
            break
        wrong: Wrong | None = None
        if isinstance(row, Wrong):
            wrong = row
        elif not valid or len(row) != width or row[user].strip() == header_word:
            wrong = _wrong(row, texts[at], layout)
        if wrong is not None:
            faults.rows_read += 1
            faults.row(where, line + at, wrong, value=texts[at])
        elif not isinstance(row, Wrong):
            rows.append(row)
            lines.append(line + at)
    return _columns(rows, layout), lines, used


def _columns(rows: list[list[str]], layout: Layout) -> dict[str, list[str]]:
    places = layout.chosen.places()
    found = {role: [row[place] for row in rows] for role, place in places.items()}
    if "event" in found:
        found["event"] = [text if text.isascii() else readable(text) for text in found["event"]]
    return found


def _all_at_once(text: str, layout: Layout) -> list[list[str]]:
    """The rows, if Python's csv finds nothing wrong; else none, and each line is looked at."""
    try:
        return list(_csv(io.StringIO(text, newline="\n"), layout))
    except csv.Error:
        return []


def _csv(lines: Iterable[str], layout: Layout) -> "Reader":
    spaced = layout.skip_space or layout.delimiter == " "
    return csv.reader(lines, delimiter=layout.delimiter, strict=True, skipinitialspace=spaced)


def decodes(data: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        return data.isascii() or data.decode() is not None
    except UnicodeDecodeError:
        return False


def _wrong(row: list[str], text: str, layout: Layout) -> Wrong | None:
    """What is wrong with the fields, or None for a sound row."""
    width = layout.chosen.width
    if len(row) != width:
        fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
        rest = "the header has" if layout.header else "the other rows have"
        what = f"{fields} where {rest} {width} (between {layout.delimiter!r}), in {shown(text)}"
        return Wrong("wrong number of fields", what)
    if layout.header and [field.strip() for field in row] == [*layout.header]:
        return Wrong("header again", "the header stands here a second time (were files joined?)", "remove it")
    return not_utf8("\n".join(row[place] for role, place in layout.chosen.places().items() if role != "event"))


def readable(text: str) -> str:
    r"""The kind of an event, with `\xe9` for a byte that was not UTF-8: it may be of rows that nobody wants."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def not_utf8(text: str) -> Wrong | None:
    """What is wrong if the text, decoded with surrogate escapes, holds a byte that was not UTF-8."""
    found = re.search("[\udc80-\udcff]", text)
    if not found:
        return None
    byte = ord(found[0]) - 0xDC00
    return Wrong(
        "not UTF-8", f"byte 0x{byte:02x} is not UTF-8 text", "convert a Latin-1 file (iconv -f latin1 -t utf-8 FILE)"
    )


def _plain(texts: list[str], layout: Layout) -> Iterator[tuple[int, list[str] | Wrong]]:
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


def _quoted(texts: list[str], layout: Layout, last: bool) -> Iterator[tuple[int, list[str] | Wrong | None]]:
    """Rows by Python's csv; after a quote that does not close properly, reading goes on with the next line."""
    mark, at, ran_out = layout.delimiter, 0, False

    def fed(start: int) -> Iterator[str]:
        nonlocal ran_out
        for k in range(start, len(texts)):
            yield f"{texts[k]}\n"
        ran_out = True

    while at < len(texts):
        begun = at
        reader = _csv(fed(begun), layout)
        try:
            while True:
                at = begun + reader.line_num
                row = next(reader)
                if mark == " " and row and not row[-1] and len(row) == layout.chosen.width + 1:
                    row.pop()
                if len(row) > 1 or texts[at].strip(" \r"):
                    yield at, row
        except StopIteration:
            return
        except csv.Error as error:
            if ran_out and not last:
                yield at, None
                return
            ran_out = False
            mismatch = Wrong("broken quotes", f"the quotes do not match ({error}), in {shown(texts[at])}")
            yield at, STRAY_RETURN if "\r" in texts[at].removesuffix("\r") else mismatch
            at += 1
