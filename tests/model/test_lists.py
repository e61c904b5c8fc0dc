"""Lists in a file, of users and of new people: as asked for one by one, in every format, whole or not at all."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from torch import Tensor

from sahcns.data import Recipe, prepare
from sahcns.data.ids import Texts
from sahcns.errors import DataError, SettingError, TrainingError
from sahcns.model import Baskets, Recommender
from sahcns.model import lists as module
from sahcns.model.lists import lists, write_lists
from sahcns.model.wishes import Ranked
from tests.data.hand_made import interactions
from tests.model.films import films
from tests.model.test_recommender import made

ROWS = [("zoe", 104), ("ann", 119), ("bob", 7), ("zoe", 100), ("ann", 119), ("ann", 7), ("eve", 8)]


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
    assert found.columns == ["user", "rank", "item", "title", "score", "source"]
    people = model.user_ids.decode(range(len(model.user_ids)))
    expected = [
        (user, rank, one.item, one.title, pytest.approx(one.score, rel=1e-5), one.source)
        for user, items in zip(people, model.recommend(people, 4), strict=True)
        for rank, one in enumerate(items, 1)
    ]
    assert found.rows() == expected
    assert [path.name for path in tmp_path.iterdir()] == [name]


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

    def watched(self: Recommender, rows: Tensor, k: int, **told: Any) -> Ranked:
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


def test_ids_that_need_quotes_and_letters_come_through(tmp_path: Path) -> None:
    rows = [(user, item) for user in ("Zoë, 1", '"q"', "007") for item in ("a;b", "c\nd", "[/x] :100:")]
    model = made(prepare(interactions(rows), Recipe(ratios=(1, 0, 0))))
    write_lists(model, tmp_path / "all.csv", k=3, exclude="nothing")
    found = pl.read_csv(tmp_path / "all.csv", schema_overrides={"user": pl.String})
    assert found.columns == ["user", "rank", "item", "score", "source"]
    assert {(user, item) for user, _, item, _, _ in found.rows()} == set(rows)


def test_no_cell_of_a_csv_file_begins_a_formula(tmp_path: Path) -> None:
    users, items = ("-1", "+49 170", "@bob"), ("=1+1", "-2.5", "-x", "\tq", "a=b")
    split = prepare(interactions([(user, item) for user in users for item in items]), Recipe(ratios=(1, 0, 0)))
    model = made(replace(split, titles=Texts.of(['=HYPERLINK("x")'] * 5)))
    for ending in ("csv", "jsonl"):
        write_lists(model, tmp_path / f"all.{ending}", k=5, exclude="nothing")
    found = pl.read_csv(tmp_path / "all.csv", infer_schema_length=0)
    assert {*found["user"]} == {"-1", "'+49 170", "'@bob"}
    assert {*found["item"]} == {"'=1+1", "-2.5", "'-x", "'\tq", "a=b"}
    assert {*found["title"]} == {'\'=HYPERLINK("x")'}
    assert found["score"].str.contains("'").sum() == 0
    assert {*pl.read_ndjson(tmp_path / "all.jsonl")["item"]} == {*items}  # where ids are as they were


def shown(baskets: Baskets) -> dict[object, list[int]]:
    return {
        person: items.tolist()
        for person, items in zip(baskets.people.decode(range(len(baskets))), baskets.having, strict=True)
    }


def test_from_rows_and_from_a_mapping_alike() -> None:
    model = made(films())
    of_rows = Baskets.of(model, interactions(ROWS))
    of_mapping = Baskets.of(model, {"zoe": [104, 100], "ann": (119, 119, 7), "bob": [7], "eve": [8]})
    for baskets in (of_rows, of_mapping):
        assert shown(baskets) == {"ann": [19], "zoe": [0, 4]}
        assert len(baskets) == 2
        assert baskets.unknown == {7: 2, 8: 1}
        assert baskets.left_out == ("bob", "eve")


def test_numbers_that_came_as_texts_are_found() -> None:
    """One id with a letter in it makes a whole column text."""
    baskets = Baskets.of(made(films()), interactions([(1, "104"), (2, "new"), (2, "119")]))
    assert shown(baskets) == {1: [4], 2: [19]}
    assert baskets.unknown == {"new": 1}


def test_lists_are_those_of_each_alone_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(films())
    given = {person: [100 + (7 * person + k) % 20 for k in range(1 + person % 4)] for person in range(11)}
    whole = lists(model, Baskets.of(model, given), 5)
    monkeypatch.setattr(module, "BLOCK", 4)
    assert_frame_equal(whole, lists(model, Baskets.of(model, given), 5))
    for person, having in given.items():
        alone = [one.item for one in model.recommend_new(having, 5)]
        assert whole.filter(whole["user"] == person)["item"].to_list() == alone


def test_somebody_who_has_everything_has_no_rows() -> None:
    model = made(films())
    frame = lists(model, Baskets.of(model, {"all": range(100, 120), "one": [100]}), 50)
    assert frame["user"].unique().to_list() == ["one"]
    assert frame.height == 19


def test_refusals_come_before_anything_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(films())
    monkeypatch.setattr(Recommender, "ranked", lambda *_, **__: pytest.fail("computed all the same"))
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match=r"'lists\.txt' must end in \.csv, \.jsonl or \.parquet"):
        write_lists(model, "lists.txt")
    for place in (tmp_path / "folder.csv", tmp_path / "file" / "deeper" / "a.csv"):
        with pytest.raises(DataError, match=f"cannot write the recommendations {place}"):
            write_lists(model, place)
    with pytest.raises(DataError, match="'nobody'"):
        write_lists(model, tmp_path / "a.csv", ["nobody"])
    with pytest.raises(SettingError, match="exclude='train'"):
        write_lists(model, tmp_path / "a.csv", Baskets.of(model, {1: [101]}), exclude="train")
    with pytest.raises(SettingError, match="empty"):
        Baskets.of(model, {"ann": list[int]()})
    with pytest.raises(DataError, match=r"nobody in rows\.csv .* such as 7"):
        Baskets.of(model, interactions([("ann", 7)]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.csv"]
