"""`sahcns recommend`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sahcns.cli.console import Json, show, show_json, table, warn
from sahcns.errors import SettingError

if TYPE_CHECKING:
    from rich.table import Table
    from torch import Tensor

    from sahcns.model import Recommendation, Recommender


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
    from sahcns.model import Recommender

    if to is not None:
        _write(run, to, None if everyone else users, baskets, read or [], k, exclude, without or [], json)
        return
    model = Recommender.load(run)
    _unknown(model, without or [])
    rows = model.rows(users or [])
    people = model.user_ids.decode(rows.tolist())
    likes = model.item_ids.decode(model.item_ids.encode(similar_to or [], what="item"))
    _remark(model, rows)
    for_users = dict(zip(people, model.recommend(people, k, exclude=exclude, without=without or []), strict=True))
    for_new = [model.recommend_new(having, k, without=without or [])] if having else []
    most = model.popular(k, without=without or []) if popular else []
    like_items = {item: model.similar_items(item, k, without=without or []) for item in likes}
    if json:
        show_json(
            {
                "users": [{"user": user, "items": _rows(found)} for user, found in for_users.items()],
                "new": [{"having": having, "items": _rows(found)} for found in for_new],
                "popular": _rows(most),
                "similar": [{"item": item, "items": _rows(found)} for item, found in like_items.items()],
            }
        )
        return
    shown = [(f"for user {user}", found) for user, found in for_users.items()]
    shown += [(f"for somebody who has {', '.join(having or [])}", found) for found in for_new]
    shown += [("what most people have", most)] if popular else []
    for item, found in like_items.items():
        name = model.title(int(model.item_ids.encode([item])[0]))
        shown.append((f"like item {item}" + (f", {name}" if name else ""), found))
    for position, (heading, found) in enumerate(shown):
        nothing = f"{heading}: no item is left to show"
        counted = "people" if found is most else ""
        show(*([""] if position else []), *([heading, _table(found, counted)] if found else [nothing]))


def _write(
    run: Path,
    to: Path,
    users: list[str] | None,
    baskets: list[str] | None,
    read: list[str],
    k: int,
    exclude: str,
    without: list[str],
    json: bool,
) -> None:
    """The lists of users, of new people, or of all users (None), into a file."""
    import torch

    from sahcns.cli import recommend_new
    from sahcns.model import Baskets, Recommender
    from sahcns.model.lists import blocks, check_target, write_blocks

    check_target(to)
    options = recommend_new.reading(read)
    model = Recommender.load(run)
    _unknown(model, without)
    who: list[str] | Baskets | None = users
    left: dict[str, object] = {}
    if baskets:
        who = recommend_new.baskets(model, baskets, options)
        count = len(who)
        unknown = [{"item": item, "rows": rows} for item, rows in who.unknown.items()]
        left = {"unknown": unknown, "left_out": who.left_out}
    else:
        rows = torch.arange(len(model.user_ids)) if users is None else model.rows(users)
        _remark(model, rows)
        count = len(rows)
    written = write_blocks(blocks(model, who, k, exclude=exclude, without=without), to)
    if json:
        show_json({"file": to, "users": count, "rows": written, **left})
    else:
        one, many = ("person", "people") if baskets else ("user", "users")
        rows_for = f"{written:,} row{'s' * (written != 1)} for {count:,} {one if count == 1 else many}"
        show(f"{rows_for} written to {to}")


def _unknown(model: "Recommender", without: list[str]) -> None:
    for item in without:
        if model.item_ids.find(item) is None:
            warn(f"--without {item}: there is no such item in the data, so it is never shown anyway")


def _remark(model: "Recommender", rows: "Tensor") -> None:
    """On stderr: users whose vectors are as they were drawn at the start."""
    fresh = model.untrained(rows)
    if len(fresh):
        who = f"user {model.user_ids[int(fresh[0])]} has"
        who = f"{len(fresh):,} users, {model.user_ids[int(fresh[0])]} among them, have" if len(fresh) > 1 else who
        warn(f"{who} no training pair, so nothing was learnt about them; --having ITEM asks by what somebody has")


def _rows(found: "Sequence[Recommendation]") -> list[dict[str, object]]:
    return [
        {"rank": rank, "item": one.item, "title": one.title, "score": one.score} for rank, one in enumerate(found, 1)
    ]


def _table(found: "Sequence[Recommendation]", counted: str = "") -> "Table":
    """A list; its scores are numbers of what is `counted`, if anything is."""
    titled = any(one.title for one in found)
    rows = table(">rank", "item", *(["title"] if titled else []), f">{counted or 'score'}")
    for rank, one in enumerate(found, 1):
        score = f"{one.score:,.0f}" if counted else f"{one.score:.4f}"
        rows.add_row(str(rank), str(one.item), *([one.title or ""] if titled else []), score)
    return rows
