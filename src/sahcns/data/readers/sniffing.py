"""What a file holds, told from its first lines and not from its name."""

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sahcns.data.readers.clock import iso_seconds
from sahcns.data.readers.faults import EmptyFile
from sahcns.data.readers.naming import TYPED, Chosen, Column, choose, choose_by_place, key, one_line, usual
from sahcns.errors import DataError, SettingError

SAMPLE_LINES = 300
STRONG = ("::", "\t", ";", "|", ",", "\x01", "^")  # a space is tried after these, since texts and dates contain spaces
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
WHOLE = re.compile(r"-?[0-9]+")
OPENS = re.compile(r'(^|[,;|^\t\x01 ])"')  # a quote that begins a field, unlike the inches of a 5" pipe
TOLD_TO_EXCEL = re.compile(r"sep=(.)")  # a line before the header, which says the delimiter
LONGEST_FIELD = 50  # lines that a quoted field may take in the sample


@dataclass(frozen=True)
class Layout:
    """How a delimited file is written: `skip_space` when a space after the delimiter belongs to it."""

    delimiter: str
    skip_space: bool
    header: tuple[str, ...] | None
    header_line: int
    chosen: Chosen
    kind: str = "csv"

    @property
    def quoting(self) -> bool:
        return len(self.delimiter) == 1 and self.kind != "pairs"


def sample(data: bytes, where: str, quotes: bool = False) -> list[tuple[int, str]]:
    """The first lines that are not blank, with their numbers in the data, from 0.

    With `quotes`, a quoted field may hold line ends: its lines are one, numbered as the last of them.
    """
    lines = data[: 1 << 20].split(b"\n")
    if len(data) > 1 << 20 and len(lines) > 1:
        lines.pop()  # cut in the middle
    texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
    found: list[tuple[int, str]] = []
    number = -1
    while number + 1 < len(texts):
        begun = number + 1
        number = _closes(texts, begun) if quotes else begun
        text = "\n".join(texts[begun : number + 1])
        if text.strip(" "):
            found.append((number, text))
        if len(found) == SAMPLE_LINES:
            break
    if not found:
        sentence = f"{where} holds nothing but blank lines; check the download or the command that wrote it"
        raise EmptyFile(sentence, where)
    return found


def _closes(texts: Sequence[str], begun: int) -> int:
    """The line on which the last quoted field of a line closes: the line itself, unless one is open at its end."""
    odd = texts[begun].count('"') % 2 == 1
    if not odd or not OPENS.search(texts[begun]):
        return begun
    following = range(begun + 1, min(begun + LONGEST_FIELD, len(texts)))
    return next((at for at in following if texts[at].count('"') % 2 == 1), begun)


def kind_of(data: bytes, where: str) -> str:
    """`jsonl`, `amazon`, `yelp`, `inter`, `adjacency`, `pairs` or `csv`."""
    lines = [text for _, text in sample(data, where)]
    start = lines[0].lstrip()
    if start.startswith("{"):
        return _json_kind(lines)
    if start.startswith("[") and start[1:].lstrip()[:1] in ("{", ""):
        raise DataError(f"{where} is one JSON list; write one object a line, for example: jq -c '.[]'")
    if start[:14].lower().startswith(("<!doctype", "<html", "<?xml")):
        raise DataError(f"{where} is a web page or XML, not a table; check the address it was downloaded from")
    if "\x00" in start:
        raise DataError(f"{where} is binary, not text; give CSV, JSON lines or Parquet")
    if b"\n" not in data and "\r" in start.rstrip("\r"):
        raise DataError(f"{where} ends its lines with a carriage return only; convert it: tr '\\r' '\\n'")
    if any(TYPED.match(name) for name in re.split(r"[\t,; ]", lines[0])):
        return "inter"
    rows = [re.split("[ \t]+", line.strip(" \t")) for line in lines]
    if all(WHOLE.fullmatch(token) for row in rows for token in row):
        widths = {len(row) for row in rows}
        if widths == {2}:
            return "pairs"
        once = len({row[0] for row in rows}) == len(rows)
        if (len(widths) > 1 and once) or min(widths) > 4:
            return "adjacency"
    return "csv"


def layout_of(
    data: bytes,
    *,
    kind: str,
    delimiter: str | None,
    header: bool | None,
    wanted: Mapping[str, Column],
    where: str,
) -> Layout:
    """Delimiter, header and columns; what the caller says is taken and checked, the rest found."""
    found = sample(data, where, quotes=True)
    told_to_excel = TOLD_TO_EXCEL.fullmatch(found[0][1])
    if told_to_excel and delimiter is None and len(found) > 1:
        delimiter, found = told_to_excel[1], found[1:]
    lines = [text for _, text in found]
    if kind == "pairs":
        delimiter, header = delimiter or " ", header or False
    told = [str(name) for name in wanted.values() if isinstance(name, str)]
    mark, spaced = _delimiter(lines, told, where) if delimiter is None else _given(delimiter, lines, where)
    rows = [fields_of(line, mark, spaced) for line in lines]
    if header is None:
        header = _has_header(rows, told)
    names = tuple(one_line(name.strip()) for name in rows[0]) if header else None
    if names is not None:
        chosen = choose(names, wanted, where, ", or pass header=False if the first line is a row")
    else:
        width = Counter(len(row) for row in rows if len(row) > 1).most_common(1)[0][0]
        third = [row[2] for row in rows if len(row) == width and width == 3]
        chosen = choose_by_place(width, _look_like_times(third), wanted, where)
    return Layout(mark, spaced, names, found[0][0], chosen, kind)


def fields_of(line: str, mark: str, spaced: bool) -> list[str]:
    """The fields of one line, without any complaint."""
    if mark == " ":
        line = line.strip(" \t").replace("\t", " ")
    if '"' in line and len(mark) == 1:
        try:
            return next(csv.reader([line], delimiter=mark, skipinitialspace=spaced or mark == " "), [""])
        except csv.Error:
            pass
    if mark == " ":
        return re.split(" +", line)
    return [field.lstrip(" ") for field in line.split(mark)] if spaced else line.split(mark)


def _delimiter(lines: Sequence[str], told: Sequence[str], where: str) -> tuple[str, bool]:
    best: tuple[tuple[bool, bool, int], str] | None = None
    for mark in (*STRONG, " "):
        rows = [fields_of(line, mark, False) for line in lines]
        width, often = Counter(len(row) for row in rows).most_common(1)[0]
        if width < 2 or often * 2 < len(rows):
            continue
        names = rows[0]
        named = (usual(names, "user") is not None and usual(names, "item") is not None) or (
            bool(told) and {key(name) for name in told} <= {key(name) for name in names}
        )
        score = (named, mark != " ", width if often * 10 >= len(rows) * 9 else 2)
        if best is None or score > best[0]:
            best = score, mark
    if best is None:
        raise DataError(
            f"{where}, line 1: no delimiter found in {lines[0][:60]!r}; say which one separates the columns "
            "with delimiter=, or give the format"
        )
    mark = best[1]
    spaced = mark in ",;|" and all(line.count(mark) == line.count(mark + " ") for line in lines)
    return mark, spaced


def _given(delimiter: str, lines: Sequence[str], where: str) -> tuple[str, bool]:
    mark = {r"\t": "\t", "tab": "\t", "space": " ", r"\x01": "\x01"}.get(delimiter, delimiter)
    if not mark or set(mark) & set('"\r\n'):
        raise SettingError(f"delimiter is {delimiter!r}; give one or more characters, none of them a quote or line end")
    spaced = len(mark) > 1 and mark.endswith(" ") and mark.strip(" ") != ""
    mark = mark.rstrip(" ") if spaced else " " if not mark.strip(" ") else mark
    if all(len(fields_of(line, mark, spaced)) < 2 for line in lines):
        try:
            better = f"; {_delimiter(lines, (), where)[0]!r} looks right"
        except DataError:
            better = ""
        raise DataError(f"{where}, line 1: the delimiter {delimiter!r} does not occur in {lines[0][:60]!r}{better}")
    return mark, spaced


def _has_header(rows: Sequence[Sequence[str]], told: Sequence[str]) -> bool:
    """A usual or given column name, or words above a column of numbers or dates."""
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    keys = {key(name) for name in first}
    if usual(first, "user") is not None and usual(first, "item") is not None:
        return True
    if any(key(name) in keys for name in told if not name.isdigit()):
        return True
    if len(set(first)) < len(first) or not rest or any(NUMBER.fullmatch(name.strip()) for name in first):
        return False
    places = [place for role in ("user", "item") if (place := usual(first, role)) is not None]
    if any(len(key(first[k])) > 2 and all(row[k] != first[k] for row in rest) for k in places):
        return True  # one known name that is no value of its column; what the other is called has to be said
    for k in range(len(first)):
        if all(NUMBER.fullmatch(row[k].strip()) or not row[k] for row in rest):
            return True
        if iso_seconds(first[k]) is None and all(iso_seconds(row[k]) is not None for row in rest):
            return True
    return False


def _look_like_times(values: Sequence[str]) -> bool:
    """Numbers too large for ratings, or dates."""
    numbers = [float(value) for value in values if NUMBER.fullmatch(value.strip())]
    if numbers:
        return sorted(abs(number) for number in numbers)[len(numbers) // 2] >= 10**8
    return any(iso_seconds(value) is not None for value in values)


def _json_kind(lines: Sequence[str]) -> str:
    for line in lines:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            if {"reviewerID", "asin"} <= found.keys():
                return "amazon"
            return "yelp" if {"user_id", "business_id"} <= found.keys() else "jsonl"
    return "jsonl"
