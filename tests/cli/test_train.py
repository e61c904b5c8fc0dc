"""Training from the command line: what is set reaches the run, and every mistake is one sentence."""

import json
import os
import shutil
import signal
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sahcns import folders
from sahcns.data import Split, load_split, save_split
from sahcns.model import Recommender
from sahcns.training.stopping import EarlyStopping
from tests.cli.conftest import Sahcns, refused
from tests.cli.short_runs import QUICK, record_of
from tests.model.films import films


def test_a_run_is_trained_shown_and_stored(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    done = sahcns("train", prepared, *QUICK, "--set", "alpha=0.5", "--set", "sampler.pool=4", "--out", tmp_path / "run")
    assert (done.code, done.err) == (0, "")
    record = record_of(tmp_path / "run")
    assert record["sampler"] == {"name": "sahc", "pool": 4, "alpha": 0.5, "lambda_max": 0.5}
    assert record["backbone"] == {"name": "lightgcn", "dim": 4, "depth": 3}
    assert (record["protocol"]["epochs"], record["protocol"]["batch"]) == (2, 64)
    assert record["data"]["folder"] == str(prepared)
    assert record["data"]["fingerprint"] == films().fingerprint
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["epoch", "part", "recall@10", "recall@20", "ndcg@10", "ndcg@20"]
    percent = [f"{100 * record['test']['best'][name]:.2f}" for name in lines[0][2:]]
    assert lines[3] == ["test", *percent]
    assert lines[4][:3] == ["last", "1", "valid"]
    assert lines[-1] == ["saved", "in", str(tmp_path / "run")]
    assert {path.name for path in tmp_path.iterdir()} == {"films", "run"}
    assert len(Recommender.load(tmp_path / "run").recommend(["p03"], 5)[0]) == 5
    again = sahcns("train", prepared, *QUICK, "--sampler", "dns", "--out", tmp_path / "run", "--json").json
    record = record_of(tmp_path / "run")
    assert again == {"run": str(tmp_path / "run"), **{name: record[name] for name in again if name != "run"}}
    assert "history" not in again


def test_the_objective_is_named_set_recorded_and_taken_from_a_record(
    sahcns: Sahcns, prepared: Path, tmp_path: Path
) -> None:
    first, again, plain = (tmp_path / name for name in ("first", "again", "plain"))
    told = ("--set", "objective.temperature=0.3", "--set", "objective.ranking=cosine", "--sampler", "rns")
    softmax = ("--objective", "sampled-softmax", *told)
    assert sahcns("train", prepared, *QUICK, *softmax, "--out", first).code == 0
    set_to = {"temperature": 0.3, "similarity": "cosine", "ranking": "cosine"}
    assert record_of(first)["objective"] == {"name": "sampled-softmax", **set_to}
    assert sahcns("train", "--config", first, "--out", again).code == 0
    assert record_of(again)["history"][-1]["loss"] == record_of(first)["history"][-1]["loss"]
    assert sahcns("train", prepared, *QUICK, "--out", plain).code == 0
    assert record_of(plain)["objective"] == {"name": "bpr"}
    assert sahcns("train", prepared, *QUICK, "--objective", "directau", "--out", plain).code == 0
    assert record_of(plain)["sampler"]["name"] == "in-batch"  # the one that it takes
    wrong = sahcns("train", prepared, *QUICK, "--objective", "directau", "--sampler", "dns", "--out", plain)
    assert "'in-batch'" in refused(wrong)
    assert "'bpr'" in refused(sahcns("train", prepared, *QUICK, "--objective", "brp", "--out", tmp_path / "none"))


def test_it_goes_on_from_a_former_model(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    first = tmp_path / "first"
    assert sahcns("train", prepared, *QUICK, "--out", first).code == 0
    done = sahcns("train", prepared, *QUICK, "--start", first, "--out", tmp_path / "next")
    assert done.code == 0
    told = json.loads((tmp_path / "next" / "run.json").read_text())["data"]["start"]
    assert told["users"]["new"] == told["users"]["gone"] == 0
    assert f"{told['before']['recall@20']:.2%} before, {told['after']['recall@20']:.2%} now" in done.out
    assert sahcns("train", prepared, *QUICK, "--whole", "--out", first).code == 0
    assert f"warning: {first} has" in sahcns("train", prepared, *QUICK, "--start", first, "--out", first).err
    assert str(tmp_path) in refused(sahcns("train", prepared, *QUICK, "--start", tmp_path, "--out", tmp_path / "next"))


def test_every_option_of_the_protocol_reaches_it(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    told = {
        "epochs": 3,
        "batch": 32,
        "learning_rate": 0.01,
        "l2": 0.001,
        "l2_on": "real",
        "evaluate_every": 2,
        "patience": 4,
        "monitor": "ndcg@10",
        "mask": "train+valid",
        "draw": "users",
    }
    options = [part for name, value in told.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    assert sahcns("train", prepared, *options, "--keep-last", "--out", tmp_path / "run").code == 0
    recorded = record_of(tmp_path / "run")["protocol"]
    assert recorded == {**told, "drop_last": False, "select_on": "valid"}


TOML = """
seed = 3
data = "films"
out = "from-file"
device = "cpu"

[backbone]
name = "ngcf"
dim = 4
dropout = 0

[sampler]
name = "sahc"
alpha = 0.7
pool = 3

[protocol]
epochs = 2
batch = 64
learning_rate = 1e-2
"""

YAML = yaml.safe_dump(tomllib.loads(TOML) | {"data": {"folder": "films"}})


@pytest.mark.parametrize(("name", "text"), [("run.toml", TOML), ("run.yaml", YAML)])
def test_a_file_holds_a_whole_run(sahcns: Sahcns, prepared: Path, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = sahcns("train", "--config", tmp_path / name)
    assert (done.code, done.err) == (0, "")
    record = record_of(tmp_path / "from-file")
    assert record["seed"] == 3
    assert record["sampler"] == {"name": "sahc", "pool": 3, "alpha": 0.7, "lambda_max": 0.5}
    assert (record["backbone"]["name"], record["backbone"]["dim"]) == ("ngcf", 4)
    assert record["protocol"]["learning_rate"] == 0.01


def test_options_override_the_file(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(TOML)
    options = ("--seed", "4", "--epochs", "1", "--set", "alpha=0.1", "--backbone", "mf", "--out", tmp_path / "mine")
    done = sahcns("train", "--config", tmp_path / "run.toml", *options)
    assert (done.code, done.err.startswith("dim, dropout in the file")) == (0, True)
    record = record_of(tmp_path / "mine")
    assert (record["seed"], record["protocol"]["epochs"], record["protocol"]["batch"]) == (4, 1, 64)
    assert record["sampler"] == {"name": "sahc", "pool": 3, "alpha": 0.1, "lambda_max": 0.5}
    assert record["backbone"] == {"name": "mf", "dim": 64, "depth": 0}
    assert not (tmp_path / "from-file").exists()


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("run.toml", "sede = 1", "did you mean 'seed'"),
        ("run.toml", "seed = 'one'", "run.toml: seed='one'"),
        ("run.toml", "seed = ", "run.toml cannot be read"),
        ("run.yaml", "seed: [1", "run.yaml cannot be read"),
        ("run.yaml", "- 1", "run.yaml"),
        ("run.txt", "", "run.txt must be a .toml, .yaml or .yml file"),
        ("run.toml", "sampler = 3", "run.toml: sampler=3"),
        ("run.toml", "[sampler]\nalpha = 1", "a section with name ="),
        ("run.toml", "[data]\nfolder = 'films'\nfold = 1", "fold"),
        ("run.toml", "import = 3", "run.toml: import=3"),
        ("run.toml", "[sampler]\nname='sahc'\nalhpa=1", "'alhpa'; did you mean 'alpha'"),
        ("run.toml", "[protocol]\nepochs=1.5", "epochs=1.5"),
        ("run.toml", "[protocol]\nselect_on='test'", "select_on='test'"),
    ],
)
def test_a_mistake_in_a_file_is_one_sentence(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, name: str, text: str, names: str
) -> None:
    (tmp_path / name).write_text(text)
    assert names in refused(sahcns("train", prepared, "--config", tmp_path / name, "--out", tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--sampler", "sach"], "'sach'; did you mean 'sahc'"),
        (["--set", "alpha=high"], "alpha='high'"),
        (["--set", "alpha=-1"], "alpha=-1.0 is not allowed; it must be >= 0"),
        (["--set", "=3"], "--set '=3'"),
        (["--set", "backbon.dim=3"], "'backbone'"),
        (["--set", "dim=3"], "--set backbone.dim=3"),
        (["--set", "epochs=3"], "--epochs 3"),
        (["--epochs", "0"], "epochs=0"),
        (["--epochs", "many"], "'--epochs'"),
        (["--mask", "everything"], "mask='everything' is not allowed; it must be train | train+valid"),
        (["--monitor", "recall@7"], "monitor='recall@7'"),
        (["--device", "gpu"], "device='gpu'"),
        (["--kernels", "refrence"], "did you mean 'reference'"),
        (["--import", "nowhere.py"], "--import nowhere.py"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_a_mistake_on_the_line_is_one_sentence(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, arguments: list[str], names: str
) -> None:
    assert names in refused(sahcns("train", prepared, "--out", tmp_path / "run", *arguments))
    assert not (tmp_path / "run").exists()


def test_wrong_data_and_places_are_named_before_training(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "run")
    assert refused(sahcns("train", *out)).startswith("no data")
    assert "--out RUN" in refused(sahcns("train", prepared))
    (tmp_path / "ratings.csv").write_text("1,2\n")
    assert "ratings.csv is too small" in refused(sahcns("train", tmp_path / "ratings.csv", *out))
    assert "has no manifest.json" in refused(sahcns("train", tmp_path, *out))
    assert "did you mean 'ml-latest-small'" in refused(sahcns("train", "ml-latest-smal", *out))
    assert refused(sahcns("train", "ml-1m", *out)).endswith("sahcns data prepare ml-1m FOLDER")
    alone = save_split(Split.from_pairs([[0, 0], [1, 1]], n_items=3), tmp_path / "alone")
    assert "no valid pairs" in refused(sahcns("train", alone, *out))
    assert "not part of a trained model" in refused(sahcns("train", prepared, "--out", prepared))


def test_an_embedded_set_is_prepared_on_the_fly_and_only_once(sahcns: Sahcns, cache: Path, tmp_path: Path) -> None:
    quick = ("--sampler", "rns", "--backbone", "mf", "--set", "backbone.dim=2", "--epochs", "1", "--batch", "65000")
    first = sahcns("train", "ml-latest-small", *quick, "--out", tmp_path / "run")
    assert first.code == 0
    folder = cache / "prepared" / "ml-latest-small"
    assert first.err == f"ml-latest-small ships with sahcns; it is prepared by its own recipe into {folder}\n"
    assert load_split(folder).n_users == 671
    second = sahcns("train", "ml-latest-small", *quick, "--out", tmp_path / "run")
    assert (second.code, second.err) == (0, "")
    titles = [
        row["title"] for row in sahcns("recommend", tmp_path / "run", "--user", "1", "--json").json["users"][0]["items"]
    ]
    assert all(titles)


MINE = """
from dataclasses import dataclass
from sahcns.samplers import Sampler
from sahcns.settings import setting

@dataclass(frozen=True)
class Softest(Sampler):
    "The easiest candidate."
    name = "softest"
    shift: int = setting(0, "places from the easiest", low=0)

    def choose(self, match, rng):
        return match.pick(match.scores.argsort(1)[:, self.shift])
"""


def test_a_sampler_of_ones_own_is_named_like_any_other(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    mine = ("--import", tmp_path / "mine.py", "--sampler", "softest")
    done = sahcns("train", prepared, *QUICK, *mine, "--set", "shift=2", "--out", tmp_path / "run")
    assert (done.code, done.err) == (0, "")
    record = record_of(tmp_path / "run")
    assert record["sampler"] == {"name": "softest", "pool": 10, "shift": 2}
    assert record["imports"] == [str(tmp_path / "mine.py")]
    wrong = sahcns("train", prepared, *mine, "--set", "shift=-1", "--out", tmp_path / "x")
    assert refused(wrong) == "Softest: shift=-1 is not allowed; it must be >= 0"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("import nothing_like_this", "mine.py, line 1: ModuleNotFoundError"),
        ("\n\nx = 1 +", "mine.py, line 3: SyntaxError"),
        ("def f():\n    1 / 0\nf()", "mine.py, line 2: ZeroDivisionError"),
    ],
)
def test_a_mistake_in_ones_own_file_is_one_sentence(sahcns: Sahcns, tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    assert place in refused(sahcns("samplers", "--import", tmp_path / "mine.py"))


@pytest.mark.parametrize("command", ["train", "bench"])
def test_a_fault_while_ones_own_code_runs_is_a_sentence_with_its_line(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "mine.py").write_text(MINE.replace("match.scores", "match.score"))
    out = ("--out", tmp_path / "run") if command == "train" else ()
    line = (command, prepared, "--import", tmp_path / "mine.py", "--sampler", "softest", "--device", "cpu", *out)
    assert "(mine.py, line 13)" in refused(sahcns(*line))
    with pytest.raises(AttributeError):
        sahcns("--traceback", *line)


def test_a_file_may_import_what_stands_beside_it(
    sahcns: Sahcns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_mine.py").write_text("NAME = 'beside'")
    (tmp_path / "mine.py").write_text("from beside_mine import NAME\n" + MINE.replace('"softest"', "NAME"))
    assert sahcns("samplers", "beside", "--import", tmp_path / "mine.py", "--json").json["name"] == "beside"


def test_a_disk_that_fills_up_meanwhile_does_not_cost_the_training(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place was sound when training began; when it ends, a file stands in the way of its folder."""
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spare"))
    save = Recommender.save

    def late(model: Recommender, folder: str | os.PathLike[str]) -> Path:
        if not (tmp_path / "runs").exists():
            (tmp_path / "runs").write_text("")
        return save(model, folder)

    monkeypatch.setattr(Recommender, "save", late)
    sentence = refused(sahcns("train", prepared, *QUICK, "--out", tmp_path / "runs" / "one"))
    assert sentence.startswith(f"cannot write the trained model {tmp_path / 'runs' / 'one'}: ")
    kept = Path(sentence.partition("; the trained model is in ")[2].removesuffix(" instead"))
    assert kept.parent == tmp_path / "spare"
    assert len(Recommender.load(kept).recommend(["p03"], 3)[0]) == 3


def test_a_working_folder_that_goes_meanwhile_does_not_cost_the_training(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    update = EarlyStopping.update

    def gone(*values: Any) -> bool:
        shutil.rmtree(tmp_path / "here", ignore_errors=True)
        return update(*values)

    monkeypatch.setattr(EarlyStopping, "update", gone)
    done = sahcns("train", os.path.relpath(prepared), *QUICK, "--out", "runs/one")
    assert (done.code, done.err) == (0, "")
    assert record_of(tmp_path / "here" / "runs" / "one")["data"]["folder"] == str(prepared)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_during_the_last_ranking_and_while_it_is_saved_keeps_the_model(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: signal.Signals
) -> None:
    sahcns("train", prepared, *QUICK, "--out", tmp_path / "run")
    former, stops = record_of(tmp_path / "run"), []

    def signalled(at: int, real: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*values: Any, **named: Any) -> Any:
            stops.append(real.__name__)
            if stops.count(real.__name__) == at:
                signal.raise_signal(stop)
            return real(*values, **named)

        return wrapped

    fitting = sys.modules["sahcns.training.train"]
    monkeypatch.setattr(fitting, "evaluate", signalled(3, fitting.evaluate))  # after two looks
    monkeypatch.setattr(folders, "_write", signalled(2, folders._write))
    done = sahcns("train", prepared, *QUICK, "--seed", "1", "--out", tmp_path / "run")
    assert (done.code, done.err) == (0, "")
    assert "valid" in done.out
    assert "then it was told to stop; the best so far is kept, and not ranked on the test part: " in done.out
    assert f"`sahcns evaluate {tmp_path / 'run'}` does that; in percent" in done.out
    record = record_of(tmp_path / "run")
    assert (former["seed"], record["seed"], record["stopped"], record["test"]) == (0, 1, "interrupted", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["films", "run"]
    assert "recall" in sahcns("evaluate", tmp_path / "run").out
    assert sahcns("diff", tmp_path / "run", tmp_path / "run").code == 0


def test_a_run_is_followed_beside_its_folder(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    line = ("train", prepared, *QUICK, "--log", "tensorboard", "--log", "jsonl", "--out", tmp_path / "run")
    assert sahcns(*line).code == sahcns(*line).code == 0
    lines = (tmp_path / "run.log" / "epochs.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["loss"] for line in lines] == [e["loss"] for e in record_of(tmp_path / "run")["history"]]
    assert list((tmp_path / "run.log").glob("events.out.tfevents.*"))
    assert "tensorboard" in refused(sahcns("train", prepared, *QUICK, "--log", "tensorbord", "--out", tmp_path / "x"))


def test_killed_in_training_the_same_command_goes_on(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A SIGTERM in the second epoch, before which nothing was looked at."""
    later = ("train", prepared, *QUICK, "--evaluate-every", "3", "--epochs", "5")
    sahcns(*later, "--out", tmp_path / "undisturbed")
    fitting, losses = sys.modules["sahcns.training.train"], list[object]()
    epoch = fitting.timed_epoch

    def signalled(*values: Any) -> Any:
        losses.append(values[1])
        if len(losses) == 3:
            signal.raise_signal(signal.SIGTERM)
        return epoch(*values)

    monkeypatch.setattr(fitting, "timed_epoch", signalled)
    stopped = sahcns(*later, "--out", tmp_path / "run")
    kept = tmp_path / "run.checkpoint"
    assert (kept.is_dir(), str(kept) in stopped.out + stopped.err) == (True, True)
    refused = sahcns(*later, "--out", tmp_path / "run", "--seed", "7")
    assert (refused.code, "seed" in refused.err) == (2, True)
    again = sahcns(*later, "--out", tmp_path / "run")
    assert (again.code, again.err, kept.exists()) == (0, "", False)
    assert losses == [0, 1, 2, 2, 3, 4]
    before, after = record_of(tmp_path / "undisturbed"), record_of(tmp_path / "run")
    assert (after["test"], after["best_epoch"]) == (before["test"], before["best_epoch"])
