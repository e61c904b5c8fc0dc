"""The lists of many users, of all of them, or of many new people, in one file that anything can read."""

import io
import os
import shutil
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import torch

from sahcns.data.ids import Id, IdMap
from sahcns.errors import DataError, SettingError
from sahcns.files import FORMULA, NUMBER, nearest_folder, refuse_unwritable, unfinished_name, write_whole
from sahcns.model.baskets import Baskets
from sahcns.model.filters import Limits
from sahcns.model.recommender import Recommender
from sahcns.model.wishes import SOURCES

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".csv", ".jsonl", ".parquet")
BLOCK = 1 << 14  # users whose lists are made at a time
PIECE = 1 << 20  # bytes of a Parquet file handed on at a time


def write_lists(
    model: Recommender,
    path: str | os.PathLike[str],
    users: Sequence[Id] | Baskets | None = None,
    k: int = 20,
    *,
    exclude: str = "known",
    **limits: Unpack[Limits],
) -> Path:
    """One row for each recommended item: user, rank, item, title (where there are titles), score, source.

    The source says what a list rests on: the model, a fold-in of what is known of somebody it was not trained on, or what
    is popular. `users` are all of the data unless told; `Baskets` are people whom the model does not know, by what they
    have. The ending of `path` says the format: .csv, .jsonl or .parquet. In a .csv an id or title that a spreadsheet would
    take for a formula gets an apostrophe before it.
    """
    write_blocks(blocks(model, users, k, exclude=exclude, **limits), path)
    return Path(path)


def write_blocks(frames: Iterable["pl.DataFrame"], path: str | os.PathLike[str]) -> int:
    """Lists into a file, whole or not at all, each block as soon as it is made; how many rows there are."""
    check_target(path)
    ending, heights = Path(path).suffix.lower(), list[int]()

    def counted() -> Iterator["pl.DataFrame"]:
        for frame in frames:
            heights.append(frame.height)
            yield frame

    content = _parquet_pieces(counted(), Path(path)) if ending == ".parquet" else _text_pieces(counted(), ending)
    with closing(content):
        write_whole(path, content, "recommendations")
    return sum(heights)


def _text_pieces(frames: Iterable["pl.DataFrame"], ending: str) -> Generator[bytes, None, None]:
    import polars as pl

    text = pl.col(pl.String)
    runs = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)  # see `csv_text`
    for at, frame in enumerate(frames):
        content = io.BytesIO()
        if ending == ".csv":
            safe = frame.with_columns(pl.when(runs).then(text.str.replace("^", "'")).otherwise(text))
            safe.write_csv(content, include_header=at == 0)
        else:
            frame.write_ndjson(content)
        yield content.getvalue()


def _parquet_pieces(frames: Iterable["pl.DataFrame"], target: Path) -> Generator[bytes, None, None]:
    """The bytes of the file; `frames`, at least one, have one schema.

    polars writes a Parquet file in one go, or streams one from others. So each frame is a file first, in a hidden folder
    beside `target`, which is gone when the last piece is taken, or when this is closed.
    """
    import polars as pl

    beside = nearest_folder(target) / unfinished_name(target)
    beside.mkdir()
    try:
        parts = list[Path]()
        for frame in frames:
            parts.append(beside / f"{len(parts)}.parquet")
            parts[-1].write_bytes(parquet(frame))
        whole = beside / "whole.parquet"
        # The names are these files and nothing else: neither a [1] nor a year=2020 in the name of a folder means anything.
        try:
            pl.scan_parquet(parts, glob=False, hive_partitioning=False).sink_parquet(whole)
        except pl.exceptions.ComputeError as error:  # so polars calls a full disk
            raise OSError(str(error)) from error
        for part in parts:
            part.unlink()
        with open(whole, "rb") as file:
            while piece := file.read(PIECE):
                yield piece
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def lists(
    model: Recommender,
    users: Sequence[Id] | Baskets | None = None,
    k: int = 20,
    *,
    exclude: str = "known",
    **limits: Unpack[Limits],
) -> "pl.DataFrame":
    """What `write_lists` writes, as a polars frame: user, rank, item, title (where there are titles), score, source."""
    import polars as pl

    return pl.concat(blocks(model, users, k, exclude=exclude, **limits), rechunk=True)


def blocks(
    model: Recommender,
    users: Sequence[Id] | Baskets | None = None,
    k: int = 20,
    *,
    exclude: str = "known",
    skip: int = 0,
    **limits: Unpack[Limits],
) -> Iterator["pl.DataFrame"]:
    """The frame of `lists` in parts, of `BLOCK` users each, so that never all of them are held at once.

    skip   so many first parts are left out
    """
    import polars as pl

    if isinstance(users, Baskets):
        if exclude != "known":
            raise SettingError(
                f"exclude={exclude!r} is for users of the model; what new people have is always left out"
            )
        people, rows = users.people, torch.arange(len(users), device="cpu")
    else:
        people = model.user_ids
        rows = torch.arange(len(people), device="cpu") if users is None else model.rows(users)
    item_ids, sources = id_series(model.item_ids), pl.Series(SOURCES)
    titles = pl.Series(map(model.title, range(len(model.item_ids))), dtype=pl.String)
    for part in torch.split(rows, BLOCK)[skip:]:
        if isinstance(users, Baskets):
            ranked = model.ranked_new([users.having[row] for row in part.tolist()], k, **limits)
        else:
            ranked = model.ranked(part, k, exclude=exclude, **limits)
        there = ranked.items >= 0  # a user with fewer items left than k has places that are empty
        whose, place = there.nonzero(as_tuple=True)
        what = ranked.items[there].numpy()
        frame = pl.DataFrame(
            {
                "user": id_series(people, part.tolist()).gather(whose.numpy()),
                "rank": (place + 1).to(torch.int32).numpy(),
                "item": item_ids.gather(what),
                "score": ranked.scores[there].numpy(),
                "source": sources.gather(ranked.sources[whose].numpy()),
            }
        )
        yield frame if model.titles is None else frame.insert_column(3, titles.gather(what).alias("title"))


def check_target(path: str | os.PathLike[str]) -> None:
    """An error now, before anything is computed, if no format has the ending of `path`, or it could not be written."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise SettingError(f"{os.fspath(path)!r} must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    if target.is_dir():
        raise DataError(f"cannot write the recommendations {target}: it is a folder; name a file in it")
    refuse_unwritable(target, "recommendations")


def id_series(ids: IdMap, positions: Iterable[int] | None = None) -> "pl.Series":
    import polars as pl

    some = list(ids) if positions is None else ids.decode(positions)
    return pl.Series(some, dtype=pl.Int64 if ids.kind == "int" else pl.String)


def parquet(frame: "pl.DataFrame") -> bytes:
    """The bytes of a Parquet file."""
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()
