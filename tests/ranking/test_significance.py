"""Tests over seeds and over users, effect sizes and Holm, against scipy, statsmodels, fractions and brute force."""

import itertools
import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

from sahcns.errors import SettingError
from sahcns.ranking.effect_size import noncentral_t_cdf
from sahcns.ranking.significance import (
    against_published,
    bootstrap_columns,
    bootstrap_users,
    effect_interval,
    holm,
    paired_t,
    power,
    seeds_needed,
    wilcoxon_users,
)


@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_t_p_and_interval_are_those_of_scipy_and_statsmodels(n: int) -> None:
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.4, 3.0):
        a, b = rng.normal(shift, 1, n), rng.normal(0, 1, n)
        ours, theirs = paired_t(list(a), list(b)), stats.ttest_rel(a, b)
        assert (ours.n, ours.why) == (n, "")
        assert (ours.t, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)
        assert (ours.low, ours.high) == pytest.approx(DescrStatsW(a - b).tconfint_mean(0.05), rel=1e-9)
        assert ours.difference == pytest.approx(a.mean() - b.mean())
        assert ours.effect == pytest.approx((a - b).mean() / (a - b).std(ddof=1))
        narrow = paired_t(list(a), list(b), level=0.5)
        assert (narrow.low, narrow.high) == pytest.approx(DescrStatsW(a - b).tconfint_mean(0.5), rel=1e-9)


def test_the_noncentral_t_is_scipys() -> None:
    rng = np.random.default_rng(9)
    for _ in range(200):
        df, t, nc = int(np.exp(rng.uniform(0, 6))), float(rng.normal(0, 4)), float(rng.normal(0, 3))
        theirs = stats.nct.cdf(t, df, nc)
        if not math.isnan(theirs):
            assert noncentral_t_cdf(t, df, nc) == pytest.approx(theirs, abs=1e-10)
    assert noncentral_t_cdf(2.0, 2, 60.0) == pytest.approx(0.0, abs=1e-12)  # where scipy says NaN
    assert noncentral_t_cdf(1e9, 4, 1e9) == pytest.approx(stats.chi2.sf(4, 4))  # and where it takes minutes


@pytest.mark.parametrize(("t", "df"), [(0.0, 4), (0.5, 4), (-3.0, 4), (30.0, 4), (2.0, 1), (90.0, 9), (-12.0, 29)])
def test_the_effects_interval_inverts_the_noncentral_t(t: float, df: int) -> None:
    n = df + 1
    low, high = effect_interval(t / math.sqrt(n), n)
    assert stats.nct.cdf(t, df, low * math.sqrt(n)) == pytest.approx(0.975, abs=1e-6)
    assert stats.nct.cdf(t, df, high * math.sqrt(n)) == pytest.approx(0.025, abs=1e-6)


def test_what_cannot_be_tested_has_a_reason_and_no_number() -> None:
    same = paired_t([0.3, 0.4], [0.3, 0.4])
    assert (same.p, same.low, same.high, same.effect, same.why != "") == (1.0, 0.0, 0.0, 0.0, True)
    steady = paired_t([0.3, 0.4, 0.7], [0.2, 0.3, 0.6])  # 0.1 each time, but for rounding
    assert (steady.low, steady.high) == pytest.approx((0.1, 0.1))
    unknown: list[Any] = [paired_t([0.3], [0.2]), steady, paired_t([0.3, math.nan], [0.3, 0.2]), paired_t([], [])]
    unknown += [wilcoxon_users([], []), bootstrap_users([], []), bootstrap_users([0.1], [0.2])]
    unknown += [test([0.1, math.nan, 0.3], [0.0, 0.0, 0.0]) for test in (wilcoxon_users, bootstrap_users)]
    for one in unknown:
        assert math.isnan(one.p)
        assert one.why
    assert [seeds_needed(effect) for effect in (0.0, math.nan, 0.001)] == [None] * 3
    for refused in (
        lambda: paired_t([1, 2], [1, 2, 3]),
        lambda: wilcoxon_users([0.1], [0.1, 0.2]),
    ):
        with pytest.raises(SettingError):
            refused()


@pytest.mark.parametrize("effect", [0.02, 0.3, 1.0, 2.5, -0.7])
def test_power_is_that_of_statsmodels(effect: float) -> None:
    for n in (2, 3, 5, 17, 30):
        theirs = TTestPower().power(abs(effect), n, 0.05, alternative="two-sided")
        if math.isnan(theirs):  # scipy's function gives up where the answer is all but 1
            theirs = 1.0
        assert power(effect, n) == pytest.approx(theirs, rel=1e-6)
    assert power(effect, 10, alpha=0.2) > power(effect, 10, alpha=0.01)
    assert power(500.0, 2) == pytest.approx(1.0)


@pytest.mark.parametrize("effect", [0.02, 0.1, 0.35, 0.8, 1.3, 2.2, 5.0, 40.0, -0.5])
def test_seeds_needed_are_the_fewest_that_reach_the_power(effect: float) -> None:
    n = seeds_needed(effect)
    assert n is not None
    assert power(effect, n) >= 0.8
    assert n == 2 or power(effect, n - 1) < 0.8
    if n > 3:  # statsmodels solves for a real number
        assert n == math.ceil(TTestPower().solve_power(abs(effect), power=0.8, alpha=0.05))


def test_a_published_mean_is_met_by_welchs_test() -> None:
    ours = [13.28, 13.20, 13.31]
    found = against_published(ours, 13.24, 0.22, 5)
    theirs = stats.ttest_ind_from_stats(np.mean(ours), np.std(ours, ddof=1), 3, 13.24, 0.22, 5, equal_var=False)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)
    other = np.array([13.0, 13.4, 13.1, 13.6])
    exact = stats.ttest_ind(ours, other, equal_var=False)
    found = against_published(ours, other.mean(), other.std(ddof=1), 4)
    assert (found.low, found.high) == pytest.approx(tuple(exact.confidence_interval()), rel=1e-9)
    for unknown in ([1.0], [1.0, 1.0], [1.0, math.nan], []):
        none = against_published(unknown, 2.0, 0.0)
        assert math.isnan(none.p)
        assert none.why
    with pytest.raises(SettingError, match=r"std=-0\.1, n=5"):
        against_published([1.0, 2.0], 1.0, -0.1)


def test_statistics_do_without_torch() -> None:
    code = "import sys, sahcns.ranking.significance; assert not {'torch', 'scipy'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


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


def test_the_bootstrap_is_a_function_of_its_seed() -> None:
    a, b = recalls(200, 5, 0.03)
    assert bootstrap_users(a, b, seed=7) == bootstrap_users(a, b, seed=7) != bootstrap_users(a, b, seed=8)
    assert bootstrap_users(a, a).p == 1.0


def test_many_comparisons_at_once_are_the_same_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = recalls(120, 6, 0.05)
    c, e = recalls(120, 7)
    both = bootstrap_columns(np.stack([a - b, c - e], 1), resamples=500)
    monkeypatch.setattr("sahcns.ranking.significance.CHUNK", 120 * 7)  # 500 draws in chunks of 7
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
    adjusted = holm([0.02, math.nan, 0.5])  # a test that was not made is not counted
    assert (adjusted[0], adjusted[2]) == pytest.approx((0.04, 0.5))
    assert math.isnan(adjusted[1])
