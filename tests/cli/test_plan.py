"""A run made again from its record, and the model to put to use: `train --config`, `train --whole`."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sahcns.data import save_split
from sahcns.model import Recommender
from tests.cli.conftest import Sahcns, refused
from tests.cli.short_runs import QUICK, record_of
from tests.model.films import films
from tests.sealing import write_sealed

OWN = """
from dataclasses import dataclass
import sahcns

@dataclass(frozen=True)
class Easy(sahcns.Sampler):
    name = "easy-of-a-record"
    share: float = sahcns.setting(0.5, "never mind", low=0, high=1)

    def choose(self, match, rng):
        return match.pick(match.scores.argmin(1))
"""


def decided(folder: Path) -> dict[str, Any]:
    record = record_of(folder)
    return {name: record[name] for name in ("seed", "backbone", "sampler", "protocol", "valid", "test", "best_epoch")}


def test_a_record_is_a_plan(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    theirs, again = tmp_path / "theirs", tmp_path / "again"
    own = tmp_path / "own.py"
    own.write_text(OWN)
    said = ("--sampler", "easy-of-a-record", "--set", "share=0.25", "--seed", "7", "--kernels", "reference")
    assert sahcns("train", prepared, *QUICK, "--import", own, *said, "--out", theirs).code == 0
    done = sahcns("train", "--config", theirs, "--import", own, "--out", again)  # its folder, or the file itself
    assert (done.code, done.err) == (0, "")
    assert decided(again) == decided(theirs)
    assert record_of(again)["machine"]["kernels"] == "reference"
    done = sahcns("train", "--config", theirs / "run.json", "--seed", "8", "--out", again)
    assert done.code == 0
    assert decided(again) == {**decided(again), "sampler": decided(theirs)["sampler"], "seed": 8}


def test_code_of_one_s_own_that_is_not_the_record_s(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    """Two runs with other rules under one name differed in nothing that was put in, by what `diff` said."""
    theirs, again, own = tmp_path / "theirs", tmp_path / "again", tmp_path / "own.py"
    own.write_text(OWN)
    named = ("--sampler", "easy-of-a-record")
    assert sahcns("train", prepared, *QUICK, "--import", own, *named, "--out", theirs).code == 0
    same = sahcns("train", "--config", theirs, "--import", own, "--out", again)
    assert (same.code, same.err) == (0, "")
    assert record_of(again)["imports"] == [str(own)]  # named twice, and one file
    own.write_text(OWN.replace("argmin", "argmax"))
    other = sahcns("train", "--config", theirs, "--import", own, "--out", again)
    assert other.code == 0
    assert f"{own} is not the code that the record was made with" in " ".join(other.err.split())
    [found] = [line for line in sahcns("diff", theirs, again).out.splitlines() if " code " in line]
    assert [record_of(folder)["code"] in found for folder in (theirs, again)] == [True, True]
    assert sahcns("train", "--config", theirs, "--sampler", "dns", "--out", again).code == 0
    assert "code" not in record_of(again)


def test_a_run_of_a_comparison_made_elsewhere(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    small = ("--epochs", "1", "--batch", "64", "--set", "backbone.dim=4", "--device", "cpu")
    assert sahcns("compare", prepared, "--samplers", "dns", "--seeds", "1", *small, "--out", study).code == 0
    [run] = (study / "runs").iterdir()
    values = json.loads(run.read_text("utf-8"))
    assert refused(sahcns("train", "--config", run, "--out", tmp_path / "x")).startswith("no data: give")
    moved = shutil.move(prepared, tmp_path / "moved")
    done = sahcns("train", moved, "--config", run, "--out", tmp_path / "run", "--device", "cpu")
    assert (done.code, done.err) == (0, "")
    assert {name: values[name] for name in decided(tmp_path / "run")} == decided(tmp_path / "run")
    other = save_split(replace(films(), test=films().valid, valid=films().test), tmp_path / "other")
    told = sahcns("train", other, "--config", run, "--out", tmp_path / "run", "--device", "cpu").err
    assert f"warning: {other} holds other data (fingerprint " in told
    assert "so its numbers cannot come out again" in told


def test_a_record_never_imports(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    theirs, trap, ran = tmp_path / "theirs", tmp_path / "trap.py", tmp_path / "ran"
    trap.write_text(f"from pathlib import Path\nPath({str(ran)!r}).touch()\n" + OWN.replace("easy-of", "trap-of"))
    assert sahcns("train", prepared, *QUICK, "--sampler", "dns", "--out", theirs).code == 0
    record = record_of(theirs) | {"imports": [str(trap)]}
    write_sealed(tmp_path / "run.json", record)
    again = ("train", "--config", tmp_path / "run.json", "--out", tmp_path / "again")
    assert sahcns(*again).code == 0  # its sampler is built in, so its file is not needed
    write_sealed(tmp_path / "run.json", record | {"sampler": {"name": "trap-of-a-record"}})
    assert f"--import {trap}" in refused(sahcns(*again))
    assert not ran.exists()
    assert sahcns(*again, "--import", trap).code == 0
    assert ran.exists()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{}", "run.json"),
        ("{", "run.json"),
        ('{"format": "sahcns-run", "format_version": 1, "data": {}, "protocol": {}}', "'fingerprint'"),
        ('{"format": "sahcns-run", "format_version": 1, "data": {"fingerprint": "0"}, "protocol": {}}', "'machine'"),
        ('{"format": "sahcns-run", "format_version": 1, "machine": 3}', "machine is 3"),
        ('{"format": "sahcns-run", "format_version": 2, "sampler": {}}', "format version 2"),
    ],
)
def test_what_is_no_record(sahcns: Sahcns, prepared: Path, tmp_path: Path, text: str, names: str) -> None:
    (tmp_path / "run.json").write_text(text)
    assert names in refused(sahcns("train", prepared, "--config", tmp_path / "run.json", "--out", tmp_path / "x"))


def test_the_model_to_put_to_use_is_trained_on_everything(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    done = sahcns("train", prepared, *QUICK, "--whole", "--out", tmp_path / "live")
    split, record = films(), record_of(tmp_path / "live")
    pairs = sum(len(part) for part in split.parts().values())
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2 epochs in ")
    assert f"over all {pairs} pairs; nothing was held out, so there is nothing to judge it by" in done.out
    assert [record["data"][part] for part in ("train", "valid", "test")] == [pairs, 0, 0]
    assert record["data"]["whole_of"] == split.fingerprint
    assert "folder" not in record["data"]
    assert (record["best_epoch"], record["stopped"], record["valid"], record["test"]) == (1, "epochs", {}, {})
    model = Recommender.load(tmp_path / "live")
    assert len(model.untrained(torch.arange(len(model.user_ids)))) == 0
    assert len(model.recommend(["p03"], 3)[0]) == 3
    assert "was trained on every pair, so nothing is left to judge it by" in refused(
        sahcns("evaluate", tmp_path / "live")
    )
    again = sahcns("train", prepared, *QUICK, "--whole", "--out", tmp_path / "again", "--json")
    assert again.json["data"]["train"] == pairs
    assert torch.equal(Recommender.load(tmp_path / "again").item_vectors, model.item_vectors)


def test_the_run_that_was_judged_says_how_and_how_long(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    judged, live = tmp_path / "judged", tmp_path / "live"
    assert sahcns("train", prepared, *QUICK, "--sampler", "dns", "--out", judged).code == 0
    best, most = 3, 1000  # as of a long run
    found = record_of(judged) | {"best_epoch": best}
    found["protocol"]["epochs"] = most
    write_sealed(judged / "run.json", found)
    done = sahcns("train", prepared, "--config", judged, "--whole", "--out", live)
    assert done.code == 0
    assert done.err.startswith(f"{best + 1} epochs, after which {judged} ")
    assert (record_of(live)["epochs_run"], record_of(live)["sampler"]["name"]) == (best + 1, "dns")
    newer = save_split(replace(films(), test=films().valid, valid=films().test), prepared)
    done = sahcns("train", newer, "--config", live, "--whole", "--out", live)  # and so again, with newer data
    assert (done.code, done.err, record_of(live)["epochs_run"]) == (0, "", best + 1)
    done = sahcns("train", newer, "--config", judged, "--whole", "--epochs", "2", "--out", live)
    assert (done.code, done.err, record_of(live)["epochs_run"]) == (0, "", 2)


def test_a_model_that_was_put_aside_by_a_killed_writer_is_trained_anew(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    """Killed between its two renames: the former model stands aside, and the weekly command goes on by its record."""
    live = tmp_path / "live"
    assert sahcns("train", prepared, *QUICK, "--whole", "--out", live).code == 0
    live.rename(tmp_path / ".live.old")
    done = sahcns("train", prepared, "--config", live, "--whole", "--out", live)
    assert (done.code, done.err) == (0, "")
    assert record_of(live)["epochs_run"] == 2
    assert not (tmp_path / ".live.old").exists()


def test_what_whole_does_not_go_with(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    line = ("train", prepared, "--whole", "--out", tmp_path / "live")
    assert refused(sahcns(*line)).startswith("--whole needs to know when to stop: give --epochs NUMBER, or the run")
    told = refused(sahcns(*line, "--epochs", "2", "--evaluate-every", "1"))
    assert told == "--whole holds nothing out, so --evaluate-every does not apply to it"
    assert not (tmp_path / "live").exists()


def test_a_run_that_is_refitted_says_so_and_is_judged_on_the_test_part_alone(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    run, plain, split = tmp_path / "run", tmp_path / "plain", films()
    done = sahcns("train", prepared, *QUICK, "--refit", "--out", run)
    assert (done.code, done.err) == (0, "")
    assert sahcns("train", prepared, *QUICK, "--out", plain).code == 0
    record, picked = record_of(run), record_of(plain)
    assert (record["best_epoch"], record["valid"]) == (picked["best_epoch"], picked["valid"])
    assert record["test"] != picked["test"]
    assert record["data"]["refit"]["of"] == picked["data"]["fingerprint"] == split.fingerprint
    assert f"trained anew for {picked['best_epoch'] + 1} epoch" in done.out
    assert f"on {len(split.train) + len(split.valid):,} pairs" in done.out
    assert {path.name for path in tmp_path.iterdir()} == {"films", "run", "plain"}
    ranked = sahcns("evaluate", run, "--json").json
    assert ranked["metrics"]["recall@20"] == pytest.approx(record["test"]["best"]["recall@20"], abs=1e-6)
    assert "--part test" in refused(sahcns("evaluate", run, "--part", "valid"))
    again = sahcns("train", prepared, "--config", run, "--refit", "--out", tmp_path / "again")
    assert again.code == 0
    assert again.err == f"{run} is of a run with --refit, which is not in the record's protocol: give it again\n"
    assert decided(tmp_path / "again") == decided(run)
    started = sahcns("train", prepared, *QUICK, "--start", run, "--out", plain)
    assert started.code == 0
    assert f"warning: {run} has learnt from the validation pairs" in started.err
    live = sahcns("train", prepared, "--config", run, "--whole", "--out", tmp_path / "live")
    assert live.code == 0
    assert record_of(tmp_path / "live")["protocol"]["epochs"] == picked["best_epoch"] + 1


@pytest.mark.parametrize("options", [("--refit", "--whole", "--epochs", "2"), ("--refit", "--file")])
def test_a_refit_that_means_nothing_is_refused(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    data = prepared
    if "--file" in options:
        data, options = tmp_path / "orders.csv", options[:1]
        data.write_text("user,item\n1,2\n")
    assert "refit" in refused(sahcns("train", data, *options, "--out", tmp_path / "run"))


def test_a_recipe_that_ships_inside_is_a_config_and_options_override_it(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    options = ("--epochs", "2", "--batch", "64", "--set", "backbone.dim=4", "--device", "cpu")
    assert sahcns("train", prepared, "--config", "lightgcn-paper", *options, "--out", tmp_path / "run").code == 0
    record = record_of(tmp_path / "run")
    assert record["backbone"] == {"name": "lightgcn", "dim": 4, "depth": 3, "normal_start": 0.1}
    assert record["sampler"] == {"name": "rns", "pool": 1}
    assert (record["protocol"]["draw"], record["protocol"]["drop_last"]) == ("users", False)
    assert (record["protocol"]["learning_rate"], record["protocol"]["epochs"]) == (1e-3, 2)
    assert sahcns("train", prepared, "--config", "bsl-in-batch", *options, "--out", tmp_path / "bsl").code == 0
    record = record_of(tmp_path / "bsl")
    assert (record["sampler"]["name"], record["objective"]["name"], record["backbone"]["depth"]) == (
        "in-batch",
        "bsl",
        1,
    )
    told = refused(sahcns("train", prepared, "--config", "lightgnc-paper", "--out", tmp_path / "none"))
    assert "lightgnc-paper" in told
    assert "did you mean 'lightgcn-paper'" in told
