"""Wilcoxon and the bootstrap over users, and Holm, against scipy, statsmodels and brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from sahcns.errors import SettingError
from sahcns.ranking.significance import bootstrap_users, holm, wilcoxon_users
from sahcns.ranking.significance.bootstrap import bootstrap_columns


def recalls(users: int, seed: int, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Two lists of recalls, shares of 1 to 4 held-out items, most of them equal between the two."""
    rng = np.random.default_rng(seed)
    held = rng.integers(1, 5, users)
    first = rng.binomial(held, 0.3) / held
    changed = rng.random(users) < 0.3
    again = rng.binomial(held, 0.3 - shift) / held
    return first, np.where(changed, again, first)


@pytest.mark.parametrize("users", [500, 5000])
def test_wilcoxon_is_scipys(users: int) -> None:
    for seed, shift in enumerate((0.0, 0.1)):
        a, b = recalls(users, seed, shift)
        ours = wilcoxon_users(a, b)
        assert ours.p == pytest.approx(stats.wilcoxon(np.rint(12 * (a - b)), zero_method="wilcox").pvalue, rel=1e-9)
        assert (ours.better, ours.worse) == pytest.approx(((a > b).mean(), (a < b).mean()))


@pytest.mark.parametrize(
    "d", [[0.31, -0.12, 0.44, 0.05, 0.27, -0.02, 0.19, 0.38], [0.5, 0.5, -0.25, 0.5, 1.0, -0.5, 0.25]]
)
def test_wilcoxon_is_what_all_signs_say(d: list[float]) -> None:
    """With few users, ties among them or not, the p-value is a count over all 2^n signs of the differences."""
    ranks = stats.rankdata(np.abs(d))
    seen = ranks[np.array(d) > 0].sum()
    sums = np.array([ranks[list(signs)].sum() for signs in itertools.product((False, True), repeat=len(d))])
    beyond = np.abs(sums - ranks.sum() / 2) >= abs(seen - ranks.sum() / 2)
    with_equals = [*d, 0.0, 0.0]  # which say nothing
    assert wilcoxon_users(with_equals, np.zeros(len(with_equals))).p == pytest.approx(beyond.mean())


def test_rounding_is_no_difference() -> None:
    """Means over seeds, added in another order."""
    a = np.array([(0.1 + 0.2) + 0.3, 0.5, 0.25])
    b = np.array([0.1 + (0.2 + 0.3), 0.5, 0.25])
    assert a[0] != b[0]
    found = wilcoxon_users(a, b)
    assert (found.p, found.better, found.worse, found.why) == (1.0, 0.0, 0.0, "identical for every user")


def test_wilcoxon_of_stored_values_is_that_of_exact_arithmetic() -> None:
    """NDCG and recall as they are stored, float32, averaged over seeds, against the same in fractions."""
    rng = np.random.default_rng(11)
    users, seeds = 500, 3
    held = rng.integers(1, 12, users)
    hits = rng.binomial(held, 0.4, (2, seeds, users))
    again = rng.random((seeds, users)) < 0.6  # both methods alike for many users, though not seed by seed
    hits[1] = np.where(again, hits[0], hits[1])
    hits[1, :, :200] = hits[1, ::-1, :200]
    exact = [
        sum((Fraction(int(a) - int(b), int(m)) for a, b in zip(*of_user, strict=True)), Fraction(0))
        for m, of_user in zip(held, hits.transpose(2, 0, 1), strict=True)
    ]
    whole = np.array([int(d * 27720) for d in exact])  # the least common multiple of 1 to 11
    stored = (hits / held).astype(np.float32)
    first, second = (values.astype(np.float64).mean(0) for values in stored)
    assert np.count_nonzero(first != second) > np.count_nonzero(whole)  # rounding alone would be counted
    found = wilcoxon_users(first, second)
    assert (found.better, found.worse) == ((whole > 0).mean(), (whole < 0).mean())
    assert found.p == pytest.approx(stats.wilcoxon(whole[whole != 0]).pvalue, rel=1e-12)


def test_users_without_numbers_are_said_in_words() -> None:
    assert wilcoxon_users([], []).why == bootstrap_users([], []).why == "no users"
    broken = [0.1, math.nan, 0.3]
    assert wilcoxon_users(broken, [0.0, 0.0, 0.0]).why == "1 of 3 users have no number"
    assert bootstrap_users(broken, [0.0, 0.0, 0.0]).why == "1 of 3 users have no number"
    assert math.isnan(bootstrap_users(broken, [0.0, 0.0, 0.0]).p)
    assert bootstrap_users([0.1], [0.2]).why == "one user: every draw is the same"
    with pytest.raises(SettingError, match="two lists of equal length"):
        wilcoxon_users([0.1], [0.1, 0.2])
    with pytest.raises(SettingError, match="resamples=10 is not allowed; it must be 100 or more"):
        bootstrap_users([0.1, 0.2], [0.1, 0.3], resamples=10)


@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_the_bootstrap_agrees_with_scipys_bootstrap_and_permutation(shift: float) -> None:
    a, b = recalls(1500, 3, shift)
    ours = bootstrap_users(a, b, resamples=8000, seed=1)
    rng = np.random.default_rng(0)
    theirs = stats.bootstrap((a - b,), np.mean, n_resamples=8000, method="percentile", rng=rng, batch=500)
    interval, width = theirs.confidence_interval, ours.high - ours.low
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), abs=0.04 * width)
    signs = stats.permutation_test(
        (a - b,),
        lambda d, axis: d.mean(axis=axis),
        permutation_type="samples",
        n_resamples=8000,
        vectorized=True,
        rng=rng,
        batch=500,
    )
    assert ours.p == pytest.approx(signs.pvalue, abs=0.02)
    assert (ours.p < 0.05) is (shift > 0)


def test_the_bootstrap_draws_every_user_equally_often_and_draws_a_sample() -> None:
    """Its spread is that of a mean: std / √U, not smaller (drawn without replacement) and not larger."""
    a, b = recalls(900, 4)
    d = a - b
    found = bootstrap_users(a, b, resamples=20_000, level=0.6827)
    assert (found.high - found.low) / 2 == pytest.approx(d.std() / math.sqrt(len(d)), rel=0.03)
    assert found.difference == pytest.approx(d.mean())
    assert (found.high + found.low) / 2 == pytest.approx(d.mean(), abs=0.05 * d.std() / math.sqrt(len(d)))


def test_the_bootstrap_is_a_function_of_its_seed() -> None:
    a, b = recalls(200, 5, 0.03)
    assert bootstrap_users(a, b, seed=7) == bootstrap_users(a, b, seed=7) != bootstrap_users(a, b, seed=8)
    assert bootstrap_users(a, a).p == 1.0


def test_many_comparisons_at_once_are_the_same_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = recalls(120, 6, 0.05)
    c, e = recalls(120, 7)
    both = bootstrap_columns(np.stack([a - b, c - e], 1), resamples=500)
    monkeypatch.setattr("sahcns.ranking.significance.bootstrap.CHUNK", 120 * 7)  # 500 draws in chunks of 7
    for found, one in zip(
        both, (bootstrap_users(a, b, resamples=500), bootstrap_users(c, e, resamples=500)), strict=True
    ):
        assert (found.low, found.high, found.p) == pytest.approx((one.low, one.high, one.p))


def test_holm_is_statsmodels() -> None:
    rng = np.random.default_rng(8)
    for size in (1, 2, 7, 60):
        ps = list(rng.beta(0.3, 1, size))
        assert holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))
    assert holm([0.01, 0.01, 0.04]) == pytest.approx([0.03, 0.03, 0.04])
    assert holm([]) == []


def test_a_test_that_was_not_made_is_not_counted() -> None:
    adjusted = holm([0.02, math.nan, 0.5])
    assert (adjusted[0], adjusted[2]) == pytest.approx((0.04, 0.5))
    assert math.isnan(adjusted[1])
