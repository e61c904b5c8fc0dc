"""The table of methods: who is marked, what is starred, and what may not share a table."""

import math
from typing import Any

import pytest
from scipy import stats

from sahcns.errors import SettingError
from sahcns.lab.comparison import boards_of, comparison_tables, summaries
from sahcns.lab.comparison.boards import results_named
from sahcns.lab.report.parts import Cell, Table
from tests.lab.comparison.made_results import chosen, result

THREE = {
    "rns": [0.1120, 0.1130, 0.1110, 0.1125, 0.1115],
    "dns": [0.1310, 0.1325, 0.1300, 0.1312, 0.1303],
    "sahc": [0.1330, 0.1346, 0.1318, 0.1333, 0.1321],
}
ONE = ("recall@20",)


def main(table: Table) -> dict[str, list[Cell]]:
    """Method → its cells with numbers."""
    at = list(table.columns).index("Method")
    return {str(row[at]): [cell for cell in row if isinstance(cell, Cell)] for row in table.rows}


def test_means_marks_and_stars_are_those_of_the_paper() -> None:
    [table] = comparison_tables(chosen(THREE, ONE), metrics=ONE, pairwise=False)
    assert list(table.columns) == ["Method", ">R@20"]
    cells = {method: row[0] for method, row in main(table).items()}
    assert [cells[method].text for method in THREE] == ["11.20 ± 0.08", "13.10 ± 0.10", "13.30 ± 0.11"]
    assert [cells[method].mark for method in THREE] == ["", "second", "best"]
    assert [cells[method].note for method in THREE] == ["", "", "*"]
    p = stats.ttest_rel(THREE["sahc"], THREE["dns"]).pvalue
    assert f"+0.196 over dns, largest t p {p:.2g}" in cells["sahc"].hint
    assert "every other method" in table.caption
    assert "Terms: data toys (fingerprint toys012345); kernels cpu; protocol: batch 2048, epochs 100, mask train." in (
        table.caption
    )


def test_equal_means_share_a_mark_and_one_method_alone_has_none() -> None:
    values = {"dns": [0.125, 0.25], "mine": [0.25, 0.125], "rns": [0.1, 0.1], "easy": [0.05, 0.05]}
    [table] = comparison_tables(chosen(values, ONE), metrics=ONE, pairwise=False)
    marks = {method: cells[0].mark for method, cells in main(table).items()}
    assert marks == {"dns": "best", "mine": "best", "rns": "second", "easy": ""}
    [alone] = comparison_tables(chosen({"dns": [0.1, 0.2]}, ONE), metrics=ONE)
    assert main(alone)["dns"][0].mark == ""


def test_each_backbone_has_its_own_best() -> None:
    results = [
        *chosen(THREE, ONE),
        *chosen({"rns": [0.2, 0.21], "dns": [0.19, 0.23], "sahc": [0.1, 0.1]}, ONE, backbone="ngcf"),
    ]
    [table] = comparison_tables(results, metrics=ONE, pairwise=False)
    assert list(table.columns) == ["Backbone", "Method", ">Seeds", ">R@20"]
    marks = [(row[0], row[1], row[2], row[3].mark) for row in table.rows if isinstance(row[3], Cell)]
    assert marks == [
        ("lightgcn", "rns", "5", ""),
        ("lightgcn", "dns", "5", "second"),
        ("lightgcn", "sahc", "5", "best"),
        ("ngcf", "rns", "2", "second"),
        ("ngcf", "dns", "2", "best"),
        ("ngcf", "sahc", "2", ""),
    ]
    [wide] = comparison_tables([*chosen(THREE), *chosen({"rns": [0.1]}, data="yelp")], pairwise=False)
    assert [row[1] for row in wide.rows] == ["1–5", "0–5", "0–5"]


def test_sets_of_one_protocol_share_a_table_side_by_side() -> None:
    yelp = {method: [value / 2 for value in values] for method, values in THREE.items()}
    [table] = comparison_tables([*chosen(THREE), *chosen(yelp, data="yelp")], pairwise=False)
    names = ["R@10", "N@10", "R@20", "N@20"]
    assert list(table.columns) == ["Method", *(f">{data} · {name}" for data in ("toys", "yelp") for name in names)]
    assert [cell.text for cell in main(table)["sahc"]] == ["13.30 ± 0.11"] * 4 + ["6.65 ± 0.06"] * 4


def test_two_sets_of_one_name_are_told_apart() -> None:
    results = [*chosen(THREE, ONE), *chosen(THREE, ONE, fingerprint="ffff0123456789")]
    [table] = comparison_tables(results, metrics=ONE, pairwise=False)
    assert list(table.columns)[1:] == [">toys (data=toys012345) · R@20", ">toys (data=ffff012345) · R@20"]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"protocol": {"mask": "train+valid"}}, "mask: train and train+valid"),
        ({"machine": {"kernels": "triton"}}, "kernels: cpu and triton"),
    ],
)
def test_other_terms_stand_in_a_table_of_their_own(other: dict[str, Any], difference: str) -> None:
    results = [*chosen({"dns": THREE["dns"]}, ONE)]
    results += [
        one for value in (0.14, 0.15) for one in [result("sahc", int(100 * value), {"recall@20": value}, **dict(other))]
    ]
    first, second = comparison_tables(results, metrics=ONE, pairwise=False)
    assert list(main(first)) == ["dns"]
    assert list(main(second)) == ["sahc"]
    assert first.title == "toys, lightgcn"
    assert second.title == f"toys, lightgcn, {difference}"
    assert (first.name, second.name) == ("comparison", "comparison-2")
    assert main(second)["sahc"][0].mark == ""  # alone, it is not the best of anything


def trained(method: str, values: list[float], **others: Any) -> list[Any]:
    return chosen({method: values}, ONE, label=others.pop("label", method), **others)


def test_rows_that_were_trained_unalike_share_a_table_which_says_so() -> None:
    softmax = {"name": "sampled-softmax", "temperature": 0.2}
    results = [
        *trained("rns", THREE["rns"], protocol={"l2": 1e-4}),
        *trained("dns", THREE["dns"], protocol={"l2": 1e-2}),
        *trained("dns", THREE["sahc"], protocol={"l2": 1e-4}, model={"depth": 1}, label="dns-deep"),
        *trained("sahc", THREE["sahc"], protocol={"l2": 1e-4}, objective=softmax),
    ]
    main, pairs = comparison_tables(results, metrics=ONE)
    assert list(main.columns) == ["Method", "Trained with", ">R@20"]
    assert {str(row[0]): row[1] for row in main.rows} == {
        "rns": "objective=bpr, l2=0.0001",
        "dns": "objective=bpr, l2=0.01",
        "dns-deep": "backbone.depth=1, objective=bpr, l2=0.0001",
        "sahc": "objective=sampled-softmax, objective.temperature=0.2, l2=0.0001",
    }
    assert main.caption.endswith("protocol: batch 2048, epochs 100, mask train.")  # what is common
    assert [row[1] for row in pairs.rows] == ["rns", "dns", "dns-deep"]  # one place, so each is held against sahc
    alike = [*trained("rns", THREE["rns"], objective=softmax), *trained("dns", THREE["dns"], objective=softmax)]
    [table] = comparison_tables(alike, metrics=ONE, pairwise=False)
    assert list(table.columns) == ["Method", ">R@20"]
    assert table.caption.endswith("mask train, objective sampled-softmax, objective.temperature 0.2.")


def test_one_label_trained_in_two_ways_is_two_rows() -> None:
    results = [*trained("dns", THREE["dns"], protocol={"epochs": 9}), *trained("dns", THREE["sahc"])]
    [table] = comparison_tables(results, metrics=ONE, pairwise=False)
    assert list(main(table)) == ["dns (protocol.epochs=9)", "dns (protocol.epochs=100)"]
    deep = [*trained("dns", THREE["dns"], model={"depth": 1}), *trained("dns", THREE["sahc"], model={"depth": 3})]
    [table] = comparison_tables(deep, metrics=ONE, pairwise=False)
    assert [row[:2] for row in table.rows] == [["lightgcn (depth=1)", "dns"], ["lightgcn (depth=3)", "dns"]]


def test_what_was_tuned_for_each_set_stands_beside_the_row_in_their_order() -> None:
    toys = [*trained("dns", THREE["dns"], protocol={"l2": 0.1}), *trained("rns", THREE["rns"], protocol={"l2": 0.3})]
    yelp = [*trained("dns", THREE["dns"], protocol={"l2": 0.2}, data="yelp")]
    yelp += trained("rns", THREE["rns"], protocol={"l2": 0.3}, data="yelp")
    [table] = comparison_tables([*toys, *yelp], metrics=ONE, pairwise=False)
    assert [row[:2] for row in table.rows] == [["dns", "l2=0.1 / 0.2"], ["rns", "l2=0.3"]]


def test_a_number_that_is_none_is_not_averaged_away() -> None:
    results = [
        *chosen({"dns": [0.1, math.nan, 0.2]}, ONE),
        *chosen({"sahc": [0.2, 0.1, 0.15], "rns": [0.1, 0.1, 0.12]}, ONE),
    ]
    [table] = comparison_tables(results, metrics=ONE, pairwise=False)
    assert (main(table)["dns"][0].text, main(table)["dns"][0].hint) == ("–", "not a number with seed 2021")
    assert [main(table)[name][0].mark for name in ("dns", "sahc", "rns")] == ["", "best", "second"]


def test_the_last_epoch_is_another_table() -> None:
    first, second = comparison_tables(chosen(THREE, ONE), metrics=ONE, reading="both", pairwise=False)
    assert (first.name, second.name, second.title) == ("comparison", "comparison-last", "toys, lightgcn, last epoch")
    assert main(second)["sahc"][0].text == "12.90 ± 0.11"
    [only] = comparison_tables(chosen(THREE, ONE), metrics=ONE, reading="last", pairwise=False)
    assert only == second


def test_settings_tell_rows_of_one_label_apart() -> None:
    few = chosen({"dns": [0.1, 0.11]}, ONE, settings={"pool": 5, "top": 1})
    many = chosen({"dns": [0.12, 0.13]}, ONE, settings={"pool": 50, "top": 1})
    named = chosen({"dns": [0.14, 0.15]}, ONE, settings={"pool": 99, "top": 1}, label="dns-99")
    [table] = comparison_tables([*few, *many, *named], metrics=ONE, pairwise=False)
    assert list(main(table)) == ["dns (pool=5)", "dns (pool=50)", "dns-99"]


def test_versions_of_one_s_own_code_never_share_a_row_or_a_name() -> None:
    """Neither where each was run on another set, nor where each was run under another protocol."""
    earlier = chosen({"mine": [0.1, 0.11]}, ONE, code="aaaabbbbcccc")
    later: dict[str, Any] = {"code": "ddddeeeeffff", "data": "yelp"}
    [table] = comparison_tables([*earlier, *chosen({"mine": [0.2, 0.21]}, ONE, **later)], metrics=ONE, pairwise=False)
    assert list(main(table)) == ["mine (code=aaaabbbb)", "mine (code=ddddeeee)"]
    apart = chosen({"mine": [0.2, 0.21]}, ONE, protocol={"mask": "train+valid"}, **later)
    tables = comparison_tables([*earlier, *apart], metrics=ONE, pairwise=False)
    assert [list(main(one)) for one in tables] == [["mine (code=aaaabbbb)"], ["mine (code=ddddeeee)"]]


def test_a_backbone_of_one_s_own_makes_no_version_of_the_samplers() -> None:
    results = [
        *chosen({"dns": [0.1, 0.11], "mine": [0.1, 0.12]}, ONE, code="aaaabbbbcccc", backbone="own"),
        *chosen({"dns": [0.2, 0.21]}, ONE),
        *chosen({"mine": [0.2, 0.21]}, ONE, code="ddddeeeeffff"),
    ]
    [table] = comparison_tables(results, metrics=ONE, pairwise=False)
    assert {row[1] for row in table.rows} == {"dns", "mine"}


def test_rows_are_found_by_label_and_by_name() -> None:
    small, large = (chosen({"dns": [0.1, 0.11]}, ONE, settings={"pool": pool}) for pool in (5, 20))
    rns = chosen({"rns": [0.3]}, ONE)
    every = [*small, *large, *rns]
    assert results_named(every, ["rns", "dns"]) == [*rns, *small, *large]
    assert results_named(every, ["dns (pool=20)", "dns"]) == [*large, *small]
    with pytest.raises(SettingError, match=r"no finished run goes by 'dns \(pool=7\)'; did you mean 'dns \(pool="):
        results_named(every, ["dns (pool=7)"])


def test_settings_tuned_for_each_set_stay_one_row() -> None:
    toys = chosen({"dns": [0.1, 0.11]}, ONE, settings={"pool": 5})
    yelp = chosen({"dns": [0.2, 0.21]}, ONE, settings={"pool": 50}, data="yelp")
    [table] = comparison_tables([*toys, *yelp], metrics=ONE, pairwise=False)
    assert list(main(table)) == ["dns"]


def test_one_run_counts_once_and_two_different_ones_are_refused() -> None:
    results = chosen({"dns": [0.1, 0.11]}, ONE)
    [board] = boards_of([*results, *results])
    assert summaries(board, ONE)["toys", board.rows[0], "recall@20"].values == (0.1, 0.11)
    with pytest.raises(SettingError, match=r"two different results for dns on lightgcn, toys, seed 2020: .* keep one"):
        boards_of([*results, *chosen({"dns": [0.3]}, ONE)])


def test_what_is_not_better_when_higher_has_no_best() -> None:
    metrics = ("recall@20", "popularity@20")
    results = [
        result(name, seed, {"recall@20": 0.1 + seed / 50, "popularity@20": 12.5 + seed})
        for name in ("a", "b")
        for seed in (1, 2)
    ]
    table, pairs = comparison_tables(results, metrics=metrics)
    assert [cell.text for cell in main(table)["a"]] == ["13.00 ± 1.41", "14.00 ± 0.71"]
    assert main(table)["a"][1].mark == ""
    assert "percent but for Popularity" in table.caption  # 14 is no share of anything
    assert "points but for Popularity" in pairs.caption


@pytest.mark.parametrize(
    ("wrong", "named"), [({"metrics": ("recal@20",)}, "recall@20"), ({"baseline": "rsn"}, "rns"), ({"test": "z"}, "z")]
)
def test_mistakes_are_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        comparison_tables(chosen(THREE, ONE), **wrong)
    with pytest.raises(SettingError, match="no results"):
        comparison_tables([])


def test_a_set_is_named_once_though_runs_call_it_differently() -> None:
    """As runs do that were made before a set was told from the catalogue's."""
    same: dict[str, Any] = {"fingerprint": "0123456789abcdef"}
    results = [
        *chosen({"rns": [0.1]}, ONE, data="toys", **same),
        *chosen({"dns": [0.2]}, ONE, data="toys (5-core)", **same),
    ]
    [table] = comparison_tables(results, metrics=ONE, pairwise=False)
    assert list(table.columns) == ["Method", ">R@20"]
    assert table.title.startswith("toys (5-core), lightgcn")
