"""LightGCN: neighbourhood aggregation and nothing else.

He, Deng, Wang, Li, Zhang, Wang. LightGCN: Simplifying and Powering Graph Convolution Network for Recommendation. SIGIR 2020.

    E^(l+1) = Ã E^(l),    ē = 1/(L+1) Σ_{l=0..L} E^(l)
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.backbones.base import Backbone, Parameters
from sahcns.graph import Graph


@dataclass(frozen=True)
class LightGCN(Backbone):
    """Linear propagation, mean of layers 0 … L."""

    name: ClassVar[str] = "lightgcn"
    by_columns: ClassVar[bool] = True

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return graph.hops(parameters["ego"], self.depth, *self.normalisation)
