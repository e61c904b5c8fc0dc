"""Train a recommender: the whole loop, in the order it happens."""

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
from sahcns.model.recommender import Recommender
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


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A finished training run: the model at its best validation epoch, and everything recorded on the way."""

    recommender: Recommender
    record: Record

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {self.test[name]:.2%}" for name in ("recall@20", "ndcg@20") if name in self.test)
        judged = (
            f", best epoch {self.record.best_epoch}{', test ' if found else ''}{found}" if self.record.valid else ""
        )
        return f"Run({self.recommender!r}, {self.record.epochs_run} epochs{judged})"

    @property
    def test(self) -> dict[str, float]:
        """Test metrics at the best validation epoch; empty where nothing was held out for it."""
        return self.record.test.get("best", {})


def fit(
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
) -> Run:
    """Train `backbone` on the split's training part with negatives from `sampler` to minimise `objective`.

    The epoch is picked on the validation part and the best weights are restored; the test part is ranked once at the end, for
    the best and for the last epoch. Ctrl-C, or a notebook's stop button, ends training early and keeps the best epoch
    so far; before the first look there is none, and it ends the call. During that ranking it ends the ranking and keeps
    the model: test numbers are then missing, and `evaluate` has them.
    The pairs of users who have every item shape the graph and are not trained on: there is nothing to prefer them to.

    backbone   LightGCN() by default
    sampler    SAHC() by default
    objective  BPR() by default; L2 is the protocol's, and comes on top
    protocol   Protocol() by default: up to 1000 epochs, and when to stop; `help(Protocol)` has them all
    seed       any whole number; the same gives the same result, bit for bit on a CPU with as many threads
    device     "auto" is the GPU when there is one; "cpu", "cuda", "cuda:1"
    kernels    "auto" is the fastest of the device; "reference" is plain torch
    whole      train on every pair of the split, validation and test included, for the model to put to use: nothing is
               looked at, all epochs of the protocol are run, the last one is kept, and Ctrl-C keeps nothing
    on_epoch   is called after each epoch with its entry of the history, {"epoch": 0, "loss": …, "seconds": …}, with
               "valid": {"recall@20": …} where it looked; a KeyboardInterrupt that it raises ends training like Ctrl-C
    """
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
) -> Run:
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

    def model() -> Recommender:
        weights = {name: value.cpu() for name, value in stopping.weights.items()}
        return Recommender.of(split, users.cpu(), items.cpu(), weights, record.to_dict())

    return Run(retry_once_on_interrupt(model), record)


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
