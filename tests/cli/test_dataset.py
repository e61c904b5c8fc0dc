"""The data of a run: sets that ship inside, and users who have every item, of whom each command warns once."""

from pathlib import Path

import pytest

from sahcns.data import Split, save_split
from tests.cli.conftest import Sahcns
from tests.splits import random_split

EVERYTHING = [[0, item] for item in range(6)]
OTHERS = [[1, 0], [1, 1], [2, 3], [3, 4], [3, 5]]
QUICK = ("--epochs", "2", "--batch", "8", "--device", "cpu", "--set", "backbone.dim=4")
REMARK = "1 user has every one of the 6 items"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    split = Split.from_pairs([*EVERYTHING, *OTHERS], [[1, 2], [2, 4]], [[1, 3], [2, 5]])
    return save_split(split, tmp_path / "shop")


def remarks(text: str) -> list[str]:
    return [line.partition(",")[0] for line in text.splitlines() if line.startswith("warning: ")]


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


def test_a_cache_that_cannot_be_written_says_what_to_do(
    sahcns: Sahcns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder", "utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = sahcns("train", "ml-latest-small", "--epochs", "1", "--out", tmp_path / "run")
    assert done.code == 2
    assert "set XDG_CACHE_HOME" in done.err
    assert not (tmp_path / "run").exists()
    fetched = sahcns("data", "get", "ml-100k")
    assert (fetched.code, "set XDG_CACHE_HOME" in fetched.err) == (2, True)
