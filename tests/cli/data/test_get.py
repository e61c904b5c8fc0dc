"""`sahcns data get`."""

from pathlib import Path

import pytest

from tests.cli.conftest import Sahcns, refused


def test_the_embedded_set_needs_no_network(sahcns: Sahcns) -> None:
    done = sahcns("data", "get", "ml-latest-small", "--json")
    assert done.code == 0
    assert done.err == ""
    assert [file["name"] for file in done.json["files"]] == ["ratings.csv.gz", "movies.csv.gz", "README.txt"]
    assert all(file["verified"] for file in done.json["files"])


def test_to_puts_a_copy_elsewhere(sahcns: Sahcns, tmp_path: Path) -> None:
    done = sahcns("data", "get", "ml-latest-small", "--to", tmp_path / "sets")
    assert done.code == 0
    assert (tmp_path / "sets" / "ml-latest-small" / "README.txt").exists()
    assert f"sahcns data prepare ml-latest-small FOLDER --data {tmp_path / 'sets'}" in done.out
    assert "Terms: " in done.out


def test_from_takes_a_local_copy(sahcns: Sahcns, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0 1 2\n1 2\n")
    (tmp_path / "test.txt").write_text("0 3\n")
    done = sahcns("data", "get", "gowalla", "--from", tmp_path)
    assert done.code == 0
    assert (cache / "gowalla" / "train.txt").read_text() == "0 1 2\n1 2\n"
    assert done.out.count("none published") == 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["ml-1m"], "CACHE/ml-1m/ml-1m.zip"),  # there is no network
        (["yelp"], "yelp_academic_dataset_review.json into CACHE/yelp"),
        (["ml-latest-smal"], "'ml-latest-small'"),
        (["ml-1m", "--from", "HERE/ratings.dat"], "ratings.dat is not the expected file"),
        (["ml-1m", "--from", "HERE/no.zip"], "HERE/no.zip"),
        (["gowalla", "--to", "HERE/ratings.dat"], "HERE/ratings.dat"),  # no folder
    ],
)
def test_what_cannot_be_had_is_one_sentence(
    sahcns: Sahcns, cache: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    (tmp_path / "ratings.dat").write_text("1::2::3::4\n")
    sentence = refused(sahcns("data", "get", *(word.replace("HERE", str(tmp_path)) for word in arguments)))
    assert named.replace("HERE", str(tmp_path)).replace("CACHE", str(cache)) in sentence
    assert not (cache / "ml-1m" / "ratings.dat").exists()
