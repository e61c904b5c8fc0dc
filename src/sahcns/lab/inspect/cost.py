"""What a sampler costs in an epoch of training: the paper's efficiency paragraph."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from sahcns.backbones import Backbone, LightGCN
from sahcns.data.split import Split
from sahcns.errors import SettingError
from sahcns.lab.inspect.results import Cost
from sahcns.samplers import Sampler
from sahcns.training.bench import Bench, bench
from sahcns.training.device import pick_device
from sahcns.training.protocol import Protocol
from sahcns.training.record import described


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
    of an epoch. A mixed negative reads two items, so putting it together counts too, with its loss. A machine that slows
    down would count against one sampler, so several `rounds` of all of them give medians, and whole epochs round by round.
    """
    if not samplers:
        raise SettingError("samplers is empty; name at least one, the first is what others are compared with")
    where, model = pick_device(device), backbone or LightGCN()
    timings = [
        [bench(split, model, one, protocol or Protocol(), where, kernels, epochs) for one in samplers]
        for _ in range(rounds)
    ]
    costs = [_cost(one, of_one) for one, of_one in zip(samplers, zip(*timings, strict=True), strict=True)]
    return [replace(one, extra=one.forward - costs[0].forward) for one in costs]


def _cost(sampler: Sampler, timings: Sequence[Bench]) -> Cost:
    first, epochs = timings[0], tuple(one.epoch_seconds for one in timings)

    def seconds(name: str) -> float:
        """Of one part, an epoch; 0 for one that the sampler does not need: RNS looks at no scores."""
        times = [part.seconds for one in timings for part in one.parts if part.name == name]
        return median(times) * first.steps if times else 0.0

    return Cost(
        sampler=described(sampler),
        match=seconds("match"),
        choose=seconds("choose"),
        mix=seconds("mix and loss"),
        epoch=median(epochs),
        extra=0.0,
        device=first.device,
        kernels=first.kernels,
        steps=first.mode,
        rounds=epochs,
    )
