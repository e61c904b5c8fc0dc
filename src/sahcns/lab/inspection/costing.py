"""What a sampler costs in an epoch of training: the paper's efficiency paragraph."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from sahcns.backbones import Backbone, LightGCN
from sahcns.data.split import Split
from sahcns.errors import SettingError
from sahcns.lab.inspection.cost import Cost
from sahcns.samplers import Sampler
from sahcns.training.bench import Bench, bench
from sahcns.training.device import pick_device
from sahcns.training.protocol import Protocol
from sahcns.training.record import described

FORWARD = ("match", "choose", "mix and loss")  # the parts of a step that a sampler changes


def sampler_cost(
    split: Split,
    samplers: Sequence[Sampler],
    backbone: Backbone | None = None,
    *,
    protocol: Protocol | None = None,
    device: str = "auto",
    kernels: str = "auto",
    epochs: int = 3,
    rounds: int = 1,
) -> list[Cost]:
    """Seconds an epoch of each sampler's forward pass, beside a whole epoch and beside the first of them.

    In the paper's order that is DNS, SA-only, SAHC. Each part of a step is timed alone (`sahcns bench`), times the steps
    of an epoch. A negative that is mixed reads two items, so putting it together counts too, with its loss. Whatever
    changes on a machine between one sampler and the next counts against one of them, so several `rounds` of all of them
    give medians, and whole epochs round by round.
    """
    if not samplers:
        raise SettingError("samplers is empty; name at least one, the first is what others are held against")
    where, model = pick_device(device), backbone or LightGCN()
    every = [
        [bench(split, model, one, protocol or Protocol(), where, kernels, epochs) for one in samplers]
        for _ in range(rounds)
    ]
    found = [_cost(described(one), made) for one, made in zip(samplers, zip(*every, strict=True), strict=True)]
    return [replace(one, extra=one.forward - found[0].forward) for one in found]


def _cost(sampler: dict[str, Any], rounds: Sequence[Bench]) -> Cost:
    first = rounds[0]
    names = {part.name for part in first.parts}  # a sampler that looks at no score, such as RNS, has no "match"
    match, choose, mix = (_seconds(rounds, name) if name in names else 0.0 for name in FORWARD)
    times = tuple(one.epoch_seconds for one in rounds)
    return Cost(
        sampler=sampler,
        match=match,
        choose=choose,
        mix=mix,
        epoch=median(times),
        extra=0.0,
        device=first.device,
        kernels=first.kernels,
        steps=first.mode,
        rounds=times,
    )


def _seconds(rounds: Sequence[Bench], name: str) -> float:
    """Of one part, an epoch."""
    return median(part.seconds for one in rounds for part in one.parts if part.name == name) * rounds[0].steps
