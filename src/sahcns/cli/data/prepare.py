"""`sahcns data prepare`."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sahcns.cli.console import Json, byte_progress, show, show_json, table, working
from sahcns.cli.data.remarks import remarks, replace_remarks
from sahcns.cli.options import argument, errors_in_options, option
from sahcns.errors import DataError, SettingError, nearest

if TYPE_CHECKING:
    from sahcns.data import Split

FORMATS = "csv, inter, movielens, pairs, adjacency, amazon, yelp, jsonl, parquet"
READING = (
    *("user", "item", "rating", "time", "event", "quantity", "price", "title", "delimiter", "format", "header"),
    *("encoding", "time_unit", "items_offset", "lenient_limit"),
)
ENGINES = ("polars", "duckdb")
ENGINE = ("engine", "memory", "scratch")
RECIPE = (
    *("events", "min_rating", "years", "duplicates", "core", "split", "ratios", "seed", "unseen"),
    *("weight", "half_life"),
)
PARTS = ("valid", "test", "holdout", "overlap")
FOR_GIVEN = ("seed", "unseen")  # the settings of a recipe that also apply to sets that come split


_reading = partial(option, rich_help_panel="Reading your own files", show_default=False)
_filter = partial(option, rich_help_panel="Filters, in the order they run", show_default=False)
_splitting = partial(option, rich_help_panel="Splitting", show_default=False)


def command(
    places: Annotated[
        list[str],
        argument("A name from `data list`, or file(s); then the folder to write.", "SOURCE... OUT"),
    ],
    events: Annotated[str | None, _filter("Keep these kinds of events, such as purchase,cart.", "KIND,…")] = None,
    min_rating: Annotated[float | None, _filter("Keep ratings of at least this.", "NUMBER")] = None,
    years: Annotated[str | None, _filter("Keep these calendar years, such as 2014-2018.", "FIRST-LAST")] = None,
    duplicates: Annotated[str | None, _filter("Of equal pairs keep first, last, or none: all count.", "WHICH")] = None,
    core: Annotated[int | None, _filter("Drop users and items with fewer rows, until all have K.", "K")] = None,
    split: Annotated[str | None, _splitting("random, random-user, time, time-user or leave-last-out.", "RULE")] = None,
    ratios: Annotated[str | None, _splitting("Shares of train, valid and test, such as 8:1:1.", "A:B:C")] = None,
    seed: Annotated[int | None, _splitting("Of the random draws.", "NUMBER")] = None,
    unseen: Annotated[str | None, _splitting("What is never in training: keep, drop or error.", "RULE")] = None,
    weight: Annotated[str | None, _splitting("Weigh pairs: rows, quantity, price or rating.", "WHAT")] = None,
    half_life: Annotated[float | None, _splitting("Days after which a pair counts half.", "DAYS")] = None,
    valid: Annotated[Path | None, _splitting("A file of validation rows; SOURCE holds training.", "FILE")] = None,
    test: Annotated[Path | None, _splitting("A file of test rows; SOURCE holds training.", "FILE")] = None,
    holdout: Annotated[float | None, _splitting("Without --valid: share of each user's rows for it.", "SHARE")] = None,
    overlap: Annotated[str | None, _splitting("A pair in two files: error, or drop the later.", "RULE")] = None,
    format: Annotated[str | None, _reading("One of " + FORMATS + ".", "NAME")] = None,
    user: Annotated[str | None, _reading("Column of users: its name, or its number from 1.", "COLUMN")] = None,
    item: Annotated[str | None, _reading("Column of items.", "COLUMN")] = None,
    rating: Annotated[str | None, _reading("Column of ratings; 0 for none.", "COLUMN")] = None,
    time: Annotated[str | None, _reading("Column of times; 0 for none.", "COLUMN")] = None,
    event: Annotated[str | None, _reading("Column of kinds of events, for --events.", "COLUMN")] = None,
    quantity: Annotated[str | None, _reading("Column of quantities; below 0 is a return.", "COLUMN")] = None,
    price: Annotated[str | None, _reading("Column of prices, for --weight price.", "COLUMN")] = None,
    title: Annotated[str | None, _reading("A file of item titles, or a column of them.", "FILE|COLUMN")] = None,
    delimiter: Annotated[str | None, _reading("What stands between columns.", "TEXT")] = None,
    header: Annotated[bool | None, _reading("Whether line 1 names the columns.", "", "--header/--no-header")] = None,
    encoding: Annotated[str | None, _reading("Of text that is not UTF-8: latin-1, utf-16, …", "NAME")] = None,
    time_unit: Annotated[str | None, _reading("Of times: s, ms, us, ns, iso, or a layout: %d.%m.%Y.", "UNIT")] = None,
    items_offset: Annotated[str | None, _reading("Subtract this from item ids; auto finds it.", "NUMBER")] = None,
    lenient: Annotated[bool, option("Skip rows that cannot be used, and count them.", None, "--lenient")] = False,
    lenient_limit: Annotated[
        float | None, option("The largest share of rows that --lenient may skip.", "SHARE")
    ] = None,
    engine: Annotated[
        str | None, _reading("polars, in memory; or duckdb, for more rows than fit into it.", "NAME")
    ] = None,
    memory: Annotated[str | None, _reading("What duckdb may hold at a time, such as 8GB.", "SIZE")] = None,
    scratch: Annotated[Path | None, _reading("A folder for the rest, with duckdb.", "DIR")] = None,
    data: Annotated[Path | None, option("Where named sets are kept, as for `data get --to`.", "DIR", "--data")] = None,
    json: Json = False,
) -> None:
    """Filter and split a named set or your own files, and store the result as a folder.

    A named set brings its own recipe, and is downloaded first if it is not on this disk; filters and split can still
    be changed. Your own files are recognised by their content: CSV, Parquet, JSON lines, RecBole, LightGCN, MovieLens,
    Amazon and Yelp, plain or compressed; several are read as one. The folder is written whole or not at all. With
    --engine duckdb rows are sorted on disk, a few million in memory at a time; the result is the same to the last bit.

    Examples: sahcns data prepare ml-1m films
              sahcns data prepare ml-1m dense --min-rating 4 --core 10
              sahcns data prepare log.csv log --user uid --item sku --split time
              sahcns data prepare log.csv bought --events purchase,cart
              sahcns data prepare orders.csv shop --weight quantity --half-life 180
              sahcns data prepare 'logs/*.parquet' shop
              sahcns data prepare logs/ shop --engine duckdb --memory 8GB
              sahcns data prepare train.txt toys --valid valid.txt --test test.txt
    """
    options = {name: value for name, value in locals().items() if value is not None}
    from sahcns.data import read_manifest, save_split
    from sahcns.data.catalogue import CATALOGUE

    *sources, out = places
    if not sources:
        raise SettingError(f"what is prepared and where to are two: sahcns data prepare {out} FOLDER")
    options |= {name: read(options[name]) for name, read in PARSED.items() if name in options}
    changes, reading, parts, beyond = (_only(options, names) for names in (RECIPE, READING, PARTS, ENGINE))
    with errors_in_options(as_options):
        if len(sources) == 1 and sources[0] in CATALOGUE:
            _refuse(
                {**reading, **parts, **beyond},
                f"{sources[0]} is read as the catalogue says, so {{}} does not apply to it",
            )
            _refuse(_only(changes, ("events",)), f"{sources[0]} has no kinds of events, so {{}} does not apply to it")
            made = _named(sources[0], changes, data, lenient)
        else:
            with working(f"preparing {', '.join(sources)} …"):
                made = _own(sources, changes, {**reading, "lenient": lenient}, parts, beyond)
    former = None
    with suppress(DataError):
        former = read_manifest(out)
    folder = save_split(made, out)
    if json:
        show_json({"folder": folder, **made.manifest})
    else:
        _report(made, folder)
    remarks(made.manifest)
    if former is not None:
        replace_remarks(former, made, out)


def _years(text: str) -> tuple[int, int]:
    years = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", text.strip())
    if not years:
        raise SettingError(f"--years {text!r} must be a year or two with a hyphen between, such as 2014-2018")
    return int(years[1]), int(years[2] or years[1])


def _ratios(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(share) for share in re.split(r"[:,/]", text))
    except ValueError:
        raise SettingError(f"--ratios {text!r} must be three numbers with colons between, such as 8:1:1") from None


PARSED: dict[str, Callable[[str], Any]] = {
    "events": lambda text: tuple(text.split(",")),
    "years": _years,
    "ratios": _ratios,
    "delimiter": lambda text: text.replace("\\t", "\t"),  # a shell hands \t on as it is
}


def _named(name: str, changes: Mapping[str, Any], data: Path | None, lenient: bool) -> "Split":
    from sahcns.data.catalogue import named_set, obtain, prepare_named

    wanted = named_set(name)
    if "all" not in wanted.parts:
        _refuse(_only(changes, RECIPE, FOR_GIVEN), f"{name} comes split, so {{}} does not apply to it")
    recipe = replace(wanted.recipe, **changes)
    with byte_progress() as report:
        folder = obtain(wanted, to=data, report=report)
    with working(f"preparing {name} …"):
        return prepare_named(wanted, folder, recipe, lenient=lenient)


def _own(
    sources: list[str],
    changes: Mapping[str, Any],
    reading: Mapping[str, Any],
    parts: Mapping[str, Any],
    beyond: Mapping[str, Any],
) -> "Split":
    from sahcns.data import Recipe, prepare, prepare_given
    from sahcns.data.catalogue import CATALOGUE
    from sahcns.data.readers import read, read_stored

    engine = beyond.get("engine", ENGINES[0])
    if engine not in ENGINES:
        raise SettingError(f"--engine {engine!r} is not known; {nearest(engine, ENGINES)}")
    if engine != "duckdb":
        _refuse(_only(beyond, ENGINE[1:]), "{} goes with --engine duckdb")
    for source in sources:
        if not Path(source).exists() and re.fullmatch(r"[\w-]+", source):
            raise DataError(f"{source!r} is neither a file nor a set of the catalogue; {nearest(source, CATALOGUE)}")
    if "event" in reading and "events" not in changes:
        raise SettingError(
            f"--event {reading['event']!r} names the column, and --events the kinds that are kept; give both, as in "
            "--event type --events purchase,cart"
        )
    files: Any = sources[0] if len(sources) == 1 else sources
    if "test" not in parts:
        _refuse(parts, "{} goes with --test, the file of test rows")
        if engine == "duckdb":
            return prepare(read_stored(files, **_only(beyond, ENGINE[1:]), **reading), Recipe(**changes))
        return prepare(read(files, **reading), Recipe(**changes))
    if engine == "duckdb":
        raise SettingError(
            "--engine duckdb is for rows that are split here; files that come split, with --test, are read without it"
        )
    _refuse(
        _only(changes, RECIPE, FOR_GIVEN), "files that come split are taken as they are, so {} does not apply to them"
    )
    reading = {**reading, "event": 0, "quantity": 0}
    given: Any = {**_only(parts, ("holdout", "overlap")), **changes}
    train = read(files, **reading)
    reading = {**reading, "items_offset": train.source["items_offset"]}  # "auto" finds it where all users are
    valid = read(parts["valid"], **reading) if "valid" in parts else None
    return prepare_given(train, valid, read(parts["test"], **reading), **given)


def _report(made: "Split", folder: Path) -> None:
    """The steps with their counts, the parts, and the fingerprint."""
    from sahcns.data.interactions import list_kinds

    manifest: Any = made.manifest
    steps = table("step", "rule", ">users", ">items", ">rows")
    events = []
    for step in manifest["steps"]:
        counts = (f"{step[name]:,}" for name in ("users", "items", "rows"))
        steps.add_row(step["step"], step["rule"], *counts, style="dim" if step["rule"].startswith("off") else None)
        if step.get("left_out"):
            events.append(f"events kept: {list_kinds(step['kept'])} · left out: {list_kinds(step['left_out'])}")
    parts = " · ".join(f"{name} {len(pairs):,}" for name, pairs in made.parts().items())
    density = f"density {manifest['statistics']['density']:.3%}"
    show(steps, "", *events, f"{parts} · {density}", f"fingerprint {made.fingerprint}", f"written to {folder}")


def as_options(sentence: str) -> str:
    """`leave times out with time=0` → `leave times out with --time 0`; what stands in quotes is left as it is."""

    def option(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        return f"--{found[1].replace('_', '-')}" + ("" if found[2] in ("", " ", ",", ")") else " ")

    sentence = sentence.replace("read with lenient", "add --lenient").replace("header=False", "--no-header")
    return re.sub(
        rf"""'[^']*'|"[^"]*"|\b({"|".join((*READING, *ENGINE, *RECIPE, *PARTS))})=(?=(.?))""", option, sentence
    )


def _only(options: Mapping[str, Any], names: tuple[str, ...], but: tuple[str, ...] = ()) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options and name not in but}


def _refuse(options: Mapping[str, Any], sentence: str) -> None:
    """An error that names the first of the options; they were given where they would be without effect."""
    for name in options:
        raise SettingError(sentence.format(f"--{name.replace('_', '-')}"))
