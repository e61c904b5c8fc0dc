"""Matrix factorisation: LightGCN without the graph.

Rendle, Freudenthaler, Gantner, Schmidt-Thieme. BPR: Bayesian Personalized Ranking from Implicit Feedback. UAI 2009.

    s = <e_u, e_j>     one layer, T = 1
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.backbones.base import Backbone, Parameters
from sahcns.graph import Graph
from sahcns.settings import setting


@dataclass(frozen=True)
class MF(Backbone):
    """The tables themselves; layer-wise samplers see a single layer."""

    name: ClassVar[str] = "mf"
    by_columns: ClassVar[bool] = True

    depth: int = setting(0, "propagation layers L: none", low=0, high=0)

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return (parameters["ego"],)
