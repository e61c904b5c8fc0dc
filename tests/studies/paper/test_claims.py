"""Verdicts follow from the results: other results, other verdicts."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sahcns.studies.inspection.cost import Cost
from sahcns.studies.paper.checks_inside import overhead
from sahcns.studies.paper.claims import BEYOND, CLAIMS, Judged, judge
from sahcns.studies.paper.design import Design
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.experiments import Row
from sahcns.studies.paper.methods import METHOD
from tests.studies.paper.tiny import TINY, Value, fill, noisy

FIVE = Design.from_dict({**TINY.to_dict(), "seeds": 5, "few": 4, "many": 7})
Judging = Callable[..., dict[str, Judged]]


def lifted(chosen: Callable[[Row], float]) -> Value:
    """Luck, and what a row is worth."""
    return lambda row, seed, metric, reading: noisy(row, seed, metric, reading) + chosen(row)


def worth(ahead: str, row: Row) -> float:
    return 0.05 * (row.label == ahead)


@pytest.fixture
def judged(tmp_path: Path) -> Judging:
    def of(value: Value = noisy, parts: tuple[str, ...] = ("table2",), design: Design = FIVE) -> dict[str, Judged]:
        fill(tmp_path, design, value, parts)
        evidence = Evidence.of(tmp_path)
        return {one.claim.name: one for claims in (CLAIMS, BEYOND) for one in judge(evidence, claims)}

    return of


def test_names_are_unique_and_every_claim_says_something() -> None:
    names = [claim.name for claim in (*CLAIMS, *BEYOND)]
    assert len(set(names)) == len(names)
    for claim in (*CLAIMS, *BEYOND):
        assert claim.words.endswith(".")
        assert claim.reason


def test_nothing_run_is_nothing_judged(tmp_path: Path) -> None:
    TINY.save(tmp_path)
    found = judge(Evidence.of(tmp_path))
    assert {one.verdict for one in found} == {"not run yet"}
    assert {one.reason for one in found} == {""}


def test_sahc_far_ahead_holds(judged: Judging) -> None:
    found = judged(lifted(lambda row: 0.05 * (row.label == METHOD)))
    assert (found["best"].verdict, found["best-last"].verdict) == ("holds", "holds")
    assert len(found["best"].instances) == 8
    assert found["best"].reason == ""
    assert "SAHC-NS 18." in found["best"].instances[2].ours


def test_sahc_behind_does_not_hold_and_names_the_strongest(judged: Judging) -> None:
    found = judged(lifted(lambda row: 0.05 * (row.label == "BNS")))
    assert found["best"].verdict == "does not hold"
    assert all("BNS" in one.ours for one in found["best"].instances)
    assert found["best"].reason


def test_luck_is_not_resolved(judged: Judging) -> None:
    assert judged()["best"].verdict == "not resolved"


def test_the_two_readings_are_judged_apart(judged: Judging) -> None:
    def value(row: Row, seed: int, metric: str, reading: str) -> float:
        return noisy(row, seed, metric, reading) + 0.05 * (row.label == METHOD) * (1 if reading == "best" else -1)

    found = judged(value)
    assert (found["best"].verdict, found["best-last"].verdict) == ("holds", "does not hold")


def test_a_table_without_all_methods_can_fail_but_not_hold(tmp_path: Path) -> None:
    ahead = lifted(lambda row: 0.05 * (row.label == METHOD))
    fill(tmp_path, FIVE, ahead, ["table2"], keep=lambda row, seed: row.label != "MixGCF")
    (best,) = [one for one in judge(Evidence.of(tmp_path)) if one.claim.name == "best"]
    assert best.verdict == "not resolved"
    assert "8 of 9 methods run" in best.instances[0].ours

    behind = lifted(lambda row: 0.05 * (row.label == "BNS"))
    fill(tmp_path, FIVE, behind, ["table2"], keep=lambda row, seed: row.label != "MixGCF")
    (best,) = [one for one in judge(Evidence.of(tmp_path)) if one.claim.name == "best"]
    assert best.verdict == "does not hold"
    assert "8 of 9 methods run" in best.instances[0].ours


@pytest.mark.parametrize(("method", "verdict"), [("SA-only", "holds"), ("DNS", "does not hold")])
def test_ablations(judged: Judging, method: str, verdict: str) -> None:
    found = judged(lifted(lambda row: 0.05 * (row.label == method)), ("table3",))
    run = found["sa-only-over-dns"].instances
    assert {one.verdict for one in run} == {verdict}
    assert len(run) == 4
    assert found["hc-only-over-dns"].verdict == ("not resolved" if method == "SA-only" else "does not hold")
    assert run[0].paper == "SA-only 13.00, DNS 12.66: +0.34"


def test_many_seeds_are_more_than_those_of_table_2(judged: Judging) -> None:
    better = lifted(lambda row: 0.05 * (row.label == METHOD))
    found = judged(better, ("power",))
    assert found["best-power"].verdict == "holds"
    few = Design.from_dict({**FIVE.to_dict(), "many": 5})
    assert judged(better, ("power",), few)["best-power"].verdict == "not run yet"


def test_many_seeds_count_for_an_ablation_where_they_are_run_and_are_not_waited_for(tmp_path: Path) -> None:
    better = lifted(lambda row: 0.05 * (row.label == "SA-only"))
    fill(tmp_path, FIVE, better, ["table3"])
    fill(tmp_path, FIVE, better, ["power"], keep=lambda row, seed: row.data == FIVE.powered[0])
    (claim,) = [one for one in judge(Evidence.of(tmp_path)) if one.claim.name == "sa-only-over-dns"]
    assert claim.verdict == "holds"
    assert [one.where for one in claim.instances if "many seeds" in one.where] == [
        f"{FIVE.data(FIVE.powered[0]).name}, many seeds, {metric}" for metric in ("Recall@20", "NDCG@20")
    ]


def test_backbones(judged: Judging) -> None:
    found = judged(lifted(lambda row: 0.05 * (row.backbone["name"] == "simgcl")), ("table2", "table4"))
    assert found["stronger"].verdict == "holds"
    assert found["stronger"].instances[0].paper == "6 of 9 methods"
    assert found["backbones"].verdict == "not resolved"
    ahead = judged(lifted(lambda row: 0.05 * (row.label == METHOD)), ("table2", "table4"))
    assert (ahead["backbones"].verdict, ahead["stronger"].verdict) == ("holds", "does not hold")


def value_of(row: Row, argument: str) -> float:
    assert row.sampler is not None
    return float(row.sampler[argument])


@pytest.mark.parametrize(("argument", "name", "best"), [("alpha", "alpha", 0.3), ("pool", "pool", 10)])
def test_moderate_values(judged: Judging, argument: str, name: str, best: float) -> None:
    moderate = judged(
        lifted(lambda row: 0.03 * (row.group != argument or value_of(row, argument) == best)), ("figure4",)
    )
    assert moderate[name].verdict == "holds"
    assert {one.verdict for one in moderate[name].instances} == {"holds"}
    extreme = judged(
        lifted(lambda row: 0.03 * (row.group == argument and value_of(row, argument) > best)), ("figure4",)
    )
    assert extreme[name].verdict == "does not hold"


def test_the_moderate_value_is_picked_on_validation(tmp_path: Path) -> None:
    design = Design.from_dict({**FIVE.to_dict(), "pools": (5, 10, 20, 50)})
    fill(tmp_path, design, lifted(lambda row: 0.03 * (value_of(row, "pool") == 10)), ["figure4"])
    evidence = Evidence.of(tmp_path)
    for wanted in (10, 20):
        looked = {
            key: replace(run, valid={"best": {"recall@20": 0.5 if run.sampler["pool"] == wanted else 0.1}})
            for key, run in evidence.results.items()
        }
        (pool,) = [one for one in judge(replace(evidence, results=looked)) if one.claim.name == "pool"]
        assert all(one.ours.startswith(f"{wanted} gives") for one in pool.instances)


def test_what_is_to_be_known_is_said_whether_a_claim_holds_or_not(judged: Judging) -> None:
    claim = next(one for one in CLAIMS if one.name == "sahc-ns-over-sahc-wo-mean")
    assert claim.besides
    for ahead, verdict in ((METHOD, "holds"), ("SAHC w/o Mean", "does not hold")):
        found = judged(lifted(partial(worth, ahead)), ("table3",))[claim.name]
        assert (found.verdict, found.besides) == (verdict, claim.besides)
    assert judged(noisy, ("table2",))["overhead"].besides == ""


def test_training_at_all(judged: Judging) -> None:
    found = judged(lifted(lambda row: -0.05 * (row.label == "AHNS") + 0.05 * (row.label == "DENS")))
    assert (found["ahns"].verdict, found["dens"].verdict) == ("does not hold", "holds")
    assert found["ahns"].instances[0].paper == "AHNS 12.46, RNS 11.32: +1.14"


def test_which_reading_the_printed_numbers_fit(judged: Judging) -> None:
    from sahcns.studies.paper.published import TABLE_2

    def printed_at(which: str) -> Value:
        def value(row: Row, seed: int, metric: str, reading: str) -> float:
            mean = TABLE_2[FIVE.data(row.data).like][row.label][metric][0] / 100
            return mean + 0.01 * (reading != which) + 0.0001 * noisy(row, seed, metric, reading)

        return value

    assert judged(printed_at("best"))["readings"].verdict == "holds"
    assert judged(printed_at("last"))["readings"].verdict == "does not hold"


def test_time_and_splits_and_counts(judged: Judging) -> None:
    found = judged(lifted(lambda row: 0.05 * (row.label == METHOD)), ("table2", "splits"))
    assert (found["time"].verdict, found["best-splits"].verdict) == ("holds", "holds")
    assert found["data"].verdict == "does not hold"
    assert found["data"].instances[0].ours == "40 / 60 / 320"
    behind = judged(lifted(lambda row: -0.05 * (row.label == METHOD)), ("table2", "splits"))
    assert (behind["time"].verdict, behind["best-splits"].verdict) == ("does not hold", "does not hold")


def test_the_pace_of_each_method_is_told(judged: Judging) -> None:
    """Runs out of thin air are at their best after the second of their epochs, each of a second."""
    told = judged(noisy)["time"].reason
    assert "seconds until a run has 99 % of its own best Recall@20 on validation: Tiny toys RNS 2.0, DNS 2.0, " in told
    assert "SAHC-NS 2.0; Tiny yelp " in told
    assert "untuned" not in told


def test_an_ablation_is_read_where_training_stopped_too(judged: Judging) -> None:
    def value(row: Row, seed: int, metric: str, reading: str) -> float:
        return noisy(row, seed, metric, reading) + 0.05 * (row.label == "SA-only") * (reading == "last")

    found = judged(value, ("table3",))["sa-only-over-dns"]
    assert found.verdict == "not resolved"
    assert re.search(
        r"so read, the difference in Recall@20 is \+[45]\.\d\d on Tiny toys \(p .*; the paper \+0\.34\)", found.reason
    )


@pytest.mark.parametrize(
    ("extra", "dns", "verdict"),
    [
        (0.01, 0.99, "holds"),
        (-0.01, 1.01, "holds"),
        (0.03, 0.96, "does not hold"),
        (-0.01, 0.96, "not resolved"),
        (0.03, 0.99, "not resolved"),
    ],
)
def test_a_cost_is_judged_by_the_parts_and_by_whole_epochs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, extra: float, dns: float, verdict: str
) -> None:
    fill(tmp_path, FIVE, noisy, ["table2"])
    evidence, name = Evidence.of(tmp_path), next(one for one in FIVE.sets if one.like == "amazon-toys").folder
    costs = [Cost({"name": "dns"}, 0, 0, 0, dns, 0, "gpu", "triton", "captured")]
    costs.append(replace(costs[0], sampler={"name": "sahc"}, epoch=1.0, extra=extra))
    monkeypatch.setattr(Evidence, "costs", {name: costs})
    first, *_ = overhead(evidence)
    assert first.verdict == verdict
    assert (
        first.ours
        == f"{100 * extra:.2f} %: {1000 * extra:.1f} ms of 1000.0 ms; a whole epoch of DNS {1000 * dns:.1f} ms"
    )
