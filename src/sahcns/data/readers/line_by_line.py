"""Delimited text taken apart in Python, one line at a time: slower than polars, and able to say what is wrong where."""

import csv
import re
from collections.abc import Iterator

from sahcns.data.readers.faults import Faults, Where, Wrong, shown
from sahcns.data.readers.sniffing import Layout

STRAY_RETURN = Wrong(
    "stray carriage return", "a carriage return stands within the line", "remove it or quote the field"
)


def rows_by_line(
    data: bytes, line: int, layout: Layout, where: Where, faults: Faults, last: bool
) -> tuple[dict[str, list[str]], list[int], int]:
    """Texts of each column in use, the line of each row, and how many bytes were used.

    A quoted field still open at the end of the data waits, unused, for what comes next, unless this is the last.
    """
    texts = data.decode("utf-8", "surrogateescape").split("\n")
    if not texts[-1]:
        texts.pop()
    places = layout.chosen.places()
    columns: dict[str, list[str]] = {role: [] for role in places}
    lines: list[int] = []
    valid = decodes(data)
    reading = _quoted(texts, layout, last) if layout.quoting and b'"' in data else _plain(texts, layout)
    for at, row in reading:
        if row is None:
            return columns, lines, len("\n".join([*texts[:at], ""]).encode("utf-8", "surrogateescape"))
        wrong = row if isinstance(row, Wrong) else _wrong(row, texts[at], layout, valid)
        if wrong is not None:
            faults.rows_read += 1
            faults.row(where, line + at, wrong, value=texts[at])
            continue
        lines.append(line + at)
        for role, place in places.items():
            columns[role].append(row[place])
    return columns, lines, len(data)


def decodes(data: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        return data.isascii() or data.decode() is not None
    except UnicodeDecodeError:
        return False


def _wrong(row: list[str], text: str, layout: Layout, valid: bool) -> Wrong | None:
    """What is wrong with the fields, or None for a sound row."""
    width = layout.chosen.width
    if len(row) != width:
        fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
        rest = "the header has" if layout.header else "the other rows have"
        return Wrong(
            "wrong number of fields", f"{fields} where {rest} {width} (between {layout.delimiter!r}), in {shown(text)}"
        )
    user = layout.chosen.user
    if layout.header and row[user].strip() == layout.header[user] and [f.strip() for f in row] == [*layout.header]:
        return Wrong("header again", "the header stands here a second time (were files joined?)", "remove it")
    return None if valid else not_utf8("\n".join(row[place] for place in layout.chosen.places().values()))


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
        reader = csv.reader(fed(begun), delimiter=mark, strict=True, skipinitialspace=layout.skip_space or mark == " ")
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
            stray = "\r" in texts[at].removesuffix("\r")
            yield (
                at,
                STRAY_RETURN
                if stray
                else Wrong("broken quotes", f"the quotes do not match ({error}), in {shown(texts[at])}"),
            )
            at += 1
