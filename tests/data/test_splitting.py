from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.counter import permutation, stream_key
from sahcns.data import Recipe
from sahcns.data.filters import Rows
from sahcns.data.recipe import SplitRule
from sahcns.data.splitting import TEST, TRAIN, VALID, assign, part_sizes

RANDOM: tuple[SplitRule, ...] = ("random", "random-user")
RATIOS = st.sampled_from([(0.8, 0.1, 0.1), (7.0, 1.0, 2.0), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0), (0.1, 0.45, 0.45)])


def rows_of(users: list[int], when: list[int] | None = None) -> Rows:
    users = sorted(users)
    return Rows(
        np.array(users, np.int32),
        np.arange(len(users), dtype=np.int32),
        None if when is None else np.array(when, np.int32),
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=20), RATIOS)
def test_sizes_are_the_share_rounded_half_up_and_training_is_never_empty(
    counts: list[int], ratios: tuple[float, float, float]
) -> None:
    valid, test = part_sizes(np.array(counts), ratios)
    for count, n_valid, n_test in zip(counts, valid.tolist(), test.tolist(), strict=True):
        exact = [Fraction(str(ratio)) * count / sum(Fraction(str(r)) for r in ratios) for ratio in ratios[1:]]
        if n_valid + n_test < count - 1:
            assert [n_valid, n_test] == [int(share + Fraction(1, 2)) for share in exact]
        assert n_valid + n_test <= max(count - 1, 0)


def test_one_tenth_is_one_tenth() -> None:
    """Shares are decimal: as binary fractions, 0.145 · 100 falls just short of 14.5 and would round to 14."""
    valid, test = part_sizes(np.array([5, 15, 25, 4, 1_000_209]), (0.8, 0.1, 0.1))
    assert valid.tolist() == test.tolist() == [1, 2, 3, 0, 100_021]
    valid, test = part_sizes(np.array([100]), (0.71, 0.145, 0.145))
    assert (valid.tolist(), test.tolist()) == ([15], [15])


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 300), RATIOS, st.integers(0, 5))
def test_the_random_split_is_the_head_middle_and_tail_of_the_permutation(
    count: int, ratios: tuple[float, float, float], seed: int
) -> None:
    labels = assign(rows_of([0] * count), Recipe(split="random", ratios=ratios, seed=seed))
    order = permutation(stream_key(seed, "split"), count)
    valid, test = (int(size[0]) for size in part_sizes(np.array([count]), ratios))
    expected = np.repeat([TRAIN, VALID, TEST], [count - valid - test, valid, test])
    assert labels[order].tolist() == expected.tolist()


@pytest.mark.parametrize("split", ["random-user", "time-user"])
@settings(deadline=None, max_examples=60)
@given(data=st.data(), ratios=RATIOS)
def test_within_users_every_user_gets_the_exact_sizes(
    data: st.DataObject, split: SplitRule, ratios: tuple[float, float, float]
) -> None:
    users = sorted(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=60)))
    when = data.draw(st.permutations(range(len(users))))
    labels = assign(rows_of(users, when), Recipe(split=split, ratios=ratios, seed=3))
    for user, count in Counter(users).items():
        own = [(when[row], int(labels[row])) for row in range(len(users)) if users[row] == user]
        valid, test = (int(size[0]) for size in part_sizes(np.array([count]), ratios))
        assert Counter(label for _, label in own) == Counter(
            {part: size for part, size in ((TRAIN, count - valid - test), (VALID, valid), (TEST, test)) if size}
        )
        if split == "time-user":
            assert [label for _, label in sorted(own)] == sorted(label for _, label in own)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), ratios=RATIOS)
def test_by_time_nothing_tested_is_older_than_anything_trained_on(
    data: st.DataObject, ratios: tuple[float, float, float]
) -> None:
    count = data.draw(st.integers(1, 80))
    when = data.draw(st.permutations(range(5, count + 5)))
    labels = assign(rows_of([0] * count, when), Recipe(split="time", ratios=ratios))
    valid, test = (int(size[0]) for size in part_sizes(np.array([count]), ratios))
    in_time = labels[np.argsort(when)].tolist()
    assert in_time == [TRAIN] * (count - valid - test) + [VALID] * valid + [TEST] * test


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
