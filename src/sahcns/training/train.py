"""Training: the whole loop, in the order it happens."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeVar

import torch
from torch import Tensor

from sahcns.backbones import Backbone, LightGCN
from sahcns.data.split import Split
from sahcns.errors import SettingError, TrainingError
from sahcns.kernels import build_graph
from sahcns.objectives import BPR, Objective
from sahcns.ranking import Masked, Truth, evaluate
from sahcns.samplers import SAHC, Sampler
from sahcns.training.device import answering, default_torch_state, pick_device, seeded_generators
from sahcns.training.epochs import Epochs
from sahcns.training.profiler import Profiler
from sahcns.training.protocol import Protocol
from sahcns.training.record import Record
from sahcns.training.step import Streams, TrainingStep, initial_parameters

OnEpoch = Callable[[dict[str, Any]], None]
Vectors = tuple[Tensor, Tensor]  # of users and items
Made = TypeVar("Made")
KS = (10, 20)
WATCHED = ("recall", "ndcg")  # at each look at the validation part
REPORTED = ("recall", "ndcg", "precision", "hit", "mrr", "map", "coverage", "popularity", "bias", "gini")


@dataclass
class EarlyStopping:
    """Patience counts looks, not epochs; an equal value counts as a new best, as in the lineage."""

    patience: int
    best: float = float("-inf")
    best_epoch: int = -1
    since: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)

    def update(self, epoch: int, value: float, parameters: dict[str, Tensor]) -> bool:
        """Take note of one look; true when training should stop."""
        if value >= self.best:
            weights = {name: tensor.detach().clone() for name, tensor in parameters.items()}
            # Together, and after the copying: a Ctrl-C within it leaves the former best as it was.
            self.best, self.best_epoch, self.since, self.weights = value, epoch, 0, weights
            return False
        self.since += 1
        return self.since >= self.patience


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves: the final vectors and the weights of the best epoch, on the CPU, and what was recorded."""

    split: Split  # whose training part was trained on
    users: Tensor  # [n_users, D]
    items: Tensor  # [n_items, D]
    weights: dict[str, Tensor]
    record: Record


def train(
    split: Split,
    backbone: Backbone | None = None,
    sampler: Sampler | None = None,
    objective: Objective | None = None,
    *,
    protocol: Protocol | None = None,
    seed: int = 0,
    device: str = "auto",
    kernels: str = "auto",
    whole: bool = False,
    on_epoch: OnEpoch | None = None,
) -> Trained:
    """The vectors of `backbone`, trained as `sahcns.fit` says, which makes a recommender of them."""
    backbone, sampler, objective = backbone or LightGCN(), sampler or SAHC(), objective or BPR()
    protocol = protocol or Protocol()
    _check_kinds(split=(split, Split), backbone=(backbone, Backbone), sampler=(sampler, Sampler))
    _check_kinds(objective=(objective, Objective), protocol=(protocol, Protocol), seed=(seed, Integral))
    where = pick_device(device)
    _check_monitor(protocol.monitor)
    with answering(where), seeded_generators(seed, where), default_torch_state():
        return _train(split, backbone, sampler, objective, protocol, int(seed), where, kernels, whole, on_epoch)


def _train(
    split: Split,
    backbone: Backbone,
    sampler: Sampler,
    objective: Objective,
    protocol: Protocol,
    seed: int,
    where: torch.device,
    kernels: str,
    whole: bool,
    on_epoch: OnEpoch | None,
) -> Trained:
    """The run itself; all that touches the device."""
    began = time.perf_counter()
    fingerprint, split = split.fingerprint, split.whole() if whole else split
    valid = None if whole else Truth.of(split, "valid", "train", where)
    test = _test_truth(split, protocol, where)
    graph = build_graph(split, where, path=kernels)
    streams, profiler = Streams.of(seed, where), Profiler(where)
    parameters = initial_parameters(backbone, sampler, graph, streams)
    step = TrainingStep(graph, backbone, sampler, objective, protocol, parameters, streams, profiler)
    epochs = Epochs(step, capture=kernels != "reference")
    record = Record.of(split, backbone, sampler, protocol, seed, where, graph.path, objective)
    if whole:
        record.data["whole_of"] = fingerprint
    if full := graph.full_users:
        record.data["users_with_every_item"] = full
    stopping = EarlyStopping(protocol.patience)
    record.stopped = "epochs"
    try:
        for epoch in range(protocol.epochs):
            entry: dict[str, Any] = {"epoch": epoch, **_epoch(epochs, epoch)}
            record.history.append(entry)
            record.epochs_run = epoch + 1
            stop = False
            if valid is None:
                stop = epoch == protocol.epochs - 1 and stopping.update(epoch, 0.0, parameters)
            elif epoch % protocol.evaluate_every == 0 or epoch == protocol.epochs - 1:
                with profiler("evaluate"):
                    entry["valid"] = evaluate(*step.vectors(parameters), valid, KS, WATCHED)
                stop = stopping.update(epoch, entry["valid"][protocol.monitor], parameters)
            if on_epoch is not None:
                on_epoch(entry)
            if stop:
                record.stopped = "patience"
                break
    except KeyboardInterrupt:
        if stopping.best_epoch < 0:
            raise
        record.stopped = "interrupted"
    record.best_epoch = stopping.best_epoch
    record.machine["steps"] = epochs.mode
    users, items = retry_once_on_interrupt(lambda: step.vectors(stopping.weights))
    if valid is None and not all(bool(table.isfinite().all()) for table in (users, items)):  # no ranking will find it
        raise TrainingError("the last step left vectors that are not finite; lower the learning rate")
    try:
        profiler.settle()
        _judge(record, "best", (users, items), valid, test)
        if record.stopped == "interrupted":
            pass  # a cut epoch is no reading
        elif record.best_epoch == record.epochs_run - 1:  # the same weights, ranked already
            for found in (record.valid, record.test):
                found.update({"last": dict(found["best"])} if found else {})
        else:
            _judge(record, "last", step.vectors(parameters), valid, test)
    except KeyboardInterrupt:
        _stop_judging(record)
    record.seconds = {part: round(value, 6) for part, value in profiler.seconds.items()}
    record.seconds["total"] = round(time.perf_counter() - began, 6)

    def trained() -> Trained:
        weights = {name: value.cpu() for name, value in stopping.weights.items()}
        return Trained(split, users.cpu(), items.cpu(), weights, record)

    return retry_once_on_interrupt(trained)


def _epoch(epochs: Epochs, epoch: int) -> dict[str, Any]:
    """One pass over the shuffled training pairs: mean loss and seconds."""
    began = time.perf_counter()
    values = epochs.run(epoch).tolist()
    for at, value in enumerate(values):
        if not math.isfinite(value):
            raise TrainingError(
                f"the loss became {value} at step {at} of epoch {epoch}; try a smaller learning rate "
                "(--learning-rate 0.0001) or more L2, and check the sampler's weights"
            )
    return {"loss": sum(values) / len(values), "seconds": round(time.perf_counter() - began, 6)}


def _judge(record: Record, reading: str, vectors: Vectors, valid: Truth | None, test: Truth | None) -> None:
    """All metrics of one reading, on the parts that there are."""
    if valid is not None:
        record.valid[reading] = evaluate(*vectors, valid, KS, REPORTED)
    if test is not None:
        record.test[reading] = evaluate(*vectors, test, KS, REPORTED)


def _stop_judging(record: Record) -> None:
    """Ctrl-C cut the ranking, not the model: of validation there is at least what training looked at."""
    record.stopped = "interrupted"
    for found in (record.valid, record.test):
        found.pop("last", None)
    looked = record.history[record.best_epoch].get("valid")
    if looked:
        record.valid.setdefault("best", dict(looked))


def _test_truth(split: Split, protocol: Protocol, device: torch.device) -> Truth | None:
    mask: Masked = "train" if protocol.mask == "train" else "train+valid"
    return Truth.of(split, "test", mask, device) if len(split.test) else None


def retry_once_on_interrupt(make: Callable[[], Made]) -> Made:
    """What `make` makes in a moment: a Ctrl-C begins it again, and only another one ends it."""
    try:
        return make()
    except KeyboardInterrupt:
        return make()


def _check_kinds(**parts: tuple[object, type]) -> None:
    """A folder for a split, a class for an object: what is handed over by mistake is named."""
    for name, (value, kind) in parts.items():
        if not isinstance(value, kind) or isinstance(value, bool):
            shown = value.__name__ if isinstance(value, type) else f"{value!r:.60}".partition("\n")[0]
            raise SettingError(f"fit: {name}={shown} must be a {kind.__name__}")


def _check_monitor(monitor: str) -> None:
    watched = [f"{name}@{k}" for name in WATCHED for k in KS]
    if monitor not in watched:
        raise SettingError(f"Protocol: monitor={monitor!r} is not watched; choose one of {', '.join(watched)}")
