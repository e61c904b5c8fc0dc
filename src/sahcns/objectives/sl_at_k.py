"""SL@K: a softmax loss in which a pair counts by how near its positive is to the user's K best.

Yang, Chen, Chen, Xin, Xiong, Wu, Zhou, Wang, He. Breaking the Top-K Barrier: Advancing Top-K Ranking Metrics Optimization
in Recommender Systems. KDD 2025.

    L = mean_b σ((y⁺ - β_u)/τ_w) · log( 1 + Σ_k e^{(y⁻_k - y⁺)/τ} )
    β_u = the K-th best score of u among its training items and a sample of items, every few epochs; 0 before the first time

The gradient goes through both factors. One sample serves all users; with as many as there are items β_u is exact. A user
with fewer than K scores has β_u = -∞, and its pairs count whole.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.graph import Graph
from sahcns.objectives.base import Comparison, Objective, ranking, similarity
from sahcns.objectives.softmax import softmax_loss
from sahcns.rng import Rng
from sahcns.settings import Between, setting

SCORES = 1 << 24  # held at once


@dataclass(frozen=True)
class SLatK(Objective):
    """Softmax loss for the first K places."""

    name: ClassVar[str] = "sl@k"

    temperature: float = setting(0.1, "temperature τ of the softmax", above=0, search=Between(0.05, 0.5, log=True))
    weight_temperature: float = setting(1.0, "temperature τ_w of a pair's weight", above=0, search=Between(0.5, 3.0))
    top_k: int = setting(20, "places K that count", low=1, search=(5, 20, 50))
    refresh: int = setting(5, "epochs between two estimates of β", low=1, search=(5, 20))
    sample: int = setting(1000, "items beside a user's own by which β is estimated", low=1, search=())
    similarity: str = similarity()
    ranking: str = ranking()

    def begin(self, graph: Graph) -> dict[str, Tensor]:
        return {"beta": torch.zeros(graph.n_users, dtype=graph.dtype, device=graph.device)}

    def loss(self, pairs: Comparison) -> Tensor:
        positive, _ = pairs.scores(self.similarity)
        weight = torch.sigmoid((positive - pairs.state["beta"][pairs.users]) / self.weight_temperature)
        return pairs.mean(weight * softmax_loss(pairs, self.similarity, self.temperature))

    def end_epoch(self, state: Any, users: Tensor, items: Tensor, graph: Graph, epoch: int, rng: Rng) -> None:
        if (epoch + 1) % self.refresh == 0:
            if self.similarity == "cosine":
                users, items = normalize(users, dim=1), normalize(items, dim=1)
            sample = rng.permutation(graph.n_items)[: self.sample]
            for first, found in thresholds(users, items, sample, graph, self.top_k):
                state["beta"][first : first + len(found)] = found


def thresholds(users: Tensor, items: Tensor, sample: Tensor, graph: Graph, k: int) -> Iterator[tuple[int, Tensor]]:
    """The k-th best score of each user over what they have in training and the `sample`, a run of users at a time."""
    place = torch.full((graph.n_items,), -1, device=sample.device)
    place[sample] = torch.arange(len(sample), device=sample.device)
    size = max(1, SCORES // max(len(sample), k))
    for first in range(0, graph.n_users, size):
        some = users[first : first + size]
        whose, have = graph.seen_by(torch.arange(first, first + len(some), device=sample.device))
        counts = torch.bincount(whose, minlength=len(some))
        drawn = some @ items[sample].T
        both = place[have] >= 0
        drawn[whose[both], place[have[both]]] = -math.inf  # counted among what they have
        own = (some[whose] * items[have]).sum(1)
        order = own.argsort(descending=True)
        order = order[whose[order].argsort(stable=True)]  # by user, the best first
        rank = torch.arange(len(order), device=sample.device) - (torch.cumsum(counts, 0) - counts)[whose]
        best = own.new_full((len(some), k), -math.inf)
        best[whose[rank < k], rank[rank < k]] = own[order][rank < k]
        best = torch.cat([best, drawn.topk(min(k, drawn.shape[1]), 1).values], 1)
        yield first, best.topk(k, 1).values[:, -1]
