"""One model on two processes is the model of one; a process that is killed costs nothing but time."""

import os
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
from sahcns.errors import SettingError
from sahcns.model import Recommender, Run, fit
from sahcns.objectives import SampledSoftmax
from sahcns.rng import Rng
from sahcns.samplers import DENS, RNS, SAHC, DivNS, Matching, Mixture, Sampler
from sahcns.settings import named
from sahcns.training import Protocol, checkpoint
from sahcns.training.ranks import check, joined
from tests.lab.killing import ended, forked
from tests.splits import random_split

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
CASES: dict[str, dict[str, Any]] = {
    **{sampler.name: {"sampler": sampler} for sampler in SAMPLERS},
    "mf": {"backbone": MF(dim=8)},
    "concat": {"backbone": SideBySide(dim=8, depth=2)},
    "concat, rows": {"backbone": SideBySide(dim=8, depth=2), "sampler": Nearest()},
    "softmax": {"sampler": RNS(pool=5), "objective": SampledSoftmax()},
    "real": {"protocol": Protocol(batch=16, epochs=2, l2=0.1, l2_on="real", drop_last=False)},
    "whole": {"whole": True, "kernels": "reference"},
    "start": {"start": True},
}


def train(home: Path, case: str, **more: Any) -> Run:
    how = {"backbone": LightGCN(dim=8), "sampler": SAHC(), "protocol": PROTOCOL, "seed": 5, "device": "cpu", **CASES[case]}
    if "start" in how:
        how["start"] = Recommender.load(home / "former")
    return fit(SPLIT, **how, **more)


def numbers(run: Run) -> dict[str, Any]:
    judged = {"valid": run.record.valid, "test": run.record.test, "epoch": run.record.best_epoch}
    losses = [entry["loss"] for entry in run.record.history]
    model = run.recommender
    tables = {"users": model.user_vectors, "items": model.item_vectors, **model.weights}
    return {"judged": judged, "losses": losses, "tables": tables}


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


def train_all(rank: int, home: Path) -> None:
    found = {case: numbers(train(home, case)) for case in CASES}
    torch.save(found, home / f"{rank}.pt")


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
