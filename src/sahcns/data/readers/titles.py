"""Item titles and categories: from a file beside the ratings, a file the caller names, or columns of the same table."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
BETWEEN_CATEGORIES = re.compile(r"\s*[|;]\s*")
ItemRow = tuple[str, str, str] | None  # item id, title, category; None for a row that cannot be used


@dataclass
class ItemTexts:
    """Titles and categories by item id, the first of each that is not empty, and where they came from."""

    record: dict[str, Any]
    titles: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)

    def add(self, item: str, title: str, category: str) -> None:
        if title.strip():
            self.titles.setdefault(item, title)
        if category.strip():
            self.categories.setdefault(item, category)

    def add_all(self, others: "ItemTexts") -> None:
        """Those of another file; what is there already stays."""
        self.titles = others.titles | self.titles
        self.categories = others.categories | self.categories

    def align(self, item_ids: IdMap, offset: int) -> tuple[Texts | None, Texts | None]:
        """One title and one category per item, empty where there is none; None where no item has one."""
        names = item_ids.decode(range(len(item_ids)))
        keys = [str(name + offset if isinstance(name, int) else name) for name in names]
        titles = [one_line(self.titles.get(key, "")) for key in keys]
        categories = [_join_categories(self.categories.get(key, "")) for key in keys]
        self.record["items_with_title"] = sum(map(bool, titles))
        if any(categories):
            self.record["items_with_category"] = sum(map(bool, categories))
        return _texts(titles), _texts(categories)


def _join_categories(text: str) -> str:
    """`garden; toys` → `garden|toys`; MovieLens' word for none is none."""
    values = BETWEEN_CATEGORIES.split(one_line(text).strip())
    return "|".join(value for value in dict.fromkeys(values) if value and value != "(no genres listed)")


def _texts(texts: list[str]) -> Texts | None:
    return Texts.of(text.encode("utf-8", "replace").decode() for text in texts) if any(texts) else None


def find_titles(path: Path, delimiter: str, columns: dict[str, str], header: bool) -> Path | None:
    """MovieLens' file of titles in the same folder, if the ratings look like MovieLens' too."""
    if delimiter not in MOVIELENS or header != (delimiter == ",") or (header and key(columns["item"]) != "movieid"):
        return None
    places = (path.with_name(MOVIELENS[delimiter] + ending) for ending in ENDINGS)
    return next((place for place in places if place.is_file()), None)


def is_title_file(title: str | Path) -> bool:
    """Whether `title` names a file (or a pipe) of titles; else it is the name of a column."""
    return Path(title).exists() and not Path(title).is_dir()


def titles_in_file(path: Path) -> ItemTexts:
    """The titles of a file of its own."""
    with InputFile(path) as file:
        return titles_in(file)


def titles_in(
    file: InputFile,
    *,
    title: str | None = None,
    item: str | None = None,
    event: str | None = None,
    mark: str | None = None,
) -> ItemTexts:
    """The titles and categories of an open file, from its usual columns unless named; an event is no category."""
    record: dict[str, Any] = {"path": str(file.path), "encoding": "utf-8", "rows_unusable": 0}
    lines = _lines(file, record)
    first = next(lines, "").removesuffix("\r")
    if excel := EXCEL_DELIMITER.fullmatch(first):
        mark, first = mark or excel[1], next(lines, "").removesuffix("\r")
    lines = chain([first], lines)
    found = ItemTexts(record)
    is_json = first.lstrip().startswith("{")
    places = _Places(item, title, event)
    for row in _json_rows(lines, places) if is_json else _rows(first, lines, places, file.path, mark):
        if row is None:
            record["rows_unusable"] += 1
        else:
            found.add(*row)
    if file.damage:
        raise DataError(f"{file.path}: {file.damage}; download it again")
    record["sha256"] = file.sha256
    return found


def titles_in_columns(items: "pl.Series", titles: "pl.Series", categories: "pl.Series | None", name: str) -> ItemTexts:
    """Those of columns of a frame; `name` is that of the titles."""
    import polars as pl

    whole = items.cast(pl.Int64, strict=False) if items.dtype.is_float() else items
    found = ItemTexts({"column": name})
    for column, texts in ((titles, found.titles), (categories, found.categories)):
        if column is not None:
            pairs = pl.DataFrame({"item": whole.cast(pl.String), "text": _one_text(column)}).drop_nulls()
            pairs = pairs.filter(pl.col("text").str.strip_chars() != "")
            texts.update(pairs.unique("item", keep="first").iter_rows())
    return found


def _one_text(column: "pl.Series") -> "pl.Series":
    import polars as pl

    if isinstance(column.dtype, pl.List):
        return column.cast(pl.List(pl.String)).list.join("|", ignore_nulls=True)
    return column.cast(pl.String)


def _lines(file: InputFile, record: dict[str, Any]) -> Iterator[str]:
    """Lines as UTF-8; from the first part that is not, as Latin-1 (MovieLens 1M's titles)."""
    for chunk in file.chunks():
        try:
            text = chunk.data.decode(record["encoding"])
        except UnicodeDecodeError:
            record["encoding"] = "latin-1"
            text = chunk.data.decode("latin-1")
        yield from (line for line in text.split("\n") if line.strip())


@dataclass(frozen=True)
class _Places:
    """Which columns hold the item, the title and the category: by name where told, else by their usual names."""

    item: str | None
    title: str | None
    event: str | None

    def find(self, names: list[str]) -> tuple[int | None, int | None, int | None]:
        item, title = (
            find_usual(names, role) if wanted is None else find_column(names, wanted)
            for role, wanted in (("item", self.item), ("title", self.title))
        )
        return item, title, find_category(names, self.event)


def find_category(names: Sequence[str], event: str | None) -> int | None:
    """Place of the column of categories; the one of events, which may be called `type` too, is none."""
    place = find_usual(names, "category")
    return None if place is None or names[place] == event else place


def _rows(first: str, lines: Iterator[str], places: _Places, path: Path, mark: str | None) -> Iterator[ItemRow]:
    mark = mark or next((mark for mark in ("::", "\t", "|", ",", ";") if mark in first), None)
    if mark is None:
        message = f"no delimiter in {first[:60]!r}; a file of titles has an id and a title a line"
        raise DataError(f"{path}, line 1: {message}")
    rows = _fields(lines, mark)
    names = next(rows, [])
    item, title, category = places.find(names)
    if places.title is not None and title is None:
        raise DataError(
            f"title={places.title!r} is neither a file nor a column of {path}; {nearest(places.title, names)}"
        )
    has_header = item is not None and (title is not None or category is not None)
    if not has_header:
        item, title, category = 0, 1, None
        rows = chain([names], rows)
    assert item is not None
    for row in rows:
        if len(row) <= max(item, title or 0) or not row[item].strip():
            yield None
        elif mark == "::" and len(row) > 2 and not has_header:  # MovieLens' genres come last; a title may hold the mark
            yield row[0], mark.join(row[1:-1]).strip(), row[-1]
        else:
            in_row = category is not None and category < len(row)
            yield row[item], row[title].strip() if title is not None else "", row[category or 0] if in_row else ""


def _fields(lines: Iterator[str], mark: str) -> Iterator[list[str]]:
    if len(mark) > 1 or mark == "|":  # where a quote is a letter like any other
        return (line.removesuffix("\r").split(mark) for line in lines)
    return csv.reader((f"{line}\n" for line in lines), delimiter=mark)


def _json_rows(lines: Iterator[str], places: _Places) -> Iterator[ItemRow]:
    for line in lines:
        try:
            row = json.loads(line)
            names = list(row)
            item, title, category = (None if place is None else row[names[place]] for place in places.find(names))
        except (ValueError, TypeError, AttributeError, RecursionError):
            yield None
            continue
        title, category = (_json_text(value) for value in (title, category))
        yield (str(item), title, category) if item is not None and (title or category) else None


def _json_text(value: object) -> str:
    """A text, or texts in a list, which may hold others: Amazon keeps its categories so."""
    if isinstance(value, list):
        return "|".join(filter(None, map(_json_text, value)))
    return value if isinstance(value, str) else ""
