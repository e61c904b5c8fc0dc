"""Two names for one method: the table must not tell them apart.

Each test makes a hundred comparisons out of luck alone and counts those in which the real table has a star anywhere.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from sahcns.lab.comparison import comparison_tables
from sahcns.lab.report.parts import Cell
from tests.lab.comparison.made_results import alike

TWO = ("sahc", "dns")
NINE = ("rns", "dns", "dns-mn", "mixgcf", "dens", "bns", "ahns", "divns", "sahc")


def starred(
    methods: Sequence[str], test: str, seed: int, shared: float, *, pairs: bool = False, times: int = 100
) -> int:
    """In how many comparisons a star is found: in the table of methods, or in the table of pairs."""
    rng, count = np.random.default_rng(seed), 0
    for _ in range(times):
        results = alike(methods, rng, seeds=5, users=80, shared=shared, keep=test != "t")
        table = comparison_tables(results, test=test, pairwise=pairs)[-1]
        count += any(cell.note == "*" for row in table.rows for cell in row if isinstance(cell, Cell))
    return count


@pytest.mark.parametrize("shared", [0.0, 0.02])
@pytest.mark.parametrize("methods", [TWO, NINE])
def test_over_seeds_luck_is_not_significant(methods: Sequence[str], shared: float) -> None:
    assert starred(methods, "t", 11, shared) <= 5


def test_over_seeds_luck_is_not_significant_in_pairs_either() -> None:
    assert starred(NINE[-4:], "t", 12, 0.02, pairs=True, times=40) <= 2


@pytest.mark.parametrize("test", ["wilcoxon", "bootstrap"])
def test_over_users_luck_is_not_significant_where_each_user_has_their_own(test: str) -> None:
    """What these tests are made for: whatever training does to one user says nothing about another."""
    assert starred(TWO, test, 13, 0.0) <= 5


@pytest.mark.parametrize("test", ["wilcoxon", "bootstrap"])
def test_over_users_luck_that_users_share_is_taken_for_a_difference(test: str) -> None:
    """Why the star is not theirs unless asked for, and why the caption warns: one unlucky training moves all users."""
    assert starred(TWO, test, 14, 0.02, times=40) > 10
    table = comparison_tables(alike(TWO, np.random.default_rng(0), seeds=2, users=50), test=test, pairwise=False)[0]
    assert "takes these very trainings as given" in table.caption


def test_a_real_difference_is_found() -> None:
    """The counts above are not small because nothing is ever found: a gain of two standard deviations is."""
    rng, count = np.random.default_rng(15), 0
    for _ in range(30):
        results = alike(TWO, rng, seeds=5, users=200, shared=0.01)
        for one in results:
            if one.label == "sahc":
                one.test["best"].update({name: value + 0.03 for name, value in one.test["best"].items()})
        [table] = comparison_tables(results, pairwise=False)
        count += any(cell.note == "*" for row in table.rows for cell in row if isinstance(cell, Cell))
    assert count > 20
