"""What a sampler costs in an epoch of training: the paper's efficiency paragraph."""

from collections.abc import Sequence
from typing import Any

from sahcns.backbones import Backbone, LightGCN
from sahcns.data.split import Split
from sahcns.errors import SettingError
from sahcns.samplers import Sampler
from sahcns.studies.inspection.cost import Cost
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
) -> list[Cost]:
    """Seconds an epoch of each sampler's forward pass, beside a whole epoch and beside the first of them.

    In the paper's order that is DNS, SA-only, SAHC. Each part of a step is timed alone (`sahcns bench`), times the steps
    of an epoch. A negative that is mixed reads two items, so putting it together counts too, with its loss.
    """
    if not samplers:
        raise SettingError("samplers is empty; name at least one, the first is what others are held against")
    where, model = pick_device(device), backbone or LightGCN()
    found = [bench(split, model, one, protocol or Protocol(), where, kernels, epochs) for one in samplers]
    base = _forward(found[0])
    return [_cost(described(one), made, base) for one, made in zip(samplers, found, strict=True)]


def _cost(sampler: dict[str, Any], made: Bench, base: float) -> Cost:
    seconds = {part.name: part.seconds * made.steps for part in made.parts}
    return Cost(
        sampler=sampler,
        match=seconds.get("match", 0.0),  # a sampler that looks at no score, such as RNS, has none computed
        choose=seconds["choose"],
        mix=seconds["mix and loss"],
        epoch=made.epoch_seconds,
        extra=_forward(made) - base,
        device=made.device,
        kernels=made.kernels,
        steps=made.mode,
    )


def _forward(made: Bench) -> float:
    return sum(part.seconds for part in made.parts if part.name in FORWARD) * made.steps
