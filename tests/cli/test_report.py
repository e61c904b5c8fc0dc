"""`sahcns report`: a page from the files in a folder alone, its figures and tables as files, mistakes named."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import pytest

from sahcns.data import save_split
from sahcns.files import json_lines
from sahcns.lab.grid.result import Failure, results_in
from sahcns.lab.grid.run import run_grid
from tests.cli.conftest import Sahcns, refused
from tests.lab.grid.jobs import prepared, several
from tests.model.films import films

QUICK = ("--epochs", "2", "--batch", "64", "--evaluate-every", "1", "--device", "cpu")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs; the data they were made from is gone."""
    home = tmp_path_factory.mktemp("study")
    data = prepared(home)
    run_grid(several(data), home / "study", device="cpu")
    shutil.rmtree(data)
    return home / "study"


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "study"))


@pytest.fixture
def tuned(sahcns: Sahcns, tmp_path: Path) -> Path:
    data = save_split(films(), tmp_path / "films")
    asked = ("--samplers", "dns,sahc", "--trials", "2", "--set", "backbone.dim=4", "--out", tmp_path / "tuned")
    assert sahcns("tune", data, *QUICK, *asked).code == 0
    return tmp_path / "tuned"


def text_of(page: Path) -> str:
    """A page without its script, which holds words of all kinds."""
    return page.read_text("utf-8").partition("<script>")[0]


def read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def rewrite(run: Path, **values: object) -> None:
    run.write_text(json_lines({**json.loads(run.read_text("utf-8")), **values}), "utf-8")


def test_a_page_comes_of_a_comparison_without_torch_and_the_same_each_time(sahcns: Sahcns, study: Path) -> None:
    code = (
        "import sys\n"
        "from sahcns.cli import COMMANDS, HELP\n"
        "from sahcns.cli.group import run\n"
        "code = run(COMMANDS, HELP, ['report', sys.argv[1]])\n"
        "assert 'torch' not in sys.modules\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, study], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"page in {study / 'report.html'}\n"
    page = text_of(study / "report.html")
    for result in results_in(study):
        assert result.label in page
        assert result.data["fingerprint"][:12] in page
    assert page.count("<figure ") >= 3
    assert "sahcns compare" in page
    before = (study / "report.html").read_bytes()
    assert sahcns("report", study).code == 0
    assert (study / "report.html").read_bytes() == before
    assert [path.name for path in study.iterdir() if path.name.startswith(".")] == []


def test_figures_and_tables_become_files(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    asked = ("--figures", tmp_path / "f", "--tables", tmp_path / "t", "--out", tmp_path / "new" / "page.html")
    done = sahcns("report", study, *asked, "--title", "Two <samplers>", "--json")
    assert done.code == 0
    assert (done.json["kind"], done.json["title"]) == ("comparison", "Two <samplers>")
    assert "<title>Two &lt;samplers&gt;</title>" in text_of(Path(done.json["page"]))
    for folder, endings in (("f", {".svg", ".png", ".pdf"}), ("t", {".md", ".tex", ".csv"})):
        written = {Path(path) for path in done.json[{"f": "figures", "t": "tables"}[folder]]}
        assert written == set((tmp_path / folder).iterdir())
        assert {path.suffix for path in written} == endings
        assert len(written) == len(endings) * len({path.stem for path in written} - {"runs"}) + (folder == "t")
    assert r"\label{tab:comparison}" in (tmp_path / "t" / "comparison.tex").read_text("utf-8")


def test_letters_that_pdflatex_has_not_are_named(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    for path in (study / "runs").glob("*.json"):
        rewrite(path, data={**json.loads(path.read_text("utf-8"))["data"], "name": "電影"})
    done = sahcns("report", study, "--tables", tmp_path / "t")
    assert (done.code, "電 影" in done.err) == (0, True)


def test_every_run_is_a_row_with_the_values_of_its_file(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    def plain(text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            return text

    own = next(path for path in (study / "runs").iterdir() if "-dns-" in path.name)
    rewrite(own, sampler={"name": "sahc", "pool": 5, "alpha": 0.25}, imports=["a.py", "b.py"], commit=None)
    assert sahcns("report", study, "--tables", tmp_path / "t").code == 0
    rows = {row["key"]: row for row in read(tmp_path / "t" / "runs.csv")}
    assert rows.keys() == {path.stem for path in (study / "runs").iterdir()}
    for path in (study / "runs").iterdir():
        run = json.loads(path.read_text("utf-8"))
        row: dict[str, Any] = {name: plain(text) for name, text in rows[path.stem].items()}
        for part, reading in (("test", "best"), ("test", "last"), ("valid", "best"), ("valid", "last")):
            for name, value in run[part][reading].items():
                assert row[f"{part}.{reading}.{name}"] == value
        for part in ("sampler", "backbone", "protocol", "data"):
            for name, value in run[part].items():
                assert row[f"{part}.{name}"] == value
        for name in ("label", "seed", "best_epoch", "epochs_run", "stopped"):
            assert row[name] == run[name]
        assert row["seconds.total"] == run["seconds"]["total"]
        assert row["commit"] == (run["commit"] or "")
        assert not [name for name in row if name.startswith(("history", "format"))]
    frame = pandas.read_csv(tmp_path / "t" / "runs.csv").set_index("key")
    assert frame["sampler.alpha"].dropna().to_dict() == {own.stem: 0.25}  # others have none
    assert frame.loc[own.stem, "imports"] == "a.py; b.py"
    assert frame["test.best.recall@20"].dtype == "float64"


def test_versions_of_one_s_own_code_are_told_apart_and_can_be_left_out(
    sahcns: Sahcns, study: Path, tmp_path: Path
) -> None:
    """A file was changed after three runs: those are of its earlier version."""
    for path in (study / "runs").iterdir():
        earlier = "-dns-" in path.name
        code = "aaaaaaaa01234567" if earlier else "bbbbbbbb01234567"
        rewrite(path, label="mine", sampler={"name": "mine", "pool": 5}, code=code)
        os.utime(path, times=(0, 1_700_000_000 + 86_400 * (not earlier)))

    def methods(*asked: str) -> tuple[list[str], str]:
        done = sahcns("report", study, *asked, "--tables", tmp_path / "t")
        return [row["Method"] for row in read(tmp_path / "t" / "comparison.csv")], " ".join(done.err.split())

    rows, words = methods()
    assert rows == ["mine (code=aaaaaaaa)", "mine (code=bbbbbbbb)"]
    assert "code=aaaaaaaa (3 runs, the last of 2023-11-1" in words
    assert words.endswith("--samplers 'mine (code=bbbbbbbb)'")
    assert "2 versions of its own code" in text_of(study / "report.html")
    assert methods("--samplers", "mine (code=bbbbbbbb)") == (["mine"], "")
    assert "versions" not in text_of(study / "report.html")
    assert "mine (code=cc)" in refused(sahcns("report", study, "--samplers", "mine (code=cc)"))


def test_without_altair_the_page_has_tables_and_a_word_about_it(
    sahcns: Sahcns, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "sahcns.lab.report.chart", raising=False)
    done = sahcns("report", study)
    assert (done.code, "sahcns[report]" in done.err) == (0, True)
    assert "recall" in text_of(study / "report.html").lower()
    assert "sahcns[report]" in refused(sahcns("report", study, "--figures", tmp_path / "f"))


def test_rows_columns_and_baseline_are_the_reader_s_choice(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    def table(*asked: str) -> list[list[str]]:
        assert sahcns("report", study, *asked, "--tables", tmp_path / "t").code == 0
        return [line.split(",") for line in (tmp_path / "t" / "comparison.csv").read_text("utf-8").splitlines()]

    assert [row[0] for row in table("--baseline", "rns")] == ["Method", "dns", "rns"]
    head, *rows = table("--samplers", "rns,dns", "--metrics", "hit@20,recall@10")
    assert head == ["Method", "HR@20", "HR@20 std", "R@10", "R@10 std"]
    assert [row[0] for row in rows] == ["rns", "dns"]
    assert "against rns" in (tmp_path / "t" / "pairwise.md").read_text("utf-8")  # the first that was named
    for wrong in (
        ("--samplers", "dsn"),
        ("--samplers", "dns,dns"),
        ("--metrics", "recal@20"),
        ("--baseline", "nobody"),
    ):
        assert wrong[1] in refused(sahcns("report", study, *wrong))


def test_runs_that_failed_are_named(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    for name in ("rns", "dns"):
        Failure(f"mf-{name}-s9-0", name, f"{name} went wrong").save(study)
    finished = results_in(study)[0]
    Failure(finished.key, finished.label, "an error of yesterday").save(study)
    for asked, shown in (((), (True, True)), (("--samplers", "dns"), (True, False))):
        assert sahcns("report", study, *asked).code == 0
        page = text_of(study / "report.html")
        assert ("dns went wrong" in page, "rns went wrong" in page) == shown
        assert "an error of yesterday" not in page


def test_a_page_comes_of_a_search_and_of_both(sahcns: Sahcns, study: Path, tuned: Path) -> None:
    assert sahcns("report", tuned, "--json").json["kind"] == "search"
    assert "lambda_max" in text_of(tuned / "report.html")
    for option, value in (("--baseline", "dns"), ("--samplers", "dns,sahc"), ("--metrics", "recall@20")):
        assert f"{option} {value}" in refused(sahcns("report", tuned, option, value))
    shutil.copy(tuned / "trials.json", study)
    assert sahcns("report", study, "--json").json["kind"] == "comparison and search"
    page = text_of(study / "report.html")
    assert "lambda_max" in page
    assert "<h2>Pairs</h2>" in page


def test_a_page_comes_of_an_inspection(sahcns: Sahcns, tmp_path: Path) -> None:
    data, run, file = save_split(films(), tmp_path / "films"), tmp_path / "run", tmp_path / "inside.json"
    assert sahcns("train", data, *QUICK, "--sampler", "sahc", "--set", "backbone.dim=4", "--out", run).code == 0
    file.write_text(sahcns("inspect", run, "--epoch", "--pairs", "1", "--device", "cpu", "--json").out, "utf-8")
    assert sahcns("report", file, "--json").json["kind"] == "inspection"
    assert "<figure" in text_of(tmp_path / "inside.html")
    assert f"{run} is one trained model" in refused(sahcns("report", run))
    assert f"{data} is a prepared set" in refused(sahcns("report", data))


def test_mistakes_are_one_sentence_and_leave_the_former_page(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    (study / "report.html").write_text("former")
    (tmp_path / "empty").mkdir()
    (tmp_path / "begun" / "runs").mkdir(parents=True)
    files = {"x": "{", "y": '{"model": 1}', "z": '{"model": "m", "pairs": [{}], "diagnostics": {}, "costs": {}}'}
    for name, text in files.items():
        (tmp_path / name).with_suffix(".json").write_text(text)
    for name in ("none", "empty", "begun", *(f"{name}.json" for name in files)):
        assert str(tmp_path / name) in refused(sahcns("report", tmp_path / name))
    (study / "page").write_text("a file where a folder should be")
    for out in (tmp_path, study / "page" / "report.html"):
        assert str(out) in refused(sahcns("report", study, "--out", out))
    broken = next((study / "runs").iterdir())
    broken.write_text("{")
    assert str(broken) in refused(sahcns("report", study))
    assert (study / "report.html").read_text() == "former"
