"""`sahcns data get`."""

from pathlib import Path

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


def test_from_verifies(sahcns: Sahcns, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text("1::2::3::4\n")
    sentence = refused(sahcns("data", "get", "ml-1m", "--from", tmp_path))
    assert "ratings.dat is not the expected file: its SHA-256 is" in sentence
    assert not (cache / "ml-1m" / "ratings.dat").exists()


def test_without_a_network_it_says_which_file_to_put_where(sahcns: Sahcns, cache: Path) -> None:
    sentence = refused(sahcns("data", "get", "ml-1m"))
    assert "could not download https://files.grouplens.org/datasets/movielens/ml-1m.zip" in sentence
    assert f"put it at {cache / 'ml-1m' / 'ml-1m.zip'}" in sentence
    assert sentence.endswith("or run: sahcns data get ml-1m --from PATH")


def test_yelp_is_fetched_by_hand(sahcns: Sahcns, cache: Path) -> None:
    sentence = refused(sahcns("data", "get", "yelp"))
    assert "https://business.yelp.com/data/resources/open-dataset/" in sentence
    assert f"put yelp_academic_dataset_review.json into {cache / 'yelp'}" in sentence


def test_a_misspelt_name(sahcns: Sahcns) -> None:
    assert "did you mean 'ml-latest-small'?" in refused(sahcns("data", "get", "ml-latest-smal"))


def test_a_source_that_is_not_there(sahcns: Sahcns, tmp_path: Path) -> None:
    sentence = refused(sahcns("data", "get", "ml-1m", "--from", tmp_path / "no.zip"))
    assert sentence == f"{tmp_path / 'no.zip'} is not there; give the archive of ml-1m, or a folder with its files"


def test_a_place_that_cannot_be_written(sahcns: Sahcns, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in refused(sahcns("data", "get", "gowalla", "--to", tmp_path / "file"))
