"""Small trained models to look into, and every number of a diagnosis again, in plain Python floats and loops."""

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from sahcns.backbones import MF, NGCF, Backbone, LightGCN, SimGCL
from sahcns.data import Split
from sahcns.lab.inspect.model import SampledEpoch, TrainedModel
from sahcns.lab.inspect.results import Histogram
from sahcns.model import Recommender, fit
from sahcns.samplers import DNS, Mixture, Sampler
from sahcns.training import Protocol
from tests.samplers.oracle import Negative, Pair, aggregate, dot, mean, negatives_of, pairs_of
from tests.splits import random_split

BACKBONES: dict[str, Backbone] = {
    "lightgcn": LightGCN(dim=4, depth=2),
    "ngcf": NGCF(dim=3, depth=2),  # concat
    "simgcl": SimGCL(dim=4, depth=2),  # without layer 0
    "mf": MF(dim=4),  # one layer
}
EPSILON = 1e-8


@cache
def small() -> Split:
    """65 training pairs over 17 items, and one more item that nobody has."""
    found = random_split(13, 17, 5)
    parts = [np.stack([part.users, part.items], 1) for part in found.parts().values()]
    return Split.from_pairs(*parts, n_users=13, n_items=18)


@cache
def trained(name: str, sampler: Sampler | None = None, split: Split | None = None) -> Recommender:
    """A few rough steps, so that scores are far apart."""
    protocol = Protocol(epochs=4, batch=16, learning_rate=0.2, l2=0.0)
    chosen = DNS(pool=4) if sampler is None else sampler
    data = small() if split is None else split
    return fit(data, BACKBONES[name], chosen, protocol=protocol, device="cpu").recommender


def opened(name: str, sampler: Sampler | None = None) -> TrainedModel:
    """In double precision, so that rounding hides nothing."""
    found = TrainedModel.of(trained(name, sampler), device="cpu")
    own = {key: value.double() for key, value in found.sampler_parameters.items()}
    return replace(found, layers=tuple(layer.double() for layer in found.layers), sampler_parameters=own)


@dataclass
class Chosen:
    """One negative of one pair, from the mixture: what is mixed, and what is left of it without the positive."""

    pair: Pair
    negative: Negative

    def shares(self) -> Negative:
        """At each layer, the share of each item in the rest."""
        found = []
        for layer in self.negative:
            rest = {item: weight for item, weight in layer.items() if item != self.pair.positive}
            found.append({item: weight / math.fsum(rest.values()) for item, weight in rest.items()})
        return found

    def profile(self, mixture: Negative) -> list[float]:
        at = self.pair.at
        return [math.fsum(weight * at(item, t) for item, weight in layer.items()) for t, layer in enumerate(mixture)]

    def score(self, mixture: Negative) -> float:
        profile = self.profile(mixture)
        return mean(profile) if self.pair.kind == "mean" else math.fsum(profile)

    def strength(self) -> list[float]:
        return [layer.get(self.pair.positive, 0.0) for layer in self.negative]

    def vector(self) -> list[float]:
        """The final embedding of the negative."""
        layers = []
        for t, layer in enumerate(self.negative):
            width = len(self.pair.items[0][t])
            layers.append(
                [math.fsum(w * self.pair.items[item][t][x] for item, w in layer.items()) for x in range(width)]
            )
        return aggregate(self.pair.kind, layers)


def all_chosen(epoch: SampledEpoch) -> list[list[Chosen]]:
    """[pairs][K], over the whole epoch."""
    chosen = []
    for batch in epoch:
        pairs, mixtures = pairs_of(batch.match), negatives_of(Mixture(batch.items, batch.weights), batch.match)
        chosen += [[Chosen(pair, one) for one in several] for pair, several in zip(pairs, mixtures, strict=True)]
    return chosen


def sigma(profile: list[float]) -> float:
    centre = mean(profile)
    return math.sqrt(mean([(x - centre) ** 2 for x in profile])) / (mean([abs(x) for x in profile]) + EPSILON)


def profile_of(pair: Pair, item: int) -> list[float]:
    return [pair.at(item, t) for t in pair.layers]


def gaps(pair: Pair) -> list[float]:
    """p - m at each layer."""
    return [pair.at(pair.positive, t) - pair.at(pair.hardest_at(t), t) for t in pair.layers]


def counted(values: list[float], like: Histogram) -> Histogram:
    """The histogram of some values, in the same bins."""
    counts, below, above = [0] * len(like.counts), 0, 0
    for value in values:
        if value < like.low:
            below += 1
        elif value >= like.low + len(counts) * like.step:
            above += 1
        else:
            counts[math.floor((value - like.low) / like.step)] += 1
    return Histogram(like.low, like.step, tuple(counts), below, above)


def loss_of(several: list[Chosen]) -> float:
    """log(1 + Σ_k exp(y⁻_k - y⁺))."""
    pair = several[0].pair
    return math.log1p(math.fsum(math.exp(one.score(one.negative) - pair.score(pair.positive)) for one in several))


def pushes(several: list[Chosen]) -> list[float]:
    """∂ loss / ∂ y⁻_k = exp(y⁻_k - y⁺) / (1 + Σ exp)."""
    pair = several[0].pair
    sizes = [math.exp(one.score(one.negative) - pair.score(pair.positive)) for one in several]
    return [size / (1.0 + math.fsum(sizes)) for size in sizes]


def user_gradient(several: list[Chosen]) -> float:
    """‖Σ_k push_k (ē_neg_k - ē_i)‖."""
    pair = several[0].pair
    positive = pair.final_item(pair.positive)
    total = [0.0] * len(positive)
    for push, one in zip(pushes(several), several, strict=True):
        total = [t + push * (n - p) for t, n, p in zip(total, one.vector(), positive, strict=True)]
    return math.sqrt(dot(total, total))
