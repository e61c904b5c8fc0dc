"""SimGCL: LightGCN's propagation with a contrastive loss between two noisy passes.

Yu, Yin, Xia, Chen, Cui, Nguyen. Are Graph Augmentations Necessary? Simple Graph Contrastive Learning for Recommendation.
SIGIR 2022.

    ē = 1/L Σ_{l=1..L} Ã^l E                                   layer 0 is left out
    noisy pass:  E^(l) = ÃE^(l-1) + ε · sign(ÃE^(l-1)) ⊙ normalise(U(0,1)^d)      the noise propagates
    loss = BPR + λ_cl · [InfoNCE(batch users) + InfoNCE(batch positives)],  temperature τ, distinct nodes

The sampler's negatives never enter InfoNCE. Samplers see the layers that the mean averages, 1 … L.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.backbones.base import Backbone, Parameters
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.settings import setting


@dataclass(frozen=True)
class SimGCL(Backbone):
    """Mean of layers 1 … L; uniformity through noise."""

    name: ClassVar[str] = "simgcl"

    depth: int = setting(3, "propagation layers L", low=1)
    cl_weight: float = setting(0.1, "weight λ_cl of the contrastive loss", low=0)
    noise: float = setting(0.1, "length ε of the noise added at each layer", low=0)
    temperature: float = setting(0.2, "temperature τ of InfoNCE", above=0)
    include_layer0: bool = setting(False, "average layers 0 … L instead (and show them to the sampler)")

    @property
    def has_ego_layer(self) -> bool:  # type: ignore[override]
        return self.include_layer0

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        layers = graph.hops(parameters["ego"], self.depth, *self.normalisation)
        return layers if self.include_layer0 else layers[1:]

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
        first, second = (self._noisy(parameters["ego"], graph, rng) for _ in range(2))
        loss = info_nce(first, second, users, self.temperature)
        loss = loss + info_nce(first, second, positives + graph.n_users, self.temperature)
        return self.cl_weight * loss

    def _noisy(self, ego: Tensor, graph: Graph, rng: Rng) -> Tensor:
        """One perturbed pass, [n, d]."""
        e, total = ego, ego if self.include_layer0 else torch.zeros_like(ego)
        for _ in range(self.depth):
            e = perturb(graph.propagate(e, *self.normalisation), self.noise, rng)
            total = total + e
        return total / (self.depth + self.include_layer0)


def perturb(e: Tensor, length: float, rng: Rng) -> Tensor:
    """e + length · sign(e) ⊙ normalise(U(0,1)^d), [n, d]; the noise carries no gradient."""
    direction = normalize(rng.uniform(*e.shape, dtype=e.dtype), dim=1)
    return e + length * torch.sign(e.detach()) * direction


def info_nce(first: Tensor, second: Tensor, nodes: Tensor, temperature: float) -> Tensor:
    """-1/n Σ_k log softmax(z₁ z₂ᵀ / τ)[k, k] over the distinct ones of `nodes [B]`.

    Repeated nodes are masked out rather than removed, so every shape is known without asking the device.
    """
    position = torch.arange(len(nodes), device=nodes.device)
    earliest = torch.full((len(first),), len(nodes), device=nodes.device)
    earliest = earliest.scatter_reduce(0, nodes, position, "amin")
    distinct = earliest[nodes] == position  # [B]
    z1, z2 = normalize(first[nodes], dim=1), normalize(second[nodes], dim=1)
    logits = (z1 @ z2.T / temperature).masked_fill(~distinct, float("-inf"))  # [B, B]: repeated columns out
    own = (z1 * z2).sum(1) / temperature
    losses = torch.logsumexp(logits, dim=1) - own
    return torch.where(distinct, losses, 0.0).sum() / distinct.sum()
