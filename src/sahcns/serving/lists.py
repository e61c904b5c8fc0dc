"""The lists of many users, of all of them, or of many new people, in one file that anything can read."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from sahcns.data.ids import Id, IdMap
from sahcns.errors import DataError, SettingError
from sahcns.files import write_whole
from sahcns.serving.baskets import Baskets
from sahcns.serving.recommender import Recommender

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".csv", ".jsonl", ".parquet")
BLOCK = 1 << 14  # users whose lists are made at a time


def write_lists(
    model: Recommender,
    path: str | os.PathLike[str],
    users: Sequence[Id] | Baskets | None = None,
    k: int = 20,
    *,
    exclude: str = "known",
    without: Sequence[Id] = (),
) -> Path:
    """One row for each recommended item: user, rank, item, title (where there are titles), score.

    `users` are all of the data unless told; `Baskets` are people whom the model does not know, by what they have. The
    ending of `path` says the format: .csv, .jsonl or .parquet.
    """
    check_target(path)
    return write_frame(lists(model, users, k, exclude=exclude, without=without), path)


def write_frame(frame: "pl.DataFrame", path: str | os.PathLike[str]) -> Path:
    """The lists into a file, whole or not at all."""
    check_target(path)
    content = io.BytesIO()
    match Path(path).suffix.lower():
        case ".csv":
            frame.write_csv(content)
        case ".jsonl":
            frame.write_ndjson(content)
        case _:
            frame.write_parquet(content)
    return write_whole(path, content.getvalue(), "recommendations")


def lists(
    model: Recommender,
    users: Sequence[Id] | Baskets | None = None,
    k: int = 20,
    *,
    exclude: str = "known",
    without: Sequence[Id] = (),
) -> "pl.DataFrame":
    """What `write_lists` writes, as a polars frame: user, rank, item, title (where there are titles), score."""
    import polars as pl

    people = users.people if isinstance(users, Baskets) else model.user_ids
    if isinstance(users, Baskets):
        if exclude != "known":
            raise SettingError(
                f"exclude={exclude!r} is for users of the model; what new people have is always left out"
            )
        rows = torch.arange(len(users))
        blocks = (users.having[at : at + BLOCK] for at in range(0, len(users), BLOCK))
        parts = [model.ranked_new(block, k, without=without) for block in blocks]
    else:
        rows = torch.arange(len(model.user_ids)) if users is None else model.rows(users)
        parts = [model.ranked(part, k, exclude=exclude, without=without) for part in torch.split(rows, BLOCK)]
    items, scores = (torch.cat(columns) for columns in zip(*parts, strict=True))  # [B, ≤ k]
    there = items >= 0  # a user with fewer items left than k has places that are empty
    ranks = torch.arange(1, items.shape[1] + 1).expand_as(items)[there]
    what = items[there].numpy()
    frame = pl.DataFrame(
        {
            "user": _ids(people).gather(rows[:, None].expand_as(items)[there].numpy()),
            "rank": ranks.to(torch.int32).numpy(),
            "item": _ids(model.item_ids).gather(what),
            "score": scores[there].numpy(),
        }
    )
    if model.titles is None:
        return frame
    titles = pl.Series([model.title(item) for item in range(len(model.item_ids))], dtype=pl.String)
    return frame.insert_column(3, titles.gather(what).alias("title"))


def check_target(path: str | os.PathLike[str]) -> None:
    """An error now, before anything is computed, if no format has the ending of `path`, or it could not be written."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise SettingError(f"{os.fspath(path)!r} must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    if target.is_dir():
        raise DataError(f"cannot write the recommendations {target}: it is a folder; name a file in it")
    near = target.absolute().parent
    while not near.exists():
        near = near.parent
    if not near.is_dir() or not os.access(near, os.W_OK | os.X_OK):
        raise DataError(f"cannot write the recommendations {target}: {near} is not a folder that can be written to")


def _ids(ids: IdMap) -> "pl.Series":
    import polars as pl

    return pl.Series(ids.decode(range(len(ids))), dtype=pl.Int64 if ids.kind == "int" else pl.String)
