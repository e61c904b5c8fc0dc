"""The whole study in miniature, really run; and its report, rebuilt from the small files without torch."""

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from reproduction.claims import judge
from reproduction.evidence import Evidence
from reproduction.methods import RIVALS, as_printed
from reproduction.page import does_it_hold
from reproduction.report import paper_report
from reproduction.sections.standing import TITLES
from reproduction.study import PARTS, OutOfTime, Study
from reproduction.tests.tiny import TINY, prepared
from sahcns.data import save_split
from sahcns.errors import DataError, SettingError
from sahcns.lab.grid.result import Result
from sahcns.lab.grid.run import run_grid
from sahcns.lab.grid.sources import VARIABLE
from sahcns.lab.report.as_markdown import to_markdown
from sahcns.lab.report.page import figures_of, tables_of, to_html
from sahcns.lab.report.parts import Report
from tests.splits import random_split

COMMIT = "0123456789"
LIKE = {one.folder: one.like for one in TINY.sets}
ALONE = """
    import sys

    class Nothing:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("torch", "optuna", "polars", "matplotlib"):
                raise ImportError(f"{name} is not here")

    sys.meta_path.insert(0, Nothing())
    from sahcns.lab.report.page import to_html
    from reproduction.page import does_it_hold
    from reproduction.report import paper_report

    open(sys.argv[2], "w", encoding="utf-8").write(to_html(paper_report(sys.argv[1])))
    open(sys.argv[3], "w", encoding="utf-8").write(does_it_hold(sys.argv[1]))
"""


def run_all(study: Study) -> list[str]:
    """Every part, one after the other; what was said on the way."""
    said: list[str] = []
    study.design.save(study.out)
    study.split_anew()
    for one, samplers in study.searches:
        study.tune(one.folder, samplers)
    run_grid(study.jobs, study.out, device="cpu")
    study.look(said.append)
    study.clock(said.append)
    return said


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a whole tiny study."""
    folder = tmp_path_factory.mktemp("study")
    out = folder / "results"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, COMMIT)  # the sources may stand outside of any checkout
        said = run_all(Study.of(TINY, prepared(folder / "prepared"), out, device="cpu"))
    assert len(said) == 4 + 4 + 2
    return out


def blocks(report: Report) -> set[str]:
    return {one.name for one in tables_of(report)} | {one.name for one in figures_of(report)}


def test_every_part_is_complete(home: Path) -> None:
    evidence = Evidence.of(home)
    assert not [name for name in TITLES if not evidence.standing(name).complete]
    assert "not run yet" not in {one.verdict for one in judge(evidence)}
    assert not list((home / "failed").glob("*")) if (home / "failed").exists() else True


def test_each_search_begins_with_what_the_paper_prints_for_the_set(home: Path) -> None:
    printed = {"one": {"alpha": 1.0, "gamma": 0.3}, "two": {"alpha": 0.0, "gamma": 0.05}}
    for folder, search in Evidence.of(home).searches.items():
        assert search.of("dens")[0].point == {**printed[folder], "schedule": "fixed"}
        for name in RIVALS:
            told = {**as_printed(LIKE[folder], name), "pool": TINY.pool}
            point = search.of(name)[0].point
            assert point == {key: told[key] for key in point}


def test_a_second_time_nothing_is_run(home: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*.json") if path.parent.name != "one"}
    again = Study.of(TINY, home.parent / "prepared", home, device="cpu")
    began: list[str] = []
    again.split_anew()
    outcome = run_grid(again.jobs, home, device="cpu", on_event=lambda event: began.append(event.kind))
    again.look(began.append)
    again.clock(began.append)
    assert set(began) == {"skipped"}
    assert not outcome.failures
    for path, when in before.items():
        assert path.stat().st_mtime_ns == when or "tuning" in path.parts


def test_each_file_says_what_it_was_made_with(home: Path) -> None:
    for path in (*(home / "diagnostics").iterdir(), *(home / "efficiency").iterdir()):
        values = json.loads(path.read_text("utf-8"))
        assert values["key"] == path.stem
        assert values["protocol"] == TINY.protocol
        assert values["machine"]["kernels"] == "cpu"
        assert values["commit"] == COMMIT
        assert {"seconds", "data", "format"} <= values.keys()
    for path in (home / "readings").iterdir():
        values = json.loads(path.read_text("utf-8"))
        assert values["key"] == path.stem
        assert values["protocol"] == {**TINY.protocol, "epochs": values["age"]}
        assert values["commit"] == COMMIT
        assert {"seconds", "data", "format", "machine"} <= values.keys()
    found = Result.load(next((home / "runs").iterdir()))
    assert found.commit == COMMIT
    assert {"torch", "numpy", "device"} <= found.machine.keys()


def test_every_table_and_figure_is_there(home: Path) -> None:
    report = paper_report(home)
    wanted = {
        *("claims", "beyond", "parts", "table-1", "table-2-best", "table-2-last", "table-2-lead-best", "table-2-one"),
        *("table-3-one", "table-3-two", "table-3-pairs", "table-4-ngcf-one", "table-4-simgcl-two", "mechanisms"),
        *("pool-gaps-one-dns", "diagnostics-two-sahc", "easy-and-hard-one-dns", "seconds Tiny toys", "efficiency"),
        *("figure-4-alpha-recall@20-one", "figure-4-pool-ndcg@20-two", "equal-best", "equal-pairs", "power-lead-best"),
        *("gaps-one", "similar-two", "choices-one"),
        *("splits-recall@20", "pools-ndcg@20", "choices", "tuning-one", "search-one", "going-two"),
    }
    assert wanted <= blocks(report)
    assert [section.title for section in report.sections if not section.blocks] == []
    for table in tables_of(report):
        to_markdown(table)
    assert report.facts


def test_it_is_rebuilt_without_torch_and_without_training(home: Path, tmp_path: Path) -> None:
    page, claims = tmp_path / "page.html", tmp_path / "claims.md"
    line = [sys.executable, "-c", textwrap.dedent(ALONE), str(home), str(page), str(claims)]
    subprocess.run(line, check=True, timeout=120)
    assert page.read_text("utf-8") == to_html(paper_report(home))
    assert claims.read_text("utf-8") == does_it_hold(home)


def test_it_changes_when_a_file_changes(home: Path) -> None:
    before, page = to_html(paper_report(home)), does_it_hold(home)
    assert to_html(paper_report(home)) == before
    evidence = Evidence.of(home)
    row = next(row for row in evidence.rows("table2") if row.label == "RNS")
    kinds = [
        home / "runs" / f"{evidence.key(row, 2020)}.json",
        *(next((home / kind).iterdir()) for kind in ("diagnostics", "efficiency")),
        home / "tuning" / "two" / "trials.json",
    ]
    for path in kinds:
        whole = path.read_text("utf-8")
        path.write_text(_changed(json.loads(whole), path), "utf-8")
        try:
            assert to_html(paper_report(home)) != before, path
            if path.parent.name == "runs":
                assert does_it_hold(home) != page
        finally:
            path.write_text(whole, "utf-8")


def _changed(values: dict[str, Any], path: Path) -> str:
    """The same file with one number of it another."""
    if path.parent.name == "runs":
        values["test"]["best"]["recall@20"] = 0.987
    elif path.parent.name == "diagnostics":
        values["diagnostics"]["DNS"]["pools"]["near"] = 0.987
    elif path.parent.name == "efficiency":
        values["costs"][-1]["extra"] = 0.987
    else:
        values["trials"][0]["value"] = 0.0123
    return json.dumps(values)


def test_what_is_missing_is_named(home: Path, tmp_path: Path) -> None:
    TINY.save(tmp_path)
    report = paper_report(tmp_path)
    assert report.summary[-1].startswith("Not run yet: ")
    text = to_html(report)
    for part in PARTS:
        assert f"--only {part}" in text, part
    assert "Nothing has been run yet." in does_it_hold(tmp_path)
    (tmp_path / "runs").mkdir()
    evidence = Evidence.of(home)
    for one in evidence.runs("table2")[:5]:
        one.save(tmp_path)
    assert "Not finished: Table II (5 of " in " ".join(paper_report(tmp_path).summary)


def test_no_run_is_begun_after_the_time(tmp_path: Path) -> None:
    study = Study.of(TINY, prepared(tmp_path / "prepared"), tmp_path / "out", device="cpu", until=time.time())
    study.design.save(study.out)
    with pytest.raises(OutOfTime):
        study.tune("one")
    outcome = run_grid(study.jobs, study.out, device="cpu", until=study.until)
    assert (outcome.results, outcome.failures) == ([], [])
    said: list[str] = []
    study.look(said.append)
    study.clock(said.append)
    assert said == []


def test_parts_and_sets_are_chosen(tmp_path: Path) -> None:
    home = prepared(tmp_path / "prepared")
    study = Study.of(TINY, home, tmp_path / "out", ["table4", "tuning"], seeds=1)
    assert study.parts == ["tuning", "table4"]
    assert {one.backbone["name"] for one in study.jobs} == {"ngcf", "simgcl"}
    with pytest.raises(SettingError, match="no part 'tabel2'; did you mean 'table2'"):
        Study.of(TINY, home, tmp_path / "out", ["tabel2"])
    (home / "two").rename(home / "other")
    assert Study.of(TINY, home, tmp_path / "out").absent == ["two"]
    with pytest.raises(DataError, match="none of the prepared sets one, two"):
        Study.of(TINY, tmp_path, tmp_path / "out")


def test_another_study_and_other_data_are_refused(home: Path, tmp_path: Path) -> None:
    from reproduction.design import PAPER

    other = save_split(random_split(40, 60, 6, seed=9), tmp_path / "one").parent
    with pytest.raises(DataError, match="is other data"):
        Study.of(TINY, other, home)
    save_split(random_split(40, 60, 6), tmp_path / "amazon-toys")
    with pytest.raises(DataError, match="holds another study"):
        Study.of(PAPER, tmp_path, home)
