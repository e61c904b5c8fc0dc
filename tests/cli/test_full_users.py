"""Users who have every item: each command that trains says once that their pairs were not trained on."""

from pathlib import Path
from typing import Any

import pytest

from sahcns import folders
from sahcns.data import Split, save_split
from tests.cli.conftest import Done, Sahcns, refused
from tests.splits import random_split

EVERYTHING = [[0, item] for item in range(6)]
OTHERS = [[1, 0], [1, 1], [2, 3], [3, 4], [3, 5]]
QUICK = ("--epochs", "2", "--batch", "8", "--device", "cpu", "--set", "backbone.dim=4")
REMARK = (
    "1 user has every one of the 6 items, so there is nothing to prefer theirs to: their 6 pairs are part of the graph "
    "and were not trained on"
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    split = Split.from_pairs([*EVERYTHING, *OTHERS], [[1, 2], [2, 4]], [[1, 3], [2, 5]])
    return save_split(split, tmp_path / "shop")


def remarks(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("warning: ")]


@pytest.mark.parametrize("rest", [(), ("--json",)], ids=["table", "json"])
def test_each_command_says_it_once(sahcns: Sahcns, shop: Path, tmp_path: Path, rest: tuple[str, ...]) -> None:
    for line in (
        ("train", shop, *QUICK, "--out", tmp_path / "run"),
        ("compare", shop, *QUICK, "--samplers", "rns,dns", "--seeds", "2", "--out", tmp_path / "study"),
        ("tune", shop, *QUICK, "--samplers", "rns,sahc", "--trials", "2", "--out", tmp_path / "tuned"),
        ("bench", shop, "--device", "cpu", "--epochs", "1", "--set", "backbone.dim=4"),
    ):
        done = sahcns(*line, *rest)
        assert done.code == 0, done.err
        assert remarks(done.err) == [f"warning: {REMARK}"], line[0]


def test_of_several_sets_each_is_named_and_runs_that_are_there_count_too(
    sahcns: Sahcns, shop: Path, tmp_path: Path
) -> None:
    more = save_split(random_split(8, 9, each=3, seed=1), tmp_path / "more")
    line = ("compare", shop, more, *QUICK, "--samplers", "rns", "--seeds", "1", "--out", tmp_path / "study")
    for _ in range(2):  # the second time everything is there already
        assert remarks(sahcns(*line).err) == [f"warning: shop: {REMARK}"]


def test_where_nobody_has_everything_nothing_is_said(sahcns: Sahcns, tmp_path: Path) -> None:
    shop = save_split(random_split(8, 9, each=3, seed=1), tmp_path / "shop")
    for line in (
        ("compare", shop, *QUICK, "--samplers", "rns", "--seeds", "1", "--out", tmp_path / "study"),
        ("tune", shop, *QUICK, "--samplers", "rns", "--trials", "1", "--out", tmp_path / "tuned"),
        ("bench", shop, "--device", "cpu", "--epochs", "1", "--set", "backbone.dim=4"),
    ):
        assert remarks(sahcns(*line).err) == []


def test_a_search_that_is_there_says_it_again_and_reads_the_set_once(
    sahcns: Sahcns, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    whole = folders.load_folder

    def counted(kind: Any, folder: Any, *rest: Any, **more: Any) -> Any:
        read.append(Path(folder))
        return whole(kind, folder, *rest, **more)

    monkeypatch.setattr("sahcns.data.prepared.load_folder", counted)
    for _ in range(2):
        done = sahcns("tune", shop, *QUICK, "--samplers", "rns", "--trials", "1", "--out", tmp_path / "tuned")
        assert remarks(done.err) == [f"warning: {REMARK}"]
    assert read == [shop, shop]


def test_what_the_refusal_of_popularity_says_to_do_is_what_helps(sahcns: Sahcns, tmp_path: Path) -> None:
    """Somebody who has every trained item, while others are only in the test part."""
    trained = [(user, item) for user in range(6) for item in range(4) if user == 0 or (user + item) % 3]
    rows = [*trained, (1, 2), (2, 1), *((user, item) for user in (1, 2, 3) for item in (4, 5, 6))]
    (tmp_path / "log.csv").write_text(
        "user,item,time\n" + "".join(f"u{user},i{item},{time}\n" for time, (user, item) in enumerate(rows))
    )

    def done(unseen: str, *settings: str) -> Done:
        shares = f"{len(trained)}:0:{len(rows) - len(trained)}"
        line = ("--split", "time", "--ratios", shares, "--unseen", unseen)
        assert sahcns("data", "prepare", tmp_path / "log.csv", tmp_path / "shop", *line).code == 0
        return sahcns(
            "bench", tmp_path / "shop", "--sampler", "popularity", *settings, "--epochs", "1", "--device", "cpu"
        )

    sentence = refused(done("keep"))
    assert sentence.startswith("user 0 (position), one of 1 such, has every item with a positive sampling weight")
    assert "draw uniformly (power=0)" in sentence
    assert done("keep", "--set", "power=0").code == 0
    assert "prepare the data with unseen='drop'" in sentence
    assert done("drop").code == 0
