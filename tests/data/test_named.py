"""Named sets from their files to a split."""

import json
import os
from pathlib import Path

import pytest

from sahcns.data import Recipe
from sahcns.data.catalogue import CATALOGUE, Counts
from sahcns.data.named import counts, prepare_named
from sahcns.errors import DataError


def test_the_embedded_set_meets_its_counts() -> None:
    split = prepare_named("ml-latest-small")
    assert counts(split) == CATALOGUE["ml-latest-small"].expected
    assert split.manifest["catalogue"] == {
        "name": "ml-latest-small",
        "homepage": CATALOGUE["ml-latest-small"].homepage,
        "terms": CATALOGUE["ml-latest-small"].terms,
        "differs_from_catalogue": [],
    }


def test_it_is_the_same_split_everywhere() -> None:
    """Whoever changes this number changes every result that was ever computed from the embedded set."""
    fingerprint = prepare_named("ml-latest-small").fingerprint
    assert fingerprint == "53666286e8c8096a1ad61a240bad5ce312055e01b9ef0e4eed6f4c23a9276142"


def test_with_another_recipe_no_counts_are_expected() -> None:
    split = prepare_named("ml-latest-small", recipe=Recipe(min_rating=4, core=10))
    assert counts(split) == Counts(38_495, 606, 1_239, 30_795, 3_850, 3_850)
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
    assert counts(split).interactions == 90
    about = split.manifest["catalogue"]
    assert isinstance(about, dict)
    assert about["differs_from_catalogue"][0] == "interactions 90 instead of 468,033"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no train\.txt; run: sahcns data get gowalla"):
        prepare_named(CATALOGUE["gowalla"], tmp_path)
    with pytest.raises(DataError, match=r"has no train\.txt"):
        prepare_named("gowalla", str(tmp_path))


if "SAHCNS_DATA" in os.environ:  # the real files, one folder for each set, where someone has them

    @pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "amazon-toys"])
    def test_the_real_sets_meet_their_counts(name: str) -> None:
        split = prepare_named(name, Path(os.environ["SAHCNS_DATA"]) / name)
        assert split.manifest["catalogue"]["differs_from_catalogue"] == []  # type: ignore[index]
        assert counts(split) == CATALOGUE[name].expected
