"""`sahcns report`: a page from the files in a folder alone, its figures and tables as files, every mistake in one sentence."""

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
from sahcns.lab.grid.result import results_in
from sahcns.lab.grid.run import Failure, run_grid
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


def test_a_page_comes_of_a_comparison(sahcns: Sahcns, study: Path) -> None:
    done = sahcns("report", study)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"page in {study / 'report.html'}\n"
    page = text_of(study / "report.html")
    for result in results_in(study):
        assert result.label in page
        assert result.data["fingerprint"][:12] in page
    assert page.count("<figure ") >= 3
    assert "sahcns compare" in page
    assert [path.name for path in study.iterdir() if path.name.startswith(".")] == []


def text_of(page: Path) -> str:
    """A page without its script, which holds words of all kinds."""
    return page.read_text("utf-8").partition("<script>")[0]


def test_nothing_is_trained_and_nothing_else_is_needed(study: Path) -> None:
    """Not even torch is imported, and the prepared set is gone."""
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
    assert (study / "report.html").exists()


def test_made_again_it_is_the_same_page(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    pages = [tmp_path / f"{at}.html" for at in (1, 2)]
    for page in pages:
        assert sahcns("report", study, "--out", page).code == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_figures_and_tables_become_files(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    asked = ("--figures", tmp_path / "f", "--tables", tmp_path / "t", "--out", tmp_path / "new" / "page.html")
    done = sahcns("report", study, *asked, "--title", "Two <samplers>", "--json")
    assert done.code == 0
    assert (done.json["kind"], done.json["title"]) == ("comparison", "Two <samplers>")
    assert "<title>Two &lt;samplers&gt;</title>" in Path(done.json["page"]).read_text("utf-8")
    for folder, endings in (("f", {".svg", ".png", ".pdf"}), ("t", {".md", ".tex", ".csv"})):
        written = {Path(path) for path in done.json[{"f": "figures", "t": "tables"}[folder]]}
        assert written == set((tmp_path / folder).iterdir())
        assert {path.suffix for path in written} == endings
        whole = {path.stem for path in written} - {"runs"}
        assert len(written) == len(endings) * len(whole) + (folder == "t")
        assert all(path.stat().st_size > 50 for path in written)
    assert r"\label{tab:comparison}" in (tmp_path / "t" / "comparison.tex").read_text("utf-8")
    told = sahcns("report", study, *asked).out
    assert f"files of figures in {tmp_path / 'f'}\n" in told
    assert f"files of tables in {tmp_path / 't'}\n" in told


def test_letters_that_pdflatex_has_not_are_told(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    done = sahcns("report", study, "--tables", tmp_path / "t", "--out", tmp_path / "page.html")
    assert (done.code, "pdflatex" in done.err) == (0, False)
    for path in (study / "runs").glob("*.json"):
        run = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({**run, "data": {**run["data"], "name": "電影"}}), "utf-8")
    done = sahcns("report", study, "--tables", tmp_path / "t", "--out", tmp_path / "page.html")
    assert done.code == 0
    assert "warning: pdflatex has no 電 影: with these tables use lualatex or xelatex" in done.err


def test_every_run_is_a_row_with_the_values_of_its_file(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    assert sahcns("report", study, "--tables", tmp_path / "t").code == 0
    rows = {row["key"]: row for row in read(tmp_path / "t" / "runs.csv")}
    assert rows.keys() == {path.stem for path in (study / "runs").iterdir()}
    for path in (study / "runs").iterdir():
        run = json.loads(path.read_text("utf-8"))
        row: dict[str, Any] = {name: plain(text) for name, text in rows[path.stem].items()}
        assert (row["label"], row["seed"]) == (run["label"], run["seed"])
        for part in ("test", "valid"):
            for reading in ("best", "last"):
                for name, value in run[part][reading].items():
                    assert row[f"{part}.{reading}.{name}"] == value
        for part in ("sampler", "backbone", "protocol", "data"):
            for name, value in run[part].items():
                assert row[f"{part}.{name}"] == value
        for name in ("best_epoch", "epochs_run", "stopped"):
            assert row[name] == run[name]
        assert row["seconds.total"] == run["seconds"]["total"]
        assert row["machine.device"] == run["machine"]["device"]
        assert row["commit"] == (run["commit"] or "")
        assert not [name for name in row if name.startswith(("history", "format"))]
    assert sahcns("report", study, "--samplers", "dns", "--tables", tmp_path / "t").code == 0
    frame = pandas.read_csv(tmp_path / "t" / "runs.csv")
    assert (set(frame["label"]), frame["test.best.recall@20"].dtype) == ({"dns"}, "float64")


def read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def plain(text: str) -> Any:
    """A number, truth or word, as JSON would have it."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_settings_of_their_own_leave_others_empty(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    run = next(path for path in (study / "runs").iterdir() if "-dns-" in path.name)
    rewritten(run, sampler={"name": "sahc", "pool": 5, "alpha": 0.25}, imports=["a.py", "b.py"], commit=None)
    assert sahcns("report", study, "--tables", tmp_path / "t").code == 0
    frame = pandas.read_csv(tmp_path / "t" / "runs.csv").set_index("key")
    assert frame["sampler.alpha"].dropna().to_dict() == {run.stem: 0.25}
    assert frame.loc[run.stem, "imports"] == "a.py; b.py"
    assert pandas.isna(frame.loc[run.stem, "commit"])


def rewritten(run: Path, **values: object) -> None:
    run.write_text(json.dumps({**json.loads(run.read_text("utf-8")), **values}), "utf-8")


def test_versions_of_one_s_own_code_are_told_apart_and_can_be_left_out(
    sahcns: Sahcns, study: Path, tmp_path: Path
) -> None:
    """A file was changed after three runs: those are of its earlier version."""
    for path in (study / "runs").iterdir():
        earlier = "-dns-" in path.name
        code = "aaaaaaaa01234567" if earlier else "bbbbbbbb01234567"
        rewritten(path, label="mine", sampler={"name": "mine", "pool": 5}, code=code)
        os.utime(path, times=(0, 1_700_000_000 + 86_400 * (not earlier)))

    def methods(*asked: str) -> list[str]:
        done = sahcns("report", study, *asked, "--tables", tmp_path / "t")
        assert done.code == 0
        told.append(done.err)
        return [row["Method"] for row in read(tmp_path / "t" / "comparison.csv")]

    told: list[str] = []
    assert methods() == ["mine (code=aaaaaaaa)", "mine (code=bbbbbbbb)"]
    words = " ".join(told[0].split())
    assert words.startswith(
        "mine on mf was run with 2 versions of its own code: code=aaaaaaaa (3 runs, the last of 2023-11-1"
    )
    assert words.endswith("to leave some out, name the rows to show, such as --samplers 'mine (code=bbbbbbbb)'")
    assert "mine was run with 2 versions of its own code" in text_of(study / "report.html")
    assert methods("--samplers", "mine (code=bbbbbbbb)") == ["mine"]
    assert told[1] == ""
    assert "versions" not in text_of(study / "report.html")
    assert "no finished run goes by 'mine (code=cc)'" in refused(
        sahcns("report", study, "--samplers", "mine (code=cc)")
    )


def test_without_altair_the_page_has_tables_and_a_word_about_it(
    sahcns: Sahcns, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "sahcns.lab.report.chart", raising=False)
    done = sahcns("report", study)
    assert (done.code, "sahcns[report]" in done.err) == (0, True)
    assert "recall" in text_of(study / "report.html").lower()
    assert "sahcns[report]" in refused(sahcns("report", study, "--figures", tmp_path / "f"))


def test_rows_and_columns_are_the_reader_s_choice(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    def table(*asked: str) -> list[list[str]]:
        assert sahcns("report", study, *asked, "--tables", tmp_path / "t").code == 0
        return [line.split(",") for line in (tmp_path / "t" / "comparison.csv").read_text("utf-8").splitlines()]

    assert [row[0] for row in table()] == ["Method", "dns", "rns"]
    asked = ("--samplers", "rns,dns", "--metrics", "hit@20,recall@10")
    assert [row[0] for row in table(*asked)] == ["Method", "rns", "dns"]
    assert table(*asked)[0] == ["Method", "HR@20", "HR@20 std", "R@10", "R@10 std"]
    assert "against rns" in (tmp_path / "t" / "pairwise.md").read_text("utf-8")  # the first that was named
    for name in ("rns", "dns"):
        Failure(f"mf-{name}-s9-0", name, f"{name} went wrong").save(study)
    assert [row[0] for row in table("--samplers", "dns")] == ["Method", "dns"]
    page = text_of(study / "report.html")
    assert "dns went wrong" in page
    assert "rns went wrong" not in page
    assert "goes by 'dsn'; did you mean 'dns'?" in refused(sahcns("report", study, "--samplers", "dsn"))
    assert "'dns,dns' must hold names with commas between, each once" in refused(
        sahcns("report", study, "--samplers", "dns,dns")
    )
    assert "did you mean 'recall@20'?" in refused(sahcns("report", study, "--metrics", "recal@20"))


def test_the_baseline_is_the_reader_s_choice(sahcns: Sahcns, study: Path) -> None:
    assert sahcns("report", study, "--baseline", "rns").code == 0
    assert "nobody" in refused(sahcns("report", study, "--baseline", "nobody"))


def test_runs_that_failed_are_named(sahcns: Sahcns, study: Path) -> None:
    Failure("mf-dns-s2029-0123456789", "dns", "the loss is not a number").save(study)
    done_already = results_in(study)[0]
    Failure(done_already.key, done_already.label, "an error of yesterday").save(study)
    assert sahcns("report", study).code == 0
    page = text_of(study / "report.html")
    assert "the loss is not a number" in page
    assert "mf-dns-s2029-0123456789" in page
    assert "an error of yesterday" not in page


def test_a_page_comes_of_a_search(sahcns: Sahcns, tuned: Path) -> None:
    done = sahcns("report", tuned, "--json")
    assert done.json["kind"] == "search"
    page = text_of(tuned / "report.html")
    assert "lambda_max" in page
    assert "<figure" in page
    for option, told in (("--baseline", "dns"), ("--samplers", "dns,sahc"), ("--metrics", "recall@20")):
        assert f"{option} {told} is for a comparison" in refused(sahcns("report", tuned, option, told))


def test_a_folder_with_both_gives_one_page(sahcns: Sahcns, study: Path, tuned: Path) -> None:
    shutil.copy(tuned / "trials.json", study)
    done = sahcns("report", study, "--json")
    assert done.json["kind"] == "comparison and search"
    page = text_of(study / "report.html")
    assert "lambda_max" in page
    assert "<h2>Pairs</h2>" in page


def test_a_page_comes_of_an_inspection(sahcns: Sahcns, tmp_path: Path) -> None:
    data = save_split(films(), tmp_path / "films")
    assert (
        sahcns("train", data, *QUICK, "--sampler", "sahc", "--set", "backbone.dim=4", "--out", tmp_path / "run").code
        == 0
    )
    seen = sahcns("inspect", tmp_path / "run", "--epoch", "--pairs", "1", "--device", "cpu", "--json")
    file = tmp_path / "inside.json"
    file.write_text(seen.out, "utf-8")
    done = sahcns("report", file, "--json")
    assert (done.code, done.json["kind"]) == (0, "inspection")
    assert "<figure" in (tmp_path / "inside.html").read_text("utf-8")
    assert "one trained model; `sahcns inspect`" in refused(sahcns("report", tmp_path / "run"))
    assert "a prepared set" in refused(sahcns("report", data))


def test_mistakes_are_one_sentence(sahcns: Sahcns, study: Path, tmp_path: Path) -> None:
    assert f"there is no folder {tmp_path / 'none'}" in refused(sahcns("report", tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    assert "holds nothing to report on" in refused(sahcns("report", tmp_path / "empty"))
    (tmp_path / "begun" / "runs").mkdir(parents=True)
    assert "is finished yet" in refused(sahcns("report", tmp_path / "begun"))
    assert "is a folder; give the page a name" in refused(sahcns("report", study, "--out", tmp_path))
    (tmp_path / "x.json").write_text("{")
    assert "x.json is not readable JSON" in refused(sahcns("report", tmp_path / "x.json"))
    (tmp_path / "y.json").write_text(json.dumps({"model": 1}))
    assert "is not what `sahcns inspect --json` writes" in refused(sahcns("report", tmp_path / "y.json"))
    (tmp_path / "z.json").write_text(
        json.dumps({"model": "m", "pairs": [{}], "diagnostics": {}, "costs": {}, "labels": []})
    )
    assert f"{tmp_path / 'z.json'}: there is no " in refused(sahcns("report", tmp_path / "z.json"))
    broken = next((study / "runs").iterdir())
    broken.write_text("{")
    assert f"{broken} is not readable JSON" in refused(sahcns("report", study))
    assert not (study / "report.html").exists()


def test_a_file_that_cannot_be_written_leaves_the_former_page(sahcns: Sahcns, study: Path) -> None:
    (study / "report.html").write_text("former")
    (study / "page").write_text("a file where a folder should be")
    assert "cannot write the page" in refused(sahcns("report", study, "--out", study / "page" / "report.html"))
    assert (study / "report.html").read_text() == "former"
