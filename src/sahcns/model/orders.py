"""From a file of orders to a recommender in use: read, held out by time, trained, judged, and trained again on all of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

from sahcns.backbones import Backbone
from sahcns.data import Recipe, Split, prepare
from sahcns.data.interactions import Interactions
from sahcns.data.readers import read
from sahcns.errors import DataError
from sahcns.model.choice import BEST, MODEL, Judged, baselines, check_choice, fit_baseline, judge, pick
from sahcns.model.refit import train_again
from sahcns.objectives import Objective
from sahcns.samplers import Sampler
from sahcns.training.device import pick_device
from sahcns.training.log import Log
from sahcns.training.progress import bar, train_progress
from sahcns.training.protocol import Protocol
from sahcns.training.train import Trained, train

# On a CPU within 0.3 points of Recall@20 of the long default in a third of its time or less (benchmarks/orders.py, chosen
# on validation); a GPU is done with the long one sooner.
QUICK = Protocol(learning_rate=0.003, evaluate_every=1, patience=6, epochs=100, mask="train+valid")
LONG = Protocol(mask="train+valid")
STEPS, LEAST = 20, 64  # an epoch has so many steps or more, of so many pairs or more
ALL = (1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Orders:
    """The pairs of a file twice: some held out to judge by, and all of them to put to use."""

    judged: Split
    whole: Split


@dataclass(frozen=True, eq=False)
class Made:
    """What is kept, as what `Recommender.of` takes; how the candidates did, and why it is this one."""

    parts: dict[str, Any]
    trained: Trained  # the model that was judged
    candidates: list[Judged]
    kept: str
    why: str


def read_orders(source: Any, **reading: Any) -> Orders:
    """A file, a table, or what was read of one: the latest tenth is the test, the tenth before it validation.

    Without times they are drawn at random.
    Held-out pairs of people or items that have no earlier ones are left out of the judging: no model knows them.
    """
    interactions = source if isinstance(source, Interactions) else read(source, **reading)
    for rule in ("time", "random") if interactions.times is not None else ("random",):
        judged = prepare(interactions, Recipe(split=rule, unseen="drop"))
        if len(judged.valid) and len(judged.test):
            return Orders(judged, prepare(interactions, Recipe(ratios=ALL)))
    raise DataError(
        f"{interactions.name} is too small to learn from: of its {len(interactions):,} rows none could be held out to judge by"
    )


def preset(split: Split, device: str = "auto") -> Protocol:
    """For a device and as many pairs; a small set has smaller batches."""
    protocol = QUICK if pick_device(device).type == "cpu" else LONG
    return replace(protocol, batch=min(protocol.batch, max(LEAST, len(split.train) // STEPS)))


def train_orders(
    orders: Orders,
    backbone: Backbone | None = None,
    sampler: Sampler | None = None,
    objective: Objective | None = None,
    *,
    protocol: Protocol | None = None,
    seed: int = 0,
    device: str = "auto",
    kernels: str = "auto",
    keep: str = BEST,
    quiet: bool = False,
    log: Sequence[Log] = (),
    checkpoint: Path | None = None,
    fresh: bool = False,
) -> Made:
    """Train, judge beside the baselines, and make the one to keep of all pairs: "best", "model", or a baseline's name.

    checkpoint   a folder in which both trainings are kept while they go on; `fresh` begins anew
    """
    split, protocol = orders.judged, protocol or preset(orders.judged, device)
    check_choice(keep, split.n_items)
    how: dict[str, Any] = {"seed": seed, "device": device, "kernels": kernels, "fresh": fresh}
    parts = (backbone, sampler, objective)
    with train_progress(protocol, quiet) as on_epoch:
        place = checkpoint and checkpoint / "judged"
        trained = train(split, *parts, protocol=protocol, on_epoch=on_epoch, log=log, checkpoint=place, **how)
    others = baselines(split.n_items)
    with bar("judging it beside the baselines", quiet) as shown:
        candidates = []
        for one in judge(trained, others):
            candidates.append(one)
            shown.show(len(candidates), len(others) + 1, f"{one.name}: Recall@20 {one.recall.mean():.2%}")
    kept, why = pick(candidates, keep)
    if kept == MODEL:
        once_more = {"protocol": protocol, "checkpoint": checkpoint, "whole": True, **how}
        with train_progress(replace(protocol, epochs=trained.record.best_epoch + 1), quiet, looks=False) as on_epoch:
            final = train_again(trained, orders.whole, *parts, on_epoch=on_epoch, **once_more)
        made = {**final.__dict__, "record": final.record.to_dict()}
    else:
        [chosen] = (one.baseline for one in candidates if one.name == kept and one.baseline)
        made = fit_baseline(orders.whole, chosen)
    made["record"]["judged"] = {
        "people": len(candidates[0].recall),
        "split": split.manifest["recipe"]["split"],  # type: ignore[index]
        "candidates": [one.to_dict() for one in candidates],
        "stopped": trained.record.stopped,
        "kept": kept,
        "why": why,
    }
    return Made(made, trained, candidates, kept, why)


def learn(source: Any, **options: Any) -> Made:
    """`train_orders` of `read_orders`, which takes the options that are not of training: user="customer", lenient=True."""
    training = {name: options.pop(name) for name in signature(train_orders).parameters if name in options}
    return train_orders(read_orders(source, **options), **training)
