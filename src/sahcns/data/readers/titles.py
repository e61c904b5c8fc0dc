"""Item titles: from a file beside the ratings, from a file the caller names, or from a column of the same table."""

import csv
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.data.ids import IdMap, Texts
from sahcns.data.readers.columns import find_column, find_usual, key, one_line
from sahcns.data.readers.detect import EXCEL_DELIMITER
from sahcns.data.readers.opening import InputFile
from sahcns.errors import DataError, nearest

if TYPE_CHECKING:
    import polars as pl

# MovieLens keeps its titles beside the ratings, in a file of the same style.
MOVIELENS = {"::": "movies.dat", "\t": "u.item", ",": "movies.csv"}
ENDINGS = ("", ".gz", ".xz", ".zst", ".bz2")
Pair = tuple[str, str] | None
Titles = tuple[dict[str, str], dict[str, Any]] | None  # item id → title, and the record of where they came from


def find_titles(path: Path, delimiter: str, columns: dict[str, str], header: bool) -> Path | None:
    """MovieLens' file of titles in the same folder, if the ratings look like MovieLens' too."""
    if delimiter not in MOVIELENS or header != (delimiter == ",") or (header and key(columns["item"]) != "movieid"):
        return None
    places = (path.with_name(MOVIELENS[delimiter] + ending) for ending in ENDINGS)
    return next((place for place in places if place.is_file()), None)


def is_title_file(title: str | Path) -> bool:
    """Whether `title` names a file (or a pipe) of titles; else it is the name of a column."""
    return Path(title).exists() and not Path(title).is_dir()


def titles_in_file(path: Path) -> Titles:
    """The titles of a file of its own."""
    with InputFile(path) as file:
        return titles_in(file)


def titles_in(file: InputFile, *, title: str | None = None, item: str | None = None, mark: str | None = None) -> Titles:
    """The titles of an open file, the first that is not empty for each item, from its usual columns unless named."""
    record: dict[str, Any] = {"path": str(file.path), "encoding": "utf-8", "rows_unusable": 0}
    lines = _lines(file, record)
    first = next(lines, "").removesuffix("\r")
    if excel := EXCEL_DELIMITER.fullmatch(first):
        mark, first = mark or excel[1], next(lines, "").removesuffix("\r")
    lines = chain([first], lines)
    titles: dict[str, str] = {}
    is_json = first.lstrip().startswith("{")
    for pair in _json_pairs(lines, title, item) if is_json else _pairs(first, lines, title, item, file.path, mark):
        if pair is None:
            record["rows_unusable"] += 1
        elif pair[1].strip():
            titles.setdefault(*pair)
    if file.damage:
        raise DataError(f"{file.path}: {file.damage}; download it again")
    return titles, record | {"sha256": file.sha256}


def titles_in_columns(items: "pl.Series", titles: "pl.Series") -> dict[str, str]:
    """Item id → title, the first that is not empty, from two columns of a frame."""
    import polars as pl

    whole = items.cast(pl.Int64, strict=False) if items.dtype.is_float() else items
    pairs = pl.DataFrame({"item": whole.cast(pl.String), "title": titles.cast(pl.String)}).drop_nulls()
    pairs = pairs.filter(pl.col("title").str.strip_chars() != "")
    return dict(pairs.unique("item", keep="first").iter_rows())


def align_titles(titles: dict[str, str], item_ids: IdMap, offset: int, record: dict[str, Any]) -> Texts | None:
    """One title per item, empty where there is none; None when no item has one."""
    names = item_ids.decode(range(len(item_ids)))
    texts = [one_line(titles.get(str(name + offset if isinstance(name, int) else name), "")) for name in names]
    record["items_with_title"] = sum(map(bool, texts))
    return Texts.of(text.encode("utf-8", "replace").decode() for text in texts) if any(texts) else None


def _lines(file: InputFile, record: dict[str, Any]) -> Iterator[str]:
    """Lines as UTF-8; from the first part that is not, as Latin-1 (MovieLens 1M's titles)."""
    for chunk in file.chunks():
        try:
            text = chunk.data.decode(record["encoding"])
        except UnicodeDecodeError:
            record["encoding"] = "latin-1"
            text = chunk.data.decode("latin-1")
        yield from (line for line in text.split("\n") if line.strip())


def _pairs(
    first: str, lines: Iterator[str], title: str | None, item: str | None, path: Path, mark: str | None
) -> Iterator[Pair]:
    mark = mark or next((mark for mark in ("::", "\t", "|", ",", ";") if mark in first), None)
    if mark is None:
        message = f"no delimiter in {first[:60]!r}; a file of titles has an id and a title a line"
        raise DataError(f"{path}, line 1: {message}")
    rows = _rows(lines, mark)
    names = next(rows, [])
    id_place, title_place = _place(names, item, "item"), _place(names, title, "title")
    if title is not None and title_place is None:
        raise DataError(f"title={title!r} is neither a file nor a column of {path}; {nearest(title, names)}")
    has_header = id_place is not None and title_place is not None
    if id_place is None or title_place is None:
        id_place, title_place = 0, 1
    for row in rows if has_header else chain([names], rows):
        if len(row) <= max(id_place, title_place) or not row[id_place].strip():
            yield None
        elif len(mark) > 1 and len(row) > 3 and not has_header:  # the delimiter inside a title
            yield row[0], mark.join(row[1:-1]).strip()
        else:
            yield row[id_place], row[title_place].strip()


def _place(names: list[str], wanted: str | None, role: str) -> int | None:
    return find_usual(names, role) if wanted is None else find_column(names, wanted)


def _rows(lines: Iterator[str], mark: str) -> Iterator[list[str]]:
    if len(mark) > 1 or mark == "|":  # where a quote is a letter like any other
        return (line.removesuffix("\r").split(mark) for line in lines)
    return csv.reader((f"{line}\n" for line in lines), delimiter=mark)


def _json_pairs(lines: Iterator[str], title: str | None, item: str | None) -> Iterator[Pair]:
    for line in lines:
        try:
            row = json.loads(line)
            names = list(row)
            id_place, title_place = _place(names, item, "item"), _place(names, title, "title")
            text = None if title_place is None else row[names[title_place]]
            yield (str(row[names[id_place]]), text) if id_place is not None and isinstance(text, str) else None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            yield None
