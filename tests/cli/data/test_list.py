"""`sahcns data list`."""

from pathlib import Path

from sahcns.data.catalogue import CATALOGUE
from tests.cli.conftest import Sahcns


def test_every_set_has_a_line_with_its_size(sahcns: Sahcns) -> None:
    done = sahcns("data", "list")
    assert done.code == 0
    for name, known in CATALOGUE.items():
        line = next(line for line in done.out.splitlines() if line.split()[:1] == [name])
        assert f"{known.expected.interactions:,}" in line
        assert known.about in line
    assert done.err == ""


def test_json_has_source_terms_and_recipe(sahcns: Sahcns) -> None:
    sets = {known["name"]: known for known in sahcns("data", "list", "--json").json}
    assert list(sets) == list(CATALOGUE)
    assert sets["ml-1m"]["urls"] == ["https://files.grouplens.org/datasets/movielens/ml-1m.zip"]
    assert sets["ml-1m"]["recipe"]["min_rating"] == 3
    assert sets["ml-1m"]["expected"]["users"] == 6039
    assert sets["yelp"]["recipe"]["years"] == [2015, 2018]
    assert "validation" in sets["gowalla"]["note"]
    assert all(known["terms"] and known["homepage"] for known in sets.values())


def test_here_tells_what_is_on_the_disk(sahcns: Sahcns, cache: Path) -> None:
    def here() -> list[str]:
        return [known["name"] for known in sahcns("data", "list", "--json").json if known["here"]]

    assert here() == ["ml-latest-small"]
    (cache / "gowalla").mkdir(parents=True)
    (cache / "gowalla" / "train.txt").touch()
    assert here() == ["ml-latest-small"]
    (cache / "gowalla" / "test.txt").touch()
    assert here() == ["ml-latest-small", "gowalla"]
