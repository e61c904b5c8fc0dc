"""Item titles and categories: columns of the rows, a file beside MovieLens' ratings, or one the caller names."""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from sahcns.data.columns import find_usual, key, one_line
from sahcns.data.ids import IdMap, Texts
from sahcns.data.readers.detect import EXCEL_DELIMITER
from sahcns.data.readers.opening import InputFile
from sahcns.errors import DataError

# MovieLens keeps its titles beside the ratings, in a file of the same style.
MOVIELENS = {"::": "movies.dat", "\t": "u.item", ",": "movies.csv"}
ENDINGS = ("", ".gz", ".xz", ".zst", ".bz2")
ItemRow = tuple[str, str, str] | None  # item id, title, category; None for a row that cannot be used


@dataclass
class ItemTexts:
    """Titles and categories by item id, the first of each that is not empty, and where they came from."""

    record: dict[str, Any] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)

    def add_columns(self, items: pl.Series, titles: pl.Series, categories: pl.Series | None) -> None:
        """Those of some rows."""
        for column, texts in ((titles, self.titles), (categories, self.categories)):
            if column is not None:
                pairs = pl.DataFrame({"item": items.cast(pl.String), "text": column}).drop_nulls()
                pairs = pairs.filter(pl.col("text").str.strip_chars() != "")
                for item, text in pairs.unique("item", keep="first").iter_rows():
                    texts.setdefault(item, text)

    def align(self, item_ids: IdMap, offset: int) -> tuple[Texts | None, Texts | None]:
        """One title and one category per item, empty where there is none; None where no item has one."""
        keys = [str(name + offset if isinstance(name, int) else name) for name in item_ids]
        titles = [one_line(self.titles.get(key, "")) for key in keys]
        categories = [_join_categories(self.categories.get(key, "")) for key in keys]
        self.record["items_with_title"] = sum(map(bool, titles))
        if any(categories):
            self.record["items_with_category"] = sum(map(bool, categories))
        return _texts(titles), _texts(categories)


def _join_categories(text: str) -> str:
    """`garden; toys` → `garden|toys`; MovieLens' word for none is none."""
    values = re.split(r"\s*[|;]\s*", one_line(text).strip())
    return "|".join(value for value in dict.fromkeys(values) if value and value != "(no genres listed)")


def _texts(texts: list[str]) -> Texts | None:
    return Texts.of(text.encode("utf-8", "replace").decode() for text in texts) if any(texts) else None


def find_titles(path: Path, delimiter: str, columns: dict[str, str], header: bool) -> Path | None:
    """MovieLens' file of titles in the same folder, if the ratings look like MovieLens' too."""
    if delimiter not in MOVIELENS or header != (delimiter == ",") or (header and key(columns["item"]) != "movieid"):
        return None
    places = (path.with_name(MOVIELENS[delimiter] + ending) for ending in ENDINGS)
    return next((place for place in places if place.is_file()), None)


def titles_in_file(path: Path, encoding: str | None = None) -> ItemTexts:
    """The titles and categories of a file of its own, in its usual columns, else an id and a title on each line."""
    with InputFile(path, encoding) as file:
        found = ItemTexts({"path": file.name, "encoding": encoding or "utf-8", "rows_unusable": 0})
        lines = _lines(file, found.record)
        first, mark = next(lines, ""), None
        if excel := EXCEL_DELIMITER.fullmatch(first):
            mark, first = excel[1], next(lines, "")
        lines = chain([first], lines)
        for row in _json_rows(lines) if first.lstrip().startswith("{") else _rows(first, lines, path, mark):
            if row is None:
                found.record["rows_unusable"] += 1
                continue
            for texts, text in ((found.titles, row[1]), (found.categories, row[2])):
                if text.strip():
                    texts.setdefault(row[0], text.strip())
        if file.damage:
            raise DataError(f"{path}: {file.damage}; download it again")
        found.record["sha256"] = file.sha256
    return found


def _lines(file: InputFile, record: dict[str, Any]) -> Iterator[str]:
    """Lines as UTF-8; from the first part that is not, as Latin-1 (MovieLens 1M's titles)."""
    for chunk in file.chunks():
        try:
            text = chunk.data.decode("latin-1" if record["encoding"] == "latin-1" and not file.encoding else "utf-8")
        except UnicodeDecodeError:
            record["encoding"] = "latin-1"
            text = chunk.data.decode("latin-1")
        yield from (line.removesuffix("\r") for line in text.split("\n") if line.strip())


def _find(names: list[str]) -> list[int | None]:
    return [find_usual(names, role) for role in ("item", "title", "category")]


def _rows(first: str, lines: Iterator[str], path: Path, mark: str | None) -> Iterator[ItemRow]:
    mark = mark or next((mark for mark in ("::", "\t", "|", ",", ";") if mark in first), None)
    if mark is None:
        message = f"no delimiter in {first[:60]!r}; a file of titles has an id and a title a line"
        raise DataError(f"{path}, line 1: {message}")
    if len(mark) > 1 or mark == "|":  # where a quote is a letter like any other
        rows: Iterator[list[str]] = (line.split(mark) for line in lines)
    else:
        rows = csv.reader((f"{line}\n" for line in lines), delimiter=mark)
    names = next(rows, [])
    item, title, category = _find(names)
    has_header = item is not None and (title is not None or category is not None)
    if item is None or not has_header:
        item, title, category = 0, 1, None
        rows = chain([names], rows)
    for row in rows:
        if len(row) <= max(item, title or 0) or not row[item].strip():
            yield None
        elif mark == "::" and len(row) > 2 and not has_header:  # MovieLens' genres come last; a title may hold the mark
            yield row[0], mark.join(row[1:-1]), row[-1]
        else:
            texts = ["" if place is None or place >= len(row) else row[place] for place in (title, category)]
            yield row[item], texts[0], texts[1]


def _json_rows(lines: Iterator[str]) -> Iterator[ItemRow]:
    for line in lines:
        try:
            row = json.loads(line)
            item, title, category = ("" if place is None else [*row.values()][place] for place in _find([*row]))
        except (ValueError, TypeError, AttributeError, RecursionError):
            yield None
            continue
        title, category = json_text(title), json_text(category)
        yield (str(item), title, category) if item not in ("", None) and (title or category) else None


def json_text(value: object) -> str:
    """A text, or texts in a list, which may hold others: Amazon keeps its categories so."""
    if isinstance(value, list):
        return "|".join(filter(None, map(json_text, value)))
    return value if isinstance(value, str) else ""
