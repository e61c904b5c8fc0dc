"""`sahcns reproduce`: the study from the command line, its report and its page."""

from pathlib import Path

import pytest

from reproduction import design
from reproduction.design import Design
from reproduction.study import Study
from reproduction.tests.tiny import TINY, fill, prepared
from sahcns.data import read_manifest
from tests.cli.conftest import Sahcns, refused

SMALL = Design.from_dict({**TINY.to_dict(), "seeds": 1, "many": 1})


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's study is a tiny one here."""
    monkeypatch.setattr(design, "PAPER", SMALL)


@pytest.mark.usefixtures("tiny")
def test_a_table_is_run_and_reported(sahcns: Sahcns, tmp_path: Path) -> None:
    home, out = prepared(tmp_path / "prepared"), tmp_path / "results"
    asked = ("reproduce", home, "--out", out, "--only", "table2, efficiency", "--device", "cpu")
    done = sahcns(*asked)
    assert done.code == 0, done.err
    lines = done.err.splitlines()
    assert lines[0].startswith("2 of 4: 18 runs for table2, 0 of them there")
    assert sum(" seed 2020: recall@20 " in line for line in lines) == 18
    assert "18 of 18 runs" in lines[18]
    assert [line for line in lines if line.endswith("timed")] == [
        "Tiny toys: DNS, SA-only and SAHC-NS timed",
        "Tiny yelp: DNS, SA-only and SAHC-NS timed",
    ]
    assert f"report in {out / 'report.html'}" in done.out
    assert "Table II" in (out / "report.html").read_text("utf-8")
    again = sahcns(*asked, "--json")
    assert (again.code, again.err) == (0, "")
    assert again.json["parts"]["table2"] == {"there": 18, "of": 18, "what": "runs"}
    assert again.json["parts"]["power"]["there"] < again.json["parts"]["power"]["of"]
    shown = sahcns("report", out, "--json")
    assert shown.json["kind"] == "study"


@pytest.mark.usefixtures("tiny")
def test_time_and_absent_sets(sahcns: Sahcns, tmp_path: Path) -> None:
    home = prepared(tmp_path / "prepared")
    (home / "two").rename(home / "elsewhere")
    done = sahcns("reproduce", home, "--out", tmp_path / "out", "--minutes", "0", "--device", "cpu")
    assert done.code == 0, done.err
    assert "two is not there: what needs it is left out" in done.err
    assert not (tmp_path / "out" / "runs").exists()
    assert (home / "one-split-2" / "manifest.json").exists()


@pytest.mark.usefixtures("tiny")
def test_tuning_is_left_out_where_optuna_is_missing(
    sahcns: Sahcns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sahcns.errors import SahcnsError

    def missing() -> None:
        raise SahcnsError("tuning needs Optuna, which is not installed")

    monkeypatch.setattr("sahcns.lab.tune.propose.import_optuna", missing)
    home = prepared(tmp_path / "prepared")
    done = sahcns("reproduce", home, "--out", tmp_path / "out", "--only", "tuning,efficiency", "--device", "cpu")
    assert done.code == 0
    assert "tuning needs Optuna" in done.err
    alone = sahcns("reproduce", home, "--out", tmp_path / "out", "--only", "tuning", "--json")
    assert refused(alone).startswith("tuning needs Optuna")


def test_without_sets_the_report_and_the_page_are_made_from_what_is_there(sahcns: Sahcns, tmp_path: Path) -> None:
    out, page = fill(tmp_path / "results", TINY), tmp_path / "page.md"
    done = sahcns("reproduce", "--out", out, "--page", page)
    assert (done.code, done.err) == (0, "")
    assert page.read_text("utf-8").startswith("# Does it hold?")
    assert f"page in {page}" in done.out


def test_a_miniature_runs_on_the_embedded_set(sahcns: Sahcns, tmp_path: Path) -> None:
    out = tmp_path / "quick"
    done = sahcns("reproduce", "--quick", "--out", out, "--only", "efficiency", "--device", "cpu", "--json")
    assert done.code == 0, done.err
    assert done.json["parts"]["efficiency"] == {"there": 1, "of": 1, "what": "sets timed"}
    assert read_manifest(out / "data" / "ml-latest-small")["statistics"]["users"] == 412
    assert "A miniature" in (out / "report.html").read_text("utf-8")


def test_mistakes(sahcns: Sahcns, tmp_path: Path) -> None:
    home = prepared(tmp_path / "prepared")
    assert "leave out" in refused(sahcns("reproduce", home, "--quick"))
    assert "none of the prepared sets amazon-toys" in refused(sahcns("reproduce", home, "--out", tmp_path / "out"))
    prepared(tmp_path / "sets", Design.from_dict({**TINY.to_dict(), "sets": design.PAPER.to_dict()["sets"]}))
    told = refused(sahcns("reproduce", tmp_path / "sets", "--out", tmp_path / "out", "--only", "tabel2"))
    assert told == "the study has no part 'tabel2'; did you mean 'table2'?"


def test_without_sets_whoever_wants_runs_or_has_none_is_told(sahcns: Sahcns, tmp_path: Path) -> None:
    out = tmp_path / "results"
    told = refused(sahcns("reproduce", "--out", out))
    assert (
        told
        == f"{out} holds no results to report on; to run the study, name the folder of prepared sets, or take --quick"
    )
    assert not out.exists()
    fill(out, TINY)
    for option, value in (("--only", "table2"), ("--seeds", "3"), ("--minutes", "20"), ("--workers", "2")):
        told = refused(sahcns("reproduce", "--out", out, option, value))
        assert told.startswith(f"{option} is about runs, and without prepared sets nothing is run; name the folder")


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("stage", ["tune", "look", "clock"])
def test_whatever_is_stopped_says_that_it_goes_on(
    stage: str, sahcns: Sahcns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    part = {"tune": "tuning", "look": "mechanisms", "clock": "efficiency"}[stage]
    monkeypatch.setattr(Study, stage, stop)
    home, out = prepared(tmp_path / "prepared"), tmp_path / "out"
    done = sahcns("reproduce", home, "--out", out, "--only", part, "--device", "cpu")
    assert done.code == 130
    assert done.err.splitlines()[-2:] == [
        f"what is finished is kept in {out}; the same command goes on from there",
        "error: interrupted",
    ]
