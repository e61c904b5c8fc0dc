"""One model on two processes is the model of one; a process that is killed costs nothing but time."""

import json
import os
import shutil
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.backbones import MF, NGCF, Backbone, LightGCN, SimGCL
from sahcns.errors import SettingError, TrainingError
from sahcns.model import Recommender, Run, fit
from sahcns.objectives import Objective, SampledSoftmax
from sahcns.rng import Rng
from sahcns.samplers import RNS, SAHC, Matching, Mixture, Sampler
from sahcns.settings import named
from sahcns.training import JsonLines, Protocol
from sahcns.training.checkpoint import Checkpoints
from sahcns.training.ranks import Ranks, check, joined
from tests.lab.killing import ended, forked
from tests.splits import random_split

pytestmark = pytest.mark.xdist_group("ranks")  # the two processes are started once

# Every item has training pairs: those without have but a layer 0, and σ of all of them is the same but for rounding.
SPLIT = random_split(20, 16, each=6)
PROTOCOL = Protocol(batch=32, epochs=4, evaluate_every=2, learning_rate=0.01, l2=0.01)
FORMER = random_split(20, 16, each=5, seed=7)


@dataclass(frozen=True)
class SideBySide(LightGCN):
    """Layers one after the other, not their mean; the tables from torch's generator, whole in each process."""

    name = "side-by-side"
    by_columns = True

    @property
    def aggregation(self) -> Aggregation:
        return Aggregation("concat")

    def initial(self, graph: Any, rng: Rng, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
        return {"ego": torch.randn(graph.n, self.dim) / 10}


@dataclass(frozen=True)
class Nearest(Sampler):
    """Of the pool the item whose final vector is nearest to the positive's: no score says which."""

    name = "nearest"

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        candidates = match.item_vectors[match.candidates]
        return match.pick(torch.cdist(match.item_vectors[match.positives][:, None], candidates)[:, 0].argmin(1))


SAMPLERS = [kind() for kind in named(Sampler).values() if kind.__module__.startswith("sahcns.")] + [Nearest()]
OBJECTIVES = {name: kind() for name, kind in named(Objective).items() if kind.__module__.startswith("sahcns.")}
CASES: dict[str, dict[str, Any]] = {
    **{sampler.name: {"sampler": sampler} for sampler in SAMPLERS},
    "mf": {"backbone": MF(dim=8)},
    "concat": {"backbone": SideBySide(dim=8, depth=2)},
    "concat, rows": {"backbone": SideBySide(dim=8, depth=2), "sampler": Nearest()},
    **{f"objective {name}": {"sampler": None, "objective": objective} for name, objective in OBJECTIVES.items()},
    "softmax": {"sampler": RNS(pool=5), "objective": SampledSoftmax()},
    "real": {"protocol": Protocol(batch=16, epochs=2, l2=0.1, l2_on="real", drop_last=False)},
    "whole": {"whole": True, "kernels": "reference"},
    "start": {"start": True},
    "lean": {"kernels": "lean"},
}


def train(home: Path, case: str, **more: Any) -> Run:
    how = {
        "backbone": LightGCN(dim=8),
        "sampler": SAHC(),
        "protocol": PROTOCOL,
        "seed": 5,
        "device": "cpu",
        **CASES[case],
    }
    if "start" in how:
        how["start"] = Recommender.load(home / "former")
    return fit(SPLIT, **how, **more)


def numbers(run: Run) -> dict[str, Any]:
    judged = {"valid": run.record.valid, "test": run.record.test, "epoch": run.record.best_epoch}
    losses = [entry["loss"] for entry in run.record.history]
    model = run.recommender
    stopped = run.record.stopped
    tables = {"users": model.user_vectors, "items": model.item_vectors, **model.weights}
    return {"judged": judged, "losses": losses, "tables": tables, "stopped": stopped}


def in_two(work: Callable[..., None], *arguments: object) -> list[int | None]:
    """The exit codes of two processes that train together."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [forked([__name__], _one_of_two, rank, port, work, *arguments) for rank in range(2)]
    return [ended(process) for process in started]


def _one_of_two(rank: int, port: int, work: Callable[..., None], *arguments: object) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    with joined("cpu") as own:
        assert own == rank
        work(rank, *arguments)


def check_gradients() -> None:
    """Of a loss that has whole tensors, own columns of them, what is gathered and what is added up."""
    ranks = Ranks(6)
    x, y, z = (torch.randn(4, 6, generator=torch.Generator().manual_seed(at)).requires_grad_() for at in range(3))

    def loss(
        own: Callable[[Tensor], Tensor], gather: Callable[[Tensor], Tensor], total: Callable[[Tensor], Tensor]
    ) -> Tensor:
        product: Tensor = total((own(x) * own(y) * own(z)).sum(1)).exp().sum()
        lengths: Tensor = gather(own(y)).norm(dim=1) * x.norm(dim=1)
        return product + lengths.sum()

    def same(x: Tensor) -> Tensor:
        return x

    expected = torch.autograd.grad(loss(same, same, same), (x, y, z))
    found = torch.autograd.grad(loss(ranks.own, ranks.gather, ranks.sum), (x, y, z))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def train_all(rank: int, home: Path) -> None:
    check_gradients()
    found = {case: numbers(train(home, case)) for case in CASES}
    found["stopped"] = numbers(train(home, "sahc", on_epoch=stopping_by(lambda: signal.raise_signal(signal.SIGINT))))
    kept: dict[str, Any] = {"checkpoint": home / "kept", "checkpoint_every": 3600.0}
    ended_by_it = train(home, "sahc", on_epoch=stopping_by(lambda: signal.raise_signal(signal.SIGTERM)), **kept)
    assert (ended_by_it.record.stopped, ended_by_it.record.epochs_run) == ("interrupted", 2)
    found["gone on"] = numbers(train(home, "sahc", **kept))
    found["logged"] = numbers(train(home, "divns", log=JsonLines(home / "two.jsonl")))
    torch.save(found, home / f"{rank}.pt")


def stopping_by(end: Callable[[], None]) -> Callable[[dict[str, Any]], None]:
    """In the first process, after the second epoch; the other one is not asked."""

    def stop(entry: dict[str, Any]) -> None:
        if entry["epoch"] == 1:
            end()

    return stop


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ranks")
    fit(FORMER, LightGCN(dim=8), RNS(), protocol=PROTOCOL, device="cpu").recommender.save(place / "former")
    assert in_two(train_all, place) == [0, 0]
    return place


@pytest.mark.parametrize("case", CASES)
def test_two_processes_are_as_one(case: str, home: Path) -> None:
    one = numbers(train(home, case))
    first, second = (torch.load(home / f"{rank}.pt")[case] for rank in range(2))
    np.testing.assert_allclose(first["losses"], one["losses"], rtol=1e-5)
    for name, table in one["tables"].items():
        torch.testing.assert_close(first["tables"][name], table, rtol=1e-5, atol=1e-5)
        assert torch.equal(first["tables"][name], second["tables"][name])
    assert first["judged"] == second["judged"]
    assert first["judged"]["epoch"] == one["judged"]["epoch"]
    for part in ("valid", "test"):
        assert first["judged"][part] == {
            reading: pytest.approx(metrics, abs=1e-5) for reading, metrics in one["judged"][part].items()
        }


def same(one: Any, other: Any) -> bool:
    """To the bit."""
    tables = all(torch.equal(table, other["tables"][name]) for name, table in one["tables"].items())
    return tables and all(one[what] == other[what] for what in ("judged", "losses", "stopped"))


def test_who_is_told_to_stop_is_the_first(home: Path) -> None:
    first, second = (torch.load(home / f"{rank}.pt") for rank in range(2))
    assert (first["stopped"]["stopped"], len(first["stopped"]["losses"])) == ("interrupted", 2)
    assert same(first["stopped"], second["stopped"])
    assert same(first["gone on"], first["sahc"])


def test_a_log_is_told_the_same_and_changes_nothing(home: Path) -> None:
    train(home, "divns", log=JsonLines(home / "one.jsonl"))
    texts = ((home / name).read_text() for name in ("one.jsonl", "two.jsonl"))
    one, two = ([json.loads(line) for line in text.splitlines()] for text in texts)
    assert [entry.keys() for entry in two] == [entry.keys() for entry in one]
    looked = ("loss", "loss/objective", "loss/l2", "sampler/gap", "valid/recall@20")
    for name in looked:
        assert [entry[name] for entry in two if name in entry] == pytest.approx(
            [entry[name] for entry in one if name in entry], abs=1e-5
        )
    found = torch.load(home / "0.pt")
    assert same(found["logged"], found["divns"])


def keep_each_step(rank: int, home: Path, dies_at: int) -> None:
    """The second process is killed at a sum, which the first one waits for."""
    Checkpoints.due = lambda self: True  # type: ignore[method-assign]  # this process has nothing else to do
    real, sums = Ranks.sum, list[int]()

    def deadly(self: Ranks, x: Tensor) -> Tensor:
        sums.append(rank)
        if rank == 1 and len(sums) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, x)

    Ranks.sum = deadly  # type: ignore[method-assign]
    run = train(home, "dens", checkpoint=home / "killed", checkpoint_every=0.0)
    torch.save(numbers(run), home / f"after{rank}.pt")


def test_a_process_that_is_killed_costs_nothing(home: Path) -> None:
    assert in_two(keep_each_step, home, 20) == [1, -signal.SIGKILL]
    shutil.copytree(home / "killed", home / "alone", ignore=shutil.ignore_patterns(".*"))
    assert in_two(keep_each_step, home, 0) == [0, 0]
    assert same(torch.load(home / "after0.pt"), torch.load(home / "0.pt")["dens"])

    alone = train(home, "dens", checkpoint=home / "alone")  # one process goes on with what two have begun
    kept = max((home / "alone").glob("*/values.json"), key=lambda path: path.stat().st_mtime_ns)
    assert alone.record.history[0] == json.loads(kept.read_text())["history"][0]
    one = numbers(train(home, "dens"))
    for name, table in one["tables"].items():
        torch.testing.assert_close(numbers(alone)["tables"][name], table, rtol=1e-5, atol=1e-5)


def with_seeds(rank: int, home: Path) -> None:
    wrong = "seed=1.*first one 0" if rank else "lost the others"
    with pytest.raises(SettingError if rank else TrainingError, match=wrong):
        fit(SPLIT, LightGCN(dim=8), RNS(), protocol=PROTOCOL, seed=rank, device="cpu")


def test_another_seed_in_each_process_is_refused(tmp_path: Path) -> None:
    assert in_two(with_seeds, tmp_path) == [0, 0]


@dataclass(frozen=True)
class Subclass(LightGCN):
    """Whether it works column by column it does not say."""


@pytest.mark.parametrize(
    ("backbone", "device", "says"),
    [
        (LightGCN(dim=9), None, "dim=9.*10"),
        (NGCF(), None, "NGCF.*by_columns"),
        (SimGCL(), None, "SimGCL"),
        (Subclass(), None, "Subclass"),
        (LightGCN(), "cuda:0", "cuda:0|no GPU"),
        pytest.param(LightGCN(dim=64 * 99), "cuda", "GPU", id="gpus"),
    ],
)
def test_what_cannot_be_cut_is_a_sentence(backbone: Backbone, device: str | None, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        check(backbone, 99 if device == "cuda" else 2, device)
