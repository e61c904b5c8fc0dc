"""`sahcns recommend`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sahcns.cli.console import Json, count, show, show_json, table, tell, warn
from sahcns.cli.dataset import holds_orders
from sahcns.cli.options import BASKETS, READ, Read, argument, option, parse_reading
from sahcns.cli.orders import open_orders, read_file, show_candidates, train_file
from sahcns.errors import SettingError

if TYPE_CHECKING:
    from rich.table import Table

    from sahcns.data.interactions import Interactions
    from sahcns.model import Baskets, Recommender
    from sahcns.model.recommender import Recommendation

RESTS_ON = {"fold-in": "by what else is known of them", "popular": "what most people have"}
NAMED = 5  # unknown items that are named where there are many


def command(
    run: Annotated[Path, argument("A folder from `sahcns train`, or a file of orders to learn from first.", "RUN")],
    users: Annotated[
        list[str] | None, option("A user, by the id in the data. Repeat for more.", "ID", "--user")
    ] = None,
    everyone: Annotated[bool, option("All users of the data; goes with --to.", None, "--everyone")] = False,
    having: Annotated[
        list[str] | None, option("Somebody new who has this item. Repeat for more items.", "ITEM")
    ] = None,
    baskets: Annotated[
        list[str] | None,
        option("Many new people: a file of who has what; goes with --to. Repeat for more files.", "FILE", "--for"),
    ] = None,
    read: Read = None,
    similar_to: Annotated[list[str] | None, option("Items like this one, by the id in the data.", "ITEM")] = None,
    popular: Annotated[bool, option("What most people of the data have.", None, "--popular")] = False,
    k: Annotated[int, option("How many.", "NUMBER", "-k", "--k", min=1)] = 20,
    exclude: Annotated[
        str, option("Leave out what the user is known to have: known, train or nothing.", "WHICH")
    ] = "known",
    without: Annotated[list[str] | None, option("Never show this item. Repeat for more.", "ITEM")] = None,
    only: Annotated[
        list[str] | None, option("Show this item or others so named, no more. Repeat for more.", "ITEM")
    ] = None,
    category: Annotated[list[str] | None, option("Show items of this category. Repeat for more.", "NAME")] = None,
    resume: Annotated[bool, option("Keep what is done beside --to, and go on from it.", None, "--resume")] = False,
    to: Annotated[Path | None, option("Write the users' lists: .csv, .jsonl or .parquet.", "FILE", "--to")] = None,
    json: Json = False,
) -> None:
    """The best items for users, for somebody new, or the items most like another, in the ids of the data.

    --exclude train leaves out only what the model was trained on, so that held-out items can come back. --having is
    for people whom the model does not know: their list comes from the items they have; --for takes a file of many such
    people, of any kind that `sahcns data prepare` reads. --popular is for those of whom nothing is known, and its score
    counts the people.

    A file of orders in place of a model is learnt from as `sahcns train` does, and --to is then for everybody in it.

    Examples: sahcns recommend orders.csv --to lists.csv
              sahcns recommend runs/sahc --user 17 -k 10
              sahcns recommend runs/sahc --user 17 --user 42 --json
              sahcns recommend runs/sahc --everyone -k 10 --to lists.parquet
              sahcns recommend runs/sahc --having 318 --having 50
              sahcns recommend runs/sahc --for baskets.csv -k 10 --to lists.csv
              sahcns recommend runs/sahc --similar-to 318
    """
    learn = holds_orders(str(run))
    everyone = everyone or (learn and to is not None and not (users or baskets))
    every = "--to lists.csv for everybody, " * learn
    nobody = f"give {every}--user ID, --everyone, --having ITEM, --for FILE, --similar-to ITEM, or --popular"
    others = having or similar_to or popular
    for wrong, sentence in (
        (not (users or everyone or baskets or others), f"nobody to recommend to: {nobody}"),
        (everyone and not to, "--everyone goes with --to FILE, such as --to lists.csv"),
        (baskets and not to, "--for goes with --to FILE, such as --to lists.csv"),
        (
            to and (others or everyone + bool(users) + bool(baskets) > 1),
            "--to writes the lists of users: those of --user, or --everyone, or the new ones of --for",
        ),
        (resume and not to, "--resume goes with --to FILE: what is done is kept beside it"),
        (read and not (baskets or learn), "--read says how a file is read, of --for or of orders, and there is none"),
    ):
        if wrong:
            raise SettingError(sentence)
    options = parse_reading(read or [], READ if learn else BASKETS)
    from sahcns.model.lists import check_target
    from sahcns.model.recommender import Recommendation, Recommender, list_rows

    if to is not None:
        check_target(to)
    if learn:
        made = train_file(open_orders(str(run), options), {}, quiet=json)
        if not json:
            show_candidates(made)
        model = Recommender.of(**made.parts)
    else:
        model = Recommender.load(run)
    limits: dict[str, Any] = {"k": k, "without": without or [], "only": only or None, "category": category or []}
    for item in without or []:
        if model.item_ids.find(item) is None:
            warn(f"--without {item}: there is no such item in the data, so it is never shown anyway")
    if to is not None:
        people = _baskets(model, baskets, options) if baskets else None if everyone else users
        _write(model, to, people, {**limits, "exclude": exclude}, json, resume)
        return
    places, likes = model.rows(users or []), model.item_ids.encode(similar_to or [], what="item").tolist()
    ids = model.user_ids.decode(places.tolist())
    found: list[tuple[str, dict[str, Any], str, list[Recommendation]]] = [
        ("users", {"user": one, "source": items[0].source if items else None}, f"for user {one}", items)
        for one, items in zip(ids, model.recommend(ids, exclude=exclude, **limits), strict=True)
    ]
    if having:
        heading = f"for somebody who has {', '.join(having)}"
        found.append(("new", {"having": having}, heading, model.recommend_new(having, **limits)))
    if popular:
        found.append(("popular", {}, "what most people have", model.popular(**limits)))
    for place, one in zip(likes, model.item_ids.decode(likes), strict=True):
        heading = ", ".join(filter(None, (f"like item {one}", model.title(place))))
        found.append(("similar", {"item": one}, heading, model.similar_items(one, **limits)))
    if json:
        told: dict[str, list[Any]] = {"users": [], "new": [], "popular": [], "similar": []}
        for kind, about, _, items in found:
            told[kind] += list_rows(items) if kind == "popular" else [{**about, "items": list_rows(items)}]
        show_json(told)
        return
    for at, (kind, _, heading, items) in enumerate(found):
        if kind == "users" and items and items[0].source != "model":
            heading += f", of whom nothing was learnt: {RESTS_ON[items[0].source]}"
        show(*[""] * bool(at), heading if items else f"{heading}: no item is left to show")
        if items:
            show(_table(items, people=kind == "popular"))


def _write(
    model: "Recommender",
    to: Path,
    people: "list[str] | Baskets | None",
    limits: dict[str, Any],
    json: bool,
    resume: bool,
) -> None:
    """The lists of users, of new people, or of all users (None), into a file."""
    from sahcns.model import Baskets
    from sahcns.model.lists import blocks, write_blocks
    from sahcns.model.resume import write_blocks_resumed

    about: dict[str, Any] = {}
    if isinstance(people, Baskets):
        number, who = len(people), count(len(people), "person", "people")
        unknown = [{"item": item, "rows": times} for item, times in people.unknown.items()]
        about = {"unknown": unknown, "left_out": people.left_out}
    else:
        number = len(model.user_ids if people is None else model.rows(people))
        who = count(number, "user")
    once = None if resume else blocks(model, people, **limits)
    rows = write_blocks_resumed(model, to, people, **limits) if once is None else write_blocks(once, to)
    if json:
        show_json({"file": to, "users": number, "rows": rows, **about})
    else:
        show(f"{count(rows, 'row')} for {who} written to {to}")


def read_baskets(files: list[str], options: dict[str, Any]) -> "Interactions":
    """Who has what, from files that people name; on stderr what there is to remark of them."""
    from sahcns.cli.data.remarks import read_remarks

    # a row is a thing that they have, whenever and however
    aside = {"rating": 0, "time": 0, "event": 0, "quantity": 0}
    interactions = read_file(files[0] if len(files) == 1 else files, {**aside, **options})
    read_remarks(interactions.source, header="--read header=true")
    return interactions


def _baskets(model: "Recommender", files: list[str], options: dict[str, Any]) -> "Baskets":
    """What the people of some files have; on stderr what was left aside, and who has no list."""
    from sahcns.model import Baskets

    interactions = read_baskets(files, options)
    baskets = Baskets.of(model, interactions)
    if items := sorted(baskets.unknown, key=lambda item: -baskets.unknown[item]):  # what most rows name comes first
        more = f" and {len(items) - NAMED:,} more" if len(items) > NAMED else ""
        rows = count(sum(baskets.unknown.values()), "row")
        where = f"{count(len(items), 'item')} of {interactions.name}, in {rows}"
        warn(f"{where}, unknown to the model and left aside: {', '.join(map(str, items[:NAMED]))}{more}")
    if people := baskets.left_out:
        who = f"{len(people):,} people, {people[0]} first, have" if len(people) > 1 else f"{people[0]} has"
        warn(f"{who} no item that the model knows, so there is no list for them; --popular lists what most people have")
    empty = sum(file.get("lines_without_items", 0) for file in interactions.source["files"])
    if empty:
        tell(f"{count(empty, 'line')} of {interactions.name} named somebody without any item")
    return baskets


def _table(items: "Sequence[Recommendation]", people: bool) -> "Table":
    """A list; its scores count people, or are those of the model."""
    titled = any(one.title for one in items)
    shown = table(">rank", "item", *["title"] * titled, ">people" if people else ">score")
    for rank, one in enumerate(items, 1):
        score = f"{one.score:,.0f}" if people else f"{one.score:.4f}"
        shown.add_row(str(rank), str(one.item), *[one.title or ""] * titled, score)
    return shown
