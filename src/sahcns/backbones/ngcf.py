"""NGCF: propagation with feature transformation and the affinity of neighbours.

Wang, He, Wang, Feng, Chua. Neural Graph Collaborative Filtering. SIGIR 2019.

variant "mixgcf" (default; the form of the MixGCF lineage):
    E^(l+1) = LeakyReLU_0.2( ÃE W₁ + b₁ + (E ⊙ ÃE) W₂ + b₂ ),   Ã = D^-½ A D^-½
variant "original" (the authors' code):
    E^(l+1) = LeakyReLU_0.2( ÂE W₁ + b₁ ) + LeakyReLU_0.2( (E ⊙ ÂE) W₂ + b₂ ),   Â = D^-1 (A + I), message dropout

Layer 0 is stored as it is, later layers L2-normalised by row, while the unnormalised ones feed the next layer.
Aggregation is the concatenation of all layers; mean and sum are offered.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, normalize

from sahcns.aggregation import Aggregation, Kind
from sahcns.backbones.base import Backbone, Parameters, xavier
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.settings import setting


@dataclass(frozen=True)
class NGCF(Backbone):
    """Two weight matrices a layer; every layer kept."""

    name: ClassVar[str] = "ngcf"

    pool: Kind = setting("concat", "how layers become one embedding", choices=("concat", "mean", "sum"))
    variant: str = setting(
        "mixgcf", "one activation and Ã, or the authors' two and self-loops", choices=("mixgcf", "original")
    )
    dropout: float = setting(0.0, "share of message entries dropped in training (the original: 0.1)", low=0, high=0.99)

    @property
    def aggregation(self) -> Aggregation:
        return Aggregation(self.pool)

    def initial(self, graph: Graph, rng: Rng, dtype: torch.dtype = torch.float32) -> Parameters:
        parameters = super().initial(graph, rng, dtype)
        for layer in range(self.depth):
            for which in ("1", "2"):
                parameters[f"W{which}.{layer}"] = xavier(rng, self.dim, self.dim, dtype=dtype)
                parameters[f"b{which}.{layer}"] = xavier(rng, 1, self.dim, dtype=dtype)
        return parameters

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return self._forward(parameters, graph, None)

    def training_layers(self, parameters: Parameters, graph: Graph, rng: Rng) -> tuple[Tensor, ...]:
        return self._forward(parameters, graph, rng if self.dropout > 0 else None)

    def _forward(self, parameters: Parameters, graph: Graph, rng: Rng | None) -> tuple[Tensor, ...]:
        e = parameters["ego"]  # [n, d]
        stored = [e]
        for layer in range(self.depth):
            side = self._neighbours(graph, e)
            own = side @ parameters[f"W1.{layer}"] + parameters[f"b1.{layer}"]
            affinity = (e * side) @ parameters[f"W2.{layer}"] + parameters[f"b2.{layer}"]
            if self.variant == "original":
                e = leaky_relu(own, 0.2) + leaky_relu(affinity, 0.2)
            else:
                e = leaky_relu(own + affinity, 0.2)
            if rng is not None:
                keep = rng.uniform(*e.shape, dtype=e.dtype) >= self.dropout
                e = e * keep / (1.0 - self.dropout)
            stored.append(normalize(e, dim=1))
        return tuple(stored)

    def _neighbours(self, graph: Graph, e: Tensor) -> Tensor:
        if self.variant == "mixgcf":
            return graph.propagate(e, *self.normalisation)
        degrees = graph.degrees.to(e.dtype)[:, None]
        root = degrees.sqrt()
        return (root * graph.propagate(root * e) + e) / (degrees + 1.0)  # D^-1 (A + I) E with A = D^½ Ã D^½
