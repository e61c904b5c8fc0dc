"""Lists of everyone that can be cut off at any moment and gone on with: each block is kept until the whole file is there."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.data.ids import Id
from sahcns.errors import DataError
from sahcns.files import write_whole
from sahcns.model.baskets import Baskets
from sahcns.model.lists import BLOCK, blocks, check_target, parquet, write_blocks
from sahcns.model.recommender import Recommender

if TYPE_CHECKING:
    import polars as pl

PLAN = "plan.json"


def write_blocks_resumed(
    model: Recommender, path: str | os.PathLike[str], users: Sequence[Id] | Baskets | None = None, **asked: Any
) -> int:
    """`write_blocks(blocks(model, users, …), path)`, with what was done before it was cut off taken from beside `path`.

    The blocks are kept in a hidden folder, which goes when the file is there. Blocks of another model, other users or other
    arguments are not taken.
    """
    check_target(path)
    target = Path(os.path.realpath(path))
    home = target.with_name(f".{target.name}.parts")
    plan = {"model": _digest(model, users), "block": BLOCK, "asked": json.loads(json.dumps(asked, default=list))}
    try:
        if _read(home / PLAN) != plan:
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            write_whole(home / PLAN, json.dumps(plan))
    except OSError as error:
        raise DataError(f"cannot write {home}: {error.strerror or error}") from error
    rows = write_blocks(_frames(home, model, users, asked), path)
    shutil.rmtree(home, ignore_errors=True)
    return rows


def _frames(
    home: Path, model: Recommender, users: Sequence[Id] | Baskets | None, asked: dict[str, Any]
) -> Iterator["pl.DataFrame"]:
    """The kept blocks, as far as there is none missing, and then the others, each kept before it is handed on."""
    import polars as pl

    done = 0
    while (part := home / f"{done}.parquet").exists():
        yield pl.read_parquet(part, glob=False, hive_partitioning=False)
        done += 1
    for at, frame in enumerate(blocks(model, users, **asked, skip=done), done):
        write_whole(home / f"{at}.parquet", parquet(frame), "recommendations")
        yield frame


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _digest(model: Recommender, users: Sequence[Id] | Baskets | None) -> str:
    """What tells one model and one choice of users from another."""
    digest = sha256(repr(model.record.get("data")).encode())
    tables = (model.user_vectors, model.item_vectors, model.known_users, model.known_items, model.known_part)
    for table in (*tables, model.aside_users, model.aside_items):
        digest.update(table.contiguous().numpy().data)
    if model.item_weights is not None:
        weights = model.item_weights.weights
        digest.update(repr((type(weights).__name__, weights.shape, float(weights.sum()))).encode())
    people: Iterable[object] = (
        users or ()
        if not isinstance(users, Baskets)
        else zip(users.people, (items.tolist() for items in users.having), strict=True)
    )
    for one in people:
        digest.update(f"{one!r}\n".encode())
    return f"{'everyone' if users is None else 'some'} {digest.hexdigest()}"
