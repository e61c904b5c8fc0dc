"""The one function that reads everything."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from glob import glob, has_magic
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from sahcns.data.columns import ROLES, Column, key
from sahcns.data.interactions import Interactions
from sahcns.data.readers.checks import LENIENT_LIMIT, EmptyFile, Fault, Faults, Source, reported
from sahcns.data.readers.collect import Collector, EventColumn
from sahcns.data.readers.delimited import read_delimited
from sahcns.data.readers.detect import detect_format, detect_layout
from sahcns.data.readers.frames import library, read_frame, read_parquet
from sahcns.data.readers.lines import choose_fields, read_adjacency, read_jsonlines
from sahcns.data.readers.opening import InputFile, shown
from sahcns.data.readers.times import TimeParser
from sahcns.data.readers.titles import ItemTexts, find_titles, titles_in_file
from sahcns.data.stored import Stored
from sahcns.errors import DataError, SettingError, nearest

FORMATS = ("auto", "csv", "inter", "movielens", "pairs", "adjacency", "amazon", "yelp", "jsonl", "parquet")
Into = TypeVar("Into", bound=Collector)
Made = TypeVar("Made", Interactions, Stored)


def read(
    source: Any,
    *,
    format: str = "auto",
    user: Column = None,
    item: Column = None,
    rating: Column = None,
    time: Column = None,
    event: Column = None,
    quantity: Column = None,
    price: Column = None,
    title: str | Path | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    time_unit: str = "auto",
    items_offset: int | str | None = None,
    lenient: bool = False,
    lenient_limit: float = LENIENT_LIMIT,
) -> Interactions:
    """Who met what, from a file, several files read as one, or a pandas, polars or Arrow table.

        read("ratings.csv")                              # user, item, rating and time found by their usual names
        read("plays.tsv.gz", user="listener", item="song", rating=0)
        read(["train.txt", "valid.txt", "test.txt"], items_offset="auto")

    source        a path, a pattern (`orders/*.csv`), a folder of Parquet files, a list of these, or a table. `.gz`, `.xz`,
                  `.zst` and `.bz2` are read as they are.
    format        "auto" looks at the content. "csv" is any delimited text, with "inter" (RecBole), "movielens" and
                  "pairs" (`user item`) as its kinds; "adjacency" is `user item item …`; "amazon", "yelp" and "jsonl"
                  hold one JSON object a line; "parquet".
    user, item, rating, time, event, quantity, price
                  which column: its name, or its number (1 is the first). By default the usual names are recognised
                  (user_id, reviewerID, movieId, asin, stars, overall, timestamp, date, qty, …), but for prices; a file
                  without a header holds user, item, rating, time in this order. 0 leaves one out. The event is the
                  kind of each row (view, cart, purchase), of which `Recipe(events=…)` chooses; a quantity below 0 is a
                  return; quantities and prices may weigh pairs (`Recipe(weight=…)`).
    title         a file of item titles (id and title), or the name of a title column. MovieLens' own files are found.
                  A column of categories beside it (category, genres, department, …) is read too.
    delimiter     one or more characters, "::" or "\\t" for example; found by default.
    header        whether the first line names the columns; found by default.
    encoding      of text that is not UTF-8: "latin-1", "cp1252", "utf-16", …
    time_unit     "s", "ms", "us" or "ns" since 1970, "iso" for dates, or how other dates are written, such as
                  "%d.%m.%Y %H:%M"; by default told from the values, all of which must be of one kind.
    items_offset  a number to subtract from every item id, for files whose items go on where the users end; "auto"
                  finds it.
    lenient       skip rows that cannot be used and count them by reason in `source["skipped"]`, instead of an error;
                  an empty file among several is left out, and named in `source["empty"]`.
    lenient_limit the largest share of rows that may be skipped; more are an error.

    Ids that are all whole numbers stay numbers, others are text ('007' is text); a table keeps the type of its
    columns. `rows_read` in `source` equals the rows returned plus the rows skipped; blank lines are no rows.
    """
    into, (record, titles) = _read(Collector, locals())
    return _titled(into.finish(record), titles)


def read_stored(source: Any, *, memory: str | None = None, scratch: str | Path | None = None, **reading: Any) -> Stored:
    """What `read` reads, for more rows than fit into memory: sorted on disk by DuckDB (pip install 'sahcns[duckdb]').

        prepare(read_stored("logs/*.parquet", memory="8GB"), Recipe(core=5, split="time"))

    memory    what DuckDB may hold at a time, such as "8GB"; four fifths of the machine's unless told
    scratch   a folder with room for about twice what the rows take as compressed Parquet; the system's temporary one
              unless told. It is empty again once the result is gone.
    reading   what else `read` takes

    `prepare` makes the same set of both, to the last bit. Ids, pairs and a few million rows at a time must fit into memory.
    """
    from sahcns.data.readers.on_disk import DiskCollector

    asked = signature(read).bind(source, **reading)
    asked.apply_defaults()
    into, (record, titles) = _read(partial(DiskCollector, memory=memory, scratch=scratch), asked.arguments)
    return _titled(into.sorted(record), titles)


def _read(make: Callable[..., Into], asked: Mapping[str, Any]) -> tuple[Into, tuple[dict[str, Any], ItemTexts]]:
    """Everything into what `make` makes; the record of it, and titles."""
    source, format, title, encoding = (asked[name] for name in ("source", "format", "title", "encoding"))
    lenient, lenient_limit = asked["lenient"], asked["lenient_limit"]
    if format not in FORMATS:
        raise SettingError(f"format is {format!r}; {nearest(str(format), FORMATS)}")
    if not 0 <= lenient_limit <= 1:
        raise SettingError(f"lenient_limit is {lenient_limit!r}; give a share from 0 to 1")
    if encoding is not None:
        try:
            "a".encode(encoding)
        except (LookupError, ValueError):
            raise SettingError(f"encoding is {encoding!r}; give one that Python knows, such as 'latin-1'") from None
    into = make(Faults(lenient, lenient_limit), TimeParser(asked["time_unit"]), _check_offset(asked["items_offset"]))
    into.events = EventColumn(asked_for=asked["event"] is not None)
    wanted: dict[str, Column] = {role: asked[role] for role in ROLES if role != "title"}
    title_file = Path(title) if title is not None and Path(title).exists() and not Path(title).is_dir() else None
    if title is not None and title_file is None:
        wanted["title"] = str(title)
        into.titles.record["column"] = str(title)
    titles = titles_in_file(title_file, encoding) if title_file else into.titles
    if library(source) in ("pandas", "polars", "pyarrow"):
        name = f"{library(source)} frame"
        with reported(f"the {name}"):
            columns = read_frame(source, wanted, into, Source(f"the {name}", "row"))
        return into, ({"format": name, "files": [], **columns.record()}, titles)
    options = {"wanted": wanted, **{name: asked[name] for name in ("format", "delimiter", "header")}}
    record = _read_files(_paths(source), encoding, into, options)
    if title is None and (near := next((file["titles"] for file in record["files"] if "titles" in file), None)):
        titles = titles_in_file(near, encoding)
        for file in record["files"]:
            file |= {"titles": shown(file["titles"])} if "titles" in file else {}
    return into, (record, titles)


def _titled(made: Made, titles: ItemTexts) -> Made:
    """With a title and a category of each item, where there are any."""
    if not titles.record:
        return made
    made.source["titles"] = titles.record
    texts, categories = titles.align(made.item_ids, made.source["items_offset"])
    return replace(made, titles=texts, categories=categories)


def _read_files(paths: list[Path], encoding: str | None, into: Collector, options: dict[str, Any]) -> dict[str, Any]:
    """The record of all files."""
    files, empty = list[dict[str, Any]](), list[str]()
    for path in paths:
        rows, rows_read = len(into), into.faults.rows_read
        try:
            with InputFile(path, encoding) as file, reported(file.name):
                entry = _read_file(file, into, **options)
        except EmptyFile as error:
            if len(paths) == 1:
                raise
            if not into.faults.lenient:
                raise DataError(f"{error}, or read with lenient to leave it out") from None
            empty.append(shown(path))
        else:
            _check_same_names(files, entry)
            files.append(entry | {"rows_read": into.faults.rows_read - rows_read, "rows": len(into) - rows})
    if not files:
        raise DataError(f"{empty[0]} and the other {len(empty) - 1} files are empty; check the command that wrote them")
    record = {name: files[0].get(name) for name in ("format", "delimiter", "header", "columns", "compression")}
    return record | {"files": files} | ({"empty": empty} if empty else {})


def _check_same_names(files: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    """A column that is in two files has one name in both, but for case and punctuation; without headers there are none."""
    if not files or not (files[0].get("header", True) and entry.get("header", True)):
        return
    for role, name in entry["columns"].items():
        former = files[0]["columns"].get(role, name)
        if key(name) != key(former):
            raise DataError(
                f"{entry['path']} has {name!r} as its {role} column and {files[0]['path']} has {former!r}; rename one, or "
                "read files of one kind together"
            )


def _read_file(
    file: InputFile,
    into: Collector,
    *,
    format: str,
    wanted: Mapping[str, Column],
    delimiter: str | None,
    header: bool | None,
) -> dict[str, Any]:
    """One file into `into`; its part of the record."""
    entry: dict[str, Any] = {"path": file.name, "bytes": file.size, "compression": file.compression}
    if file.first_bytes.startswith(b"PAR1") or format == "parquet":
        if format not in ("auto", "parquet"):
            raise DataError(f"{file.name} is a Parquet file, not {format}; leave format out")
        entry |= {"format": "parquet", **read_parquet(file, wanted, into).record()}
        file.hash_all()
        return entry | {"sha256": file.sha256}
    source, rows, chunks = Source(file.name), len(into), file.chunks()
    first = next(chunks)
    if file.damage and (not into.faults.lenient or not first.data.strip()):
        raise DataError(_broken(file, source, first.data.count(b"\n")))
    format = detect_format(first.data, source.name) if format == "auto" else format
    entry["format"] = format = "csv" if format == "movielens" else format
    chunks = chain([first], chunks)
    if format == "adjacency":
        if wanted.get("title"):
            raise DataError(
                f"title={wanted['title']!r} is not a file, and {file.name} has no header to find a column in"
            )
        entry["columns"] = {"user": "first of a line", "item": "the rest"}
        entry["lines_without_items"] = read_adjacency(chunks, source, into)
    elif format in ("amazon", "yelp", "jsonl"):
        columns = choose_fields(first.data, wanted, source.name)
        entry |= columns.record()
        read_jsonlines(chunks, columns.by_role(), source, into)
    else:
        layout = detect_layout(first.data, format, delimiter, header, wanted, source.name)
        entry |= {"delimiter": layout.delimiter, "header": layout.header is not None, **layout.columns.record()}
        read_delimited(chunks, layout, source, into)
        if near := find_titles(file.path, layout.delimiter, entry["columns"], entry["header"]):
            entry["titles"] = near
    if file.damage:
        if not into.faults.lenient or len(into) == rows:
            raise DataError(_broken(file, source, len(into) - rows))
        entry["damage"] = file.damage
        if file.cut_line is not None:  # its half row counts as skipped
            into.faults.rows_read += 1
            into.faults.report(source, file.cut_line, Fault("cut short", file.damage))
    return entry | {"sha256": file.sha256}


def _broken(file: InputFile, source: Source, rows: int) -> str:
    place = source.at(file.cut_line) if file.cut_line is not None else source.name
    kept = f" after {rows:,} lines; download it again, or read with lenient to keep those" if rows else ""
    return f"{place}: {file.damage}{kept or '; download it again'}"


def _paths(source: Any) -> list[Path]:
    several = [source] if isinstance(source, str | Path) else source
    if not isinstance(several, list | tuple) or not all(isinstance(path, str | Path) for path in several):
        raise SettingError(
            f"source is of type {type(source).__name__}; give a path, a list of paths, or one pandas, polars or Arrow "
            "table; an array, a dict or rows become one with polars.DataFrame(…, schema=['user', 'item'])"
        )
    found = list[Path]()
    for path in map(Path, several):
        inside = list[str]()
        if path.is_dir():
            names = glob("**/*.parquet", root_dir=path, recursive=True)
            inside = [str(path / name) for name in names if not re.search("(^|/)_", name)]  # of Spark, Delta, …
        elif not path.exists() and has_magic(str(path)):
            inside = glob(str(path), recursive=True)
        found += sorted(each for each in map(Path, inside) if each.is_file()) or [path]
    if not found:
        raise SettingError("source is an empty list; give at least one path")
    return found


def _check_offset(items_offset: int | str | None) -> int | str:
    if items_offset is None or items_offset == "auto":
        return items_offset or 0
    if str(items_offset).isdecimal() and int(items_offset) < 1 << 62:
        return int(items_offset)
    raise SettingError(f'items_offset is {items_offset!r}; give a whole number of 0 or more, or "auto"')
