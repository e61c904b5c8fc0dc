"""The catalogue is data; these tests keep it whole and true to what ships."""

import gzip
import hashlib
import re

import pytest

from sahcns.data.catalogue import CATALOGUE, Counts, NamedSet, named_set
from sahcns.data.obtain import EMBEDDED
from sahcns.data.recipe import Recipe
from sahcns.errors import DataError

SETS = [pytest.param(known, id=name) for name, known in CATALOGUE.items()]


def test_the_nine_sets_are_there() -> None:
    assert list(CATALOGUE) == [
        "ml-latest-small",
        "ml-100k",
        "ml-1m",
        "ml-20m",
        "amazon-toys",
        "yelp",
        "gowalla",
        "yelp2018",
        "amazon-book",
    ]


@pytest.mark.parametrize("known", SETS)
def test_every_part_is_a_required_file_with_a_way_to_get_it(known: NamedSet) -> None:
    required = {file.name: file for file in known.files if not file.optional}
    assert set(known.parts.values()) <= set(required)
    assert set(known.parts) in ({"all"}, {"train", "test"}, {"train", "valid", "test"})
    ways = [known.embedded, known.archive is not None, bool(known.by_hand), all(f.url for f in required.values())]
    assert sum(ways) == 1
    assert known.homepage.startswith("https://")
    assert known.terms
    assert known.about


@pytest.mark.parametrize("known", SETS)
def test_checksums_and_addresses_have_the_right_form(known: NamedSet) -> None:
    sums = [file.sha256 for file in known.files if file.sha256] + ([known.archive.sha256] if known.archive else [])
    assert all(re.fullmatch(r"[0-9a-f]{64}", value) for value in sums)
    urls = [file.url for file in known.files if file.url] + ([known.archive.url] if known.archive else [])
    assert all(url.startswith("https://") for url in urls)


@pytest.mark.parametrize("known", SETS)
def test_expected_parts_add_up(known: NamedSet) -> None:
    counts = known.expected
    if counts.train and counts.valid and counts.test:
        assert counts.train + counts.valid + counts.test == counts.interactions


def test_the_paper_counts() -> None:
    toys, films = CATALOGUE["amazon-toys"].expected, CATALOGUE["ml-1m"].expected
    assert toys == Counts(247_181, 15_306, 10_074, 200_911, 23_048, 23_222)
    assert (films.users, films.items, films.interactions) == (6_039, 3_628, 836_478)
    assert "6,040" in CATALOGUE["ml-1m"].note


def test_the_paper_recipes() -> None:
    """ML-1m is all ratings of 3 and more without a core; Yelp is 2015 to 2018 with a 10-core over rows; Toys is given."""
    assert CATALOGUE["ml-1m"].recipe == Recipe(min_rating=3, core=0, split="random", ratios=(8, 1, 1))
    assert CATALOGUE["yelp"].recipe == Recipe(years=(2015, 2018), duplicates="none", core=10, ratios=(8, 1, 1))
    assert CATALOGUE["amazon-toys"].recipe == Recipe(split="given")
    assert CATALOGUE["amazon-toys"].reading == {"format": "pairs", "items_offset": 15_306}


def test_only_the_redistributable_set_ships_and_with_its_licence() -> None:
    assert [path.name for path in EMBEDDED.iterdir()] == ["ml-latest-small"]
    assert "may redistribute the data set" in (EMBEDDED / "ml-latest-small" / "README.txt").read_text()


def test_the_embedded_files_are_the_originals_in_a_gzip_without_date_or_name() -> None:
    for file in CATALOGUE["ml-latest-small"].files:
        path = EMBEDDED / "ml-latest-small" / file.name
        if file.name.endswith(".csv"):
            packed = path.with_name(path.name + ".gz").read_bytes()
            assert packed[3:8] == bytes(5)  # no flags, no time: the same bytes wherever it is made
            content = gzip.decompress(packed)
        else:
            content = path.read_bytes()
        assert hashlib.sha256(content).hexdigest() == file.sha256


def test_differences_name_each_count_that_is_not_met() -> None:
    wanted = Counts(10, users=3, items=None, train=8)
    assert wanted.differences(Counts(10, 3, 99, 8, 1, 1)) == []
    assert wanted.differences(Counts(11, 4, 99, 9, 1, 1)) == [
        "interactions 11 instead of 10",
        "users 4 instead of 3",
        "train 9 instead of 8",
    ]


def test_a_misspelt_name_gets_the_nearest() -> None:
    with pytest.raises(DataError, match="no set named 'ml1m' in the catalogue; did you mean 'ml-1m'"):
        named_set("ml1m")
