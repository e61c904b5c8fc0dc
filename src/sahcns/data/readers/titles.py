"""Item titles: from a file beside the ratings, from a file the caller names, or from a column of the same table."""

import csv
import json
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.data.ids import IdMap, Texts
from sahcns.data.readers.naming import key, one_line, place_of, usual
from sahcns.data.readers.opening import TextFile
from sahcns.data.readers.sniffing import TOLD_TO_EXCEL
from sahcns.errors import DataError, nearest

if TYPE_CHECKING:
    import polars as pl

# MovieLens keeps its titles beside the ratings, in a file of the same style.
BESIDE = {"::": "movies.dat", "\t": "u.item", ",": "movies.csv"}
ENDINGS = ("", ".gz", ".xz", ".zst", ".bz2")
Pair = tuple[str, str] | None
Titles = tuple[dict[str, str], dict[str, Any]] | None  # item id → title, and where they came from


def beside(path: Path, delimiter: str, columns: dict[str, str], header: bool) -> Path | None:
    """MovieLens' file of titles in the same folder, if the ratings look like MovieLens' too."""
    if delimiter not in BESIDE or header != (delimiter == ",") or (header and key(columns["item"]) != "movieid"):
        return None
    places = (path.with_name(BESIDE[delimiter] + ending) for ending in ENDINGS)
    return next((place for place in places if place.is_file()), None)


def is_title_file(title: str | Path) -> bool:
    """Whether `title` names a file (or a pipe) of titles; else it is the name of a column."""
    return Path(title).exists() and not Path(title).is_dir()


def titles_in_file(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """The titles of a file of its own."""
    with TextFile(path) as file:
        return titles_in(file)


def titles_in(
    file: TextFile, *, title: str | None = None, item: str | None = None, mark: str | None = None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Item id → title (the first that is not empty wins), and the record: path, encoding, rows that could not be used."""
    path = file.path
    record: dict[str, Any] = {"path": str(path), "encoding": "utf-8", "rows_unusable": 0}
    lines = _lines(file, record)
    first = next(lines, "").removesuffix("\r")
    if told_to_excel := TOLD_TO_EXCEL.fullmatch(first):
        mark, first = mark or told_to_excel[1], next(lines, "").removesuffix("\r")
    titles: dict[str, str] = {}
    is_json = first.lstrip().startswith("{")
    for pair in (_json_pairs if is_json else partial(_pairs, path=path, mark=mark))(first, lines, title, item):
        if pair is None:
            record["rows_unusable"] += 1
        elif pair[1].strip():
            titles.setdefault(*pair)
    if file.damage:
        raise DataError(f"{path}: {file.damage}; download it again")
    return titles, record | {"sha256": file.sha256}


def titles_from(items: "pl.Series", titles: "pl.Series") -> dict[str, str]:
    """Item id → title (the first that is not empty wins) from two columns of a frame."""
    import polars as pl

    whole = items.cast(pl.Int64, strict=False) if items.dtype.is_float() else items
    pairs = pl.DataFrame({"item": whole.cast(pl.String), "title": titles.cast(pl.String)}).drop_nulls()
    pairs = pairs.filter(pl.col("title").str.strip_chars() != "")
    return dict(pairs.unique("item", keep="first").iter_rows())


def placed(titles: dict[str, str], item_ids: IdMap, offset: int, record: dict[str, Any]) -> Texts | None:
    """One title per item, empty where there is none; None when no item has one."""
    names = item_ids.decode(range(len(item_ids)))
    found = [one_line(titles.get(str(name + offset if isinstance(name, int) else name), "")) for name in names]
    record["items_with_title"] = sum(map(bool, found))
    return Texts.of(text.encode("utf-8", "replace").decode() for text in found) if any(found) else None


def _lines(file: TextFile, record: dict[str, Any]) -> Iterator[str]:
    """Lines as UTF-8; from the first part that is not, as Latin-1 (MovieLens 1M's titles)."""
    for chunk in file.chunks():
        try:
            text = chunk.data.decode(record["encoding"])
        except UnicodeDecodeError:
            record["encoding"] = "latin-1"
            text = chunk.data.decode("latin-1")
        yield from (line for line in text.split("\n") if line.strip())


def _pairs(
    first: str, lines: Iterator[str], title: str | None, item: str | None, *, path: Path, mark: str | None
) -> Iterator[Pair]:
    mark = mark or next((mark for mark in ("::", "\t", "|", ",", ";") if mark in first), None)
    if mark is None:
        raise DataError(
            f"{path}, line 1: no delimiter in {first[:60]!r}; a file of titles has an id and a title a line"
        )
    rows = _rows(chain([first], lines), mark)
    names = next(rows, [])
    id_at, title_at = _named(names, item, "item"), _named(names, title, "title")
    if title is not None and title_at is None:
        raise DataError(f"title={title!r} is neither a file nor a column of {path}; {nearest(title, names)}")
    headed = id_at is not None and title_at is not None
    if not headed:
        id_at, title_at = 0, 1
    for row in rows if headed else chain([names], rows):
        if len(row) <= max(id_at or 0, title_at or 0) or not row[id_at or 0].strip():
            yield None
        elif len(mark) > 1 and len(row) > 3 and not headed:  # the delimiter inside a title
            yield row[0], mark.join(row[1:-1]).strip()
        else:
            yield row[id_at or 0], row[title_at or 0].strip()


def _named(names: list[str], told: str | None, role: str) -> int | None:
    if told is None:
        return usual(names, role)
    return place_of(names, told)


def _rows(lines: Iterator[str], mark: str) -> Iterator[list[str]]:
    if len(mark) > 1:
        yield from (line.removesuffix("\r").split(mark) for line in lines)
        return
    fed = (f"{line}\n" for line in lines)
    reader = csv.reader(fed, delimiter=mark, quoting=csv.QUOTE_NONE if mark == "|" else csv.QUOTE_MINIMAL)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            row = []
        yield row


def _json_pairs(first: str, lines: Iterator[str], title: str | None, item: str | None) -> Iterator[Pair]:
    for line in chain([first], lines):
        try:
            found = json.loads(line)
            names = list(found)
            id_at, title_at = _named(names, item, "item"), _named(names, title, "title")
            text = found[names[title_at]] if title_at is not None else None
            yield (str(found[names[id_at]]), text) if id_at is not None and isinstance(text, str) else None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            yield None
