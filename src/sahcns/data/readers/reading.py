"""The one function that reads everything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from sahcns.data.interactions import Interactions
from sahcns.data.readers.adjacency import read_adjacency
from sahcns.data.readers.clock import Clock
from sahcns.data.readers.delimited import read_delimited
from sahcns.data.readers.faults import EmptyFile, Faults, Where, Wrong
from sahcns.data.readers.frames import is_frame, read_frame, read_parquet
from sahcns.data.readers.gathering import Gathered
from sahcns.data.readers.jsonlines import fields_of, read_jsonlines
from sahcns.data.readers.kinds import Kinds
from sahcns.data.readers.naming import Column
from sahcns.data.readers.opening import TextFile
from sahcns.data.readers.sniffing import kind_of, layout_of
from sahcns.data.readers.titles import Titles, beside, is_title_file, placed, titles_in, titles_in_file
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
    if title is not None and not isinstance(title, str | Path):
        raise SettingError(
            f"title is of type {type(title).__name__}; name a column of titles, which another table's can be joined as, "
            "or a file with an id and a title on each line"
        )
    wanted: dict[str, Column] = {"user": user, "item": item, "rating": rating, "time": time, "event": event}
    into = Gathered(Faults(lenient), Clock(time_unit), _offset(items_offset))
    into.kinds = Kinds(told=event is not None, glance=glance)
    if is_frame(source):
        record, titles = read_frame(source, wanted, title, into)
        record["files"] = []
    else:

        def read_one(path: Path) -> tuple[dict[str, Any], Titles]:
            return _read_file(path, format, wanted, title, delimiter, header, into)

        parts, empty = _read_files(_paths(source), read_one, lenient)
        files, titles = [entry for entry, _ in parts], next((found for _, found in parts if found), None)
        for _, found in parts:  # the first title of an item wins, within a file and among files
            if titles and found:
                titles = (found[0] | titles[0], titles[1])
        shared = ("format", "delimiter", "header", "columns", "compression")
        record = {**{name: files[0].get(name) for name in shared}, "files": files}
        if empty:
            record["empty"] = empty
    made = into.finish(record)
    if titles is None:
        return made
    offset = record["items_offset"]
    record["titles"] = titles[1]
    return replace(made, titles=placed(titles[0], made.item_ids, offset, titles[1]))


def _read_files(
    paths: Sequence[Path], read_one: Callable[[Path], tuple[dict[str, Any], Titles]], lenient: bool
) -> tuple[list[tuple[dict[str, Any], Titles]], list[str]]:
    """Of each file its part of the record and its titles; and the names of those that are empty, if lenient."""
    parts, empty = [], list[str]()
    for path in paths:
        try:
            parts.append(read_one(path))
        except EmptyFile as error:
            if len(paths) == 1 or error.name != str(path):  # a file of titles is not one of several
                raise
            if not lenient:
                raise DataError(f"{error}, or read with lenient to leave it out") from None
            empty.append(str(path))
    if not parts:
        raise DataError(f"{empty[0]} and the other {len(empty) - 1} files are empty; check the command that wrote them")
    return parts, empty


def _read_file(
    path: Path,
    format: str,
    wanted: Mapping[str, Column],
    title: str | Path | None,
    delimiter: str | None,
    header: bool | None,
    into: Gathered,
) -> tuple[dict[str, Any], Titles]:
    """One file into `into`; its part of the record, and its titles."""
    before, read_before = len(into), into.faults.rows_read
    into.kinds.next_file()
    with TextFile(path) as file:
        entry: dict[str, Any] = {"path": str(path), "bytes": file.size, "compression": file.compression}
        if file.magic.startswith(b"PAR1") or format == "parquet":
            if format not in ("auto", "parquet"):
                raise DataError(
                    f'{path} is a Parquet file, not {format}; read it with format="parquet" or leave format out'
                )
            chosen, titles = read_parquet(file, wanted, title, into)
            entry |= {"columns": chosen.recorded(), "unused": chosen.unused(title)}
            entry |= {"format": "parquet", "sha256": file.hash_all()}
        else:
            titles = _read_text(file, format, wanted, title, delimiter, header, Where(str(path)), into, entry)
            entry["sha256"] = file.sha256
    return entry | {"rows_read": into.faults.rows_read - read_before, "rows": len(into) - before}, titles


def _read_text(
    file: TextFile,
    format: str,
    wanted: Mapping[str, Column],
    title: str | Path | None,
    delimiter: str | None,
    header: bool | None,
    where: Where,
    into: Gathered,
    entry: dict[str, Any],
) -> Titles:
    chunks = file.chunks()
    first = next(chunks)
    if file.damage and (not into.faults.lenient or not first.data.strip()):
        raise DataError(_broken(file, where, first.data.count(b"\n")))
    kind = kind_of(first.data, where.name) if format == "auto" else "csv" if format == "movielens" else format
    chunks, before = chain([first], chunks), len(into)
    layout = None
    if kind == "adjacency":
        entry["lines_without_items"] = read_adjacency(chunks, where, into)
        entry["columns"] = {"user": "first of a line", "item": "the rest"}
    elif kind in ("amazon", "yelp", "jsonl"):
        fields = fields_of(first.data, kind, wanted, where.name)
        entry |= {"columns": fields.recorded(), "unused": fields.unused(title)}
        read_jsonlines(chunks, entry["columns"], where, into)
    else:
        layout = layout_of(first.data, kind=kind, delimiter=delimiter, header=header, wanted=wanted, where=where.name)
        entry |= {"delimiter": layout.delimiter, "header": layout.header is not None}
        entry |= {"columns": layout.chosen.recorded(), "unused": layout.chosen.unused(title)}
        read_delimited(chunks, layout, where, into)
    entry["format"] = kind
    if file.damage:
        _report_damage(file, where, into, len(into) - before)
        entry["damage"] = file.damage
    return _titles(file, title, layout.delimiter if layout else None, entry)


def _report_damage(file: TextFile, where: Where, into: Gathered, rows: int) -> None:
    """Data that breaks off is an error, or, when lenient, the end of the file; its half row counts as skipped."""
    if not into.faults.lenient or not rows:
        raise DataError(_broken(file, where, rows))
    if file.cut_line is not None:
        into.faults.rows_read += 1
        into.faults.row(where, file.cut_line, Wrong("cut short", str(file.damage)))


def _broken(file: TextFile, where: Where, rows: int) -> str:
    place = where.at(file.cut_line) if file.cut_line is not None else where.name
    rest = (
        f" after {rows:,} lines; download it again, or read with lenient to keep those"
        if rows
        else "; download it again"
    )
    return f"{place}: {file.damage}{rest}"


def _titles(file: TextFile, title: str | Path | None, delimiter: str | None, entry: dict[str, Any]) -> Titles:
    if title is None:
        near = beside(file.path, delimiter, entry["columns"], entry["header"]) if delimiter else None
        return titles_in_file(near) if near else None
    if is_title_file(title):
        return titles_in_file(Path(title))
    if (delimiter and not entry["header"]) or entry["format"] == "adjacency":
        raise DataError(f"title={str(title)!r} is not a file, and {file.path} has no header to find a column in")
    return titles_in(file, title=str(title), item=entry["columns"]["item"], mark=delimiter)


def _paths(source: Any) -> list[Path]:
    several = [source] if isinstance(source, str | Path) else source
    if not isinstance(several, list | tuple) or not all(isinstance(path, str | Path) for path in several):
        odd = next((one for one in several if not isinstance(one, str | Path)), None) if type(source) is list else None
        held = "" if odd is None else f" and holds a {type(odd).__name__}"
        raise SettingError(
            f"source is of type {type(source).__name__}{held}; give a path, a list of paths, or one pandas, polars or Arrow "
            "table; an array, a dict or rows become one with polars.DataFrame(…, schema=['user', 'item'])"
        )
    if not several:
        raise SettingError("source is an empty list; give at least one path")
    return [*map(Path, several)]


def _offset(items_offset: int | str | None) -> int | str:
    if items_offset is None or items_offset == "auto":
        return items_offset or 0
    if isinstance(items_offset, str) and items_offset.isdecimal() and items_offset.isascii():
        return int(items_offset)
    if not isinstance(items_offset, int) or isinstance(items_offset, bool) or not 0 <= items_offset < 1 << 62:
        raise SettingError(f'items_offset is {items_offset!r}; give a whole number of 0 or more, or "auto"')
    return items_offset
