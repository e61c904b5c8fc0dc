"""Pairs that a filter took out: kept for the users and items that stay, and for nothing else."""

from pathlib import Path

import numpy as np

from sahcns.data import Recipe, Split, load_split, prepare, save_split
from sahcns.data.ids import Id
from tests.data.hand_made import interactions, original

TAKEN: list[tuple[Id, Id, float, int]] = [  # user, item, rating, year
    ("ann", "tea", 5, 2015),
    ("ann", "rye", 1, 2015),  # disliked
    ("ann", "jam", 5, 2001),  # long ago
    ("ann", "jam", 1, 2001),  # and twice
    ("bob", "rye", 4, 2015),
    ("bob", "jam", 4, 2015),
    ("bob", "tea", 1, 2015),  # disliked at first
    ("bob", "tea", 5, 2016),
    ("bob", "fig", 1, 2015),  # which nobody likes
    ("eve", "tea", 1, 2015),  # who likes nothing
]


def made(**recipe: object) -> Split:
    pairs, ratings = [(user, item) for user, item, _, _ in TAKEN], [rating for _, _, rating, _ in TAKEN]
    seconds = [int(np.datetime64(f"{year}-06-01", "s").astype(np.int64)) for *_, year in TAKEN]
    told = {"ratios": (1, 0, 0), "min_rating": 3, **recipe}
    return prepare(interactions(pairs, ratings=ratings, times=seconds), Recipe(**told))  # type: ignore[arg-type]


def named(split: Split) -> list[tuple[Id, Id]]:
    return original(split, split.aside)


def test_what_was_rated_too_low_is_set_aside() -> None:
    split = made()
    assert named(split) == [("ann", "rye")]
    assert split.user_ids.decode(range(2)) == ["ann", "bob"]
    steps: object = split.manifest["steps"]
    assert isinstance(steps, list)
    assert steps[-1]["set_aside"] == 1


def test_what_lies_outside_of_the_window_is_set_aside_too() -> None:
    assert named(made(years=(2015, 2016))) == [("ann", "jam"), ("ann", "rye")]
    assert named(made(years=(2015, 2016), min_rating=None)) == [("ann", "jam")]


def test_they_are_no_part_of_the_data_and_come_back_from_the_folder(tmp_path: Path) -> None:
    split = made()
    bare = Split(split.train, split.valid, split.test, split.user_ids, split.item_ids)
    assert split.fingerprint == bare.fingerprint
    assert named(split.whole()) == named(split)
    assert named(load_split(save_split(split, tmp_path / "set"))) == named(split)
    assert not (save_split(bare, tmp_path / "bare") / "aside.users.npy").exists()
    assert named(load_split(tmp_path / "bare")) == []
