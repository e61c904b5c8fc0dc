"""The checkerboard: even users like even items, odd users odd ones; a withheld cell must come back.

A graph model finds the two colours without any training (its layers never leave a colour), so training starts from the
worst tables: a colour's users lie opposite to its items, and every cell of the wrong colour is ranked first.
"""

from functools import cache

import numpy as np
import torch

from sahcns.backbones import MF, NGCF, SGL, Backbone, LightGCN, LightGCNpp, Parameters, SimGCL, XSimGCL
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.rng import Rng

SIZE = 32


@cache
def checkerboard(size: int = SIZE) -> Split:
    """The diagonal cell (u, u) is for testing, (u, u + 2) for validation, the rest of u's colour for training."""
    users, items = np.divmod(np.arange(size * size), size)
    cells = np.stack([users, items], 1)
    liked = (users + items) % 2 == 0
    test, valid = items == users, items == (users + 2) % size
    return Split.from_pairs(cells[liked & ~test & ~valid], cells[valid], cells[test])


def worst_start(graph: Graph, rng: Rng, dim: int) -> torch.Tensor:
    """[n, d]: even users and odd items near +v, odd users and even items near -v."""
    side = torch.tensor([1.0, -1.0])
    users, items = side.repeat(graph.n_users)[: graph.n_users], -side.repeat(graph.n_items)[: graph.n_items]
    jitter = 0.05 * rng.normal(graph.n, dim)
    return (torch.cat([users, items])[:, None] + jitter) / 10


def from_the_worst_start(backbone: Backbone) -> Backbone:
    """The same backbone, but for its start (its class is new and without a name, so nothing else finds it)."""
    kind = type(backbone)

    def initial(self: Backbone, graph: Graph, rng: Rng, dtype: torch.dtype = torch.float32) -> Parameters:
        return {**kind.initial(self, graph, rng, dtype), "ego": worst_start(graph, rng, self.dim).to(dtype)}

    worst = type(f"{kind.__name__}FromTheWorstStart", (kind,), {"initial": initial})
    found = worst(**backbone.to_dict())
    assert isinstance(found, Backbone)
    return found


# The depths are those at which the worst start is worst for the final embedding too: propagation turns a colour's side
# over at each layer, so that layers 0 … 2 leave one side over, and so do layers 1 … 3.
BACKBONES = {
    "mf": MF(dim=8),
    "lightgcn": LightGCN(dim=8, depth=2),
    "ngcf": NGCF(dim=8, depth=2),
    "simgcl": SimGCL(dim=8, depth=3, cl_weight=0.02),  # InfoNCE drives apart what the board holds together
    "lightgcnpp": LightGCNpp(dim=8, depth=1),
    "xsimgcl": XSimGCL(dim=8, depth=3, cl_weight=0.02),
    "sgl": SGL(dim=8, depth=2, cl_weight=0.005),
}
