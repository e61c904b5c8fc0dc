"""What a text file holds: its format, delimiter, header and columns, told from its first lines and not from its name."""

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sahcns.data.columns import TYPED, Column, Columns, choose, choose_by_place, find_usual, key, one_line
from sahcns.data.readers.checks import EmptyFile, not_utf8
from sahcns.data.readers.times import parse_iso
from sahcns.errors import DataError, SettingError

SAMPLE_BYTES = 1 << 20
SAMPLE_LINES = 300
DELIMITERS = ("::", "\t", ";", "|", ",", "\x01", "^", " ")  # a space last, since texts and dates contain spaces
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
WHOLE = re.compile(r"-?[0-9]+")
OPENING_QUOTE = re.compile(r'(^|[,;|^\t\x01 ])"')  # a quote that begins a field, unlike the inches of a 5" pipe
EXCEL_DELIMITER = re.compile(r"sep=(.)")  # a line before the header
LONGEST_FIELD = 50  # lines that a quoted field may take in the sample


@dataclass(frozen=True)
class Layout:
    """How a delimited file is written: `skip_space` when a space after the delimiter belongs to it."""

    delimiter: str
    skip_space: bool
    header: tuple[str, ...] | None
    header_line: int
    columns: Columns
    quotes: bool


def sample(data: bytes, name: str, quotes: bool = False) -> list[tuple[int, str]]:
    """The first lines that are not blank, with their numbers in the data, from 0.

    With `quotes`, a quoted field may hold line ends: its lines are one, numbered as the last of them.
    """
    lines = data[:SAMPLE_BYTES].split(b"\n")
    if len(data) > SAMPLE_BYTES and len(lines) > 1:
        lines.pop()  # cut in the middle
    texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
    sampled: list[tuple[int, str]] = []
    start = 0
    while start < len(texts) and len(sampled) < SAMPLE_LINES:
        end = _closing_line(texts, start) if quotes else start
        text = "\n".join(texts[start : end + 1])
        if text.strip(" "):
            sampled.append((end, text))
        start = end + 1
    if not sampled:
        raise EmptyFile(f"{name} holds nothing but blank lines; check the download or the command that wrote it")
    return sampled


def _closing_line(texts: Sequence[str], start: int) -> int:
    """The line on which the last quoted field of a line closes: the line itself, unless one is open at its end."""
    if texts[start].count('"') % 2 == 0 or not OPENING_QUOTE.search(texts[start]):
        return start
    following = range(start + 1, min(start + LONGEST_FIELD, len(texts)))
    return next((line for line in following if texts[line].count('"') % 2 == 1), start)


def detect_format(data: bytes, name: str) -> str:
    """`jsonl`, `amazon`, `yelp`, `inter`, `adjacency`, `pairs` or `csv`."""
    lines = [text for _, text in sample(data, name)]
    start = lines[0].lstrip()
    if start.startswith("{"):
        fields = json_fields(lines).keys()
        known = {"amazon": {"reviewerID", "asin"}, "yelp": {"user_id", "business_id"}}
        return next((format for format, needed in known.items() if fields >= needed), "jsonl")
    if start.startswith("[") and start[1:].lstrip()[:1] in ("{", ""):
        raise DataError(f"{name} is one JSON list; write one object a line, for example: jq -c '.[]'")
    if start[:14].lower().startswith(("<!doctype", "<html", "<?xml")):
        raise DataError(f"{name} is a web page or XML, not a table; check the address it was downloaded from")
    if "\x00" in start:
        raise DataError(f"{name} is binary, not text; give CSV, JSON lines or Parquet")
    if b"\n" not in data and "\r" in start.rstrip("\r"):
        raise DataError(f"{name} ends its lines with a carriage return only; convert it: tr '\\r' '\\n'")
    if any(TYPED.match(field) for field in re.split(r"[\t,; ]", lines[0])):
        return "inter"
    rows = [re.split("[ \t]+", line.strip(" \t")) for line in lines]
    if all(WHOLE.fullmatch(token) for row in rows for token in row):
        widths, users = {len(row) for row in rows}, {row[0] for row in rows}
        if widths == {2}:
            return "pairs"
        if (len(widths) > 1 and len(users) == len(rows)) or min(widths) > 4:
            return "adjacency"
    return "csv"


def json_fields(lines: Sequence[str]) -> dict[str, None]:
    """The fields of the lines that are JSON objects, in order of appearance."""
    names: dict[str, None] = {}
    for line in lines:
        with suppress(ValueError, RecursionError):
            if isinstance(row := json.loads(line), dict):
                names |= dict.fromkeys(name for name in row if not not_utf8(name))
    return names


def detect_layout(
    data: bytes, format: str, delimiter: str | None, header: bool | None, wanted: Mapping[str, Column], name: str
) -> Layout:
    """Delimiter, header and columns; what the caller says is taken and checked, the rest detected."""
    numbered = sample(data, name, quotes=True)
    excel = EXCEL_DELIMITER.fullmatch(numbered[0][1])
    if excel and delimiter is None and len(numbered) > 1:
        delimiter, numbered = excel[1], numbered[1:]
    lines = [text for _, text in numbered]
    if format == "pairs":
        delimiter, header = delimiter or " ", header or False
    given_names = [column for column in wanted.values() if isinstance(column, str)]
    if delimiter is None:
        mark, skip_space = _detect_delimiter(lines, given_names, name)
    else:
        mark, skip_space = _check_delimiter(delimiter, lines, name)
    rows = [split_fields(line, mark, skip_space) for line in lines]
    if header is None:
        header = _has_header(rows, given_names)
    if header:
        names = tuple(one_line(field.strip()) for field in rows[0])
        columns = choose(names, wanted, name, ", or pass header=False if the first line is a row")
    else:
        names = None
        width = Counter(len(row) for row in rows if len(row) > 1).most_common(1)[0][0]
        third = [row[2] for row in rows if len(row) == width == 3]
        columns = choose_by_place(width, _look_like_times(third), wanted, name)
    quotes = len(mark) == 1 and format != "pairs"
    return Layout(mark, skip_space, names, numbered[0][0], columns, quotes)


def split_fields(line: str, mark: str, skip_space: bool = False) -> list[str]:
    """The fields of one line, whether or not its quotes match."""
    if mark == " ":
        line = line.strip(" \t").replace("\t", " ")
    if '"' in line and len(mark) == 1:
        with suppress(csv.Error):
            return next(csv.reader([line], delimiter=mark, skipinitialspace=skip_space or mark == " "), [""])
    return split_plain(line, mark, skip_space)


def split_plain(line: str, mark: str, skip_space: bool) -> list[str]:
    """The same where a quote is a letter like any other."""
    if mark == " ":
        return re.split("[ \t]+", line.strip(" \t"))
    return [field.lstrip(" ") for field in line.split(mark)] if skip_space else line.split(mark)


def _detect_delimiter(lines: Sequence[str], given_names: Sequence[str], name: str) -> tuple[str, bool]:
    """The delimiter that yields known columns, or else the most, and whether a space belongs to it."""
    best: tuple[tuple[bool, bool, int], str] | None = None
    for mark in DELIMITERS:
        rows = [split_fields(line, mark) for line in lines]
        width, often = Counter(map(len, rows)).most_common(1)[0]
        if width < 2 or often * 2 < len(rows):
            continue
        usual = find_usual(rows[0], "user") is not None and find_usual(rows[0], "item") is not None
        given = bool(given_names) and {*map(key, given_names)} <= {*map(key, rows[0])}
        score = (usual or given, mark != " ", width if often * 10 >= len(rows) * 9 else 2)
        if best is None or score > best[0]:
            best = score, mark
    if best is None:
        raise DataError(
            f"{name}, line 1: no delimiter found in {lines[0][:60]!r}; say which one separates the columns "
            "with delimiter=, or give the format"
        )
    mark = best[1]
    return mark, mark in ",;|" and all(line.count(mark) == line.count(mark + " ") for line in lines)


def _check_delimiter(delimiter: str, lines: Sequence[str], name: str) -> tuple[str, bool]:
    mark = {r"\t": "\t", "tab": "\t", "space": " ", r"\x01": "\x01"}.get(delimiter, delimiter)
    if not mark or set(mark) & set('"\r\n'):
        raise SettingError(f"delimiter is {delimiter!r}; give one or more characters, none of them a quote or line end")
    skip_space = len(mark) > 1 and mark.endswith(" ") and mark.strip(" ") != ""
    mark = mark.rstrip(" ") if skip_space else " " if not mark.strip(" ") else mark
    if all(len(split_fields(line, mark, skip_space)) < 2 for line in lines):
        raise DataError(f"{name}, line 1: the delimiter {delimiter!r} does not occur in {lines[0][:60]!r}")
    return mark, skip_space


def _has_header(rows: Sequence[Sequence[str]], given_names: Sequence[str]) -> bool:
    """A usual or given column name, or words above a column of numbers or dates."""
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    usual = [place for role in ("user", "item") if (place := find_usual(first, role)) is not None]
    if len(usual) == 2:
        return True
    if any(key(given) in map(key, first) for given in given_names if not given.isdigit()):
        return True
    if len(set(first)) < len(first) or not rest or any(NUMBER.fullmatch(name.strip()) for name in first):
        return False
    if any(len(key(first[k])) > 2 and all(row[k] != first[k] for row in rest) for k in usual):
        return True  # one known name that is no value of its column; what the other is called has to be said
    for k, name in enumerate(first):
        if all(NUMBER.fullmatch(row[k].strip()) or not row[k] for row in rest):
            return True
        if parse_iso(name) is None and all(parse_iso(row[k]) is not None for row in rest):
            return True
    return False


def _look_like_times(values: Sequence[str]) -> bool:
    """Numbers too large for ratings, or dates."""
    numbers = sorted(abs(float(value)) for value in values if NUMBER.fullmatch(value.strip()))
    if numbers:
        return numbers[len(numbers) // 2] >= 10**8
    return any(parse_iso(value) is not None for value in values)
