"""Which reading comes nearest to the printed figures, from readings out of thin air."""

import json
from pathlib import Path

import pytest

from reproduction.claims import judge
from reproduction.evidence import Evidence
from reproduction.looks import Aged, aged
from reproduction.other_readings import UNTESTED, choice_otherwise, pools_otherwise, similar_otherwise
from reproduction.report import paper_report
from reproduction.tests.tiny import TINY
from sahcns.lab.inspect.results import Chosen, PoolReadings, Shares

PRINT = "0123456789abcdef"


def readings(one: Aged) -> PoolReadings:
    """Near to the paper's Fig. 1(a) for cosines after one epoch, and to its Fig. 5(a) for α = 0.3 after two."""
    near = one.age == 1
    toys = one.data == "one"
    return PoolReadings(
        100,
        {
            "the positive's score": Shares(0.05, 0.9),
            "none, of cosines": Shares(0.33, 0.45) if near else Shares(0.1, 0.8),
        },
        7,
        0.61 - 0.1 * one.age,
        0.2,
        {
            "0": Chosen(0.0, 0.0),
            "0.3": Chosen((0.15 if toys else 0.22) - 0.01 * near, -0.01),
            "1": Chosen(0.7, -0.2),
        },
    )


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    TINY.save(tmp_path)
    (tmp_path / "readings").mkdir()
    for one in aged(TINY):
        name, mark = TINY.data(one.data).name, PRINT + one.data
        key, read = one.key(mark), readings(one)
        values = {"format": "sahcns-readings", "data": {"name": name, "fingerprint": mark}, "readings": read.to_dict()}
        (tmp_path / "readings" / f"{key}.json").write_text(json.dumps(values), "utf-8")
    return Evidence.of(tmp_path)


def test_the_nearest_reading_of_fig_1a_is_named(evidence: Evidence) -> None:
    words = pools_otherwise(evidence)
    assert "Tested with 4 readings (2 ways to take a gap, models of 1, 2 epochs)" in words
    assert (
        "takes gaps of cosines, after 1 epoch, and gives Tiny toys 33.0 % and 45.0 %; Tiny yelp 33.0 % and 45.0 %"
        in words
    )
    # |33 - 33.18|, |45 - 44.47|, |33 - 31.69|, |45 - 46.72|
    assert words.endswith("on average 0.9 points away.")


def test_the_course_of_fig_1b_and_the_alpha_of_fig_5a(evidence: Evidence) -> None:
    words = similar_otherwise(evidence)
    assert (
        "(the paper: > 60 % and about 25 %): Tiny toys 51 % and 20 % after 1 epoch, 41 % and 20 % after 2 epochs"
        in words
    )
    words = choice_otherwise(evidence)
    assert (
        "Tiny toys α = 0.3 after 2 epochs: σ +15.0 % (the paper +15.2 %), μ -1.0 %, within the paper's 1.9 %" in words
    )
    assert "Tiny yelp α = 0.3 after 2 epochs: σ +22.0 % (the paper +22.7 %)" in words


def test_it_is_counted_shown_and_said_with_the_claims(evidence: Evidence, tmp_path: Path) -> None:
    assert str(evidence.standing("mechanisms")) == "not finished (4 of 8 models looked into)"
    report = paper_report(evidence.folder)
    section = next(one for one in report.sections if one.title.endswith("other readings"))
    assert {"gaps-one", "similar-two", "choices-one"} <= {getattr(block, "name", "") for block in section.blocks}
    assert pools_otherwise(Evidence.of(tmp_path / "nothing")) == UNTESTED
    assert not [one for one in judge(evidence) if "Tested" in one.reason]  # claims of figures that were not run
