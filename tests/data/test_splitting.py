import numpy as np

from sahcns.data import Recipe
from sahcns.data.filters import Rows
from sahcns.data.recipe import SplitRule
from sahcns.data.splitting import TEST, TRAIN, VALID, assign, part_sizes

RANDOM: tuple[SplitRule, ...] = ("random", "random-user")


def rows_of(users: list[int], when: list[int] | None = None) -> Rows:
    users = sorted(users)
    return Rows(
        np.array(users, np.int32),
        np.arange(len(users), dtype=np.int32),
        None if when is None else np.array(when, np.int32),
    )


def test_one_tenth_is_one_tenth() -> None:
    """Shares are decimal: as binary fractions, 0.145 · 100 falls just short of 14.5 and would round to 14."""
    valid, test = part_sizes(np.array([5, 15, 25, 4, 1_000_209]), (0.8, 0.1, 0.1))
    assert valid.tolist() == test.tolist() == [1, 2, 3, 0, 100_021]
    valid, test = part_sizes(np.array([100]), (0.71, 0.145, 0.145))
    assert (valid.tolist(), test.tolist()) == ([15], [15])


def test_leave_last_out_needs_three_rows() -> None:
    users = [0, 0, 1, 1, 1, 2, 3, 3, 3, 3]
    when = [0, 1, 9, 3, 5, 2, 11, 4, 30, 6]
    labels = assign(rows_of(users, when), Recipe(split="leave-last-out"))
    assert labels.tolist() == [TRAIN, TRAIN, TEST, TRAIN, VALID, TRAIN, VALID, TRAIN, TEST, TRAIN]


def test_seeds_differ_and_one_seed_is_the_same_everywhere() -> None:
    labels = {
        (split, seed): assign(rows_of([0, 1, 1, 1] * 5), Recipe(split=split, seed=seed)).tolist()
        for split in RANDOM
        for seed in (0, 1)
    }
    assert labels["random", 0] != labels["random", 1]
    assert labels["random-user", 0] != labels["random-user", 1]
    # written down once: whatever changes these changes every split that anyone has made
    assert labels["random", 0] == [0, 2, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert labels["random-user", 0] == [0, 2, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0]
