"""The bins of numbers that have no natural range, the same for every sampler on a model."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sahcns.lab.inspection.gradient_size import gradients_of
from sahcns.lab.inspection.rebuilt import Rebuilt
from sahcns.lab.inspection.tally import Bins
from sahcns.lab.inspection.walk import Walk
from sahcns.samplers import DNS, RNS


@dataclass(frozen=True)
class Scales:
    """The bins of what has no natural range, from a glance at random and at the hardest candidates of some pairs."""

    score: Bins
    margin: Bins
    gradient: Bins

    @classmethod
    def of(cls, model: Rebuilt, seed: int) -> "Scales":
        """By model and seed alone, so that all samplers get the same bins."""
        walks = [Walk(model, sampler, seed) for sampler in (RNS(), DNS())]
        places = range(0, len(walks[0]), max(1, len(walks[0]) // 8))
        found = [walk.at(place) for place in places for walk in walks]
        scores = torch.cat([part.scores.flatten() for part in found])
        margins = torch.cat([(part.match.positive_score[:, None] - part.scores).flatten() for part in found])
        gradients = torch.cat([gradients_of(part)[1] for part in found])
        return cls(Bins.over(*_ends(scores)), Bins.over(*_ends(margins)), Bins.over(0.0, _ends(gradients)[1], about=30))


def _ends(values: Tensor) -> tuple[float, float]:
    """What all but one in five hundred lie between."""
    low, high = torch.quantile(
        values.double()[:: len(values) // 1_000_000 + 1], values.new_tensor([0.001, 0.999]).double()
    )
    return float(low), float(high)
