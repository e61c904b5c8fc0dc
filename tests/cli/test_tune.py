"""`sahcns tune`: the table, the files, a sampler of one's own, and every mistake in one sentence."""

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sahcns.lab.grid.result import results_in
from sahcns.lab.tune.search import read_search
from sahcns.objectives import SampledSoftmax
from sahcns.samplers import Sampler
from sahcns.settings import named
from sahcns.training.record import described
from sahcns.training.stopping import EarlyStopping
from tests.cli.conftest import Sahcns, refused

HELD = ("--l2", "1e-4", "--learning-rate", "1e-3")
QUICK = ("--epochs", "2", "--batch", "64", "--evaluate-every", "1", "--monitor", "ndcg@10", "--device", "cpu")
SMALL = (*QUICK, "--set", "backbone.dim=4")

MINE = """
    from dataclasses import dataclass
    import sahcns

    @dataclass(frozen=True)
    class Mine(sahcns.Sampler):
        name = "mine-to-tune"

        share: float = sahcns.setting(0.5, "how often the hardest is taken", low=0, high=1)
        patience: float = sahcns.setting(2.0, "does nothing", low=0)

        def choose(self, match, rng):
            hardest = match.scores.argmax(1)
            return match.pick(hardest * (rng.uniform(len(hardest)) < self.share))
"""


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "mine_to_tune.py"
    path.write_text(textwrap.dedent(MINE))
    yield path
    for kind in named(Sampler).values():
        if kind.__module__.endswith("mine_to_tune"):
            kind.name = ""


def test_ctrl_c_says_that_the_same_command_goes_on(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, looks = EarlyStopping.update, 0

    def second(*values: Any) -> bool:
        nonlocal looks
        looks += 1
        if looks == 3:  # in the second trial of two epochs
            raise KeyboardInterrupt
        return update(*values)

    monkeypatch.setattr(EarlyStopping, "update", second)
    line = ("tune", prepared, *SMALL, "--samplers", "sahc", "--trials", 2, "--out", tmp_path / "out")
    done = sahcns(*line)
    kept = f"what is finished is kept in {tmp_path / 'out'}; the same command goes on from there"
    assert (done.code, done.err.splitlines()[-2:]) == (130, [kept, "error: interrupted"])
    assert sahcns(*line).code == 0
    assert [trial.state for trial in read_search(tmp_path / "out").trials] == ["complete", "lost", "complete"]


def test_a_table_and_two_files_come_of_it(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = (*SMALL, *HELD, "--samplers", "rns,dns-mn,sahc", "--pool", 4, "--trials", 3)
    done = sahcns("tune", prepared, *options, "--out", out)
    assert done.code == 0
    search = read_search(out)
    assert {name: len(search.of(name)) for name in search.samplers} == {"rns": 1, "dns-mn": 3, "sahc": 3}
    assert search.backbone == {"name": "lightgcn", "dim": 4, "depth": 3}
    assert search.protocol["epochs"] == 2
    best = search.best("sahc")
    assert best is not None
    row = next(line.split() for line in done.out.splitlines() if line.startswith("sahc"))
    assert (row[1], row[3]) == (f"alpha={best.point['alpha']:g},", f"{100 * (best.value or 0):.2f}")
    spaces, lines = done.err.splitlines()[:4], done.err.splitlines()[4:]
    assert [line.partition(":")[0] for line in spaces] == ["rns", "rns", "dns-mn", "sahc"]
    assert len(lines) == 7


def test_json_is_what_the_file_holds(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = sahcns("tune", prepared, *SMALL, "--trials", 2, "--seed", 3, "--out", out, "--json")
    assert (done.code, done.err) == (0, "")
    content = json.loads((out / "tuned.json").read_text("utf-8"))
    assert done.json == {"folder": str(out), **content}
    assert (content["seed"], content["trials"]) == (3, 2)
    assert content["samplers"].keys() == {"sahc"}
    assert read_search(out).pruning == {"on": False}
    again = sahcns("tune", prepared, *SMALL, "--trials", 2, "--seed", 3, "--out", out, "--json")
    assert again.json == done.json


def test_a_sampler_of_one_s_own_is_tuned_and_its_code_is_known(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, mine: Path
) -> None:
    options = (*SMALL, "--import", mine, "--samplers", "mine-to-tune,dns")
    done = sahcns("tune", prepared, *options, "--trials", 3, "--out", tmp_path / "search")
    assert done.code == 0
    search = read_search(tmp_path / "search")
    shares = [trial.point["share"] for trial in search.of("mine-to-tune")]
    assert (shares[0], len(set(shares))) == (0.5, 3)
    assert {trial.settings["patience"] for trial in search.of("mine-to-tune")} == {2.0}
    assert "mine-to-tune: patience stays 2.0" in done.err
    file = tmp_path / "search" / "tuned.json"
    content = json.loads(file.read_text())
    assert content["code"].keys() == search.code.keys() == {"mine-to-tune"}  # dns is ours, and the version stands there
    asked = ("compare", prepared, *options, "--tuned", file, "--seeds", "1", "--json")
    assert sahcns(*asked, "--out", tmp_path / "same").err == ""
    file.write_text(json.dumps({**content, "code": {"mine-to-tune": "0123456789abcdef"}}))
    (remark,) = sahcns(*asked, "--out", tmp_path / "other").err.splitlines()
    assert remark.startswith(f"{file} was tuned with another version of mine-to-tune's code")


def test_what_was_chosen_is_compared_and_reported(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    tuned, study = tmp_path / "tuned", tmp_path / "study"
    options = (*SMALL, "--samplers", "dns,sahc")
    told = ("--set", "sahc.lambda_max=0.9", "--pool", "5", "--trials", "3")
    chosen = sahcns("tune", prepared, *options, *told, "--out", tuned, "--json").json["samplers"]
    around = {"protocol.l2", "protocol.learning_rate"}
    assert {name: own.keys() - around for name, own in chosen.items()} == {
        "dns": {"pool"}, "sahc": {"alpha", "lambda_max", "pool"}
    }  # fmt: skip
    assert all(around <= own.keys() for own in chosen.values())
    compared = sahcns("compare", prepared, *options, "--tuned", tuned / "tuned.json", "--seeds", "1", "--out", study)
    assert compared.code == 0
    assert compared.err.splitlines()[0].startswith("2 runs")  # no remark: the terms are those of the search
    for result in results_in(study):
        own = chosen[result.label]
        assert result.sampler == {"name": result.label, **{key: own[key] for key in own if key not in around}}
        assert {key: result.around[key] for key in around} == {key: own[key] for key in around}
    rates = [own["protocol.learning_rate"] for own in chosen.values()]
    assert all(f"learning_rate={rate}" in compared.out for rate in rates) == (len(set(rates)) == 2)
    assert sahcns("report", tuned).code == 0
    page = (tuned / "report.html").read_text("utf-8")
    assert "Tuning on films" in page
    assert "sahc: ndcg@10 against alpha" in page


BROKEN = MINE.replace("mine-to-tune", "broken-to-tune").replace("hardest = match.scores.argmax(1)", "1 / 0")


def test_a_sampler_of_which_nothing_works_is_told_and_the_others_are_tuned(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, mine: Path
) -> None:
    mine.write_text(textwrap.dedent(BROKEN))
    options = (*SMALL, "--import", mine, "--samplers", "broken-to-tune,dns", "--trials", 2)
    done = sahcns("tune", prepared, *options, "--out", tmp_path / "out")
    assert done.code == 1
    assert "warning: no trial of broken-to-tune is complete: ZeroDivisionError: division by zero" in done.err
    assert read_search(tmp_path / "out").finished("dns")


@pytest.mark.parametrize(
    ("options", "place"),
    [
        (["--on", "nowhere"], "on='nowhere'"),
        (["--pool", "5;10"], "5;10"),
        (["--set", "sahc.aplha=1"], "'aplha'"),
        (["--search", "sahc.aplha=1"], "aplha"),
        (["--search", "protocol.l2=1e-5..x"], "l2='1e-5..x'"),
        (["--search", "alpha"], "--search 'alpha'"),
        (["--search", "protocol.mask=train,train+valid"], "protocol.mask"),
    ],
)
def test_mistakes_are_one_sentence(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, options: list[str], place: str
) -> None:
    done = sahcns("tune", prepared, *SMALL, *options, "--out", tmp_path / "out", "--json")
    assert place in refused(done)


def test_what_to_search_is_for_all_samplers_or_for_one(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    searched = ("--search", "protocol.l2=0,1e-4", "--search", "hc-only.lambda_max=0.5", "--set", "hc-only.pool=5")
    options, out = (*SMALL, "--learning-rate", 1e-3, "--samplers", "dns,hc-only"), tmp_path / "out"
    done = sahcns(
        "tune", prepared, *options, *searched, "--pool", 10, "--trials", 3, "--workers", 2, "--out", out, "--json"
    )
    assert done.json["tried"] == {"dns": 2, "hc-only": 2}
    chosen = done.json["samplers"]
    assert chosen["hc-only"]["pool"] == 5
    assert chosen["dns"]["protocol.l2"] in (0, 1e-4)
    terms = ("--tuned", out, "--seeds", "1", "--l2", 0.5)
    compared = sahcns("compare", prepared, *options, *terms, "--out", tmp_path / "c")
    assert compared.code == 0
    assert "(here 0.5)" in compared.err


def test_two_budgets_several_seeds_and_an_objective(sahcns: Sahcns, prepared: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = ("--samplers", "rns,dns", "--objective", "sampled-softmax", "--search", "objective.temperature=0.05..0.5")
    held = ("--set", "protocol.l2=0.001", "--set", "rns.protocol.learning_rate=0.002")
    spent = ("--trials", 5, "--epoch-budget", 7, "--trial-seeds", 2)
    done = sahcns("tune", prepared, *SMALL, *told, *held, *spent, "--out", out)
    assert done.code == 0
    assert "5 trials or 7 epochs, whichever is spent first. Spent: all epochs: rns, dns." in " ".join(done.out.split())
    search = read_search(out)
    assert search.objective == described(SampledSoftmax(temperature=0.1))
    assert {name: list(space) for name, space in search.spaces.items()} == {
        "rns": ["objective.temperature"],
        "dns": ["pool", "objective.temperature", "protocol.learning_rate"],
    }
    assert {trial.settings["protocol.learning_rate"] for trial in search.of("rns")} == {0.002}
    assert all(len(trial.by_seed) == 2 and trial.epochs_run == 4 for trial in search.trials)
    assert [len(search.of(name)) for name in ("rns", "dns")] == [2, 2]
    study = ("compare", prepared, *SMALL, *told[:4], "--set", "protocol.l2=0.001", "--tuned", out, "--seeds", 1)
    compared = sahcns(*study, "--out", tmp_path / "study", "--json")
    assert compared.code == 0
    for one in compared.json["results"]:
        temperature = search.chosen[one["label"]]["objective.temperature"]
        assert one["objective"] == described(SampledSoftmax(temperature=temperature))
        assert one["protocol"]["l2"] == 0.001


def test_without_optuna_there_is_a_sentence(
    sahcns: Sahcns, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    done = sahcns("tune", prepared, *SMALL, "--out", tmp_path / "out")
    assert refused(done) == "tuning needs Optuna, which is not installed; pip install 'sahcns[tune]'"
    assert not (tmp_path / "out").exists()
