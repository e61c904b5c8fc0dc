import datetime as dt
from typing import Any

import pytest

from sahcns.data import Recipe, prepare
from sahcns.errors import DataError
from tests.data.hand_made import decoded, interactions
from tests.data.readers.soundness import values


def day(year: int) -> int:
    return int(dt.datetime(year, 7, 1, tzinfo=dt.UTC).timestamp())


def steps(split: Any) -> dict[str, tuple[int, int, int]]:
    return {step["step"]: (step["users"], step["items"], step["rows"]) for step in split.manifest["steps"]}


def test_a_rating_at_the_threshold_stays_whatever_its_decimals() -> None:
    """Ratings are float32, in which 4.1 is a little less than 4.1 in float64: the threshold is rounded as they are."""
    tenths = [k / 10 for k in range(1, 51)]
    raw = interactions([(k, 0) for k in range(50)], ratings=tenths)
    for k, rating in enumerate(tenths):
        assert steps(prepare(raw, Recipe(min_rating=rating)))["rating"][2] == 50 - k


def test_the_steps_run_in_the_stated_order_and_each_is_counted() -> None:
    """Any other order gives other counts: the 2-core would keep c before the window, and x before the rating."""
    rows = [("a", "x", 5, 2015), ("a", "y", 4, 2015), ("a", "y", 4, 2016), ("b", "y", 3, 2016), ("b", "x", 1, 2016)]
    rows += [("c", "y", 5, 2012), ("c", "z", 5, 2014), ("b", "z", 5, 2018), ("a", "z", 3, 2018), ("d", "w", 5, 2017)]
    raw = interactions(
        [(user, item) for user, item, _, _ in rows],
        ratings=[rating for _, _, rating, _ in rows],
        times=[day(year) for _, _, _, year in rows],
        titles={"y": "Why", "z": "Zed"},
    )
    split = prepare(raw, Recipe(min_rating=3, years=(2014, 2018), core=2, ratios=(1, 0, 0)))
    assert steps(split) == {
        "read": (4, 4, 10),
        "rating": (4, 4, 9),
        "window": (4, 4, 8),
        "duplicates": (4, 4, 7),
        "k-core": (2, 2, 4),
        "split": (2, 2, 4),
    }
    assert decoded(split)["train"] == [("a", "y"), ("a", "z"), ("b", "y"), ("b", "z")]
    assert values(split.titles) == ["Why", "Zed"]
    assert split.manifest["source"] == {"files": [{"path": "rows.csv"}]}
    assert split.manifest["recipe"] == Recipe(min_rating=3, years=(2014, 2018), core=2, ratios=(1, 0, 0)).to_dict()
    assert split.manifest["fingerprint"] == split.fingerprint


def test_what_never_trains_is_kept_and_counted_or_dropped_or_an_error() -> None:
    raw = interactions(
        [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("c", "x"), ("a", "z")], times=[1, 2, 3, 4, 5, 6]
    )
    kept = prepare(raw, Recipe(split="time", ratios=(4, 1, 1)))
    assert decoded(kept)["valid"] + decoded(kept)["test"] == [("c", "x"), ("a", "z")]
    counts = {"users": 1, "items": 1, "valid_rows": 1, "test_rows": 1}
    assert kept.manifest["steps"][-1]["unseen_in_training"] == {"rule": "keep", **counts}  # type: ignore[index]

    dropped = prepare(raw, Recipe(split="time", ratios=(4, 1, 1), unseen="drop"))
    assert (dropped.n_users, dropped.n_items, len(dropped.valid), len(dropped.test)) == (2, 2, 0, 0)
    assert dropped.manifest["steps"][-1]["unseen_in_training"] == {"rule": "drop", **counts}  # type: ignore[index]

    with pytest.raises(DataError, match=r"item 'z' is in test but never in training .* one of 1 such users and 1 such"):
        prepare(raw, Recipe(split="time", ratios=(4, 1, 1), unseen="error"))


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        (Recipe(min_rating=6), r"rows\.csv after the rating step .* 3 rows of 2 users and 2 items.* from 2 to 5"),
        (Recipe(years=(2020, 2021)), "window step .* from 2014-07-01 to 2016-07-01"),
        (Recipe(core=3), r"k-core step \(3-core\)"),
    ],
)
def test_a_step_that_leaves_nothing_says_which_and_what_there_was(recipe: Recipe, text: str) -> None:
    raw = interactions([("a", "x"), ("a", "y"), ("b", "x")], ratings=[2, 3, 5], times=[day(2014), day(2015), day(2016)])
    with pytest.raises(DataError, match=text):
        prepare(raw, recipe)


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        (Recipe(min_rating=3), "min_rating=3 needs ratings, and rows.csv has none"),
        (Recipe(years=(2014, 2015)), "needs times, and rows.csv has none"),
        (Recipe(split="time"), "split='time' needs times, and rows.csv has none; name its time column with time="),
        (Recipe(split="leave-last-out"), "split='leave-last-out' needs times"),
    ],
)
def test_a_recipe_that_needs_what_the_source_lacks(recipe: Recipe, text: str) -> None:
    with pytest.raises(DataError, match=text):
        prepare(interactions([("a", "x")]), recipe)
