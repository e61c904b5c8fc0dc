"""XSimGCL: SimGCL with one pass, which is noisy, trained on and contrasted with one of its own layers.

Yu, Xia, Chen, Cui, Hung, Yin. XSimGCL: Towards Extremely Simple Graph Contrastive Learning for Recommendation. TKDE 2023.

    training:  E^(l) = ÃE^(l-1) + ε · sign(ÃE^(l-1)) ⊙ normalise(U(0,1)^d)        ranking: without the noise
    ē = 1/L Σ_{l=1..L} E^(l)                                                    layer 0 is left out
    loss = BPR + λ_cl · [InfoNCE(batch users) + InfoNCE(batch positives)]  of ē and E^(l*),  temperature τ, distinct nodes

Samplers see the noisy layers 1 … L that the loss does. The defaults are those of the authors' code.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.backbones.base import Backbone, Parameters
from sahcns.backbones.simgcl import info_nce, perturb
from sahcns.errors import SettingError
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.settings import setting


@dataclass(frozen=True)
class XSimGCL(Backbone):
    """Mean of layers 1 … L; uniformity through noise in the one pass there is."""

    name: ClassVar[str] = "xsimgcl"
    has_ego_layer: ClassVar[bool] = False

    depth: int = setting(2, "propagation layers L", low=1)
    cl_weight: float = setting(0.2, "weight λ_cl of the contrastive loss", low=0)
    noise: float = setting(0.2, "length ε of the noise added at each layer", low=0)
    temperature: float = setting(0.15, "temperature τ of InfoNCE", above=0)
    contrast_layer: int = setting(1, "layer l* that the final embedding is contrasted with", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contrast_layer > self.depth:
            raise SettingError(f"XSimGCL: contrast_layer={self.contrast_layer} is beyond depth={self.depth}; lower it")

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return graph.hops(parameters["ego"], self.depth, *self.normalisation)[1:]

    def training_layers(self, parameters: Parameters, graph: Graph, rng: Rng) -> tuple[Tensor, ...]:
        if self.noise == 0:
            return self.layers(parameters, graph)
        layers = [parameters["ego"]]
        for _ in range(self.depth):
            layers.append(perturb(graph.propagate(layers[-1], *self.normalisation), self.noise, rng))
        return tuple(layers[1:])

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
        layers = layers or self.training_layers(parameters, graph, rng)
        final, other = self.aggregation.pool_layers(layers), layers[self.contrast_layer - 1]
        loss = info_nce(final, other, users, self.temperature)
        return self.cl_weight * (loss + info_nce(final, other, positives + graph.n_users, self.temperature))
