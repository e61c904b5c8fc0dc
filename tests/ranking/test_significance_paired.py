"""The paired t-test, its interval, effect size and seeds needed, against scipy and statsmodels."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

from sahcns.errors import SettingError
from sahcns.ranking.significance import against_published, effect_interval, paired_t, power, seeds_needed
from sahcns.ranking.significance.noncentral_t import noncentral_t_cdf


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


def test_pairs_matter() -> None:
    """A steady small gain on noisy seeds is found as pairs, and would drown as two heaps."""
    seeds = np.array([0.10, 0.20, 0.05, 0.17, 0.12])
    a, b = seeds + np.array([0.011, 0.010, 0.009, 0.012, 0.010]), seeds
    assert paired_t(list(a), list(b)).p < 1e-4 < 0.7 < stats.ttest_ind(a, b).pvalue
    assert paired_t(list(a[::-1]), list(b)).p > 0.2


def test_what_cannot_be_tested_is_said_in_words() -> None:
    one = paired_t([0.3], [0.2])
    assert (one.n, one.why) == (1, "one seed: nothing is known about its luck")
    assert one.difference == pytest.approx(0.1)
    assert math.isnan(one.p)
    assert math.isnan(one.low)
    assert one.seeds is None
    same = paired_t([0.3, 0.4], [0.3, 0.4])
    assert (same.p, same.difference, same.low, same.high, same.effect) == (1.0, 0.0, 0.0, 0.0, 0.0)
    assert same.why == "identical in every seed"
    steady = paired_t([0.3, 0.4, 0.7], [0.2, 0.3, 0.6])  # 0.1 each time, but for rounding
    assert (steady.why, math.isnan(steady.p)) == ("the same difference in every seed: t is not defined", True)
    assert (steady.low, steady.high) == pytest.approx((0.1, 0.1))
    gone = paired_t([0.3, math.nan, 0.4], [0.3, 0.2, 0.1])
    assert (gone.why, math.isnan(gone.p), math.isnan(gone.difference)) == ("1 of 3 seeds have no number", True, True)
    assert paired_t([], []).why == "no seed in common"


def test_unequal_lists_and_levels_are_refused() -> None:
    with pytest.raises(SettingError, match=r"two lists of equal length; these have shapes \(2,\) and \(3,\)"):
        paired_t([1, 2], [1, 2, 3])
    with pytest.raises(SettingError, match="level=95 is not allowed; it must lie between 0 and 1"):
        paired_t([1, 2], [1, 3], level=95)


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


def test_the_effects_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng, truth, inside = np.random.default_rng(5), 0.8, 0
    for _ in range(400):
        d = rng.normal(truth, 1, 5)
        low, high = effect_interval(d.mean() / d.std(ddof=1), 5)
        inside += low < truth < high
    assert 0.92 < inside / 400 < 0.98


def test_the_effects_interval_of_huge_effects() -> None:
    root = math.sqrt(5)
    spread = np.sqrt(stats.chi2.ppf([0.025, 0.975], 4) / 4)  # all that is left to chance when t is huge
    assert effect_interval(1e5 / root, 5) == pytest.approx(tuple(1e5 * spread / root), rel=1e-6)
    assert effect_interval(1e5 / root, 5) == pytest.approx(tuple(-end for end in effect_interval(-1e5 / root, 5)[::-1]))
    assert all(math.isnan(end) for end in effect_interval(1.0, 1))


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


def test_seeds_needed_is_no_rule_of_thumb() -> None:
    """The normal approximation, (1.96 + 0.84)² / d², promises 4 seeds where it takes 6."""
    assert (2.8016 / 1.5) ** 2 < 4
    assert seeds_needed(1.5) == 6


def test_seeds_needed_beyond_reason_is_none() -> None:
    assert seeds_needed(0.0) is None
    assert seeds_needed(math.nan) is None
    assert seeds_needed(0.001) is None
    assert seeds_needed(0.5, most=10) is None
    with pytest.raises(SettingError, match="target=80 is not allowed"):
        seeds_needed(0.5, target=80)
    with pytest.raises(SettingError, match="n=1 must be 2 or more"):
        power(0.5, 1)


def test_a_published_mean_is_met_by_welchs_test() -> None:
    ours = [13.28, 13.20, 13.31]
    found = against_published(ours, 13.24, 0.22, 5)
    theirs = stats.ttest_ind_from_stats(np.mean(ours), np.std(ours, ddof=1), 3, 13.24, 0.22, 5, equal_var=False)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)
    other = np.array([13.0, 13.4, 13.1, 13.6])
    exact = stats.ttest_ind(ours, other, equal_var=False)
    found = against_published(ours, other.mean(), other.std(ddof=1), 4)
    assert (found.low, found.high) == pytest.approx(tuple(exact.confidence_interval()), rel=1e-9)
    assert against_published([1.0], 1.0, 0.1).why == "one seed: nothing is known about its luck"
    assert against_published([1.0, 1.0], 2.0, 0.0).why == "no spread on either side: t is not defined"
    assert against_published([1.0, math.nan], 2.0, 0.1).why == "1 of 2 seeds have no number"
    assert against_published([], 2.0, 0.1).why == "no runs of ours"
    with pytest.raises(SettingError, match=r"std=-0\.1, n=5"):
        against_published([1.0, 2.0], 1.0, -0.1)


def test_statistics_do_without_torch() -> None:
    code = "import sys, sahcns.ranking.significance; assert not {'torch', 'scipy'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
