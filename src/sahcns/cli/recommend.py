"""`sahcns recommend`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sahcns.cli.console import Json, show, show_json, table, tell, warn
from sahcns.errors import SahcnsError, SettingError, nearest

if TYPE_CHECKING:
    from rich.table import Table
    from torch import Tensor

    from sahcns.model import Baskets, Recommendation, Recommender

READ = ("user", "item", "format", "delimiter", "header", "items_offset", "lenient")
SWITCHES = ("header", "lenient")
NAMED = 5  # unknown items that are named where there are many


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder from `sahcns train`.")],
    users: Annotated[
        list[str] | None, typer.Option("--user", metavar="ID", help="A user, by the id in the data. Repeat for more.")
    ] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="All users of the data; goes with --to.")] = False,
    having: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Somebody new who has this item. Repeat for more items.")
    ] = None,
    baskets: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="FILE",
            help="Many new people: a file of who has what; goes with --to. Repeat for more files.",
        ),
    ] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="How --for is read: user=COLUMN, item=COLUMN, delimiter, header, …"),
    ] = None,
    similar_to: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Items like this one, by the id in the data.")
    ] = None,
    popular: Annotated[bool, typer.Option("--popular", help="What most people of the data have.")] = False,
    k: Annotated[int, typer.Option("-k", "--k", metavar="NUMBER", min=1, help="How many.")] = 20,
    exclude: Annotated[
        str, typer.Option(metavar="WHICH", help="Leave out what the user is known to have: known, train or nothing.")
    ] = "known",
    without: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Never show this item. Repeat for more.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the users' lists: .csv, .jsonl or .parquet.")
    ] = None,
    json: Json = False,
) -> None:
    """The best items for users, for somebody new, or the items most like another, in the ids of the data.

    --exclude train leaves out only what the model was trained on, so that held-out items can come back. --having is
    for people whom the model does not know: their list comes from the items they have; --for takes a file of many such
    people, of any kind that `sahcns data prepare` reads. --popular is for those of whom nothing is known, and its score
    counts the people.

    Examples: sahcns recommend runs/sahc --user 17 -k 10
              sahcns recommend runs/sahc --user 17 --user 42 --json
              sahcns recommend runs/sahc --everyone -k 10 --to lists.parquet
              sahcns recommend runs/sahc --having 318 --having 50
              sahcns recommend runs/sahc --for baskets.csv -k 10 --to lists.csv
              sahcns recommend runs/sahc --similar-to 318
    """
    if not (users or everyone or having or baskets or similar_to or popular):
        raise SettingError(
            "nobody to recommend to: give --user ID, --everyone, --having ITEM, --for FILE, --similar-to ITEM, or --popular"
        )
    for option in ("--everyone",) * everyone + ("--for",) * bool(baskets):
        if to is None:
            raise SettingError(f"{option} goes with --to FILE, such as --to lists.csv")
    if to is not None and (having or similar_to or popular or everyone + bool(users) + bool(baskets) > 1):
        raise SettingError("--to writes the lists of users: those of --user, or --everyone, or the new ones of --for")
    if read and not baskets:
        raise SettingError("--read says how the file of --for is read, and there is none")
    if baskets and exclude != "known":
        raise SettingError("--exclude is for users of the model; what the people of --for have is always left out")
    options = _reading(read or [])
    from sahcns.model import Recommender
    from sahcns.model.lists import check_target

    if to is not None:
        check_target(to)
    model, without = Recommender.load(run), without or []
    for item in without:
        if model.item_ids.find(item) is None:
            warn(f"--without {item}: there is no such item in the data, so it is never shown anyway")
    if to is not None:
        people = _baskets(model, baskets, options) if baskets else None if everyone else users
        _write(model, to, people, k, exclude, without, json)
    else:
        _print(model, users or [], having or [], similar_to or [], popular, k, exclude, without, json)


def _print(
    model: "Recommender",
    users: list[str],
    having: list[str],
    similar_to: list[str],
    popular: bool,
    k: int,
    exclude: str,
    without: list[str],
    json: bool,
) -> None:
    """Every list that was asked for, as tables or as JSON."""
    from sahcns.model.recommender import list_rows

    places = model.rows(users)
    people = model.user_ids.decode(places.tolist())
    likes = model.item_ids.decode(model.item_ids.encode(similar_to, what="item"))
    _warn_of_untrained(model, places)
    for_users = dict(zip(people, model.recommend(people, k, exclude=exclude, without=without), strict=True))
    for_new = [model.recommend_new(having, k, without=without)] if having else []
    most = model.popular(k, without=without) if popular else []
    like_items = {item: model.similar_items(item, k, without=without) for item in likes}
    if json:
        show_json(
            {
                "users": [{"user": user, "items": list_rows(items)} for user, items in for_users.items()],
                "new": [{"having": having, "items": list_rows(items)} for items in for_new],
                "popular": list_rows(most),
                "similar": [{"item": item, "items": list_rows(items)} for item, items in like_items.items()],
            }
        )
        return
    lists = [(f"for user {user}", items) for user, items in for_users.items()]
    lists += [(f"for somebody who has {', '.join(having)}", items) for items in for_new]
    lists += [("what most people have", most)] if popular else []
    for item, items in like_items.items():
        name = model.title(int(model.item_ids.encode([item])[0]))
        lists.append((f"like item {item}" + (f", {name}" if name else ""), items))
    for position, (heading, items) in enumerate(lists):
        score = "people" if items is most else "score"
        below = [heading, _table(items, score)] if items else [f"{heading}: no item is left to show"]
        show(*([""] if position else []), *below)


def _write(
    model: "Recommender",
    to: Path,
    people: "list[str] | Baskets | None",
    k: int,
    exclude: str,
    without: list[str],
    json: bool,
) -> None:
    """The lists of users, of new people, or of all users (None), into a file."""
    import torch

    from sahcns.model import Baskets
    from sahcns.model.lists import blocks, write_blocks

    if isinstance(people, Baskets):
        count, who = len(people), _count(len(people), "person", "people")
        unknown = [{"item": item, "rows": times} for item, times in people.unknown.items()]
        about = {"unknown": unknown, "left_out": people.left_out}
    else:
        places = torch.arange(len(model.user_ids)) if people is None else model.rows(people)
        _warn_of_untrained(model, places)
        count, who, about = len(places), _count(len(places), "user", "users"), {}
    rows = write_blocks(blocks(model, people, k, exclude=exclude, without=without), to)
    if json:
        show_json({"file": to, "users": count, "rows": rows, **about})
    else:
        show(f"{_count(rows, 'row', 'rows')} for {who} written to {to}")


def _reading(texts: list[str]) -> dict[str, Any]:
    """`--read NAME=VALUE …` as the arguments of `sahcns.read`."""
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingError(f"--read {text!r} must be NAME=VALUE, such as user=customer or item=sku")
        if name not in READ:
            raise SettingError(f"--read {text!r}: a file is not read by {name!r}; {nearest(name, READ)}")
        if name in SWITCHES and value not in ("true", "false"):
            raise SettingError(f"--read {text!r}: {name} is true or false")
        options[name] = value == "true" if name in SWITCHES else value.replace("\\t", "\t")
    return options


def _baskets(model: "Recommender", files: list[str], options: dict[str, Any]) -> "Baskets":
    """What the people of some files have; on stderr what was left aside, and who has no list."""
    from sahcns.cli.data.remarks import read_remarks
    from sahcns.data.readers import read
    from sahcns.model import Baskets

    source: Any = files[0] if len(files) == 1 else files
    try:
        # a row is a thing that they have, whenever and however
        interactions = read(source, **{"rating": 0, "time": 0, "event": 0, **options})
    except SahcnsError as error:
        raise type(error)(_as_options(str(error))) from error
    baskets = Baskets.of(model, interactions)
    read_remarks(interactions.source, header="--read header=true")
    if items := sorted(baskets.unknown, key=lambda item: -baskets.unknown[item]):  # what most rows name comes first
        more = f" and {len(items) - NAMED:,} more" if len(items) > NAMED else ""
        rows = _count(sum(baskets.unknown.values()), "row", "rows")
        where = f"{_count(len(items), 'item', 'items')} of {interactions.name}, in {rows}"
        warn(f"{where}, unknown to the model and left aside: {', '.join(map(str, items[:NAMED]))}{more}")
    if people := baskets.left_out:
        who = f"{len(people):,} people, {people[0]} first, have" if len(people) > 1 else f"{people[0]} has"
        warn(f"{who} no item that the model knows, so there is no list for them; --popular lists what most people have")
    empty = sum(file.get("lines_without_items", 0) for file in interactions.source["files"])
    if empty:
        tell(f"{_count(empty, 'line', 'lines')} of {interactions.name} named somebody without any item")
    return baskets


def _as_options(sentence: str) -> str:
    """`name the right one with user='sku'` → `… with --read user='sku'`; what stands in quotes is left as it is."""
    sentence = sentence.replace("read with lenient", "add --read lenient=true").replace("=False", "=false")
    return re.sub(
        rf"""'[^']*'|"[^"]*"|\b(?<!--read )({"|".join(READ)})=""",
        lambda match: match[0] if match[1] is None else f"--read {match[0]}",
        sentence,
    )


def _warn_of_untrained(model: "Recommender", places: "Tensor") -> None:
    """Users whose vectors are as they were drawn at the start."""
    fresh = model.untrained(places)
    if len(fresh):
        first = model.user_ids[int(fresh[0])]
        who = f"{len(fresh):,} users, {first} among them, have" if len(fresh) > 1 else f"user {first} has"
        warn(f"{who} no training pair, so nothing was learnt about them; --having ITEM asks by what somebody has")


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _table(items: "Sequence[Recommendation]", score: str) -> "Table":
    titled = any(one.title for one in items)
    rows = table(">rank", "item", *(["title"] if titled else []), f">{score}")
    for rank, one in enumerate(items, 1):
        value = f"{one.score:,.0f}" if score == "people" else f"{one.score:.4f}"
        rows.add_row(str(rank), str(one.item), *([one.title or ""] if titled else []), value)
    return rows
