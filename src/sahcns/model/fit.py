"""Train a recommender."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sahcns.backbones import Backbone
from sahcns.data.split import Split
from sahcns.errors import SettingError
from sahcns.model.recommender import Recommender
from sahcns.model.refit import train_and_refit
from sahcns.model.warm_start import carried_over, changes, compare
from sahcns.objectives import Objective
from sahcns.samplers import Sampler
from sahcns.training.log import Log
from sahcns.training.protocol import Protocol
from sahcns.training.record import Record
from sahcns.training.train import OnEpoch, retry_once_on_interrupt, train


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A finished training run: the model at its best validation epoch, and everything recorded on the way."""

    recommender: Recommender
    record: Record

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name} {self.test[name]:.2%}" for name in ("recall@20", "ndcg@20") if name in self.test)
        judged = (
            f", best epoch {self.record.best_epoch}{', test ' if metrics else ''}{metrics}" if self.record.valid else ""
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
    refit: bool = False,
    on_epoch: OnEpoch | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    fresh: bool = False,
    log: Log | Sequence[Log] | None = None,
    start: Recommender | None = None,
) -> Run:
    """Train `backbone` on the split's training part with negatives from `sampler` to minimise `objective`.

    The epoch is picked on the validation part and the best weights are restored; the test part is ranked once at the end, for
    the best and for the last epoch. Ctrl-C, or a notebook's stop button, ends training early and keeps the best epoch
    so far; before the first look there is none, and it ends the call. During that ranking it ends the ranking and keeps
    the model: test numbers are then missing, and `evaluate` has them.
    Where `torch.distributed.init_process_group()` was called before, the processes of that group train one model, each with
    some of its columns, and each gets the whole of it.
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
    refit      once the epoch is picked, train anew on the validation pairs too, for as many epochs, and rank the test part
               for that model alone; Ctrl-C ends the picking, and while it trains anew the call. Without a validation part a
               tenth of the training pairs is held out to pick the epoch on. `record.data["refit"]` says what was done; logs
               are told of the picking alone
    on_epoch   is called after each epoch with its entry of the history, {"epoch": 0, "loss": …, "seconds": …}, with
               "valid": {"recall@20": …} where it looked; a KeyboardInterrupt that it raises ends training like Ctrl-C.
               Of a run that goes on, first with the entries of before; those of training anew have {"refit": epochs in all}
    checkpoint a folder that keeps the run while it trains: killed at any moment and called again, it goes on from there and
               ends as if it had never stopped. Written every `checkpoint_every` seconds, and at Ctrl-C or SIGTERM;
               `fresh` begins anew. Remove the folder once the model is saved
    log        who is told of the run while it goes on: `JsonLines(path)`, `TensorBoard(folder)`, `WandB()`, `MLflow()` of
               `sahcns.training`, a `Log` of your own, or several; what it is told is more than the history holds, and
               takes a look at one batch after each epoch, which changes nothing of the run
    start      a former model to go on from: ids that stay keep what was learnt, new ones join. The record has how many
               (`record.data["start"]`), and both models side by side on what is held out now
    """
    if whole and refit:
        raise SettingError("fit: whole=True looks at nothing, so there is no epoch to refit by; give one of the two")
    how: dict[str, Any] = {
        "protocol": protocol or Protocol(),
        "seed": seed,
        "device": device,
        "kernels": kernels,
        "on_epoch": on_epoch,
        "checkpoint": None if checkpoint is None else Path(checkpoint),
        "checkpoint_every": checkpoint_every,
        "fresh": fresh,
        "log": log,
        "start": None if start is None else partial(carried_over, start, split),
    }
    parts = (backbone, sampler, objective)
    trained = train_and_refit(split, *parts, **how) if refit else train(split, *parts, whole=whole, **how)
    if start is not None:
        trained.record.data["start"] = changes(start, split)
    run = retry_once_on_interrupt(lambda: Run(Recommender.from_training(trained), trained.record), trained.record)
    if start is not None:
        trained.record.data["start"] |= compare(start, run.recommender, trained.split)
    return run
