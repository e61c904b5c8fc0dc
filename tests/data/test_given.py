from typing import Any

import pytest

from sahcns.data import prepare_given
from sahcns.errors import DataError, SettingError
from tests.data.hand_made import decoded, interactions
from tests.data.readers.soundness import values

TRAIN = [("a", "x"), ("b", "y"), ("b", "x"), ("c", "z")]


def last_step(split: Any) -> Any:
    return split.manifest["steps"][-1]


def test_three_files_share_one_map_and_keep_their_parts() -> None:
    train = interactions(TRAIN, path="train.txt", titles={"x": "Ex"})
    valid = interactions([("c", "x"), ("a", "y"), ("a", "y")], path="valid.txt", titles={"x": "other", "y": "Why"})
    split = prepare_given(train, valid, interactions([("a", "z")], path="test.txt"))
    assert decoded(split) == {
        "train": [("a", "x"), ("b", "x"), ("b", "y"), ("c", "z")],
        "valid": [("a", "y"), ("c", "x")],
        "test": [("a", "z")],
    }
    assert values(split.titles) == ["Ex", "Why", ""]
    assert [(step["step"], step["rows"]) for step in split.manifest["steps"]] == [  # type: ignore[attr-defined]
        ("read", 8),
        ("duplicates", 7),
        ("split", 7),
    ]
    assert split.manifest["recipe"]["split"] == "given"  # type: ignore[index]


def test_numbers_in_one_file_and_texts_in_another_meet_as_texts() -> None:
    train = interactions([(1, 10), (2, 10), (2, 20)])
    split = prepare_given(train, interactions([("1", "20")]), interactions([(3, 10)]), unseen="keep")
    assert decoded(split)["valid"] + decoded(split)["test"] == [("1", "20"), ("3", "10")]


def test_a_pair_in_two_files_is_refused_by_name_or_dropped_from_the_later() -> None:
    train = interactions(TRAIN, path="train.txt")
    valid, test = interactions([("a", "y")]), interactions([("a", "y"), ("b", "y"), ("c", "x")], path="test.txt")
    with pytest.raises(DataError, match=r"user 'a' with item 'y' is in rows.csv and in test.txt, one of 2 such pairs"):
        prepare_given(train, valid, test)
    split = prepare_given(train, valid, test, overlap="drop")
    assert decoded(split)["valid"] == [("a", "y")]
    assert decoded(split)["test"] == [("c", "x")]
    assert [step["rows"] for step in split.manifest["steps"]] == [8, 6, 6]  # type: ignore[attr-defined]


def test_what_training_never_has_is_an_error_unless_asked_otherwise() -> None:
    train, valid = interactions(TRAIN, path="train.txt"), interactions([("a", "y")], path="valid.txt")
    test = interactions([("a", "new"), ("c", "x"), ("zoe", "x")], path="test.txt")
    text = r"item 'new' is in test.txt but never in training \(train.txt\), one of 1 such users and 1 such items"
    with pytest.raises(DataError, match=text):
        prepare_given(train, valid, test)
    kept = prepare_given(train, valid, test, unseen="keep")
    assert (kept.n_users, kept.n_items, len(kept.test)) == (4, 4, 3)
    assert last_step(kept)["unseen_in_training"] == {
        "rule": "keep", "users": 1, "items": 1, "valid_rows": 0, "test_rows": 2,
    }  # fmt: skip
    dropped = prepare_given(train, valid, test, unseen="drop")
    assert (dropped.n_users, dropped.n_items) == (3, 3)
    assert decoded(dropped)["test"] == [("c", "x")]


def test_without_a_validation_file_some_training_rows_of_each_user_are_held_out() -> None:
    train = interactions([(user, item) for user in range(6) for item in range(20)])
    test = interactions([(user, 20) for user in range(6)] + [(user, 21) for user in range(6)], path="test.txt")
    with pytest.raises(DataError, match=r"item 20 is in test.txt but never in training"):
        prepare_given(train, None, test)
    split = prepare_given(train, None, test, holdout=0.25, unseen="keep")
    assert [sum(user == name for user, _ in decoded(split)["valid"]) for name in range(6)] == [5] * 6
    assert len(split.train) == 6 * 15
    assert len(split.test) == 12
    assert not set(decoded(split)["train"]) & set(decoded(split)["valid"])
    assert "0.25 of each user's training rows held out" in last_step(split)["rule"]
    again = prepare_given(train, None, test, holdout=0.25, unseen="keep", seed=1)
    assert again.fingerprint != split.fingerprint


@pytest.mark.parametrize(("holdout", "rows", "held_out"), [(0.7, 5, 4), (0.18, 25, 5), (0.1, 5, 1), (0.1, 4, 0)])
def test_halves_are_rounded_up_whatever_the_binary_fraction(holdout: float, rows: int, held_out: int) -> None:
    """1 - 0.7 is 0.30000000000000004 to a computer, which made 0.7 of 5 rows a little less than three and a half."""
    train = interactions([(user, item) for user in range(3) for item in range(rows)])
    split = prepare_given(train, None, interactions([(0, rows)]), holdout=holdout, unseen="keep")
    assert [sum(user == name for user, _ in decoded(split)["valid"]) for name in range(3)] == [held_out] * 3
    assert split.manifest["recipe"]["ratios"] == [round(1 - holdout, 2), holdout, 0]  # type: ignore[index]


def test_a_held_out_item_is_not_the_files_fault() -> None:
    """Each item trains once, so holding any out leaves it unseen; the files themselves are in order."""
    train = interactions([("a", item) for item in range(10)])
    split = prepare_given(train, None, interactions([("a", 10)]), unseen="drop")
    assert (len(split.train), len(split.valid), len(split.test)) == (9, 0, 0)
    split = prepare_given(
        interactions([("a", 1), ("a", 2), ("b", 1), ("b", 2)]), None, interactions([("c", 1)]), unseen="keep"
    )
    assert len(split.test) == 1


def test_settings_are_checked() -> None:
    with pytest.raises(SettingError, match=r"holdout=1\.5 must be between 0 and 1"):
        prepare_given(interactions(TRAIN), None, interactions([("a", "y")]), holdout=1.5)
    with pytest.raises(SettingError, match="overlap='keep' must be one of"):
        prepare_given(interactions(TRAIN), None, interactions([("a", "y")]), overlap="keep")  # type: ignore[arg-type]
