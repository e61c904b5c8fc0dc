"""What searches reached with other settings of a baseline, told by kinds of settings, and what tuning gains."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reproduction.evidence import Evidence
from reproduction.experiments import Row
from reproduction.other_settings import (
    BETAS,
    ENOUGH,
    SCHEDULES,
    TOO_FEW,
    UNTESTED,
    gained,
    neighbours,
    searched,
)
from reproduction.tests.tiny import TINY, fill, made
from sahcns.lab import Search, Trial

VALUES = [0.08, 0.09, 0.10, 0.115, 0.12, 0.125, 0.131, 0.132, 0.133, 0.134]
POINTS: list[dict[str, Any]] = [{"beta": beta} for beta in (0.1, 0.5, 1.0, 1.1, 3.0, 5.0, 6.0, 20.0, 30.0, 50.0)]


def search(sampler: str, points: list[dict[str, Any]], values: list[float], state: str = "complete") -> Search:
    trials = [
        Trial(sampler, number, state, point, {**point, "pool": 10}, value)
        for number, (point, value) in enumerate(zip(points, values, strict=True))
    ]
    return Search({}, {}, {}, 0, {}, {sampler: 10}, {sampler: None}, {sampler: {}}, {sampler: {}}, trials)


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    TINY.save(tmp_path)
    return Evidence.of(tmp_path)


def test_trials_are_told_by_the_range_of_their_beta(evidence: Evidence) -> None:
    found = replace(evidence, searches={"one": search("ahns", POINTS, VALUES)})
    assert searched("ahns", BETAS)(found) == (
        "Tested in the search, Recall@20 on validation: Tiny toys (10 trials) β up to 1: 8.00 to 10.00, "
        "1 to 5: 11.50 to 12.50, above 5: 13.10 to 13.40."
    )


def test_kinds_that_no_trial_is_of_are_left_out(evidence: Evidence) -> None:
    points = [{"schedule": "fixed", "alpha": 1.0}, *[{"schedule": "warmup", "alpha": 1.0}] * 9]
    found = replace(evidence, searches={"one": search("dens", points, VALUES), "two": search("ahns", POINTS, VALUES)})
    assert searched("dens", SCHEDULES)(found) == (
        "Tested in the search, Recall@20 on validation: Tiny toys (10 trials) α fixed at 1: 8.00, rising: 9.00 to 13.40."
    )


def test_trials_stand_beside_random_negatives_where_those_were_run(tmp_path: Path) -> None:
    run = Evidence.of(fill(tmp_path, TINY, lambda *_: 0.11, ["table2"]))
    told = searched("ahns", BETAS)(replace(run, searches={"one": search("ahns", POINTS, VALUES)}))
    assert "Tiny toys (10 trials; RNS 11.00) β up to 1: " in told


def test_a_few_trials_and_those_cut_off_say_nothing(evidence: Evidence) -> None:
    assert searched("ahns", BETAS)(evidence) == UNTESTED
    few = search("ahns", POINTS[: ENOUGH - 1], VALUES[: ENOUGH - 1])
    cut = search("ahns", POINTS, VALUES, "pruned")
    assert searched("ahns", BETAS)(replace(evidence, searches={"one": few, "two": cut})) == UNTESTED
    small = replace(few, budget={"ahns": ENOUGH - 1})  # a miniature, which is at its end
    assert searched("ahns", BETAS)(replace(evidence, searches={"one": small})) == TOO_FEW


def test_gains_are_those_over_the_printed_settings_from_the_most_on(tmp_path: Path) -> None:
    def value(row: Row, seed: int, metric: str, reading: str) -> float:
        assert row.sampler is not None
        return {("dens", 0.02): 0.15, ("bns", 1.0): 0.09}.get((row.sampler["name"], _own(row.sampler)), 0.1)

    fill(tmp_path, TINY, value, ["table2"])
    assert gained(Evidence.of(tmp_path)) == ""
    own: dict[str, dict[str, Any]] = {"dens": {"gamma": 0.02}, "bns": {"lam": 1.0}, "ahns": {}}
    tuned = replace(Evidence.of(tmp_path), chosen={"one": own})
    for row in tuned.rows("equal"):
        if row.sampler is not None and row.label != "AHNS":
            made(TINY, row, 2020, value).save(tmp_path)
    found = replace(tuned, results=Evidence.of(tmp_path).results)
    # AHNS is chosen as printed, and so has been run
    assert gained(found) == (
        "Measured, in points of Recall@20 on the test part: Tiny toys DENS +5.00, AHNS 0.00, BNS -1.00."
    )


def test_steps_of_a_curve_beside_the_spread_of_seeds(tmp_path: Path) -> None:
    """Of two seeds each at ±0.001, which is a standard deviation of 0.14 points; the curve steps by 1 and by 3."""
    two = replace(TINY, few=2)

    def value(row: Row, seed: int, metric: str, reading: str) -> float:
        assert row.sampler is not None
        height = {0.0: 0.10, 0.3: 0.11, 1.0: 0.08}[row.sampler["alpha"]] if row.group == "alpha" else 0.1
        return height + (0.001 if seed % 2 else -0.001)

    fill(tmp_path, two, value, ["figure4"], keep=lambda row, seed: row.data == "one" and row.group == "alpha")
    assert neighbours("alpha")(Evidence.of(tmp_path)) == (
        "Measured, from one value to the next in points of Recall@20: Tiny toys 2.00 (median) to 3.00, where seeds alone move "
        "one value by 0.14 (standard deviation)."
    )
    assert neighbours("alpha")(Evidence.of(fill(tmp_path / "none", TINY, parts=[]))) == ""


def _own(sampler: dict[str, Any]) -> Any:
    return sampler.get("gamma", sampler.get("lam"))
