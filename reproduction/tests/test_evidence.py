"""What a folder holds of the study, found by what decides each run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reproduction.design import PAPER, Design
from reproduction.evidence import Evidence
from reproduction.looks import aged
from reproduction.methods import METHOD
from reproduction.tests.tiny import TINY, fill, made, noisy
from sahcns.errors import DataError


def test_an_empty_folder_is_the_paper_s_study_with_nothing_run(tmp_path: Path) -> None:
    evidence = Evidence.of(tmp_path)
    assert evidence.design == PAPER
    assert str(evidence.standing("table2")) == "not run yet (0 of 135 runs)"
    assert str(evidence.standing("mechanisms")) == "not run yet (0 of 16 models looked into)"
    assert evidence.board("table2") is None
    assert evidence.about("ml-1m") is None


def test_runs_are_found_by_their_settings_and_counted(tmp_path: Path) -> None:
    fill(
        tmp_path,
        TINY,
        parts=["table2"],
        keep=lambda row, seed: row.data == "one" and (row.label, seed) != ("DNS", 2021),
    )
    evidence = Evidence.of(tmp_path)
    assert str(evidence.standing("table2")) == "not finished (17 of 36 runs)"
    assert evidence.about("one") is not None
    assert evidence.about("two") is None
    board = evidence.board("table2")
    assert board is not None
    assert list(board.data) == ["Tiny toys"]
    assert [row.method for row in board.rows][-1] == METHOD
    shared = evidence.standing("splits")
    assert (shared.found, shared.wanted) == (4, 12)  # the set as it was given, one seed


def test_a_run_in_two_tables_has_the_label_of_each(tmp_path: Path) -> None:
    fill(tmp_path, TINY, parts=["table3"])
    evidence = Evidence.of(tmp_path)
    labels = [one.label for one in evidence.runs("table3") if one.sampler["name"] == "hc-only"]
    assert labels == ["HC-only"] * 2 + ["SAHC w/o Discrepancy"] * 2 + ["HC-only"] * 2 + ["SAHC w/o Discrepancy"] * 2
    assert len({one.key for one in evidence.runs("table3")}) == evidence.standing("table3").wanted


def test_a_run_with_another_setting_is_not_taken_for_it(tmp_path: Path) -> None:
    fill(tmp_path, TINY, parts=["table2"])
    row = next(row for row in Evidence.of(tmp_path).rows("table2") if row.label == "BNS")
    assert row.sampler is not None
    before = Evidence.of(tmp_path).standing("table2")
    path = tmp_path / "runs" / f"{Evidence.of(tmp_path).key(row, 2020)}.json"
    path.unlink()
    made(TINY, replace(row, sampler={**row.sampler, "lam": 4.0}), 2020, noisy).save(tmp_path)
    assert Evidence.of(tmp_path).standing("table2").found == before.found - 1


def test_two_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    fill(tmp_path, TINY, parts=["table2"])
    path = next((tmp_path / "runs").iterdir())
    values = json.loads(path.read_text("utf-8"))
    values["data"]["fingerprint"] = "f" * 64
    path.write_text(json.dumps(values), "utf-8")
    with pytest.raises(DataError, match="two different sets called 'Tiny"):
        Evidence.of(tmp_path)


def test_runs_by_other_kernels_are_left_out_and_counted(tmp_path: Path) -> None:
    fill(tmp_path, TINY, parts=["table2"])
    for path in list((tmp_path / "runs").iterdir())[:3]:
        values = json.loads(path.read_text("utf-8"))
        values["machine"]["kernels"] = "triton"
        path.write_text(json.dumps(values), "utf-8")
    evidence = Evidence.of(tmp_path)
    assert (evidence.left_out, evidence.standing("table2").found) == (3, 33)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "diagnostics").mkdir()
    (tmp_path / "diagnostics" / "x.json").write_text("{", "utf-8")
    with pytest.raises(DataError, match=r"x\.json cannot be read"):
        Evidence.of(tmp_path)
    (tmp_path / "diagnostics" / "x.json").write_text("{}", "utf-8")
    with pytest.raises(DataError, match=r"x\.json is no file of the study"):
        Evidence.of(tmp_path)


def test_a_design_comes_back_from_its_file(tmp_path: Path) -> None:
    for design in (PAPER, TINY):
        design.save(tmp_path)
        assert Design.load(tmp_path) == design
    (tmp_path / "study.json").write_text("[]", "utf-8")
    with pytest.raises(DataError, match="not the description of a study"):
        Design.load(tmp_path)
    with pytest.raises(DataError, match="holds no study"):
        Design.load(tmp_path / "nothing")


def test_a_study_of_another_version_is_named_with_its_file(tmp_path: Path) -> None:
    values = json.loads(TINY.save(tmp_path).read_text("utf-8"))
    del values["ages"]
    (tmp_path / "study.json").write_text(json.dumps(values), "utf-8")
    with pytest.raises(
        DataError, match=r"study\.json: there is no 'ages' in this Design, so another version of sahcns"
    ):
        Evidence.of(tmp_path)


def test_what_another_version_saw_is_named_with_its_file(tmp_path: Path) -> None:
    fill(tmp_path, TINY, parts=["table2"])
    evidence = Evidence.of(tmp_path)
    found: dict[str, dict[str, Any]] = {one.key(evidence.fingerprint(one.data)): {"readings": {}} for one in aged(TINY)}
    with pytest.raises(DataError, match=rf"readings/{next(iter(found))}\.json: there is no '\w+' in this PoolReadings"):
        assert replace(evidence, files=found).readings
