"""The report of a comparison: its figures, what it says in words, and what one must know to repeat it."""

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sahcns.cli.compare_plan import read_comparison
from sahcns.lab.comparison import comparison_figures, comparison_report
from sahcns.lab.grid.result import Result
from sahcns.lab.report.page import looks_in, to_html
from sahcns.lab.report.palette import LOOKS, drawn_series
from sahcns.lab.report.parts import Figure, Report, Series
from sahcns.lab.report.tables import swatch
from tests.lab.comparison.made_results import METRICS, chosen, result

ONE = ("recall@20",)
CLEAR = {
    "dns": [0.100, 0.102, 0.098, 0.101],
    "sahc": [0.120, 0.123, 0.117, 0.1215],
    "rns": [0.080, 0.081, 0.083, 0.0805],
}
CLOSE = {"dns": [0.120, 0.125, 0.118, 0.121], "sahc": [0.121, 0.123, 0.120, 0.1215]}


def trained(method: str, seed: int, values: list[float], seconds: float) -> Result:
    """A look every five epochs of so many seconds each, but for the first, in which a process compiles."""
    epochs = [5 * at for at in range(len(values))]
    looks: dict[str, list[float]] = {
        "epoch": [*epochs],
        "seconds": [50.0 + seconds * epoch for epoch in epochs],
        "recall@20": values,
    }
    taken = [50.0, *[seconds] * epochs[-1]]
    return result(method, seed, dict.fromkeys(METRICS, values[-1]), looks=looks, epoch_seconds=taken)


def figure(figures: list[Figure], kind: str) -> Figure:
    return next(one for one in figures if one.name.startswith(kind))


def series(figure: Figure, name: str) -> Series:
    return next(one for one in figure.series if one.name == name)


def test_learning_curves_are_means_with_a_band_up_to_where_the_first_seed_stopped() -> None:
    results = [
        trained("sahc", 1, [0.1, 0.2, 0.3], 2.0),
        trained("sahc", 2, [0.2, 0.4], 4.0),
        trained("dns", 1, [0.1, 0.1], 1.0),
    ]
    figures = comparison_figures(results)
    curve = series(figure(figures, "epochs"), "sahc")
    assert (list(curve.x), curve.role) == ([0.0, 5.0], "sahc")
    assert list(curve.y) == pytest.approx([15.0, 30.0])
    spread = 10 * math.sqrt(0.5), 20 * math.sqrt(0.5)
    assert list(curve.low) == pytest.approx([15 - spread[0], 30 - spread[1]])
    assert list(curve.high) == pytest.approx([15 + spread[0], 30 + spread[1]])
    assert not len(series(figure(figures, "epochs"), "dns").low)  # one seed has no spread
    timed = series(figure(figures, "seconds"), "sahc")
    assert list(timed.x) == pytest.approx([3.0, 18.0])
    assert list(timed.y) == list(curve.y)
    assert figure(figures, "seconds").caption.endswith("on cpu: epochs times the median one.")


def test_learning_curves_are_of_what_epochs_were_picked_by() -> None:
    looks: dict[str, list[float]] = {"epoch": [0, 5], "recall@20": [0.1, 0.2], "ndcg@10": [0.3, 0.4]}
    made = result("dns", 1, {"recall@20": 0.2, "ndcg@20": 0.1}, looks=looks, protocol={"monitor": "ndcg@10"})
    drawn = figure(comparison_figures([made]), "epochs")
    assert drawn.y_label == "validation NDCG@10, %"
    assert drawn.series[0].y == pytest.approx([30, 40])


def test_seconds_are_those_of_runs_that_shared_the_machine_with_the_fewest() -> None:
    results = [
        trained("sahc", 1, [0.1, 0.2], 2.0),
        trained("sahc", 2, [0.3, 0.4], 8.0).shared_by(4),
        trained("dns", 1, [0.1, 0.1], 1.0).shared_by(4),
    ]
    assert [one.processes for one in results] == [1, 4, 4]
    drawn = figure(comparison_figures(results), "seconds")
    assert [one.name for one in drawn.series] == ["sahc"]
    assert list(drawn.series[0].x) == pytest.approx([2.0, 12.0])
    assert list(drawn.series[0].y) == pytest.approx([20.0, 30.0])  # the mean of all of them
    all_shared = figure(comparison_figures([one.shared_by(4) for one in results]), "seconds")
    assert len(all_shared.series) == 2
    assert all_shared.caption.endswith("on cpu, shared by 4 processes: epochs times the median one.")


def test_bars_have_the_spread_over_seeds_as_whiskers() -> None:
    drawn = figure(comparison_figures(chosen(CLEAR), metrics=("recall@20", "popularity@20", "ndcg@20")), "metrics")
    assert drawn.kind == "bar"
    bars = series(drawn, "sahc")
    assert list(bars.x) == ["Recall@20", "NDCG@20"]  # a count does not share an axis with percent
    assert list(bars.y) == pytest.approx([12.0375, 12.0375])
    assert bars.high[0] - bars.y[0] == pytest.approx(bars.y[0] - bars.low[0]) == pytest.approx(0.2562, abs=1e-4)


def test_pool_sizes_are_drawn_where_they_vary_and_nothing_else_does() -> None:
    results = []
    for pool in (50, 5, 10):
        results += chosen(
            {"dns": [0.1 + pool / 1000, 0.11 + pool / 1000]},
            ONE,
            settings={"pool": pool, "top": 1},
            label=f"dns-{pool}",
        )
    results += chosen({"dns": [0.3, 0.31]}, ONE, settings={"pool": 20, "top": 3}, label="other")
    results += chosen({"sahc": [0.3, 0.31]}, ONE, settings={"pool": 10})
    drawn = figure(comparison_figures(results, metrics=ONE), "pool")
    assert drawn.x_log
    [line] = drawn.series
    assert (line.name, line.role, list(line.x)) == ("dns", "dns", [5.0, 10.0, 50.0])
    assert list(line.y) == pytest.approx([11.0, 11.5, 15.5])
    assert not [one for one in comparison_figures(chosen(CLEAR)) if one.name.startswith("pool")]


def test_every_set_and_backbone_has_figures_of_its_own_with_names_of_their_own() -> None:
    results = [
        one for data in ("toys", "yelp") for model in ("mf", "ngcf") for one in chosen(CLEAR, data=data, backbone=model)
    ]
    results += chosen(CLEAR, protocol={"mask": "train+valid"})
    names = [one.name for one in comparison_figures(results)]
    assert len(names) == len(set(names)) == 5


def test_the_report_opens_with_a_verdict_the_main_table_and_the_main_figure() -> None:
    report = comparison_report(chosen(CLEAR))
    assert report.summary[0].startswith("sahc is better than every other method in Recall@20 on toys with lightgcn (p ")
    first, second = report.sections[0].blocks[:2]
    assert getattr(first, "name", "") == "comparison"
    assert getattr(second, "name", "").startswith("metrics")
    assert "12.04 ± 0.26 % over 4 seeds" in report.summary[1]
    assert "significant against all 2 others" in report.summary[1]
    assert "In Recall@10, NDCG@10 and NDCG@20 sahc is first (significant)." in report.summary[1]
    assert "dns and rns are shown to be worse (Holm over 8 tests)" in report.summary[2]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (CLOSE, "p "),
        ({"sahc": [0.3], "dns": [0.1]}, "one seed"),
        ({"sahc": [0.3, 0.31], "dns": [0.1, 0.11001]}, "fewer than 3 seeds"),
        ({"dns": [*CLEAR["dns"], 0.9], "sahc": CLEAR["sahc"]}, "no better on the seeds that both have"),
    ],
)
def test_what_the_tests_do_not_show_is_not_claimed(values: dict[str, list[float]], reason: str) -> None:
    summary = comparison_report(chosen(values, ONE), metrics=ONE).summary
    assert f"but is not shown to be better than {'sahc' if len(values['dns']) == 5 else 'dns'} ({reason}" in summary[0]
    assert "is significant" not in " ".join(summary)


def test_a_verdict_over_several_sets_names_each() -> None:
    results = [*chosen(CLEAR, ONE), *chosen(CLOSE, ONE, data="yelp")]
    verdict = comparison_report(results, metrics=ONE).summary[0]
    assert "sahc is better than every other method in Recall@20 on toys with lightgcn; " in verdict
    assert "on yelp with lightgcn, but is not shown" in verdict


def test_mixed_terms_and_sources_and_missing_seeds_are_said() -> None:
    results = [*chosen(CLEAR, commit="aaaa"), *chosen(CLEAR, protocol={"mask": "train+valid"}, commit="bbbb")]
    report = comparison_report(results[:-1])
    told = " ".join(report.summary)
    assert "made under 2 different terms" in told
    assert "not all made by the same sources" in told
    assert "fewer have rns on toys (2020–2022)" in told
    assert [table.name for table in tables(report)] == ["comparison", "comparison-2", "pairwise", "pairwise-2"]
    facts = dict(report.facts)
    assert facts["Commit"] == "aaaa (12 runs); bbbb (11 runs)"
    assert "mask train+valid" in facts["Protocol 2"]


def tables(report: Report) -> list[Any]:
    return [block for section in report.sections for block in section.blocks if hasattr(block, "columns")]


def test_the_report_draws_differences_with_their_intervals() -> None:
    report = comparison_report(chosen(CLEAR))
    drawn = next(
        block
        for section in report.sections
        for block in section.blocks
        if getattr(block, "name", "").startswith("differences")
    )
    assert isinstance(drawn, Figure)
    bars = series(drawn, "rns")
    assert bars.y[0] == pytest.approx(-3.925)
    assert bars.low[0] < bars.y[0] < bars.high[0] < 0
    assert {one.name for one in drawn.series} == {"dns", "rns"}


def test_no_differences_are_drawn_of_metrics_of_which_more_is_not_better() -> None:
    """The figure would be empty; the table of pairs has their differences."""
    results = chosen({"dns": [3.1, 3.2, 3.0], "sahc": [2.1, 2.3, 2.4]}, ("bias@20",))
    pairs = {section.title: section.blocks for section in comparison_report(results, metrics=["bias@20"]).sections}[
        "Pairs"
    ]
    assert not [block for block in pairs if isinstance(block, Figure)]
    assert pairs


def test_rows_of_one_sampler_have_one_marker_each_in_every_figure_and_table() -> None:
    """The reference is not in the figure of differences, lines have dashes and bars have none: neither may move a marker."""
    looks = {"epoch": [0.0, 5.0], "recall@20": [0.1, 0.2]}
    results = [
        result("sahc", seed, dict.fromkeys(METRICS, 0.1 + at + seed / 7), label=label, settings={"a": at}, looks=looks)
        for at, label in enumerate(["a-sahc", "b-sahc", "sahc", "z-sahc"])
        for seed in (1, 2, 3)
    ]
    made = comparison_report(results, against="b-sahc")
    seen: dict[str, set[tuple[str, bool]]] = {}
    for one in (block for section in made.sections for block in section.blocks if isinstance(block, Figure)):
        for series, look in drawn_series(one, looks_in(made)):
            seen.setdefault(series.name, set()).add((look.marker, look.hollow))
    assert {len(found) for found in seen.values()} == {1}
    assert seen["sahc"] == {("circle", False)}
    assert len(set.union(*seen.values())) == 4
    page = to_html(made)
    for name, [(marker, hollow)] in seen.items():
        look = LOOKS["sahc"]._replace(marker=marker, hollow=hollow)
        assert f"{swatch(look)}{name}</th>" in page


def test_facts_hold_what_one_must_know(tmp_path: Path) -> None:
    settings = {"pool": 10, "alpha": 0.3, "schedule": None, "gated": True}
    results = [
        *chosen(CLEAR, settings=settings, imports=["my.py"]),
        *chosen(CLEAR, settings={**settings, "pool": 20}, data="yelp"),
    ]
    facts = dict(comparison_report(results).facts)
    assert facts["Runs"] == "24, seeds 2020–2023"
    assert facts["Data toys"] == "500 users, 90 items; fingerprint toys0123456789abcdef"
    assert facts["Protocol"] == "batch 2048, epochs 100, mask train; kernels cpu"
    assert facts["Sampler sahc"] == "pool 10, 20; alpha 0.3; schedule None; gated True"
    assert (facts["Versions"], facts["Device"], facts["Commit"]) == ("sahcns 0.1, torch 2.9", "cpu", "unknown")
    assert facts["Own files"] == "my.py"


def plans(text: str) -> list[str]:
    """The files of a recipe: what stands below each `with NAME:`, up to the next command."""
    return [part.partition("\n\nsahcns compare")[0] for part in text.split("toml:\n\n")[1:]]


def test_what_is_said_to_repeat_it_is_a_plan_that_can_be_read(tmp_path: Path) -> None:
    settings = {"pool": 10, "alpha": 0.3, "schedule": None, "gated": True, "kind": 'a "b"'}
    results = [*chosen(CLEAR, settings=settings), *chosen({"dns": [0.1, 0.2]}, settings={"pool": 50}, label="dns-50")]
    told = dict(comparison_report(results).facts)["To repeat it"]
    assert told.startswith("sahcns compare --config study.toml --out study\n\nwith study.toml:\n\n")
    [text] = plans(told)
    (tmp_path / "study.toml").write_text(text, "utf-8")
    plan = read_comparison(tmp_path / "study.toml")
    assert (plan["data"], plan["seeds"]) == (["toys"], [2020, 2021, 2022, 2023])
    assert plan["backbones"] == [{"name": "lightgcn", "dim": 64}]
    said = {name: value for name, value in settings.items() if value is not None}
    assert plan["samplers"] == [
        *({"name": name, **said} for name in CLEAR),
        {"name": "dns", "label": "dns-50", "pool": 50},
    ]
    assert plan["protocol"] == {"batch": 2048, "epochs": 100, "mask": "train"}
    assert (
        dict(comparison_report(results, command="sahcns compare toys").facts)["To repeat it"] == "sahcns compare toys"
    )


def test_settings_that_differ_by_set_are_repeated_set_by_set() -> None:
    results = [*chosen(CLEAR, settings={"pool": 10}), *chosen(CLEAR, settings={"pool": 20}, data="yelp")]
    first, second = map(tomllib.loads, plans(dict(comparison_report(results).facts)["To repeat it"]))
    assert (first["data"], {one["pool"] for one in first["samplers"]}) == (["toys"], {10})
    assert (second["data"], {one["pool"] for one in second["samplers"]}) == (["yelp"], {20})


def test_the_page_can_be_made_of_it() -> None:
    looks = [trained(method, seed, [0.1, 0.2 + seed / 100], 1.0) for method in ("sahc", "dns") for seed in (1, 2, 3)]
    report = comparison_report(looks, title="Sahc & dns")
    page = to_html(report)
    assert "<title>Sahc &amp; dns</title>" in page
    assert page.count("<figure ") == len(report.figures()) >= 3
    assert [section.title for section in report.sections] == ["Results", "Pairs", "Training"]


def test_the_report_is_of_the_reference_and_the_epoch_that_are_asked_for() -> None:
    best, last = (comparison_report(chosen(CLEAR), against="rns", reading=reading) for reading in ("best", "last"))
    figures = [
        {one.name: one for section in made.sections for one in section.blocks if isinstance(one, Figure)}
        for made in (best, last)
    ]
    gaps = [figure(list(own.values()), "differences") for own in figures]
    assert [gap.title.partition(":")[0] for gap in gaps] == ["Each method minus rns"] * 2
    assert list(series(gaps[1], "sahc").y) == pytest.approx([0.97 * y for y in series(gaps[0], "sahc").y])
    assert any("against rns in Recall@20, dns and sahc are shown to be better" in said for said in best.summary)
