"""Why an item stands in somebody's list: which of the things that they have carry its score, and over which paths.

A linear backbone (LightGCN) is a sum over paths in the graph, so its score falls apart exactly. With P = D^-a A D^-b, layer
weights w_l and what u has in training, N(u):

    s_uj = w_0 <x_u^0, v_j>  +  Σ_{i ∈ N(u)} Σ_{l=1..L} w_l P_ui <x_i^(l-1), v_j>
           their own vector     each thing that they have, over paths of l steps

A fold-in u = M⁻¹ Σ_{i ∈ S} v_i falls apart too: Σ_i <M⁻¹ v_i, v_j>. For any other backbone the fold-in stands in, which is
then told: what it says is not exact.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sahcns.backbones import Backbone
from sahcns.data.ids import Id
from sahcns.kernels import build_graph
from sahcns.model.fold_in import fold_in_system
from sahcns.model.wishes import NO_ITEMS
from sahcns.settings import by_name, named

if TYPE_CHECKING:
    from sahcns.model.recommender import Recommender

TOLERANCE = 1e-3  # of the longest vector: how far a sum over paths may be from what the model stored


@dataclass(frozen=True)
class Reason:
    """How much of a score something brings that the person has: in all, and by the length of the path.

    Paths of length 1 lead to the item itself, of 2 to the people who have it, of 3 to what these have too, and so on.
    """

    item: Id
    title: str | None
    part: float
    paths: tuple[float, ...]


@dataclass(frozen=True)
class Explanation:
    """Why an item has its score. Score = own + Σ of all parts where it is exact."""

    item: Id
    title: str | None
    score: float
    own: float  # what the person's own vector brings, which belongs to no item
    reasons: tuple[Reason, ...]  # the largest part first
    exact: bool


@dataclass(frozen=True, eq=False)
class Parts:
    """An explanation in positions."""

    score: float
    items: Tensor  # [S] what they have, the largest part first
    parts: Tensor  # [S]
    paths: Tensor  # [S, L]
    own: float
    exact: bool


@dataclass(frozen=True, eq=False)
class Paths:
    """What the score of a linear model is a sum of."""

    item_layers: Tensor  # [L, n_items, d] w_l x_i^(l-1) d_i^-b
    own: Tensor  # [n_users, d] w_0 x_u^0
    degree_weight: Tensor  # [n_users] d_u^-a

    @classmethod
    def of(cls, model: "Recommender") -> "Paths | None":
        """None where the backbone is not known here, or is no sum over paths."""
        about = dict(model.record.get("backbone", {}))
        name = about.pop("name", None)
        if name not in named(Backbone) or "ego" not in model.weights:
            return None
        backbone = by_name(Backbone, name, about)
        graph = build_graph(model.split(), torch.device("cpu"))
        left, right = backbone.normalisation
        with torch.no_grad():
            tables = {name: value.float() for name, value in model.weights.items()}
            hops = graph.hops(tables["ego"], backbone.depth, left, right)
            layers = len(backbone.layers(tables, graph))
        own = 1 if layers == len(hops) else 0  # whether layer 0 counts
        if backbone.depth < 1 or layers + 1 - own != len(hops) or backbone.aggregation.kind == "concat":
            return None
        weights = torch.tensor(backbone.aggregation.weights or [1.0] * layers, device="cpu")
        weights = weights / layers if backbone.aggregation.kind == "mean" else weights
        weights = torch.cat([torch.zeros(1 - own, device="cpu"), weights])  # [L + 1]
        whole = sum((weight * hop for weight, hop in zip(weights, hops, strict=True)), torch.zeros((), device="cpu"))
        stored = torch.cat([model.user_vectors, model.item_vectors])
        if whole.shape != stored.shape or (whole - stored).abs().max() > TOLERANCE * stored.abs().max():
            return None
        degrees = graph.degrees.clamp(min=1).float()
        n_users = graph.n_users
        scale = degrees[n_users:, None] ** -right
        items = torch.stack([w * hop[n_users:] * scale for w, hop in zip(weights[1:], hops[:-1], strict=True)])
        return cls(items, weights[0] * hops[0][:n_users], degrees[:n_users] ** -left)


@torch.no_grad()
def explain(model: "Recommender", item: int, *, user: int | None = None, items: Tensor = NO_ITEMS) -> Parts:
    """Why `item` has its score: for a `user` of the data, or for somebody new who has `items`; all are positions."""
    if model.item_weights is not None:
        have = model.known(user, "train") if user is not None else torch.unique(items)
        parts = model.item_weights.of_baskets(have[:, None].unbind(0))[:, item]
        return _sorted(float(parts.sum()), have, parts[:, None], 0.0, exact=True)
    target = model.item_vectors[item]
    if user is not None and bool(model.has_training(torch.tensor([user], device="cpu"))):
        score = float(model.user_vectors[user] @ target)
        have = model.known(user, "train")
        if (paths := model.paths) is not None:
            parts = paths.degree_weight[user] * (paths.item_layers[:, have] @ target).T  # [S, L]
            return _sorted(score, have, parts, float(paths.own[user] @ target), exact=True)
        exact = False
    else:
        have = model.everything_of(user) if user is not None else torch.unique(items)
        exact = True
    vectors = model.item_vectors[have].double()
    pull = torch.linalg.solve(fold_in_system(vectors, model.item_gram), target.double())  # the system is symmetric
    parts = (vectors @ pull).float()[:, None]
    whole = float(parts.sum())
    if exact:
        return _sorted(whole, have, parts, 0.0, exact=True)
    return _sorted(score, have, parts * (score / whole if whole else 1.0), 0.0, exact=False)


def _sorted(score: float, items: Tensor, paths: Tensor, own: float, *, exact: bool) -> Parts:
    parts = paths.sum(1)
    order = parts.argsort(descending=True, stable=True)
    return Parts(score, items[order], parts[order], paths[order], own, exact)
