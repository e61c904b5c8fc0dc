"""Stars and p-values: those of scipy and statsmodels, given where they are due, and not to luck."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from sahcns.errors import DataError, SettingError
from sahcns.lab.comparison import boards_of, comparison_tables, contrast
from sahcns.lab.comparison.statistics import pairs, verdicts, with_users
from sahcns.lab.grid.result import PerUser, Result
from sahcns.lab.report.parts import Cell, Table
from sahcns.ranking.significance import bootstrap_users, equivalence, paired_t, wilcoxon_users
from tests.lab.comparison.made_results import METRICS, alike, chosen, result

ONE = ("recall@20",)
TWO = ("sahc", "dns")
NINE = ("rns", "dns", "dns-mn", "mixgcf", "dens", "bns", "ahns", "divns", "sahc")


def stars(results: Sequence[Result], metrics: Sequence[str] = ONE, **options: Any) -> list[tuple[str, str]]:
    """Method and column of every star in the table of methods."""
    table = comparison_tables(results, metrics=metrics, pairwise=False, **options)[0]
    return [
        (str(row[0]), table.columns[at])
        for row in table.rows
        for at, cell in enumerate(row)
        if isinstance(cell, Cell) and cell.note
    ]


def pair_table(results: list[Result], **options: object) -> Table:
    (found,) = (one for one in comparison_tables(results, **options) if one.name.startswith("pairwise"))  # type: ignore[arg-type]
    return found


def columns(table: Table) -> dict[str, list[str]]:
    texts = [[cell.text + cell.note if isinstance(cell, Cell) else cell for cell in row] for row in table.rows]
    return {name.removeprefix(">"): [row[at] for row in texts] for at, name in enumerate(table.columns)}


def test_two_seeds_are_too_few_for_a_star_and_three_are_enough() -> None:
    """Two seeds with nearly the same difference have a tiny p."""
    values = {"dns": [0.10, 0.11, 0.12], "sahc": [0.2, 0.2101, 0.22005]}
    two, three = (chosen({name: own[:n] for name, own in values.items()}, ONE) for n in (2, 3))
    assert stats.ttest_rel([0.2, 0.2101], [0.10, 0.11]).pvalue < 0.001
    assert stars(two) == []
    assert stars(three) == [("sahc", ">R@20")]
    assert stars(alike(TWO, np.random.default_rng(0), seeds=2), test="wilcoxon") == []
    paired = columns(pair_table(two, metrics=ONE))
    assert (paired["Holm"], columns(pair_table(three, metrics=ONE))["Holm"][0][-1]) == (["–"], "*")


def test_a_star_needs_a_lead_over_the_third_too() -> None:
    """The second goes with the best from seed to seed, the third does not: only the first is told from the best."""
    best = [0.200, 0.202, 0.198, 0.201, 0.199]
    second = [value - 0.002 + luck for value, luck in zip(best, (1e-5, -1e-5, 2e-5, 0, -2e-5), strict=True)]
    third = [0.230, 0.150, 0.225, 0.160, 0.219]
    assert np.mean(best) > np.mean(second) > np.mean(third)
    assert stats.ttest_rel(best, second).pvalue < 1e-4 < 0.5 < stats.ttest_rel(best, third).pvalue
    assert stars(chosen({"sahc": best, "dns": second}, ONE)) == [("sahc", ">R@20")]
    three = chosen({"sahc": best, "dns": second, "rns": third}, ONE)
    assert stars(three) == []
    assert stars(three, baseline="dns") == [("sahc", ">R@20")]
    assert stars(three, baseline="rns") == stars(three, baseline="sahc") == []


def test_a_star_needs_more_in_a_table_of_more_columns() -> None:
    """p is 0.03 by itself; among three other columns that show nothing it is 0.13."""
    gain, noise = [0.002, 0.0005, 0.0035, 0.0022, 0.0008], [0.001, -0.001, 0.002, -0.002, 0.0001]
    results = []
    for at, base in enumerate([0.2, 0.21, 0.19, 0.205, 0.195]):
        results.append(result("dns", at, dict.fromkeys(METRICS, base)))
        values = {name: base + (gain if name == "recall@20" else noise)[at] for name in METRICS}
        results.append(result("sahc", at, values))
    assert 0.02 < stats.ttest_1samp(gain, 0).pvalue < 0.05
    assert stars(results) == [("sahc", ">R@20")]
    assert stars(results, METRICS) == []


def test_only_shared_seeds_are_paired_and_a_lead_that_they_deny_has_no_star() -> None:
    dns = chosen({"dns": [0.10, 0.11, 0.12, 0.10]}, ONE, first_seed=1)
    sahc = chosen({"sahc": [0.2, 0.12, 0.135, 0.30]}, ONE, first_seed=2)  # seeds 2 … 5; they share 2, 3 and 4
    found = columns(pair_table([*dns, *sahc], metrics=ONE))
    assert found["p"] == [f"{stats.ttest_rel([0.2, 0.12, 0.135], [0.11, 0.12, 0.10]).pvalue:.2g}"]
    assert found["Difference"] == [f"{100 * np.mean([-0.09, 0, -0.035]):+.2f}"]
    lucky = chosen({"dns": [0.1, 0.102, 0.098, 0.9], "sahc": [0.12, 0.123, 0.117]}, ONE)
    assert stars(lucky) == []  # a fourth seed lifts dns above sahc, which is better wherever both were run


def test_every_number_is_that_of_scipy_and_statsmodels() -> None:
    rng = np.random.default_rng(0)
    levels = {"rns": 0.11, "dns": 0.131, "sahc": 0.133}
    values = {name: list(rng.normal(level, 0.002, 6)) for name, level in levels.items()}
    found = columns(pair_table(chosen(values, ONE), metrics=ONE))
    assert found["Method"] == ["rns", "dns"]
    tests = [stats.ttest_rel(values[name], values["sahc"]) for name in ("rns", "dns")]
    adjusted = multipletests([test.pvalue for test in tests], method="holm")[1]
    for at, (name, test) in enumerate(zip(("rns", "dns"), tests, strict=True)):
        d = 100 * (np.array(values[name]) - values["sahc"])
        interval = test.confidence_interval()
        effect = d.mean() / d.std(ddof=1)
        needed = TTestPower().solve_power(abs(effect), power=0.8, alpha=0.05) if abs(effect) < 3 else 2.5
        verdict = "not resolved" if adjusted[at] > 0.05 else "better" if d.mean() > 0 else "worse"
        assert [found[name][at] for name in list(found)[2:]] == [
            verdict,
            f"{d.mean():+.2f}",
            f"{100 * interval.low:+.2f}",
            f"{100 * interval.high:+.2f}",
            f"{test.pvalue:.2g}",
            f"{adjusted[at]:.2g}{'*' if adjusted[at] < 0.05 else ''}",
            f"{effect:+.2f}",
            str(int(np.ceil(needed))),
        ]


def test_equivalence_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(3)
    for n, gap, margin in ((3, 0.0, 0.2), (5, 0.0004, 0.1), (10, -0.0007, 0.1), (5, 0.002, 0.1), (30, 0.0009, 0.1)):
        a = rng.normal(0.13, 0.002, n)
        b = a - gap + rng.normal(0, 0.0004, n)
        p, *_ = ttost_paired(a, b, -margin / 100, margin / 100)
        assert equivalence(paired_t(list(a), list(b)), margin / 100) == pytest.approx(p, rel=1e-9)
    d = (
        equivalence(paired_t([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]), 0.001),
        equivalence(paired_t([0.5, 1], [0.25, 0.75]), 0.1),
    )
    assert d == (0.0, 1.0)  # without any spread it is certain
    assert np.isnan(equivalence(paired_t([0.1], [0.1]), 0.001))


def gaps(name: str, differences: Sequence[float]) -> list[Result]:
    base = [0.13, 0.132, 0.129, 0.131, 0.1305]
    return chosen({name: [value + gap for value, gap in zip(base, differences, strict=True)]}, ONE)


def test_four_verdicts_and_none_of_too_few_seeds() -> None:
    """Points: equal within 0.02; 0.3 apart; as far apart, but by luck; 0.05 apart in every seed, so resolved and small."""
    noise = [0.0001, -0.0001, 0.0002, -0.0002, 0.0]
    results = [
        *gaps("sahc", [0.0] * 5),
        *gaps("same", noise),
        *gaps("high", [0.003 + one for one in noise]),
        *gaps("low", [one - 0.003 for one in noise]),
        *gaps("wild", [0.003 + 30 * one for one in noise]),
        *gaps("near", [0.0005 + one / 10 for one in noise]),
    ]
    [board] = boards_of(results)
    contrasts = pairs(board, ONE, "sahc")
    said = {one.first.method: verdict for one, (verdict, _) in zip(contrasts, verdicts(contrasts), strict=True)}
    assert said == {"same": "equivalent", "high": "better", "low": "worse", "wild": "not resolved", "near": "better"}
    wide = {one.first.method: verdict for one, (verdict, _) in zip(contrasts, verdicts(contrasts, 5.0), strict=True)}
    assert wide == said | {"wild": "equivalent"}
    alone = [
        contrast(board, "toys", one.first, one.second, "recall@20") for one in contrasts if one.first.method == "same"
    ]
    assert verdicts(contrasts)[0][1] > verdicts(alone)[0][1]  # Holm counts the others
    two = chosen({"sahc": [0.1, 0.11], "dns": [0.1, 0.11001]}, ONE)
    assert columns(pair_table(two, metrics=ONE))["Verdict"] == ["not resolved"]
    table = pair_table(results, metrics=ONE)
    assert columns(table)["Verdict"] == list(said.values())
    assert "less than 0.1 points" in table.caption
    unranked = chosen({"sahc": [3.0, 3.1, 3.2], "dns": [2.0, 2.1, 2.3]}, ("popularity@20",))
    assert columns(pair_table(unranked, metrics=("popularity@20",)))["Verdict"] == ["–"]
    for wrong in (0, -1.0, float("nan")):
        with pytest.raises(SettingError, match=f"margin={wrong}"):
            comparison_tables(results, metrics=ONE, margin=wrong)


@pytest.mark.parametrize(
    ("labels", "reference"),
    [(["a-sahc", "sahc", "dns"], "sahc"), (["dns", "my-sahc"], "my-sahc"), (["rns", "dns"], "rns")],
)
def test_the_reference_is_fixed_beforehand_and_never_the_winner(labels: list[str], reference: str) -> None:
    results = []
    for at, label in enumerate(labels):
        sampler = "sahc" if "sahc" in label else label
        for seed in (1, 2):
            metrics = {"recall@20": 0.1 + at + seed / 7}
            results.append(result(sampler, seed, metrics, label=label, settings={"a": at}))
    assert pair_table(results, metrics=ONE).title.startswith(f"Each method against {reference}")
    for named in ({"against": "dns"}, {"baseline": "dns"}):
        if reference != "dns":
            assert pair_table(results, metrics=ONE, **named).title.startswith("Each method against dns")
    with pytest.raises(SettingError, match="sach"):
        comparison_tables(results, metrics=ONE, against="sach")


def test_sets_and_backbones_have_columns_where_there_are_several() -> None:
    values = {"sahc": [0.3, 0.31, 0.33], "dns": [0.2, 0.25, 0.22]}
    places = [(data, model) for data in ("toys", "yelp") for model in ("ngcf", "mf")]
    results = [one for data, model in places for one in chosen(values, ONE, data=data, backbone=model)]
    found = columns(pair_table(results, metrics=ONE))
    assert list(zip(found["Data"], found["Backbone"], strict=True)) == places


def test_what_is_unknown_is_a_dash_with_the_reason() -> None:
    table = pair_table(chosen({"sahc": [0.3], "dns": [0.2]}, ONE), metrics=ONE)
    assert [columns(table)[name] for name in ("Difference", "p", "Holm", "d_z")] == [["-10.00"], ["–"], ["–"], ["–"]]
    assert "one seed" in table.caption
    assert [one.name for one in comparison_tables(chosen({"sahc": [0.3, 0.2]}, ONE), metrics=ONE)] == ["comparison"]


def test_users_are_tested_on_their_means_over_the_shared_seeds() -> None:
    results = alike(["sahc", "dns"], np.random.default_rng(2), seeds=3, users=150, shared=0.02)
    kept = {one.key: one.users() for one in results}
    sides = []
    for method in ("dns", "sahc"):
        own = [kept[one.key] for one in results if one.label == method]
        sides.append(np.mean([one["recall@20"].astype(float) for one in own if one is not None], 0))
    [board] = boards_of(results)
    rows = {row.method: row for row in board.rows}
    [found] = with_users(board, [contrast(board, "toys", rows["dns"], rows["sahc"], "recall@20")])
    drawn = bootstrap_users(*sides)
    assert found.over_users["wilcoxon"] == wilcoxon_users(*sides)
    assert found.p("bootstrap") == pytest.approx(drawn.p)
    table = columns(pair_table(results, metrics=ONE))
    assert (table["Wilcoxon"], table["Bootstrap"]) == ([f"{wilcoxon_users(*sides).p:.2g}"], [f"{drawn.p:.2g}"])
    assert "Wilcoxon" not in columns(pair_table(results, metrics=ONE, reading="last"))  # kept of the best epoch only


def test_other_users_are_refused() -> None:
    def users(first: int) -> PerUser:
        who = np.arange(first, first + 4, dtype=np.int32)
        return {"user": who, **{name: np.linspace(0, 1, 4, dtype=np.float32) for name in METRICS}}

    values = dict.fromkeys(METRICS, 0.5)
    results = [result("sahc", 1, values, users=users(0)), result("dns", 1, values, users=users(1))]
    with pytest.raises(DataError, match="other users"):
        comparison_tables(results)


def false_stars(methods: Sequence[str], test: str, seed: int, shared: float, times: int = 100) -> int:
    """In how many comparisons of one method under several names a star is given, to luck alone."""
    rng, count = np.random.default_rng(seed), 0
    for _ in range(times):
        count += bool(
            stars(alike(methods, rng, seeds=5, users=80, shared=shared, keep=test != "t"), METRICS, test=test)
        )
    return count


@pytest.mark.parametrize(("methods", "shared"), [(TWO, 0.0), (TWO, 0.02), (NINE, 0.02)])
def test_over_seeds_luck_is_not_significant(methods: Sequence[str], shared: float) -> None:
    assert false_stars(methods, "t", 11, shared) <= 5


@pytest.mark.parametrize("test", ["wilcoxon", "bootstrap"])
def test_over_users_luck_is_significant_only_where_users_share_it(test: str) -> None:
    """Why the star is not theirs unless asked for, and why the caption warns: one unlucky training moves all users."""
    assert false_stars(TWO, test, 13, 0.0, times=60) <= 4
    assert false_stars(TWO, test, 14, 0.02, times=40) > 10


def test_a_real_difference_is_found() -> None:
    """The counts above are not small because nothing is ever found: a gain of two standard deviations is."""
    rng, count = np.random.default_rng(15), 0
    for _ in range(30):
        results = alike(TWO, rng, seeds=5, users=200, shared=0.01)
        for one in results:
            if one.label == "sahc":
                one.test["best"].update({name: value + 0.03 for name, value in one.test["best"].items()})
        count += bool(stars(results, METRICS))
    assert count > 20
