"""Batches of pairs for an objective, over random layers: negatives drawn, mixed, shared, or the batch's own."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.graph import Batch, Graph
from sahcns.objectives import BCE, BPR, BSL, CCL, PSL, Comparison, DirectAU, Objective, SampledSoftmax, SLatK
from tests.splits import random_split

USERS, ITEMS, WIDTH = 5, 8, 4
GRAPH = Graph.of(random_split(USERS, ITEMS, each=3), dtype=torch.float64)
PAIRS = torch.tensor([0, 4, 4, 7, 13])  # one of them twice
FORMS = ("one", "several", "mixed", "shared", "in-batch", "corrected")
OBJECTIVES: list[Objective] = [
    BPR(),
    BCE(weight=2.5),
    BCE(temperature=0.3, similarity="cosine"),
    SampledSoftmax(temperature=0.4),
    SampledSoftmax(temperature=0.7, similarity="dot"),
    BSL(),
    BSL(temperature=0.3, negative_temperature=0.2, power=None, similarity="dot"),
    PSL(temperature=0.2),
    PSL(activation="relu", temperature=0.25, scale=0.9),
    PSL(activation="atan", similarity="dot"),
    SLatK(temperature=0.3, weight_temperature=0.5),
    SLatK(similarity="dot"),
    CCL(margin=0.1, weight=3.0),
    DirectAU(gamma=1.7),
]
SOFTMAX = (BPR, SampledSoftmax, BSL, PSL, SLatK)  # which a correction by log q is for


@dataclass(frozen=True, eq=False)
class Case:
    """Layers, which negatives, and all that goes with them."""

    layers: Tensor  # [T, n, d]
    form: str
    weights: Tensor | None = None  # [B] of pairs
    kind: Any = "mean"

    def pairs(self, objective: Objective, **changes: Any) -> Comparison:
        users, positives = GRAPH.pair_users[PAIRS], GRAPH.pair_items[PAIRS]
        layers = tuple(self.layers.unbind(0))
        batch = Batch(users, positives, layers, Aggregation(self.kind), self.weights)
        state = objective.begin(GRAPH)
        if state is not None:
            state["beta"] = torch.linspace(-0.5, 0.7, USERS, dtype=torch.float64).to(self.layers.dtype)
        found = Comparison(batch, *negatives(self.form, positives, len(layers)), GRAPH, state=state)
        if self.form in ("shared", "in-batch", "corrected"):
            out = found.items[0, :, 0, 0] == positives[:, None]
            out[2] = True  # nothing at all is a negative of this pair
            found = replace(found, left_out=out, own=0 if self.form == "shared" else len(positives))
        if self.form == "corrected":
            found = replace(found, log_q=torch.linspace(-3.0, 0.0, ITEMS).to(self.layers.dtype))
        return replace(found, **changes)

    def loss(self, objective: Objective) -> Tensor:
        return objective.loss(self.pairs(objective))


def negatives(form: str, positives: Tensor, layers: int) -> tuple[Tensor, Tensor | None]:
    """items [B or 1, K, M, T or 1] and weights."""
    make = torch.Generator().manual_seed(5)
    if form == "mixed":
        shares = torch.rand(len(positives), 3, 2, layers, generator=make, dtype=torch.float64)
        return torch.randint(ITEMS, (len(positives), 3, 2, layers), generator=make), shares / shares.sum(
            2, keepdim=True
        )
    if form in ("one", "several"):
        return torch.randint(ITEMS, (len(positives), 1 if form == "one" else 3, 1, 1), generator=make), None
    drawn = torch.randint(ITEMS, (6,), generator=make)
    own = positives if form in ("in-batch", "corrected") else positives[:0]
    return torch.cat([own, drawn])[None, :, None, None], None


def random_layers(seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """[T, n, d]."""
    make = torch.Generator().manual_seed(seed)
    return torch.randn(2, USERS + ITEMS, WIDTH, generator=make, dtype=torch.float64).to(dtype)
