"""SGL: LightGCN with a contrastive loss between two graphs that each lack some of the edges.

Wu, Wang, Feng, He, Chen, Lian, Xie. Self-supervised Graph Learning for Recommendation. SIGIR 2021. (SGL-ED, edge dropout.)

    view:  each training pair is dropped with probability ρ, Ã' = D'^-½ A' D'^-½ of what is left,
           ē' = 1/(L+1) Σ_{l=0..L} Ã'^l E
    loss = BPR + λ_cl · [InfoNCE(batch users) + InfoNCE(batch positives)]  of two views,  temperature τ, distinct nodes

Both views are drawn anew at each step; the authors' code draws them once an epoch. InfoNCE is over the batch, as in
SimGCL. Ranking, and what samplers see, is LightGCN on the whole graph.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.backbones.base import Parameters
from sahcns.backbones.lightgcn import LightGCN
from sahcns.backbones.simgcl import info_nce
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.settings import setting


@dataclass(frozen=True)
class SGL(LightGCN):
    """Mean of layers 0 … L; uniformity through edge dropout."""

    name: ClassVar[str] = "sgl"

    cl_weight: float = setting(0.1, "weight λ_cl of the contrastive loss", low=0)
    edge_dropout: float = setting(0.1, "share ρ of the pairs that a view lacks", low=0, high=0.99)
    temperature: float = setting(0.2, "temperature τ of InfoNCE", above=0)

    def extra_loss(
        self,
        parameters: Parameters,
        graph: Graph,
        users: Tensor,
        positives: Tensor,
        rng: Rng,
        layers: tuple[Tensor, ...] | None = None,
    ) -> Tensor | None:
        if self.cl_weight == 0:
            return None
        first, second = (self._view(parameters, graph, rng) for _ in range(2))
        loss = info_nce(first, second, users, self.temperature)
        return self.cl_weight * (loss + info_nce(first, second, positives + graph.n_users, self.temperature))

    def _view(self, parameters: Parameters, graph: Graph, rng: Rng) -> Tensor:
        """The embedding over a graph of its own, [n, d]."""
        keep = rng.uniform(len(graph.seen_items)) >= self.edge_dropout
        return self.aggregation.pool_layers(self.layers(parameters, thinned(graph, keep)))


def thinned(graph: Graph, keep: Tensor) -> Graph:
    """The graph of the pairs for which `keep [E']` holds, normalised by the degrees that it has; the others weigh 0."""
    edges = graph.adjacency
    upto = torch.cumsum(keep[graph.edge_pairs].long(), 0)
    degrees = torch.cat([upto.new_zeros(1), upto])[edges.offsets.long()].diff()  # [n]
    scale = degrees.clamp(min=1).to(edges.values.dtype).rsqrt()
    values = scale[graph.seen_keys // graph.n_items] * scale[graph.n_users + graph.seen_items] * keep  # [E']
    return graph.over(replace(edges, values=values[graph.edge_pairs]))
