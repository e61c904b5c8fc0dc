"""Lists in a file: the same as asked for one by one, in every format, whole or not at all."""

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from torch import Tensor

from sahcns.data import Recipe, Split, prepare
from sahcns.errors import DataError, SettingError, TrainingError
from sahcns.model import Recommender
from sahcns.model import lists as module
from sahcns.model.lists import lists, write_lists
from tests.data.hand_made import interactions
from tests.model.films import films
from tests.model.test_recommender import made


def read(path: Path) -> pl.DataFrame:
    match path.suffix.lower():
        case ".csv":
            return pl.read_csv(path)
        case ".jsonl":
            return pl.read_ndjson(path)
        case _:
            return pl.read_parquet(path)


@pytest.mark.parametrize("name", ["lists.csv", "LISTS.CSV", "lists.jsonl", "lists.parquet"])
def test_every_user_has_the_list_that_recommend_gives(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)  # several blocks, and a last one that is smaller
    model = made(films())
    assert write_lists(model, tmp_path / name, k=4) == tmp_path / name
    found = read(tmp_path / name)
    assert found.columns == ["user", "rank", "item", "title", "score"]
    people = model.user_ids.decode(range(len(model.user_ids)))
    expected = [
        (user, rank, one.item, one.title, pytest.approx(one.score, rel=1e-5))
        for user, items in zip(people, model.recommend(people, 4), strict=True)
        for rank, one in enumerate(items, 1)
    ]
    assert found.rows() == expected
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("ending", "write"), [(".csv", "write_csv"), (".jsonl", "write_ndjson")])
def test_in_blocks_it_is_the_file_that_one_frame_makes(
    tmp_path: Path, ending: str, write: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)
    frame, whole = lists(made(films()), k=4), BytesIO()
    getattr(frame, write)(whole)
    target = write_lists(made(films()), tmp_path / f"lists{ending}", k=4)
    assert target.read_bytes() == whole.getvalue()


def test_a_parquet_file_in_blocks_says_what_one_frame_says_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)
    frame = lists(made(films()), k=4)
    for folder in ("plain", "a*b", "[1]", "year=2020", "new/deeper"):
        target = write_lists(made(films()), tmp_path / folder / "lists.parquet", k=4)
        with open(target, "rb") as content:
            found = pl.read_parquet(content)
        assert found.equals(frame)
        assert found.schema == frame.schema
        assert [path.name for path in target.parent.iterdir()] == ["lists.parquet"]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("room", [1000, 3000])  # for not even one block, and for each of them but not for all
def test_a_disk_that_is_full_is_told_in_a_sentence_and_nothing_stays(
    tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)
    resource = pytest.importorskip("resource", reason="limits the size of files, on POSIX")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(DataError, match=r"cannot write the recommendations .*a\.parquet: .*File too large"):
            write_lists(made(films()), tmp_path / "a.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_block_is_written_before_the_next_is_made_and_seen_when_all_are(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lists were held until the last was made: 3 GB for a million users."""
    monkeypatch.setattr(module, "BLOCK", 7)
    monkeypatch.setattr("sahcns.files.open", partial(open, buffering=0), raising=False)
    ranked, sizes, target = Recommender.ranked, list[int](), tmp_path / f"lists{ending}"
    target.write_text("former")

    def watched(self: Recommender, rows: Tensor, k: int, **told: Any) -> tuple[Tensor, Tensor]:
        sizes.append(sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file() and path != target))
        assert target.read_text() == "former"
        if len(sizes) == 4:
            raise TrainingError("diverged")
        return ranked(self, rows, k, **told)

    monkeypatch.setattr(Recommender, "ranked", watched)
    with pytest.raises(TrainingError, match="diverged"):
        write_lists(made(films()), target)
    assert sizes == sorted(set(sizes))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(target.name, "former")]


def test_some_users_in_their_order_and_all_that_can_be_left_out(tmp_path: Path) -> None:
    model = made(films())
    told = {"exclude": "nothing", "without": [101]}
    frame = lists(model, ["p07", "p01"], 30, **told)  # type: ignore[arg-type]
    assert frame["user"].unique(maintain_order=True).to_list() == ["p07", "p01"]
    assert frame.height == 2 * 19
    assert 101 not in frame["item"].to_list()


def test_a_user_with_nothing_left_has_no_rows() -> None:
    split = Split.from_pairs([[0, 0], [0, 1], [0, 2], [1, 0]], n_items=3)
    assert lists(made(split), k=5)["user"].to_list() == [1, 1]


def test_ids_that_need_quotes_and_letters_come_through(tmp_path: Path) -> None:
    rows = [(user, item) for user in ("Zoë, 1", '"q"', "007") for item in ("a;b", "c\nd", "[/x] :100:")]
    model = made(prepare(interactions(rows), Recipe(ratios=(1, 0, 0))))
    write_lists(model, tmp_path / "all.csv", k=3, exclude="nothing")
    found = pl.read_csv(tmp_path / "all.csv", schema_overrides={"user": pl.String})
    assert found.columns == ["user", "rank", "item", "score"]
    assert {(user, item) for user, _, item, _ in found.rows()} == set(rows)


def test_refusals(tmp_path: Path) -> None:
    model = made(films())
    with pytest.raises(SettingError, match=r"'lists\.txt' must end in \.csv, \.jsonl or \.parquet"):
        write_lists(model, "lists.txt")
    with pytest.raises(DataError, match="user 'nobody' is not in the data"):
        write_lists(model, tmp_path / "a.csv", ["nobody"])
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write the recommendations"):
        write_lists(model, tmp_path / "file" / "a.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recommender, "ranked", lambda *_, **__: pytest.fail("computed all the same"))
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"folder\.csv: it is a folder; name a file in it"):
        write_lists(made(films()), tmp_path / "folder.csv")
    with pytest.raises(DataError, match="file is not a folder that can be written to"):
        write_lists(made(films()), tmp_path / "file" / "deeper" / "a.csv")
