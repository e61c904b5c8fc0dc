"""Training steps on a small graph, in any precision, that can be asked again with the same pools and noise."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.backbones import MF, NGCF, Backbone, LightGCN, SimGCL
from sahcns.graph import Graph
from sahcns.objectives import BPR, Objective
from sahcns.rng import Rng
from sahcns.samplers import Matching, Mixture, Sampler
from sahcns.training.profiler import Profiler
from sahcns.training.protocol import Protocol
from sahcns.training.step import SAMPLER, Streams, TrainingStep
from tests.samplers.world import graph_of

SEEN = {0: {0, 3, 4}, 1: {1, 3}, 2: {2, 5, 6, 0}, 3: {7, 1}, 4: {4, 2, 8}}
USERS, ITEMS, WIDTH = 5, 11, 3

BACKBONES: dict[str, Backbone] = {
    "lightgcn": LightGCN(dim=WIDTH, depth=3),
    "mf": MF(dim=WIDTH),
    "ngcf": NGCF(dim=WIDTH, depth=2),
    "ngcf-sum": NGCF(dim=WIDTH, depth=2, pool="sum"),
    "ngcf-original": NGCF(dim=WIDTH, depth=2, variant="original", dropout=0.2),
    "simgcl": SimGCL(dim=WIDTH, depth=2),
    "simgcl-with-layer-0": SimGCL(dim=WIDTH, depth=2, include_layer0=True),
}


def small_graph(dtype: torch.dtype, path: str = "auto") -> Graph:
    return graph_of(SEEN, USERS, ITEMS, dtype, path)


def step_of(
    backbone: Backbone,
    sampler: Sampler,
    *,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
    l2: float = 0.1,
    l2_on: str = "mixed",
    graph: Graph | None = None,
    spread: float = 1.5,
    objective: Objective | None = None,
) -> TrainingStep:
    """As `fit` builds it; the start is spread out a little, so that scores differ and some λ are above 0."""
    graph = graph or small_graph(dtype)
    streams = Streams.of(seed, torch.device("cpu"))
    tables = backbone.initial(graph, streams.start, dtype)
    tables["ego"] = tables["ego"] * spread
    parameters = {name: value.requires_grad_() for name, value in tables.items()}
    for name, value in sampler.trainable(backbone.dim, streams.choice, dtype).items():
        parameters[SAMPLER + name] = value.requires_grad_()
    protocol = Protocol(l2=l2, l2_on=l2_on, batch=16, learning_rate=0.05)
    profiler = Profiler(torch.device("cpu"), enabled=False)
    return TrainingStep(graph, backbone, sampler, objective or BPR(), protocol, parameters, streams, profiler)


def every_pair(step: TrainingStep) -> Tensor:
    return torch.arange(len(step.graph.pair_users))


def batch(step: TrainingStep, pairs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Positions among the training pairs, their users and their items."""
    return pairs, step.graph.pair_users[pairs], step.graph.pair_items[pairs]


def loss_of(step: TrainingStep, pairs: Tensor | None = None) -> Tensor:
    """The loss of all pairs, with the same pools, choices and noise at each call."""
    for stream in (step.streams.pools, step.streams.choice, step.streams.noise):
        stream.seek(0)
    return step.loss(*batch(step, every_pair(step) if pairs is None else pairs))


def gradients(step: TrainingStep) -> dict[str, Tensor | None]:
    for value in step.parameters.values():
        value.grad = None
    loss_of(step).backward()  # type: ignore[no-untyped-call]
    return {name: None if value.grad is None else value.grad.clone() for name, value in step.parameters.items()}


@dataclass(frozen=True)
class Held(Sampler):
    """Another sampler's first answer, given again at every later call: its choice and shares as constants."""

    inner: Sampler = field(default_factory=Sampler)
    kept: list[Mixture] = field(default_factory=list)
    matches: list[Matching] = field(default_factory=list)

    @classmethod
    def of(cls, inner: Sampler) -> "Held":
        return cls(pool=inner.pool, inner=inner)

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        if not self.kept:
            self.kept.append(self.inner.choose(match, rng))
            self.matches.append(match)
        return self.kept[0]

    def weights(self, popularity: Tensor) -> Tensor | None:
        return self.inner.weights(popularity)

    def trainable(self, dim: int, rng: Rng, dtype: torch.dtype) -> dict[str, Tensor]:
        return self.inner.trainable(dim, rng, dtype)

    def extra_loss(
        self, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
    ) -> Tensor | None:
        return self.inner.extra_loss(parameters, users, positives, negatives, agg)
