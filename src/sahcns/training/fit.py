"""Train a recommender: the whole loop, in the order it happens."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from sahcns.backbones import Backbone, LightGCN
from sahcns.data.split import Split
from sahcns.errors import SettingError, TrainingError
from sahcns.graph import Graph
from sahcns.model.recommender import Recommender
from sahcns.ranking import Masked, Truth, evaluate
from sahcns.samplers import SAHC, Sampler
from sahcns.training.clock import Clock
from sahcns.training.device import answering, pick_device
from sahcns.training.epochs import Epochs
from sahcns.training.global_generators import seeded_generators
from sahcns.training.interruption import kept_from_ctrl_c
from sahcns.training.protocol import Protocol
from sahcns.training.record import Record
from sahcns.training.start import start
from sahcns.training.step import Streams, TrainingStep
from sahcns.training.stopping import EarlyStopping
from sahcns.training.surroundings import as_torch_starts

OnEpoch = Callable[[dict[str, Any]], None]
Vectors = tuple[Tensor, Tensor]  # of users and items
KS = (10, 20)
WATCHED = ("recall", "ndcg")  # at each look at the validation part
REPORTED = ("recall", "ndcg", "precision", "hit", "mrr", "map", "coverage", "popularity", "bias", "gini")


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
    *,
    protocol: Protocol | None = None,
    seed: int = 0,
    device: str = "auto",
    kernels: str = "auto",
    whole: bool = False,
    on_epoch: OnEpoch | None = None,
) -> Run:
    """Train `backbone` on the split's training part with negatives from `sampler`, judged on its validation part.

    The epoch is picked on validation and the best weights are restored; the test part is ranked once at the end, for
    the best and for the last epoch. Ctrl-C, or a notebook's stop button, ends training early and keeps the best epoch
    so far; before the first look there is none, and it ends the call. During that ranking it ends the ranking and keeps
    the model: test numbers are then missing, and `evaluate` has them.
    The pairs of users who have every item shape the graph and are not trained on: there is nothing to prefer them to.

    backbone   LightGCN() unless told
    sampler    SAHC() unless told
    protocol   Protocol() unless told: up to 1000 epochs, and when to stop; `help(Protocol)` has them all
    seed       any whole number; the same gives the same result, bit for bit on a CPU with as many threads
    device     "auto" is the GPU when there is one; "cpu", "cuda", "cuda:1"
    kernels    "auto" is the fastest of the device; "reference" is plain torch
    whole      train on every pair of the split, validation and test included, for the model to put to use: nothing is
               looked at, all epochs of the protocol are run, the last one is kept, and Ctrl-C keeps nothing
    on_epoch   is called after each epoch with its entry of the history, {"epoch": 0, "loss": …, "seconds": …}, with
               "valid": {"recall@20": …} where it looked; a KeyboardInterrupt that it raises ends training like Ctrl-C
    """
    backbone, sampler, protocol = backbone or LightGCN(), sampler or SAHC(), protocol or Protocol()
    _check_kinds(split, backbone, sampler, protocol)
    seed = _checked_seed(seed)
    where = pick_device(device)
    _check_monitor(protocol.monitor)
    with answering(where), seeded_generators(seed, where), as_torch_starts():
        return _trained(split, backbone, sampler, protocol, seed, where, kernels, whole, on_epoch)


def _trained(
    split: Split,
    backbone: Backbone,
    sampler: Sampler,
    protocol: Protocol,
    seed: int,
    where: torch.device,
    kernels: str,
    whole: bool,
    on_epoch: OnEpoch | None,
) -> Run:
    """The run itself; all that touches the device."""
    began = time.perf_counter()
    given, split = split, split.whole() if whole else split
    valid = None if whole else Truth.of(split, "valid", "train", where)
    test = _test_truth(split, protocol, where)
    graph = Graph.of(split, where, path=kernels)
    streams, clock = Streams.of(seed, where), Clock(where)
    parameters = start(backbone, sampler, graph, streams)
    step = TrainingStep(graph, backbone, sampler, protocol, parameters, streams, clock)
    epochs = Epochs(step, capture=kernels != "reference")
    record = Record.of(split, backbone, sampler, protocol, seed, where, graph.verbs.name)
    if whole:
        record.data["whole_of"] = given.fingerprint
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
                with clock("evaluate"):
                    entry["valid"] = evaluate(*backbone.vectors(parameters, graph), valid, KS, WATCHED)
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
    users, items = kept_from_ctrl_c(lambda: backbone.vectors(stopping.weights, graph))
    if valid is None and not all(bool(table.isfinite().all()) for table in (users, items)):  # no ranking will find it
        raise TrainingError("the last step left vectors that are not finite; lower the learning rate")
    try:
        clock.settle()
        _judge(record, "best", (users, items), valid, test)
        if record.stopped == "interrupted":
            pass  # a cut epoch is no reading
        elif record.best_epoch == record.epochs_run - 1:  # the same weights, ranked already
            for found in (record.valid, record.test):
                found.update({"last": dict(found["best"])} if found else {})
        else:
            _judge(record, "last", backbone.vectors(parameters, graph), valid, test)
    except KeyboardInterrupt:
        _judged_no_further(record)
    record.seconds = {part: round(value, 6) for part, value in clock.seconds.items()}
    record.seconds["total"] = round(time.perf_counter() - began, 6)

    def model() -> Recommender:
        weights = {name: value.cpu() for name, value in stopping.weights.items()}
        return Recommender.of(split, users.cpu(), items.cpu(), weights, record.to_dict())

    return Run(kept_from_ctrl_c(model), record)


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


def _judged_no_further(record: Record) -> None:
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


def _check_kinds(split: object, backbone: object, sampler: object, protocol: object) -> None:
    """A folder for a split, a name or a class for an object: what is handed over by mistake, said by its name."""
    wanted = {
        "split": (split, Split, "load_split(folder) or prepare(read(file))"),
        "backbone": (backbone, Backbone, "LightGCN()"),
        "sampler": (sampler, Sampler, "SAHC()"),
        "protocol": (protocol, Protocol, "Protocol(epochs=40)"),
    }
    for name, (value, kind, such) in wanted.items():
        if not isinstance(value, kind):
            shown = value.__name__ if isinstance(value, type) else repr(value)
            if len(shown) > 60 or "\n" in shown:  # a frame, say, whose text is a page
                shown = f"<{type(value).__name__}>"
            raise SettingError(f"fit: {name}={shown} must be a {kind.__name__}, such as {such}")


def _checked_seed(seed: object) -> int:
    """A number of numpy is one of Python's from here on, and in the record."""
    if not isinstance(seed, Integral) or isinstance(seed, bool):
        raise SettingError(f"fit: seed={seed!r} must be a whole number")
    return int(seed)


def _check_monitor(monitor: str) -> None:
    watched = [f"{name}@{k}" for name in WATCHED for k in KS]
    if monitor not in watched:
        raise SettingError(f"Protocol: monitor={monitor!r} is not watched; choose one of {', '.join(watched)}")
