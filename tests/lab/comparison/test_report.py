"""The report of a comparison: its figures, what it says in words, and what one must know to repeat it."""

import math
from pathlib import Path

import pytest
import yaml

from sahcns.cli.plan import COMPARISON, read_file
from sahcns.lab.comparison import comparison_figures, comparison_report
from sahcns.lab.comparison.compare import Contestant
from sahcns.lab.grid.result import Result
from sahcns.lab.report.parts import Figure, Report, Series
from sahcns.samplers import DNS
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
        values = {"dns": [0.1 + pool / 1000, 0.11 + pool / 1000]}
        results += chosen(values, ONE, settings={"pool": pool, "top": 1}, label=f"dns-{pool}")
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


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (CLOSE, "+"),
        ({"sahc": [0.3], "dns": [0.1]}, "one seed"),
        ({"sahc": [0.3, 0.31], "dns": [0.1, 0.11001]}, "fewer than 3 seeds"),
        ({"dns": [*CLEAR["dns"], 0.9], "sahc": CLEAR["sahc"]}, "no better on the seeds that both have"),
    ],
)
def test_what_the_tests_do_not_show_is_not_claimed(values: dict[str, list[float]], reason: str) -> None:
    verdict = comparison_report(chosen(values, ONE), metrics=ONE).summary[0]
    assert f"but is not shown to be better than {'sahc' if len(values['dns']) == 5 else 'dns'} ({reason}" in verdict


def test_mixed_terms_and_sources_and_missing_seeds_are_said() -> None:
    results = [*chosen(CLEAR, commit="aaaa"), *chosen(CLEAR, protocol={"mask": "train+valid"}, commit="bbbb")]
    report = comparison_report(results[:-1])
    told = " ".join(report.summary)
    for words in ("2 different terms", "same sources", "the same seeds"):
        assert words in told
    assert [table.name for table in report.tables()] == ["comparison", "comparison-2", "pairwise", "pairwise-2"]
    facts = dict(report.facts)
    assert facts["Commit"] == "aaaa (12 runs); bbbb (11 runs)"
    assert "mask train+valid" in facts["Protocol 2"]


def figures_in(report: Report) -> list[Figure]:
    return [block for section in report.sections for block in section.blocks if isinstance(block, Figure)]


def test_differences_are_of_the_baseline() -> None:
    report = comparison_report(chosen(CLEAR), baseline="rns")
    drawn = figure(figures_in(report), "differences")
    bars = series(drawn, "sahc")
    assert bars.y[0] == pytest.approx(3.925)
    assert 0 < bars.low[0] < bars.y[0] < bars.high[0]
    assert {one.name for one in drawn.series} == {"dns", "sahc"}
    biased = comparison_report(
        chosen({"dns": [3.1, 3.2, 3.0], "sahc": [2.1, 2.3, 2.4]}, ("bias@20",)), metrics=["bias@20"]
    )
    assert not [one for one in figures_in(biased) if one.name.startswith("differences")]  # more of it is not better


def test_rows_of_one_sampler_keep_their_variant_in_every_figure() -> None:
    """It decides their marker; the reference is not in the figure of differences, and must not move the others."""
    looks = {"epoch": [0.0, 5.0], "recall@20": [0.1, 0.2]}
    results = [
        result("sahc", seed, dict.fromkeys(METRICS, 0.1 + at + seed / 7), label=label, settings={"a": at}, looks=looks)
        for at, label in enumerate(["a-sahc", "b-sahc", "sahc", "z-sahc"])
        for seed in (1, 2, 3)
    ]
    seen = {
        (one.name, one.variant)
        for drawn in figures_in(comparison_report(results, baseline="b-sahc"))
        for one in drawn.series
    }
    assert seen == {("sahc", 0), ("a-sahc", 1), ("b-sahc", 2), ("z-sahc", 3)}


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
    assert (facts["Versions"], facts["Device"], facts["Commit"]) == ("sahcns 0.1, torch 2.9", "cpu", "unknown")
    assert facts["Own files"] == "my.py"


def plans(text: str) -> list[str]:
    """The files of a recipe: what stands below each `with NAME:`, up to the next command."""
    return [part.partition("\n\nsahcns compare")[0] for part in text.split("yaml:\n\n")[1:]]


def test_what_is_said_to_repeat_it_is_a_plan_that_can_be_read(tmp_path: Path) -> None:
    settings = {"pool": 10, "alpha": 0.3, "schedule": None, "gated": True, "kind": 'a "b"'}
    results = [*chosen(CLEAR, settings=settings), *chosen({"dns": [0.1, 0.2]}, settings={"pool": 50}, label="dns-50")]
    told = dict(comparison_report(results).facts)["To repeat it"]
    assert told.startswith("sahcns compare --config study.yaml --out study\n\nwith study.yaml:\n\n")
    [text] = plans(told)
    (tmp_path / "study.yaml").write_text(text, "utf-8")
    plan = read_file(tmp_path / "study.yaml", COMPARISON)
    assert (plan["data"], plan["seeds"]) == (["toys"], [2020, 2021, 2022, 2023])
    assert plan["backbones"] == [{"name": "lightgcn", "dim": 64}]
    assert plan["samplers"] == [
        *({"name": name, **settings} for name in CLEAR),
        {"name": "dns", "label": "dns-50", "pool": 50},
    ]
    assert plan["protocol"] == {"batch": 2048, "epochs": 100, "mask": "train"}


def test_settings_that_differ_by_set_are_repeated_set_by_set() -> None:
    results = [*chosen(CLEAR, settings={"pool": 10}), *chosen(CLEAR, settings={"pool": 20}, data="yelp")]
    first, second = map(yaml.safe_load, plans(dict(comparison_report(results).facts)["To repeat it"]))
    assert (first["data"], {one["pool"] for one in first["samplers"]}) == (["toys"], {10})
    assert (second["data"], {one["pool"] for one in second["samplers"]}) == (["yelp"], {20})


def test_each_method_is_held_against_the_reference_in_a_sentence() -> None:
    same = {"dns": [value + 0.0001 * luck for value, luck in zip(CLEAR["sahc"], (1, -1, 2, -2), strict=True)]}
    report = comparison_report(chosen({**CLEAR, **same, "wild": [0.1, 0.14, 0.13, 0.12]}), metrics=ONE)
    assert (
        "Held against sahc in Recall@20 on toys with lightgcn: dns is equivalent, within 0.1 points, rns is worse, "
        "wild is not resolved." in report.summary
    )
    few = comparison_report(chosen({name: own[:2] for name, own in CLEAR.items()}), metrics=ONE)
    assert not [text for text in few.summary if text.startswith("Held against")]  # two seeds say nothing


def test_rows_trained_unalike_are_repeated_as_they_were(tmp_path: Path) -> None:
    told = [
        *chosen({"dns": CLEAR["dns"]}, protocol={"l2": 0.01}, settings={"pool": 10}),
        *chosen({"dns": CLEAR["sahc"]}, protocol={"l2": 0.1}, model={"depth": 1}, settings={"pool": 10}, label="deep"),
        *chosen({"rns": CLEAR["rns"]}, protocol={"l2": 0.1}, objective={"name": "hinge", "margin": 0.5}),
    ]
    [text] = plans(dict(comparison_report(told).facts)["To repeat it"])
    (tmp_path / "study.yaml").write_text(text, "utf-8")
    plan = read_file(tmp_path / "study.yaml", COMPARISON)
    assert plan["protocol"] == {"batch": 2048, "epochs": 100, "mask": "train"}
    assert [Contestant.of(row) for row in plan["samplers"][:2]] == [
        Contestant(DNS, {"pool": 10, "objective": "bpr", "protocol.l2": 0.01}, "dns"),
        Contestant(DNS, {"pool": 10, "backbone.depth": 1, "objective": "bpr", "protocol.l2": 0.1}, "deep"),
    ]
    assert plan["samplers"][2] == {
        "name": "rns",
        "objective": {"name": "hinge", "margin": 0.5},
        "protocol": {"l2": 0.1},
    }
