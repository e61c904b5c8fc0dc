"""The one function that reads everything."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from sahcns.data.interactions import Interactions
from sahcns.data.readers.checks import EmptyFile, Fault, Faults, Source
from sahcns.data.readers.collect import Collector, EventColumn
from sahcns.data.readers.columns import Column
from sahcns.data.readers.delimited import read_delimited
from sahcns.data.readers.detect import detect_format, detect_layout
from sahcns.data.readers.frames import is_frame, read_frame, read_parquet
from sahcns.data.readers.lines import choose_fields, read_adjacency, read_jsonlines
from sahcns.data.readers.opening import InputFile
from sahcns.data.readers.times import TimeParser
from sahcns.data.readers.titles import ItemTexts, find_titles, is_title_file, titles_in, titles_in_file
from sahcns.errors import DataError, SettingError, nearest

FORMATS = ("auto", "csv", "inter", "movielens", "pairs", "adjacency", "amazon", "yelp", "jsonl", "parquet")


def read(
    source: Any,
    *,
    format: str = "auto",
    user: Column = None,
    item: Column = None,
    rating: Column = None,
    time: Column = None,
    event: Column = None,
    title: str | Path | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    time_unit: str = "auto",
    items_offset: int | str | None = None,
    lenient: bool = False,
    glance: bool = False,
) -> Interactions:
    """Who met what, from a file, several files read as one, or a pandas, polars or Arrow table.

        read("ratings.csv")                              # user, item, rating and time found by their usual names
        read("plays.tsv.gz", user="listener", item="song", rating=0)
        read(["train.txt", "valid.txt", "test.txt"], items_offset="auto")

    source        a path, a list of paths, or a table. `.gz`, `.xz`, `.zst` and `.bz2` are read as they are.
    format        "auto" looks at the content. "csv" is any delimited text, with "inter" (RecBole), "movielens" and
                  "pairs" (`user item`) as its kinds; "adjacency" is `user item item …`; "amazon", "yelp" and "jsonl"
                  hold one JSON object a line; "parquet".
    user, item, rating, time, event
                  which column: its name, or its number (1 is the first). By default the usual names are recognised
                  (user_id, reviewerID, movieId, asin, stars, overall, timestamp, date, …); a file without a header
                  holds user, item, rating, time in this order. 0 leaves rating, time or event out. The event
                  is the kind of each row (view, cart, purchase), of which `Recipe(events=…)` chooses.
    title         a file of item titles (id and title), or the name of a title column. MovieLens' own files are found.
                  A column of categories beside it (category, genres, department, …) is read too.
    delimiter     one or more characters, "::" or "\\t" for example; found by default.
    header        whether the first line names the columns; found by default.
    time_unit     "s", "ms", "us" or "ns" since 1970, "iso" for dates, or how other dates are written, such as
                  "%d.%m.%Y %H:%M"; by default told from the values, all of which must be of one kind.
    items_offset  a number to subtract from every item id, for files whose items go on where the users end; "auto"
                  finds it.
    lenient       skip rows that cannot be used and count them by reason in `source["skipped"]`, instead of an error;
                  an empty file among several is left out, and named in `source["empty"]`.
    glance        look at the kinds of the first hundred thousand rows only, which is quicker where `prepare` is not to
                  choose among them; `source["glance"]` then has their counts, if there are more rows.

    Ids that are all whole numbers stay numbers, others are text ('007' is text); a table keeps the type of its
    columns. `rows_read` in `source` equals the rows returned plus the rows skipped; blank lines are no rows.
    """
    if format not in FORMATS:
        raise SettingError(f"format is {format!r}; {nearest(str(format), FORMATS)}")
    into = Collector(Faults(lenient), TimeParser(time_unit), _check_offset(items_offset))
    into.events = EventColumn(asked_for=event is not None, glance=glance)
    wanted: dict[str, Column] = {"user": user, "item": item, "rating": rating, "time": time, "event": event}
    titles: ItemTexts | None = None
    if is_frame(source):
        columns, titles = read_frame(source, wanted, title, into)
        library = type(source).__module__.partition(".")[0]
        record: dict[str, Any] = {"format": f"{library} frame", "columns": columns.by_role()}
        record |= {"unused": columns.unused(title), "files": []}
    else:
        options = _Options(format, wanted, title, delimiter, header)
        record, titles = _read_files(_paths(source), options, into)
    made = into.finish(record)
    if titles is None:
        return made
    record["titles"] = titles.record
    texts, categories = titles.align(made.item_ids, record["items_offset"])
    return replace(made, titles=texts, categories=categories)


@dataclass(frozen=True)
class _Options:
    """How each file is to be read."""

    format: str
    wanted: Mapping[str, Column]
    title: str | Path | None
    delimiter: str | None
    header: bool | None


def _read_files(paths: list[Path], options: _Options, into: Collector) -> tuple[dict[str, Any], ItemTexts | None]:
    """The record of all files, and their titles; the first title of an item wins."""
    files, empty = list[dict[str, Any]](), list[str]()
    titles: ItemTexts | None = None
    for path in paths:
        try:
            entry, file_titles = _read_file(path, options, into)
        except EmptyFile as error:
            if len(paths) == 1 or error.name != str(path):  # a file of titles is not one of several
                raise
            if not into.faults.lenient:
                raise DataError(f"{error}, or read with lenient to leave it out") from None
            empty.append(str(path))
        else:
            files.append(entry)
            if titles and file_titles:
                titles.add_all(file_titles)
            titles = titles or file_titles
    if not files:
        raise DataError(f"{empty[0]} and the other {len(empty) - 1} files are empty; check the command that wrote them")
    shared = ("format", "delimiter", "header", "columns", "compression")
    record = {**{name: files[0].get(name) for name in shared}, "files": files}
    return record | ({"empty": empty} if empty else {}), titles


def _read_file(path: Path, options: _Options, into: Collector) -> tuple[dict[str, Any], ItemTexts | None]:
    """One file into `into`; its part of the record, and its titles."""
    rows, rows_read = len(into), into.faults.rows_read
    into.events.next_file()
    with InputFile(path) as file:
        entry: dict[str, Any] = {"path": str(path), "bytes": file.size, "compression": file.compression}
        if file.first_bytes.startswith(b"PAR1") or options.format == "parquet":
            if options.format not in ("auto", "parquet"):
                raise DataError(f"{path} is a Parquet file, not {options.format}; leave format out")
            columns, titles = read_parquet(file, options.wanted, options.title, into)
            entry |= {"columns": columns.by_role(), "unused": columns.unused(options.title), "format": "parquet"}
            file.hash_all()
        else:
            titles = _read_text(file, options, into, entry)
        entry["sha256"] = file.sha256
    return entry | {"rows_read": into.faults.rows_read - rows_read, "rows": len(into) - rows}, titles


def _read_text(file: InputFile, options: _Options, into: Collector, entry: dict[str, Any]) -> ItemTexts | None:
    source, wanted, rows = Source(str(file.path)), options.wanted, len(into)
    chunks = file.chunks()
    first = next(chunks)
    if file.damage and (not into.faults.lenient or not first.data.strip()):
        raise DataError(_broken(file, source, first.data.count(b"\n")))
    format = detect_format(first.data, source.name) if options.format == "auto" else options.format
    format = "csv" if format == "movielens" else format
    chunks = chain([first], chunks)
    if format == "adjacency":
        entry["lines_without_items"] = read_adjacency(chunks, source, into)
        entry["columns"] = {"user": "first of a line", "item": "the rest"}
    else:
        if format in ("amazon", "yelp", "jsonl"):
            columns = choose_fields(first.data, format, wanted, source.name)
            read_jsonlines(chunks, columns.by_role(), source, into)
        else:
            layout = detect_layout(
                first.data,
                format=format,
                delimiter=options.delimiter,
                header=options.header,
                wanted=wanted,
                name=source.name,
            )
            columns = layout.columns
            entry |= {"delimiter": layout.delimiter, "header": layout.header is not None}
            read_delimited(chunks, layout, source, into)
        entry |= {"columns": columns.by_role(), "unused": columns.unused(options.title)}
    entry["format"] = format
    if file.damage:
        if not into.faults.lenient or len(into) == rows:
            raise DataError(_broken(file, source, len(into) - rows))
        entry["damage"] = file.damage
        if file.cut_line is not None:  # its half row counts as skipped
            into.faults.rows_read += 1
            into.faults.report(source, file.cut_line, Fault("cut short", file.damage))
    return _titles(file, options.title, entry)


def _broken(file: InputFile, source: Source, rows: int) -> str:
    place = source.at(file.cut_line) if file.cut_line is not None else source.name
    rest = (
        f" after {rows:,} lines; download it again, or read with lenient to keep those"
        if rows
        else "; download it again"
    )
    return f"{place}: {file.damage}{rest}"


def _titles(file: InputFile, title: str | Path | None, entry: dict[str, Any]) -> ItemTexts | None:
    delimiter = entry.get("delimiter")
    if title is None:
        near = find_titles(file.path, delimiter, entry["columns"], entry["header"]) if delimiter else None
        return titles_in_file(near) if near else None
    if is_title_file(title):
        return titles_in_file(Path(title))
    if entry.get("header") is False or entry["format"] == "adjacency":
        raise DataError(f"title={str(title)!r} is not a file, and {file.path} has no header to find a column in")
    columns = entry["columns"]
    return titles_in(file, title=str(title), item=columns["item"], event=columns.get("event"), mark=delimiter)


def _paths(source: Any) -> list[Path]:
    several = [source] if isinstance(source, str | Path) else source
    if not isinstance(several, list | tuple) or not all(isinstance(path, str | Path) for path in several):
        raise SettingError(
            f"source is of type {type(source).__name__}; give a path, a list of paths, or one pandas, polars or Arrow "
            "table; an array, a dict or rows become one with polars.DataFrame(…, schema=['user', 'item'])"
        )
    if not several:
        raise SettingError("source is an empty list; give at least one path")
    return [*map(Path, several)]


def _check_offset(items_offset: int | str | None) -> int | str:
    if items_offset is None or items_offset == "auto":
        return items_offset or 0
    if str(items_offset).isdecimal() and int(items_offset) < 1 << 62:
        return int(items_offset)
    raise SettingError(f'items_offset is {items_offset!r}; give a whole number of 0 or more, or "auto"')
