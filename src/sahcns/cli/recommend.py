"""`sahcns recommend`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sahcns.cli.console import Json, show, show_json, table
from sahcns.errors import SettingError

if TYPE_CHECKING:
    from rich.table import Table

    from sahcns.serving import Recommendation


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder from `sahcns train`.")],
    users: Annotated[
        list[str] | None, typer.Option("--user", metavar="ID", help="A user, by the id in the data. Repeat for more.")
    ] = None,
    similar_to: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Items like this one, by the id in the data.")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", metavar="NUMBER", min=1, help="How many.")] = 20,
    exclude: Annotated[
        str, typer.Option(metavar="WHICH", help="Leave out what the user is known to have: known, train or nothing.")
    ] = "known",
    json: Json = False,
) -> None:
    """The best items for users, or the items most like another, in the ids of the data.

    --exclude train leaves out only what the model was trained on, so that held-out items can come back.

    Examples: sahcns recommend runs/sahc --user 17 -k 10
              sahcns recommend runs/sahc --user 17 --user 42 --json
              sahcns recommend runs/sahc --similar-to 318
    """
    if not users and not similar_to:
        raise SettingError("nobody to recommend to: give --user ID, or --similar-to ITEM")
    from sahcns.serving import Recommender

    model = Recommender.load(run)
    people = model.user_ids.decode(model.user_ids.encode(users or [], what="user"))
    likes = model.item_ids.decode(model.item_ids.encode(similar_to or [], what="item"))
    for_users = dict(zip(people, model.recommend(people, k, exclude=exclude), strict=True))
    like_items = {item: model.similar_items(item, k) for item in likes}
    if json:
        show_json(
            {
                "users": [{"user": user, "items": _rows(found)} for user, found in for_users.items()],
                "similar": [{"item": item, "items": _rows(found)} for item, found in like_items.items()],
            }
        )
        return
    tables = [_table(f"for user {user}", found) for user, found in for_users.items()]
    for item, found in like_items.items():
        name = model.title(int(model.item_ids.encode([item])[0]))
        tables.append(_table(f"like item {item}" + (f", {name}" if name else ""), found))
    for position, made in enumerate(tables):
        show(*([""] if position else []), made)


def _rows(found: "Sequence[Recommendation]") -> list[dict[str, object]]:
    return [
        {"rank": rank, "item": one.item, "title": one.title, "score": one.score} for rank, one in enumerate(found, 1)
    ]


def _table(title: str, found: "Sequence[Recommendation]") -> "Table":
    titled = any(one.title for one in found)
    rows = table(">rank", "item", *(["title"] if titled else []), ">score", title=title)
    for rank, one in enumerate(found, 1):
        rows.add_row(str(rank), str(one.item), *([one.title or ""] if titled else []), f"{one.score:.4f}")
    return rows
