"""LightGCN++: LightGCN with the lengths of vectors, the degrees of nodes and layer 0 each weighed by a number of its own.

Lee, Kim, Shin. Revisiting LightGCN: Unexpected Inflexibility, Inconsistency, and A Remedy Towards Improved Recommendation.
RecSys 2024.

    E^(l+1) = D^-α A D^-β normalise(E^(l)),    ē = γ E^(0) + (1 - γ) / L Σ_{l=1..L} E^(l)

normalise: each row to length 1. α is for the node that receives, β for its neighbours; α = β = ½, γ = 1/(L + 1) and no
normalise is LightGCN. The defaults are those of the authors' code.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import normalize

from sahcns.aggregation import Aggregation
from sahcns.backbones.base import Backbone, Parameters
from sahcns.graph import Graph
from sahcns.settings import setting


@dataclass(frozen=True)
class LightGCNpp(Backbone):
    """Propagation of unit vectors, with exponents of the degrees and a weight of layer 0."""

    name: ClassVar[str] = "lightgcnpp"

    depth: int = setting(2, "propagation layers L", low=1)
    alpha: float = setting(0.6, "exponent α of a node's own degree", low=-2, high=2)
    beta: float = setting(
        -0.1, "exponent β of its neighbours' degrees; below 0 those of high degree count more", low=-2, high=2
    )
    gamma: float = setting(0.2, "weight γ of layer 0", low=0, high=1)

    @property
    def aggregation(self) -> Aggregation:
        return Aggregation("sum", (self.gamma, *[(1 - self.gamma) / self.depth] * self.depth))

    @property
    def normalisation(self) -> tuple[float, float]:
        return self.alpha, self.beta

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        layers = [parameters["ego"]]
        for _ in range(self.depth):
            layers.append(graph.propagate(normalize(layers[-1], dim=1), *self.normalisation))
        return tuple(layers)
