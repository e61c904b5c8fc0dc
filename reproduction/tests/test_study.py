"""The whole study in miniature, really run from the command line; its report, rebuilt from the small files."""

import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction import design, measurements
from reproduction.__main__ import main
from reproduction.claims import judge
from reproduction.design import PAPER, Design
from reproduction.evidence import Evidence
from reproduction.experiments import TITLES, of_all
from reproduction.methods import ALL_TUNED, RIVALS, as_printed
from reproduction.pages import does_it_hold, page, results_page
from reproduction.report import study_report
from reproduction.study import Study, resplit, resplit_folder
from reproduction.tests.tiny import TINY, fill, made, noisy, prepared
from sahcns import Between, Split, load_split, save_split
from sahcns.files import json_lines
from sahcns.lab import DataError, Figure, Table, bench
from tests.splits import random_split

ALONE = """
    import sys

    class Nothing:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("torch", "optuna", "polars"):
                raise ImportError(f"{name} is not here")

    sys.meta_path.insert(0, Nothing())
    from reproduction.__main__ import main
    sys.exit(main(["pages", "--out", sys.argv[1], "--docs", sys.argv[2]]))
"""

pytestmark = pytest.mark.xdist_group("study")  # one process makes the study once


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a whole tiny study."""
    folder = tmp_path_factory.mktemp("study")
    sets, out = prepared(folder / "prepared"), folder / "results"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design, "PAPER", TINY)
        for name in ("_median", "copy_rate"):
            patch.setattr(bench, name, lambda *_: 0.001)  # its times are not looked at
        patch.setattr(measurements, "EPOCHS", 1)
        patch.setattr(measurements, "ROUNDS", 2)
        assert main(["run", str(sets), "--out", str(out), "--device", "cpu"]) == 0
    return out


@pytest.fixture(scope="module")
def evidence(home: Path) -> Evidence:
    return Evidence.of(home)


def test_every_part_is_complete(home: Path, evidence: Evidence) -> None:
    assert not [name for name in TITLES if not evidence.progress[name].complete]
    assert "not run yet" not in {one.verdict for one in judge(evidence)}
    assert (home / "report.html").stat().st_size > 10_000


def test_each_search_begins_with_what_the_paper_prints_for_the_set(evidence: Evidence) -> None:
    likes = {one.folder: one.like for one in TINY.sets}
    searches = evidence.searches
    for folder, like in likes.items():
        for name in RIVALS:
            told = {**as_printed(like, name), "pool": TINY.pool}
            point = searches[folder].of(name)[0].point
            assert point == {key: told[key] for key in point}


def test_where_everything_is_searched_all_have_one_budget_and_their_choice_is_run(evidence: Evidence) -> None:
    for one in TINY.sets:
        search = evidence.searches[of_all(one.folder)]
        assert search.samplers == list(ALL_TUNED.values())
        assert {search.spent(name) for name in search.samplers} == {"trials"}
        for name, space in search.spaces.items():
            assert space["protocol.l2"] == Between(1e-5, 1e-1, log=True)
            assert space["protocol.learning_rate"] == Between(1e-4, 1e-2, log=True)
            assert space.get("pool") == (None if name == "rns" else [5, 10, 20, 50])
        for row, runs in evidence.runs["alike"]:
            if row.data == one.folder:
                chosen = search.chosen[ALL_TUNED[row.label]]
                for run in runs.values():
                    assert (run.protocol["l2"], run.sampler["pool"]) == (chosen["protocol.l2"], chosen["pool"])


def test_baselines_stand_in_the_same_tables(evidence: Evidence) -> None:
    page_of = page(results_page(evidence))
    for one in evidence.baselines["one"].values():
        assert {"baseline", "tried", "ends", "valid", "test", "commit", "machine"} <= one.keys()
    ease = evidence.baselines["one"]["ease"]["test"]
    cell = f"{100 * ease['recall@20']:.2f} / {100 * ease['ndcg@20']:.2f}"
    assert len([line for line in page_of.splitlines() if line.startswith("| EASE |") and cell in line]) == 3


def test_a_second_time_nothing_is_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ("runs", "diagnostics", "readings", "efficiency")
    before = {path: path.stat().st_mtime_ns for kind in kinds for path in (home / kind).iterdir()}
    parts = ("table2", "splits", "mechanisms", "efficiency")
    assert not Study.of(TINY, home.parent / "prepared", home, parts, device="cpu").run(print)
    assert "finished" not in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_each_file_says_what_it_was_made_with(home: Path) -> None:
    for path in (path for kind in ("diagnostics", "efficiency", "readings") for path in (home / kind).iterdir()):
        values = json.loads(path.read_text("utf-8"))
        assert values["key"] == path.stem
        assert values["protocol"] == {**TINY.protocol, "epochs": values.get("age", TINY.protocol["epochs"])}
        assert {"seconds", "data", "format", "machine", "commit"} <= values.keys()


def test_the_report_opens_with_the_answer_and_has_every_table(evidence: Evidence) -> None:
    report = study_report(evidence)
    assert report.summary[0].startswith("Of the paper's 27 claims ")
    assert [type(block) for block in report.lead] == [Figure, Table]
    blocks: list[Table | Figure] = [*report.tables(), *report.figures()]
    wanted = {
        *("The paper's claims", "Beyond", "parts", "cells-Table II", "table2-best", "table2-last", "table2-pairwise"),
        *(
            "table2-paper",
            "table3-paper",
            "table3-comparison",
            "table4-paper",
            "table4-pairwise-last",
            "table2-differences",
        ),
        *(
            "diagnostics-two-sahc",
            "easy-and-hard-one-dns",
            "pool-gaps-one-dns",
            "seconds",
            "efficiency",
            "figure4-alpha-one",
        ),
        *(
            "pools",
            "equal-tuned",
            "equal-pairwise-last",
            "many-seeds",
            "readings-one",
            "splits",
            "choices",
            "tuning-chosen",
        ),
        *("alike", "alike-chosen", "baselines"),
        *("seconds Tiny toys, lightgcn", "pool recall@20 Tiny toys, lightgcn"),
    }
    assert wanted <= {block.name for block in blocks}
    for kind in (Table, Figure):
        names = [block.name for block in blocks if isinstance(block, kind)]
        assert len(names) == len(set(names))
    assert all(section.blocks for section in report.sections)


def test_pages_are_rebuilt_without_torch_and_without_training(home: Path, evidence: Evidence, tmp_path: Path) -> None:
    made = (home / "report.html").read_text("utf-8")
    subprocess.run([sys.executable, "-c", textwrap.dedent(ALONE), str(home), str(tmp_path)], check=True, timeout=120)
    assert (home / "report.html").read_text("utf-8") == made
    assert (tmp_path / "does-it-hold.md").read_text("utf-8") == page(does_it_hold(evidence))
    assert (tmp_path / "results.md").read_text("utf-8") == page(results_page(evidence))


def test_what_is_missing_is_named(evidence: Evidence, tmp_path: Path) -> None:
    TINY.save(tmp_path)
    assert f"ONLY={','.join(TITLES)}" in study_report(Evidence.of(tmp_path)).summary[-1]
    page(results_page(Evidence.of(tmp_path)))
    for one in evidence.runs["table2"][0][1].values():
        one.save(tmp_path)
    assert any("Table II (2 of " in line for line in study_report(Evidence.of(tmp_path)).summary)


def test_no_run_is_begun_after_the_time_and_absent_sets_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(design, "PAPER", TINY)
    sets = prepared(tmp_path / "prepared")
    (sets / "two").rename(sets / "elsewhere")
    assert main(["run", str(sets), "--out", str(tmp_path / "out"), "--minutes", "0", "--device", "cpu"]) == 0
    assert "two is not there" in capsys.readouterr().out
    assert not (tmp_path / "out" / "runs").exists()
    assert (sets / "one-split-2" / "manifest.json").exists()


def test_the_miniature_is_on_the_set_that_ships_inside(tmp_path: Path) -> None:
    assert main(["run", "--quick", "--out", str(tmp_path), "--minutes", "0", "--device", "cpu"]) == 0
    assert "A miniature" in (tmp_path / "report.html").read_text("utf-8")
    assert load_split(tmp_path / "data" / "ml-latest-small").n_users == 412


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["run"], "--quick"),
        (["run", "SETS", "--quick"], "--quick"),
        (["run", "SETS", "--out", "OUT"], "amazon-toys"),
        (["run", "--quick", "--out", "OUT", "--only", "tabel2"], "tabel2"),
        (["run", "--quick", "--out", "OUT", "--seeds", "0"], "seeds"),
        (["pages", "--out", "OUT"], "holds no results"),
    ],
)
def test_mistakes(words: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"SETS": str(tmp_path), "OUT": str(tmp_path / "out")}
    assert main([places.get(word, word) for word in words]) == 2
    assert names in capsys.readouterr().err


@pytest.mark.parametrize(("stage", "part"), [("tune", "tuning"), ("measure", "mechanisms"), ("measure", "efficiency")])
def test_whatever_is_stopped_goes_on_later(
    stage: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(design, "PAPER", TINY)
    monkeypatch.setattr(Study, stage, stop)
    sets = prepared(tmp_path / "prepared")
    assert main(["run", str(sets), "--out", str(tmp_path / "out"), "--only", part, "--device", "cpu"]) == 130


def test_another_study_and_other_data_are_refused(home: Path, tmp_path: Path) -> None:
    other = save_split(random_split(40, 60, 6, seed=9), tmp_path / "one").parent
    with pytest.raises(DataError, match="is other data"):
        Study.of(TINY, other, home)
    save_split(random_split(40, 60, 6), tmp_path / "amazon-toys")
    with pytest.raises(DataError, match="holds another study"):
        Study.of(PAPER, tmp_path, home)


def test_runs_are_found_by_their_settings_and_counted(tmp_path: Path) -> None:
    assert Evidence.of(tmp_path).progress["table2"].wanted == 135  # the paper's study with nothing run
    keep = {"one"}
    fill(tmp_path, TINY, parts=["table2"], keep=lambda row, seed: row.data in keep and row.label != "DNS")
    evidence = Evidence.of(tmp_path)
    assert (evidence.progress["table2"].there, evidence.progress["table2"].wanted) == (16, 36)
    assert (evidence.progress["splits"].there, evidence.progress["splits"].wanted) == (3, 12)  # shared runs
    row = next(row for row in evidence.rows("table2") if row.label == "BNS")
    (tmp_path / "runs" / f"{evidence.key(row, 2020)}.json").unlink()
    made(TINY, replace(row, sampler={**(row.sampler or {}), "lam": 4.0}), 2020, noisy).save(tmp_path)
    assert Evidence.of(tmp_path).progress["table2"].there == 15  # another setting is another run


def test_two_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    fill(tmp_path, TINY, parts=["table2"])
    path = next((tmp_path / "runs").iterdir())
    values = json.loads(path.read_text("utf-8"))
    path.write_text(json_lines({**values, "data": {**values["data"], "fingerprint": "f" * 64}}), "utf-8")
    with pytest.raises(DataError, match="two different sets called 'Tiny"):
        Evidence.of(tmp_path)


def test_broken_files_are_named(tmp_path: Path) -> None:
    for one in (PAPER, TINY):
        one.save(tmp_path)
        assert Design.load(tmp_path) == one
    (tmp_path / "diagnostics").mkdir()
    for text in ("{", "{}"):
        (tmp_path / "diagnostics" / "x.json").write_text(text, "utf-8")
        with pytest.raises(DataError, match=r"x\.json"):
            Evidence.of(tmp_path)
    for text in ("[]", "{}"):
        (tmp_path / "study.json").write_text(text, "utf-8")
        with pytest.raises(DataError, match=r"study\.json"):
            Evidence.of(tmp_path)


def pairs(split: Split) -> list[tuple[int, int]]:
    """All of them, by their ids, in order."""
    found = []
    for part in split.parts().values():
        users, items = np.asarray(split.user_ids.decode(part.users)), np.asarray(split.item_ids.decode(part.items))
        found += list(zip(users.tolist(), items.tolist(), strict=True))
    return sorted(found)


def test_a_random_split_has_the_same_pairs_in_other_parts_and_is_stored_once(tmp_path: Path) -> None:
    given = random_split(30, 40, 6)
    first, again, second = resplit(given, 1), resplit(given, 1), resplit(given, 2)
    assert pairs(first) == pairs(given) == pairs(second)
    assert first.fingerprint == again.fingerprint != second.fingerprint != given.fingerprint
    assert [len(part) for part in first.parts().values()] == [192, 24, 24]
    source = save_split(given, tmp_path / "one")
    folder = resplit_folder(source, tmp_path / "one-split-1", 1)
    assert load_split(folder).fingerprint == first.fingerprint
    before = (folder / "manifest.json").stat().st_mtime_ns
    assert resplit_folder(source, folder, 1) == folder
    assert (folder / "manifest.json").stat().st_mtime_ns == before
