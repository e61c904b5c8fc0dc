"""Training: the whole loop, in the order it happens."""

import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, TypeVar

import torch
from torch import Tensor

from sahcns.backbones import Backbone, LightGCN
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError, TrainingError
from sahcns.kernels import build_graph
from sahcns.objectives import BPR, Objective
from sahcns.ranking import Masked, Truth, evaluate
from sahcns.samplers import Sampler
from sahcns.sources import own_code
from sahcns.training.checkpoint import (
    Checkpoints,
    Saved,
    digest_of,
    forget,
    generators,
    part_state,
    set_generators,
    set_part_state,
)
from sahcns.training.device import answering, default_torch_state, pick_device, seeded_generators
from sahcns.training.epochs import Epochs, checked_losses, timed_epoch
from sahcns.training.log import Log
from sahcns.training.profiler import Profiler
from sahcns.training.protocol import Protocol
from sahcns.training.ranks import Alone, meet
from sahcns.training.record import Record
from sahcns.training.step import SAMPLER, Streams, TrainingStep, initial_parameters, sampler_for
from sahcns.training.stopping import EarlyStopping
from sahcns.training.watch import Watch

Start = Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]
"""What training starts from, given what it would start from otherwise."""
OnEpoch = Callable[[dict[str, Any]], None]
Vectors = tuple[Tensor, Tensor]  # of users and items
Made = TypeVar("Made")
KS = (10, 20)
WATCHED = ("recall", "ndcg")  # at each look at the validation part
REPORTED = ("recall", "ndcg", "precision", "hit", "mrr", "map", "coverage", "popularity", "bias", "gini")


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
    looks: bool = True,
    on_epoch: OnEpoch | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    fresh: bool = False,
    log: Log | Sequence[Log] | None = None,
    start: Start | None = None,
) -> Trained:
    """The vectors of `backbone`, trained as `sahcns.fit` says, which makes a recommender of them.

    Without `looks` at the validation part all epochs of the protocol are run, and the last one is kept.
    """
    backbone, objective, protocol = backbone or LightGCN(), objective or BPR(), protocol or Protocol()
    check_kinds(split=(split, Split), backbone=(backbone, Backbone), objective=(objective, Objective))
    sampler = sampler_for(objective, sampler)
    check_kinds(sampler=(sampler, Sampler), protocol=(protocol, Protocol), seed=(seed, Integral))
    ranks, where = meet(backbone, pick_device(device))
    _check_monitor(protocol.monitor)
    with (
        answering(where),
        seeded_generators(seed, where),
        default_torch_state(),
        ranks.listening(),
        Watch(log, ranks.rank > 0) as watch,
    ):
        parts = split, backbone, sampler, objective, protocol
        run = _Run(*parts, int(seed), where, kernels, whole, looks and not whole, on_epoch, watch, start, ranks)
        if checkpoint is not None:
            run.keep_in(checkpoint, checkpoint_every, fresh)
        ranks.agree({**run.identity(), "begin": run.first})
        watch.begin(run.step, run.record, run.split)
        return run.train()


class _Run:
    """The run itself; all that touches the device."""

    def __init__(
        self,
        split: Split,
        backbone: Backbone,
        sampler: Sampler,
        objective: Objective,
        protocol: Protocol,
        seed: int,
        where: torch.device,
        kernels: str,
        whole: bool,
        looks: bool,
        on_epoch: OnEpoch | None,
        watch: Watch,
        start: Start | None,
        ranks: Alone,
    ) -> None:
        self.began = time.perf_counter()
        fingerprint, split = split.fingerprint, split.whole() if whole else split
        self.split, self.protocol, self.on_epoch, self.where = split, protocol, on_epoch, where
        self.watch, self.ranks = watch, ranks
        self.valid = Truth.of(split, "valid", "train", where) if looks else None
        self.test = _test_truth(split, protocol, where)
        graph = build_graph(split, where, path=kernels).cut(ranks)
        streams, self.profiler = Streams.of(seed, where), Profiler(where)
        streams.start = ranks.rng(streams.start)
        self.parameters = initial_parameters(backbone, sampler, graph, streams)
        self.shapes = {table.shape for name, table in self.parameters.items() if not name.startswith(SAMPLER)}
        if start is not None:
            with torch.no_grad():
                for name, value in start(self._whole(self.parameters)).items():
                    self.parameters[name].copy_(self._own(value, self.parameters[name]))
        self.step = TrainingStep(graph, backbone, sampler, objective, protocol, self.parameters, streams, self.profiler)
        # Nobody cuts a run whose steps are so short that launching them takes longer.
        self.epochs = Epochs(self.step, capture=kernels != "reference" and ranks.count == 1)
        self.record = Record.of(split, backbone, sampler, protocol, seed, where, graph.path, objective)
        if ranks.count > 1:
            self.record.machine["processes"] = ranks.count
        if whole:
            self.record.data["whole_of"] = fingerprint
        if full := graph.full_users:
            self.record.data["users_with_every_item"] = full
        self.stopping = EarlyStopping(protocol.patience)
        self.started_from = None if start is None else digest_of(self._whole(self.parameters))
        self.first = (0, 0)  # the epoch to begin with, and its steps that are done
        self.kept: Checkpoints | None = None

    def train(self) -> Trained:
        record, stopping, profiler = self.record, self.stopping, self.profiler
        record.stopped = "epochs"
        try:
            with self.kept.ending_between_steps() if self.kept else nullcontext():
                self._epochs()
            if self.kept and self.kept.stop:  # it came within the last step
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            if stopping.best_epoch < 0:
                raise
            record.stopped = "interrupted"
        record.best_epoch = stopping.best_epoch
        record.machine["steps"] = self.epochs.mode
        users, items = retry_once_on_interrupt(lambda: self.step.vectors(stopping.weights), record)
        if self.valid is None and not all(bool(table.isfinite().all()) for table in (users, items)):
            raise TrainingError("the last step left vectors that are not finite; lower the learning rate")
        try:
            profiler.settle()
            self._judge("best", (users, items))
            if record.stopped == "interrupted":
                pass  # a cut epoch is no reading
            elif record.best_epoch == record.epochs_run - 1:  # the same weights, ranked already
                for found in (record.valid, record.test):
                    found.update({"last": dict(found["best"])} if found else {})
            else:
                self._judge("last", self.step.vectors(self.parameters))
        except KeyboardInterrupt:
            _stop_judging(record)
        record.seconds = {part: round(value, 6) for part, value in profiler.seconds.items()}
        record.seconds["total"] = round(time.perf_counter() - self.began, 6)

        def trained() -> Trained:
            weights = {name: value.cpu() for name, value in self._whole(stopping.weights).items()}
            return Trained(self.split, users.cpu(), items.cpu(), weights, record)

        return retry_once_on_interrupt(trained, record)

    def _epochs(self) -> None:
        """Epoch after epoch, until the best is long enough ago."""
        first, done = self.first
        for entry in self.record.history:  # of a run that goes on: who counts epochs begins anew
            self.ranks.first(partial(self._tell, entry))
        for epoch in range(first, self.protocol.epochs):
            entry = {"epoch": epoch, **timed_epoch(self.epochs, epoch, done if epoch == first else 0)}
            if self._look(epoch, entry):
                self.record.stopped = "patience"
                break
            if self.kept and epoch + 1 < self.protocol.epochs:
                self._keep(epoch + 1, 0)

    def _look(self, epoch: int, entry: dict[str, Any]) -> bool:
        """Write an epoch down, after a look at the validation part if it is time for one; whether to stop."""
        self.record.history.append(entry)
        self.record.epochs_run = epoch + 1
        last, stop = epoch == self.protocol.epochs - 1, False
        if self.valid is None:
            stop = last and self.stopping.update(epoch, 0.0, self.parameters)
        elif epoch % self.protocol.evaluate_every == 0 or last:
            with self.profiler("evaluate"):
                looked = partial(evaluate, *self.step.vectors(self.parameters), self.valid, KS, WATCHED)
                entry["valid"] = self.ranks.first(looked)
            stop = self.stopping.update(epoch, entry["valid"][self.protocol.monitor], self.parameters)
        self.watch.epoch(entry)
        if self.ranks.first(partial(self._tell, entry)):
            if self.kept is None:
                raise KeyboardInterrupt
            self.kept.stop = True
        return stop

    def _tell(self, entry: dict[str, Any]) -> bool:
        """Report an epoch; whether the run was told to stop."""
        if self.on_epoch is not None:
            self.on_epoch(entry)
        return self.ranks.told

    def _judge(self, reading: str, vectors: Vectors) -> None:
        """All metrics of one reading, on the parts that there are."""
        for truth, found in ((self.valid, self.record.valid), (self.test, self.record.test)):
            if truth is not None:
                found[reading] = self.ranks.first(partial(evaluate, *vectors, truth, KS, REPORTED))

    def keep_in(self, folder: str | os.PathLike[str], every: float, fresh: bool) -> None:
        """Write checkpoints into a folder, and go on from the newest that is there; one that cannot be kept goes on without."""
        try:
            part_state(self.step.state, self.step.sampler.remade, type(self.step.sampler).__name__)
            part_state(self.step.objective_state, (), type(self.step.objective).__name__)
        except SettingError as reason:
            warnings.warn(f"this run cannot go on where it is stopped: {reason}", stacklevel=4)
            return
        identity = self.identity()
        identity |= {"device": self.where.type, "validation": self.valid is not None, "code": self._own_code()}
        identity |= {"start": self.started_from}
        self.kept = self.ranks.checkpoints(folder, every, identity, self.where.type == "cuda")
        self.epochs.between = self._keep
        if fresh:  # or the next call would find the former run's, which got further
            self.ranks.first(partial(forget, folder))
        elif (saved := self.kept.read()) is not None:
            try:
                self._restore(*saved)
            except torch.OutOfMemoryError:  # which says nothing of the checkpoint
                raise
            except (RuntimeError, LookupError, AttributeError, TypeError, ValueError, OverflowError) as error:
                words = f"the checkpoint in {os.fspath(folder)} is not of this run ({error}); begin anew with --fresh"
                raise DataError(f"{words} (fresh=True)") from error

    def identity(self) -> dict[str, Any]:
        """What the run was told."""
        told = self.record.to_dict()
        named = {name: told[name] for name in ("seed", "backbone", "sampler", "objective", "protocol", "data")}
        return named | {"kernels": told["machine"]["kernels"]}

    def _own_code(self) -> str | None:
        """A digest of the user's own files; a class typed into an interpreter has none."""
        step = self.step
        try:
            return own_code(type(step.backbone), type(step.sampler), type(step.objective))
        except DataError:
            return None

    def _keep(self, epoch: int, at: int) -> None:
        """A checkpoint if it is time for one; and the end of the run here, if somebody asked for it."""
        assert self.kept is not None
        if self.kept.due():
            checked_losses(self.epochs.losses[:at], epoch, self.step)
            fine = torch.stack([table.isfinite().all() for table in self.parameters.values()]).all()
            if int(self.ranks.sum(fine.long())) < self.ranks.count:
                return  # the next loss will not be a number: the last good checkpoint stays
            self.kept.write(*self._state(epoch, at), wait=self.kept.stop)
            if self.kept.stop:
                raise KeyboardInterrupt

    def _state(self, epoch: int, at: int) -> Saved:
        """Everything that changes while a run goes on: live tensors by name, and plain values."""
        step, stopping = self.step, self.stopping
        write = self.ranks.rank == 0
        kept, plain = part_state(step.state, step.sampler.remade, type(step.sampler).__name__)
        objective, simple = part_state(step.objective_state, (), type(step.objective).__name__)
        groups = {
            "parameter": self._whole(self.parameters, write),
            "adam": self._whole(step.optimiser.state(), write),
            "best": self._whole(stopping.weights, write),
            "sampler": kept,
            "objective": objective,
            "generator": generators(self.where),
            "run": {"losses": self.epochs.losses, "step": step.streams.pools.step},
        }
        values = {
            "epoch": epoch,
            "at": at,
            "sampler": plain,
            "objective": simple,
            "call": step.streams.choice.call,
            "best": [stopping.best, stopping.best_epoch, stopping.since],
            "history": self.record.history,
            "seconds": [time.perf_counter() - self.began, dict(self.profiler.seconds)],
        }
        return {f"{group}.{name}": one for group, tensors in groups.items() for name, one in tensors.items()}, values

    def _own(self, table: Tensor, like: Tensor) -> Tensor:
        """The columns of a whole table that this process holds."""
        return self.ranks.own(table) if like.shape in self.shapes else table

    def _whole(self, tables: Mapping[str, Tensor], wanted: bool = True) -> dict[str, Tensor]:
        """Tables of parameters with all their columns, whatever the number of processes."""
        return {
            name: self.ranks.whole(table, wanted) if table.shape in self.shapes else table
            for name, table in tables.items()
        }

    def _restore(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        step, stopping = self.step, self.stopping
        groups: dict[str, dict[str, Tensor]] = defaultdict(dict)
        for name, value in tensors.items():
            group, _, rest = name.partition(".")
            groups[group][rest] = value
        live = {"parameter": self.parameters, "adam": step.optimiser.state()}
        live["run"] = {"losses": self.epochs.losses, "step": step.streams.pools.step}
        with torch.no_grad():
            for group, own in live.items():
                for name, tensor in own.items():
                    tensor.copy_(self._own(groups[group][name], tensor))
            for part, state in (("sampler", step.state), ("objective", step.objective_state)):
                here = {name: value.to(self.where) for name, value in groups[part].items()}
                set_part_state(state, here, values.get(part, {}))
        step.streams.choice.call = values["call"]
        stopping.best, stopping.best_epoch, stopping.since = values["best"]
        best = {name: self._own(value, self.parameters[name]) for name, value in groups["best"].items()}
        stopping.weights = {name: value.to(self.where) for name, value in best.items()}
        self.record.history.extend(values["history"])
        self.record.epochs_run = len(values["history"])
        seconds, parts = values["seconds"]
        self.began -= seconds
        self.profiler.seconds.update(parts)
        set_generators(groups["generator"], self.where)
        self.first = values["epoch"], values["at"]


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


def retry_once_on_interrupt(make: Callable[[], Made], record: Record | None = None) -> Made:
    """What `make` makes in a moment: a Ctrl-C begins it again, which the record says, and only another one ends it."""
    try:
        return make()
    except KeyboardInterrupt:
        if record is not None:
            record.stopped = "interrupted"
        return make()


def check_kinds(**parts: tuple[object, type]) -> None:
    """A folder for a split, a class for an object: what is handed over by mistake is named."""
    for name, (value, kind) in parts.items():
        if not isinstance(value, kind) or isinstance(value, bool):
            shown = value.__name__ if isinstance(value, type) else f"{value!r:.60}".partition("\n")[0]
            raise SettingError(f"fit: {name}={shown} must be a {kind.__name__}")


def _check_monitor(monitor: str) -> None:
    watched = [f"{name}@{k}" for name in WATCHED for k in KS]
    if monitor not in watched:
        raise SettingError(f"Protocol: monitor={monitor!r} is not watched; choose one of {', '.join(watched)}")
