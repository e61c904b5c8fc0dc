"""Small worlds to try a sampler in: a graph, random layer tables, and a batch of its pairs."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.rng import Rng
from sahcns.samplers import Matching, Sampler

KINDS: tuple[Kind, ...] = ("mean", "sum", "concat")
DEPTHS = (1, 2, 4)
SEEDS = (0, 1)
DIM = 3

every_case = pytest.mark.parametrize(
    ("kind", "depth", "seed"), [(kind, depth, seed) for kind in KINDS for depth in DEPTHS for seed in SEEDS]
)


@dataclass(frozen=True, eq=False)
class World:
    """T layers over a graph; users have seen between 2 and 7 of 16 items."""

    graph: Graph
    layers: tuple[Tensor, ...]
    kind: Kind
    seen: dict[int, set[int]] = field(default_factory=dict)

    @classmethod
    def random(
        cls,
        kind: Kind,
        depth: int,
        seed: int,
        *,
        users: int = 5,
        items: int = 16,
        dtype: torch.dtype = torch.float64,
        seen: dict[int, set[int]] | None = None,
    ) -> "World":
        rng = np.random.default_rng([seed, depth])
        if seen is None:
            seen = {u: set(rng.choice(items, rng.integers(2, 8), replace=False).tolist()) for u in range(users)}
        tables = tuple(torch.tensor(rng.normal(size=(users + items, DIM)), dtype=dtype) for _ in range(depth))
        return cls(graph_of(seen, users, items, dtype), tables, kind, seen)

    def match(
        self,
        sampler: Sampler,
        seed: int = 0,
        *,
        pairs: Tensor | None = None,
        epoch: float = 0.0,
        parameters: dict[str, Tensor] | None = None,
        state: Any = None,
    ) -> Matching:
        """All training pairs (or the given positions), with pools drawn as the trainer draws them."""
        graph = self.graph
        pairs = torch.arange(len(graph.pair_users)) if pairs is None else pairs
        weights = sampler.weights(graph.popularity)
        unseen = graph.unseen if weights is None else graph.reweighted(weights)
        return Matching(
            graph.pair_users[pairs],
            graph.pair_items[pairs],
            graph.draw(graph.pair_users[pairs], sampler.pool, Rng(seed, "pools"), unseen),
            pairs,
            self.layers,
            graph,
            Aggregation(self.kind),
            torch.tensor(epoch),
            parameters or {},
            state,
        )


def graph_of(
    seen: dict[int, set[int]], users: int, items: int, dtype: torch.dtype = torch.float64, path: str = "auto"
) -> Graph:
    """Nothing changes a graph, so each is made once."""
    return _graph_of(tuple((u, i) for u, his in seen.items() for i in sorted(his)), users, items, dtype, path)


@cache
def _graph_of(pairs: tuple[tuple[int, int], ...], users: int, items: int, dtype: torch.dtype, path: str) -> Graph:
    return build_graph(Split.from_pairs(pairs, n_users=users, n_items=items), dtype=dtype, path=path)


def scored(a: list[list[float]], p: list[float], kind: Kind = "mean", copies: int = 1) -> Matching:
    """One pool with given layer-wise scores: a [N][T] of the candidates, p [T] of the positive.

    The user's layers are such that the anchor is 1 everywhere, and an item's layer is its score, d = 1. Item 0 is the
    positive, item n + 1 candidate n. `copies` repeats the pair, for samplers that choose at random.
    """
    count, depth = len(a), len(p)
    graph = graph_of({0: {0}}, 1, count + 1)
    user = 1.0 / depth if kind == "sum" else 1.0
    rows = torch.tensor([[user] * depth, p, *a], dtype=torch.float64)  # [1 + 1 + N, T]
    return Matching(
        torch.zeros(copies, dtype=torch.int64),
        torch.zeros(copies, dtype=torch.int64),
        torch.arange(1, count + 1).expand(copies, count),
        torch.zeros(copies, dtype=torch.int64),
        tuple(rows[:, t : t + 1] for t in range(depth)),
        graph,
        Aggregation(kind),
        torch.tensor(0.0),
    )


def choice(seed: int = 0) -> Rng:
    """The stream a sampler's own randomness comes from."""
    return Rng(seed, "choice")


def picked(match: Matching, sampler: Sampler, seed: int = 0) -> list[int]:
    """Positions in the pool of a sampler that returns one real item; for worlds made by `scored`."""
    mixture = sampler.choose(match, choice(seed))
    assert mixture.weights is None
    return [item - 1 for item in mixture.items.flatten().tolist()]
