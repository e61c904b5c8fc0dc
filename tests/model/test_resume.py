"""Lists that were cut off go on from what is done, and only from what belongs to them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sahcns.model import Baskets
from sahcns.model import lists as lists_module
from sahcns.model import resume as resume_module
from sahcns.model.lists import lists
from sahcns.model.resume import write_blocks_resumed
from tests.model.films import films
from tests.model.test_recommender import made


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists_module, "BLOCK", 5)


class Cut(Exception):
    pass


def cut_after(monkeypatch: pytest.MonkeyPatch, count: int | None) -> list[int]:
    """Make `blocks` fail after some blocks; the list tells how many were made."""
    real, made_ = lists_module.blocks, list[int]()

    def blocks(*given: Any, **options: Any) -> Iterator[pl.DataFrame]:
        for frame in real(*given, **options):
            if count is not None and len(made_) == count:
                raise Cut
            made_.append(frame.height)
            yield frame

    monkeypatch.setattr(resume_module, "blocks", blocks)
    return made_


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_it_goes_on_where_it_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    model, path = made(films()), tmp_path / f"lists{ending}"
    with monkeypatch.context() as patch:
        cut_after(patch, 3)
        with pytest.raises(Cut):
            write_blocks_resumed(model, path, k=4)
    assert not path.exists()
    with monkeypatch.context() as patch:
        fresh = cut_after(patch, None)
        rows = write_blocks_resumed(model, path, k=4)
    assert len(fresh) == 2  # of five blocks three were there
    readers: dict[str, Any] = {".parquet": pl.read_parquet, ".csv": pl.read_csv, ".jsonl": pl.read_ndjson}
    read = readers[ending](path)
    expected = lists(model, k=4)
    assert rows == len(expected)
    assert read.select("user", "item", "rank").rows() == expected.select("user", "item", "rank").rows()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("seed", "users", "k"),
    [
        (1, None, 4),
        (0, [f"p{at:02}" for at in range(20)], 4),
        (0, {at: [100 + at] for at in range(17)}, 4),
        (0, None, 3),
    ],
    ids=["another model", "other users", "new people", "another k"],
)
def test_what_belongs_to_something_else_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, users: Any, k: int
) -> None:
    path = tmp_path / "lists.parquet"
    with monkeypatch.context() as patch:
        cut_after(patch, 3)
        with pytest.raises(Cut):
            write_blocks_resumed(made(films()), path, k=4)
    model = made(films(), seed=seed)
    users = Baskets.of(model, users) if isinstance(users, dict) else users
    write_blocks_resumed(model, path, users, k=k)
    assert pl.read_parquet(path).equals(lists(model, users, k))
