"""The table of pairs, over seeds and over users."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from sahcns.errors import DataError, SettingError
from sahcns.lab.comparison import boards_of, comparison_tables, contrast
from sahcns.lab.comparison.contrasts import with_users
from sahcns.lab.grid.result import PerUser, Result
from sahcns.lab.report.parts import Cell, Table
from sahcns.ranking.significance import bootstrap_users, wilcoxon_users
from tests.lab.comparison.made_results import METRICS, alike, chosen, result

ONE = ("recall@20",)


def pairs(results: list[Result], **options: object) -> Table:
    found = [table for table in comparison_tables(results, **options) if table.name.startswith("pairwise")]  # type: ignore[arg-type]
    assert len(found) == 1
    return found[0]


def text(cell: Cell | str) -> str:
    return cell.text + cell.note if isinstance(cell, Cell) else cell


def columns(table: Table) -> dict[str, list[str]]:
    return {name.removeprefix(">"): [text(row[at]) for row in table.rows] for at, name in enumerate(table.columns)}


@pytest.mark.parametrize(
    ("labels", "reference"),
    [(["a-sahc", "sahc", "dns"], "sahc"), (["dns", "my-sahc"], "my-sahc"), (["rns", "dns"], "rns")],
)
def test_the_reference_is_the_row_called_sahc_else_one_of_that_sampler_else_the_first(
    labels: list[str], reference: str
) -> None:
    results = [
        result(
            "sahc" if "sahc" in label else label,
            seed,
            {"recall@20": 0.1 + at + seed / 7},
            label=label,
            settings={"a": at},
        )
        for at, label in enumerate(labels)
        for seed in (1, 2)
    ]
    assert pairs(results, metrics=ONE).title.startswith(f"Each method against {reference}: ")


def test_every_number_is_that_of_scipy_and_statsmodels() -> None:
    rng = np.random.default_rng(0)
    values = {
        name: list(rng.normal(level, 0.002, 6)) for name, level in (("rns", 0.11), ("dns", 0.131), ("sahc", 0.133))
    }
    found = columns(pairs(chosen(values, ONE), metrics=ONE))
    assert found["Method"] == ["rns", "dns"]
    tests = [stats.ttest_rel(values[name], values["sahc"]) for name in ("rns", "dns")]
    adjusted = multipletests([test.pvalue for test in tests], method="holm")[1]
    for at, (name, test) in enumerate(zip(("rns", "dns"), tests, strict=True)):
        d = 100 * (np.array(values[name]) - values["sahc"])
        interval = test.confidence_interval()
        effect = d.mean() / d.std(ddof=1)
        needed = TTestPower().solve_power(abs(effect), power=0.8, alpha=0.05) if abs(effect) < 3 else 2.5
        star = "*" if adjusted[at] < 0.05 else ""
        row = [found[name][at] for name in list(found)[2:]]
        assert row == [
            f"{d.mean():+.2f}",
            f"{100 * interval.low:+.2f}",
            f"{100 * interval.high:+.2f}",
            f"{test.pvalue:.2g}",
            f"{adjusted[at]:.2g}{star}",
            f"{effect:+.2f}",
            str(int(np.ceil(needed))),
        ]


def test_the_reference_is_fixed_beforehand_and_never_the_winner() -> None:
    values = {"rns": [0.3, 0.31], "mixgcf": [0.5, 0.52], "dns": [0.4, 0.41]}
    assert pairs(chosen(values, ONE), metrics=ONE).title == "Each method against rns: toys, lightgcn"
    with_sahc = {**values, "sahc": [0.2, 0.22]}
    assert pairs(chosen(with_sahc, ONE), metrics=ONE).title == "Each method against sahc: toys, lightgcn"
    assert columns(pairs(chosen(with_sahc, ONE), metrics=ONE, against="dns"))["Method"] == ["rns", "mixgcf", "sahc"]
    assert pairs(chosen(with_sahc, ONE), metrics=ONE, baseline="dns").title == "Each method against dns: toys, lightgcn"
    with pytest.raises(SettingError, match=r"against='sach' is not among the methods; did you mean 'sahc'\?"):
        comparison_tables(chosen(with_sahc, ONE), metrics=ONE, against="sach")


def test_sets_and_backbones_have_columns_where_there_are_several() -> None:
    values = {"sahc": [0.3, 0.31, 0.33], "dns": [0.2, 0.25, 0.22]}
    results = [
        one
        for data in ("toys", "yelp")
        for model in ("ngcf", "mf")
        for one in chosen(values, ONE, data=data, backbone=model)
    ]
    found = columns(pairs(results, metrics=ONE))
    assert list(zip(found["Data"], found["Backbone"], strict=True)) == [
        (data, model) for data in ("toys", "yelp") for model in ("ngcf", "mf")
    ]
    assert "corrected over the 4 tests" in pairs(results, metrics=ONE).caption


def test_what_is_unknown_is_a_dash_with_the_reason() -> None:
    table = pairs(chosen({"sahc": [0.3], "dns": [0.2]}, ONE), metrics=ONE)
    found = columns(table)
    assert found["Difference"] == ["-10.00"]
    assert [found[name][0] for name in ("95 % low", "95 % high", "p", "Holm", "d_z", "Seeds needed")] == ["–"] * 6
    hints = [cell.hint for cell in table.rows[0] if isinstance(cell, Cell)]
    assert sum("one seed: nothing is known about its luck" in hint for hint in hints) >= 3
    assert "Nothing was tested over seeds: one seed: nothing is known about its luck." in table.caption
    assert "Holm" not in table.caption
    same = columns(pairs(chosen({"sahc": [0.3, 0.2], "dns": [0.3, 0.2]}, ONE), metrics=ONE))
    assert (same["Difference"], same["p"], same["Seeds needed"]) == (["0.00"], ["1"], ["–"])


def test_large_numbers_of_seeds_are_readable() -> None:
    found = columns(pairs(chosen({"sahc": [0.3, 0.2, 0.25], "dns": [0.3012, 0.1989, 0.24995]}, ONE), metrics=ONE))
    [needed] = found["Seeds needed"]
    assert int(needed.replace(",", "")) > 1000
    assert "," in needed


def test_one_method_alone_has_no_pairs() -> None:
    assert [table.name for table in comparison_tables(chosen({"sahc": [0.3, 0.2]}, ONE), metrics=ONE)] == ["comparison"]


def test_seeds_that_only_one_has_are_left_out_and_named() -> None:
    results = [
        *chosen({"sahc": [0.3, 0.2, 0.25]}, ONE, first_seed=1),
        *chosen({"dns": [0.1, 0.15, 0.2]}, ONE, first_seed=2),
    ]
    table = pairs(results, metrics=ONE)
    assert "Seeds that only one of a pair has are left out: 1, 4." in table.caption
    assert columns(table)["Difference"] == [f"{100 * np.mean([0.1 - 0.2, 0.15 - 0.25]):+.2f}"]


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
    assert found.signed_rank == wilcoxon_users(*sides)
    drawn = bootstrap_users(*sides)
    assert found.bootstrap is not None
    assert (found.bootstrap.low, found.bootstrap.high, found.bootstrap.p) == pytest.approx(
        (drawn.low, drawn.high, drawn.p)
    )
    assert found.bootstrap.difference == pytest.approx(found.paired.difference, abs=1e-6)
    table = pairs(results, metrics=ONE)
    assert (columns(table)["Wilcoxon"], columns(table)["Bootstrap"]) == (
        [f"{wilcoxon_users(*sides).p:.2g}"],
        [f"{drawn.p:.2g}"],
    )
    assert "takes these very trainings as given" in table.caption
    assert "of 150 users" in next(
        cell.hint for cell in table.rows[0] if isinstance(cell, Cell) and "users" in cell.hint
    )


def test_without_users_values_there_are_no_such_columns() -> None:
    table = pairs(chosen({"sahc": [0.3, 0.2], "dns": [0.1, 0.25]}, ONE), metrics=ONE)
    assert "Wilcoxon" not in columns(table)
    assert "users" not in table.caption
    results = alike(["sahc", "dns"], np.random.default_rng(3), seeds=2, users=50)
    assert "Wilcoxon" not in columns(pairs(results, metrics=ONE, reading="last"))  # kept of the best epoch only
    [table] = comparison_tables(
        chosen({"sahc": [0.3, 0.2], "dns": [0.1, 0.25]}, ONE), metrics=ONE, test="wilcoxon", pairwise=False
    )
    assert "Nothing was tested: no user's values were kept." in table.caption


def test_other_users_are_refused() -> None:
    def users(first: int) -> PerUser:
        who = np.arange(first, first + 4, dtype=np.int32)
        return {"user": who, **{name: np.linspace(0, 1, 4, dtype=np.float32) for name in METRICS}}

    values = dict.fromkeys(METRICS, 0.5)
    results = [result("sahc", 1, values, users=users(0)), result("dns", 1, values, users=users(1))]
    with pytest.raises(DataError, match="was judged on other users than the rest of its set"):
        comparison_tables(results)
