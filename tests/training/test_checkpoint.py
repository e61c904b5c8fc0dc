"""A run that was killed and called again ends as one that never stopped, to the bit."""

import dataclasses
import os
import random
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from sahcns.backbones import MF, NGCF, SGL, Backbone, LightGCN, LightGCNpp, SimGCL, XSimGCL
from sahcns.errors import DataError, SettingError, TrainingError
from sahcns.graph import Graph
from sahcns.model import Run, fit
from sahcns.objectives import BPR, Objective, SampledSoftmax, SLatK
from sahcns.rng import Rng
from sahcns.samplers import RNS, SAHC, DivNS, InBatch, Matching, Mixture, Sampler, Shared
from sahcns.settings import named
from sahcns.training import Protocol
from sahcns.training.checkpoint import Checkpoints
from tests.splits import random_split

SPLIT = random_split(14, 30, each=4)  # 56 pairs: four steps of an epoch, the last of them short
PROTOCOL = Protocol(batch=16, epochs=5, evaluate_every=2, drop_last=False)
# On a CPU through Triton's interpreter, which is off where there is a GPU.
DEVICES = [pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else ["cpu"]
BUILT_IN = [kind() for kind in named(Sampler).values() if kind.__module__.startswith("sahcns.")]
DIES_AFTER = (2, 1, 4, 3)  # so many opportunities to keep the run: in the first epoch, in later ones, and between two


class Killed(Exception):
    """Stands for a SIGKILL: what is not on the disk by then is gone."""


def train(
    sampler: Sampler, backbone: Backbone, folder: Path | None = None, kernels: str = "auto", **settings: Any
) -> Run:
    arguments: dict[str, Any] = {"protocol": PROTOCOL, "kernels": kernels, "seed": 3, **settings}
    return fit(SPLIT, backbone, sampler, checkpoint=folder, **arguments)


def numbers(run: Run) -> list[object]:
    tables = {name: table.tolist() for name, table in run.recommender.weights.items()}
    history = [{name: value for name, value in entry.items() if name != "seconds"} for entry in run.record.history]
    return [tables, run.recommender.user_vectors.tolist(), history, run.record.test, run.record.best_epoch]


@pytest.fixture
def killing(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Give it a list of when to die: a run dies right after the checkpoint that it writes at that opportunity."""
    when: list[int] = []
    seen = 0
    write = Checkpoints.write

    def due(self: Checkpoints) -> bool:
        nonlocal seen
        seen += 1
        return bool(when) and seen == when[0]

    def write_and_die(self: Checkpoints, tensors: Any, values: Any, wait: bool = False) -> None:
        nonlocal seen
        write(self, tensors, values, wait=True)
        seen = 0
        del when[0]
        raise Killed

    monkeypatch.setattr(Checkpoints, "due", due)
    monkeypatch.setattr(Checkpoints, "write", write_and_die)
    yield when
    assert not when, "the run ended before it was killed as often as it should have been"


def resumed(sampler: Sampler, backbone: Backbone, folder: Path, when: list[int], **settings: Any) -> Run:
    when[:] = DIES_AFTER
    for _ in DIES_AFTER:
        with pytest.raises(Killed):
            train(sampler, backbone, folder, **settings)
    return train(sampler, backbone, folder, **settings)


@dataclass(frozen=True)
class Remembering(Sampler):
    """Keeps a count of batches in its state, and reads the global generators of torch, numpy and Python."""

    name = "remembering"

    def begin(self, graph: Graph) -> dict[str, Any]:
        return {"table": torch.zeros(graph.n_items), "count": 0, "word": "none"}

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        match.state["table"][match.users] += 1
        match.state["count"] += 1
        match.state["word"] = f"after {match.state['count']}"
        noise = torch.rand(1).item() + np.random.rand() + random.gauss(0, 1)  # noqa: NPY002
        at = (match.state["count"] + int(1e6 * abs(noise)) + int(match.state["table"].sum())) % self.pool
        return match.pick(torch.full_like(match.users, at))


@pytest.mark.parametrize("kernels", ["reference", "auto"])
@pytest.mark.parametrize("sampler", [*BUILT_IN, Remembering()])
def test_with_every_sampler(sampler: Sampler, kernels: str, tmp_path: Path, killing: list[int]) -> None:
    expected = numbers(train(sampler, LightGCN(dim=8), kernels=kernels))
    assert numbers(resumed(sampler, LightGCN(dim=8), tmp_path / "kept", killing, kernels=kernels)) == expected


def test_with_users_drawn(tmp_path: Path, killing: list[int]) -> None:
    protocol = dataclasses.replace(PROTOCOL, draw="users")
    expected = numbers(train(SAHC(), LightGCN(dim=8), protocol=protocol))
    assert numbers(resumed(SAHC(), LightGCN(dim=8), tmp_path, killing, protocol=protocol)) == expected
    assert expected != numbers(train(SAHC(), LightGCN(dim=8)))


@pytest.mark.parametrize("draw", ["pairs", "users"])
def test_with_an_order_that_is_computed(
    draw: str, tmp_path: Path, killing: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lean kernels, and an order of which nothing is kept: the place in the epoch is all that it needs."""
    monkeypatch.setattr("sahcns.training.epochs.STORED", 0)
    told: dict[str, Any] = {"kernels": "lean", "protocol": dataclasses.replace(PROTOCOL, draw=draw)}
    expected = numbers(train(SAHC(), LightGCN(dim=8), **told))
    assert numbers(resumed(SAHC(), LightGCN(dim=8), tmp_path, killing, **told)) == expected


@pytest.mark.parametrize(
    "backbone", [MF(dim=8), NGCF(dim=8, dropout=0.1), LightGCNpp(dim=8), SimGCL(dim=8), XSimGCL(dim=8), SGL(dim=8)]
)
@pytest.mark.parametrize("objective", [BPR(), SampledSoftmax()])
def test_with_every_backbone_and_objective(
    backbone: Backbone, objective: Objective, tmp_path: Path, killing: list[int]
) -> None:
    expected = numbers(train(DivNS(ratio=2), backbone, objective=objective))
    assert numbers(resumed(DivNS(ratio=2), backbone, tmp_path, killing, objective=objective)) == expected


OBJECTIVES = [kind() for kind in named(Objective).values() if kind.__module__.startswith("sahcns.")]


@pytest.mark.parametrize("objective", [*OBJECTIVES, SLatK(top_k=3, refresh=2, sample=8)], ids=str)
def test_with_every_objective(objective: Objective, tmp_path: Path, killing: list[int]) -> None:
    """SL@K's thresholds of an epoch long ago among it."""
    sampler = InBatch() if objective.only_sampler else Shared()
    expected = numbers(train(sampler, LightGCN(dim=8), objective=objective))
    assert numbers(resumed(sampler, LightGCN(dim=8), tmp_path, killing, objective=objective)) == expected


def test_where_nothing_is_held_out(tmp_path: Path, killing: list[int]) -> None:
    expected = numbers(train(SAHC(), LightGCN(dim=8), whole=True))
    assert numbers(resumed(SAHC(), LightGCN(dim=8), tmp_path, killing, whole=True)) == expected


@pytest.mark.parametrize("device", DEVICES)
def test_in_ordered_mode(device: str, tmp_path: Path, killing: list[int]) -> None:
    epochs = 4 if device == "cuda" else 2  # a GPU keeps a run once a step is captured; the interpreter is slow
    short = Protocol(batch=28, epochs=epochs, evaluate_every=1)
    settings: dict[str, Any] = {"kernels": "triton-ordered", "device": device, "protocol": short}
    expected = numbers(train(SAHC(pool=3), LightGCN(dim=4), **settings))
    killing[:] = [3]
    with pytest.raises(Killed):
        train(SAHC(pool=3), LightGCN(dim=4), tmp_path, **settings)
    assert numbers(train(SAHC(pool=3), LightGCN(dim=4), tmp_path, **settings)) == expected


def test_of_two_checkpoints_the_newer_that_is_whole(tmp_path: Path, killing: list[int]) -> None:
    expected = numbers(train(SAHC(), LightGCN(dim=8)))
    killing[:] = 2, 3
    for _ in range(2):
        with pytest.raises(Killed):
            train(SAHC(), LightGCN(dim=8), tmp_path)
    newer = max(tmp_path.glob("*/values.json"), key=lambda path: path.stat().st_mtime_ns)
    newer.write_bytes(newer.read_bytes().replace(b'"at": ', b'"at":  '))
    assert numbers(train(SAHC(), LightGCN(dim=8), tmp_path)) == expected
    for path in tmp_path.glob("*/state.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="fresh"):
        train(SAHC(), LightGCN(dim=8), tmp_path)
    assert numbers(train(SAHC(), LightGCN(dim=8), tmp_path, fresh=True)) == expected


@pytest.mark.parametrize(
    ("change", "named_in_it"),
    [
        ({"seed": 4}, "seed"),
        ({"protocol": Protocol(batch=16, epochs=5, evaluate_every=2, drop_last=False, l2=0.5)}, "protocol.l2"),
        ({"sampler": RNS()}, "sampler.name"),
        ({"whole": True}, "data"),
    ],
)
def test_another_run_is_refused(change: dict[str, Any], named_in_it: str, tmp_path: Path, killing: list[int]) -> None:
    killing[:] = [2]
    with pytest.raises(Killed):
        train(SAHC(), LightGCN(dim=8), tmp_path)
    arguments: dict[str, Any] = {"sampler": SAHC(), **change}
    with pytest.raises(SettingError, match=named_in_it):
        train(backbone=LightGCN(dim=8), folder=tmp_path, **arguments)


def test_begun_anew_a_run_goes_on_where_the_new_one_was(tmp_path: Path, killing: list[int]) -> None:
    """The former run got further, and was another; what else is in the folder stays."""
    mine = tmp_path / "mine.txt"
    mine.write_text("kept")
    for seed, fresh, dies in ((4, False, 2), (4, False, 3), (3, True, 2)):
        killing[:] = [dies]
        with pytest.raises(Killed):
            train(SAHC(), LightGCN(dim=8), tmp_path, seed=seed, fresh=fresh)
    assert numbers(train(SAHC(), LightGCN(dim=8), tmp_path)) == numbers(train(SAHC(), LightGCN(dim=8)))
    assert mine.read_text() == "kept"


def test_a_setting_that_files_hold_in_another_form(tmp_path: Path, killing: list[int]) -> None:
    @dataclass(frozen=True)
    class Shares(RNS):
        name = "shares"
        shares: tuple[float, ...] = (0.5, 0.5)

    expected = numbers(train(Shares(), LightGCN(dim=8)))
    assert numbers(resumed(Shares(), LightGCN(dim=8), tmp_path, killing)) == expected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_keeps_the_run_where_it_is(number: int, tmp_path: Path) -> None:
    expected = numbers(train(SAHC(), LightGCN(dim=8)))
    former = signal.getsignal(number)

    def tell(entry: dict[str, Any]) -> None:
        if entry["epoch"] == 2:
            os.kill(os.getpid(), number)

    ended = train(SAHC(), LightGCN(dim=8), tmp_path, on_epoch=tell, checkpoint_every=3600.0)
    assert (ended.record.stopped, ended.record.epochs_run) == ("interrupted", 3)
    assert signal.getsignal(number) is former
    assert numbers(train(SAHC(), LightGCN(dim=8), tmp_path)) == expected


def test_a_run_whose_state_no_file_can_hold_goes_on_without(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Locked(Remembering):
        name = "locked"

        def begin(self, graph: Graph) -> dict[str, Any]:
            return {**super().begin(graph), "lock": threading.Lock()}

    with pytest.warns(UserWarning, match="lock"):
        run = train(Locked(), LightGCN(dim=8), tmp_path / "kept", checkpoint_every=0.0)
    assert run.record.stopped == "epochs"
    assert not (tmp_path / "kept").exists()


def test_a_run_that_diverges_leaves_its_last_good_checkpoint(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Diverging(Remembering):
        """Its fifteenth batch is made of weights that are not numbers, which is the epoch's third."""

        name = "diverging"

        def choose(self, match: Matching, rng: Rng) -> Mixture:
            mixture = super().choose(match, rng)
            return Mixture(mixture.items, mixture.items * torch.nan) if match.state["count"] == 15 else mixture

    with pytest.raises(TrainingError, match="step 2 of epoch 3 with Diverging"):
        train(Diverging(), LightGCN(dim=8), tmp_path, checkpoint_every=0.0)
    for turn in tmp_path.iterdir():
        tables = load_file(turn / "state.safetensors")
        assert all(bool(table.isfinite().all()) for name, table in tables.items() if name.startswith("parameter."))


def test_a_disk_that_refuses_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="file"):
        train(SAHC(), LightGCN(dim=8), tmp_path / "file", checkpoint_every=0.0)
