"""The catalogue is whole and true to what ships, and named sets become the splits that it promises."""

import gzip
import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from sahcns.data.catalogue import CATALOGUE, EMBEDDED, Counts, NamedSet, named_set, prepare_named
from sahcns.data.recipe import Recipe
from sahcns.errors import DataError

SETS = [pytest.param(known, id=name) for name, known in CATALOGUE.items()]


@pytest.mark.parametrize("known", SETS)
def test_every_part_is_a_required_file_with_a_way_to_get_it(known: NamedSet) -> None:
    required = {file.name: file for file in known.files if not file.optional}
    assert set(known.parts.values()) <= set(required)
    assert set(known.parts) in ({"all"}, {"train", "test"}, {"train", "valid", "test"})
    ways = [known.embedded, known.archive is not None, bool(known.by_hand), all(f.url for f in required.values())]
    assert sum(ways) == 1
    sums = [file.sha256 for file in known.files if file.sha256] + ([known.archive.sha256] if known.archive else [])
    assert all(re.fullmatch(r"[0-9a-f]{64}", value or "") for value in sums)
    counts = known.expected
    if counts.train and counts.valid and counts.test:
        assert counts.train + counts.valid + counts.test == counts.interactions


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


def test_the_embedded_set_meets_its_counts() -> None:
    split = prepare_named("ml-latest-small")
    assert Counts.of(split) == CATALOGUE["ml-latest-small"].expected
    assert split.manifest["catalogue"]["differs_from_catalogue"] == []  # type: ignore[index]


def test_it_is_the_same_split_everywhere() -> None:
    """Whoever changes this number changes every result that was ever computed from the embedded set."""
    fingerprint = prepare_named("ml-latest-small").fingerprint
    assert fingerprint == "53666286e8c8096a1ad61a240bad5ce312055e01b9ef0e4eed6f4c23a9276142"


def test_with_another_recipe_no_counts_are_expected() -> None:
    split = prepare_named("ml-latest-small", recipe=Recipe(min_rating=4, core=10))
    assert Counts.of(split) == Counts(38_495, 606, 1_239, 30_795, 3_850, 3_850)
    assert "differs_from_catalogue" not in split.manifest["catalogue"]  # type: ignore[operator]


def test_a_set_without_validation_gets_one_from_training_and_keeps_its_test(tmp_path: Path) -> None:
    lines = [" ".join(str(number) for number in (user, *range(user, user + 20))) for user in range(30)]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "test.txt").write_text("".join(f"{user} {user + 20}\n" for user in range(30)))
    split = prepare_named(CATALOGUE["gowalla"], tmp_path)
    assert [len(part) for part in split.parts().values()] == [540, 60, 30]
    assert split.n_items == 50  # item 49 is only in test, and is kept
    again = prepare_named(CATALOGUE["gowalla"], tmp_path, Recipe(split="given", seed=1))
    assert again.fingerprint != split.fingerprint
    assert again.test.items.tolist() == split.test.items.tolist()


def test_yelp_keeps_its_years_counts_rows_for_the_core_and_tells_the_difference(tmp_path: Path) -> None:
    def review(user: int, business: int, year: int) -> str:
        date = f"{year}-06-0{user % 9 + 1} 12:00:00"
        row = {
            "review_id": f"r{user}",
            "user_id": f"u{user}",
            "business_id": f"b{business}",
            "stars": 4.0,
            "date": date,
        }
        return json.dumps(row) + "\n"

    core = [review(user, business, 2015 + business % 4) for user in range(10) for business in range(9)]
    twice = [review(user, 0, 2018) for user in range(10)]  # the tenth row of each user, and b0's second ten
    lone = [review(10, business, 2016) for business in range(9)]  # nine rows only, so u10 goes
    late = [review(user, 99, 2019) for user in range(10)]
    (tmp_path / "yelp_academic_dataset_review.json").write_text("".join(core + twice + lone + late))
    split = prepare_named(CATALOGUE["yelp"], tmp_path)
    assert (split.n_users, split.n_items) == (10, 9)
    assert Counts.of(split).interactions == 90
    about = split.manifest["catalogue"]
    assert isinstance(about, dict)
    assert about["differs_from_catalogue"][0] == "interactions 90 instead of 468,033"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no train\.txt; run: sahcns data get gowalla"):
        prepare_named(CATALOGUE["gowalla"], tmp_path)
    with pytest.raises(DataError, match=r"ml1m.*ml-1m"):
        named_set("ml1m")


if "SAHCNS_DATA" in os.environ:  # the real files, one folder for each set, where someone has them

    @pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "amazon-toys"])
    def test_the_real_sets_meet_their_counts(name: str) -> None:
        split = prepare_named(name, Path(os.environ["SAHCNS_DATA"]) / name)
        assert split.manifest["catalogue"]["differs_from_catalogue"] == []  # type: ignore[index]
        assert Counts.of(split) == CATALOGUE[name].expected

    @pytest.mark.parametrize(
        ("rating", "core", "counts"),
        [
            (None, 0, (6040, 3706, 1_000_209)),
            (None, 10, (6040, 3260, 998_539)),
            (3, 10, (6033, 3123, 834_449)),
            (4, 0, (6038, 3533, 575_281)),
            (4, 10, (5949, 2810, 571_531)),
        ],
    )
    def test_movielens_1m_with_other_recipes(rating: int | None, core: int, counts: tuple[int, int, int]) -> None:
        split = prepare_named("ml-1m", Path(os.environ["SAHCNS_DATA"]) / "ml-1m", Recipe(min_rating=rating, core=core))
        assert (split.n_users, split.n_items, Counts.of(split).interactions) == counts
