import numpy as np

from sahcns.data import Recipe
from sahcns.data.filters import Rows
from sahcns.data.recipe import SplitRule
from sahcns.data.splitting import assign, part_sizes

RANDOM: tuple[SplitRule, ...] = ("random", "random-user")


def test_one_tenth_is_one_tenth() -> None:
    """Shares are decimal: as binary fractions, 0.145 · 100 falls just short of 14.5 and would round to 14."""
    valid, test = part_sizes(np.array([5, 15, 25, 4, 1_000_209]), (0.8, 0.1, 0.1))
    assert valid.tolist() == test.tolist() == [1, 2, 3, 0, 100_021]
    valid, test = part_sizes(np.array([100]), (0.71, 0.145, 0.145))
    assert (valid.tolist(), test.tolist()) == ([15], [15])


def test_seeds_differ_and_one_seed_is_the_same_everywhere() -> None:
    rows = Rows(np.repeat(np.arange(2, dtype=np.int32), (5, 15)), np.arange(20, dtype=np.int32))
    labels = {
        (split, seed): assign(rows, Recipe(split=split, seed=seed)).tolist() for split in RANDOM for seed in (0, 1)
    }
    assert labels["random", 0] != labels["random", 1]
    assert labels["random-user", 0] != labels["random-user", 1]
    # written down once: whatever changes these changes every split that anyone has made
    assert labels["random", 0] == [0, 2, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert labels["random-user", 0] == [0, 2, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0]
