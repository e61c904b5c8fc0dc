"""What a sampler looks at: how well each candidate and the positive match the user, layer by layer.

Nothing here carries gradient. What a sampler does not ask for is not computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.errors import TrainingError
from sahcns.graph import Batch, Graph
from sahcns.samplers.mixture import WHOLE, Mixture


@dataclass(eq=False)
class Matching:
    """One batch: B pairs with N candidates each, seen through T layers."""

    users: Tensor  # [B]
    positives: Tensor  # [B]
    candidates: Tensor  # [B, N] items the user has not seen in training
    pairs: Tensor  # [B] position of each pair among the training pairs
    layers: tuple[Tensor, ...]  # T tables [n, d], detached
    graph: Graph
    aggregation: Aggregation
    epoch: Tensor  # scalar, float
    parameters: dict[str, Tensor] = field(default_factory=dict)  # the sampler's own trainable parts (DENS)
    state: Any = None  # what the sampler keeps from epoch to epoch (DivNS)

    def __post_init__(self) -> None:
        """A sampler may hand on a part of its pools or pairs, with gaps in between that kernels do not see."""
        self.users, self.positives = self.users.contiguous(), self.positives.contiguous()
        self.candidates, self.pairs = self.candidates.contiguous(), self.pairs.contiguous()

    @classmethod
    def of(
        cls,
        user_layers: Sequence[Tensor],
        item_layers: Sequence[Tensor],
        users: Tensor,
        positives: Tensor,
        candidates: Tensor,
        *,
        graph: Graph | None = None,
        aggregation: Kind | Aggregation = "mean",
        **more: Any,
    ) -> "Matching":
        """A batch of somebody else's loop: `sampler.choose(Matching.of(…), rng)` has its negatives.

        user_layers, item_layers   T tables [n_users, d] and [n_items, d]; a model without layers has one of each
        users, positives           [B] rows of them
        candidates                 [B, N] items the users have not had; `graph.draw(users, N, rng)` draws them
        graph                      `Graph.of(split)`, for samplers that look at popularity or at what users have
        aggregation                how the model makes one embedding of its layers: "mean", "sum" or "concat"
        more                       `pairs`, `epoch`, `parameters`, `state`, for samplers that read them
        """
        shapes = [list(table.shape) for table in (*user_layers, *item_layers)]
        if len(user_layers) != len(item_layers) or len({tuple(shape[1:]) for shape in shapes}) != 1:
            raise TrainingError(
                f"Matching.of takes as many tables of users as of items, all of one width; it was given {shapes}"
            )
        if users.shape != positives.shape or candidates.shape[:-1] != users.shape or users.dim() != 1:
            given = ", ".join(str(list(ids.shape)) for ids in (users, positives, candidates))
            raise TrainingError(
                f"Matching.of takes users [B], positives [B] and candidates [B, N]; it was given {given}"
            )
        layers = tuple(torch.cat(pair).detach() for pair in zip(user_layers, item_layers, strict=True))
        known = graph or _Sizes(len(user_layers[0]), len(item_layers[0]))
        told = {"pairs": torch.arange(len(users), device=users.device), "epoch": torch.zeros((), device=users.device)}
        agg = aggregation if isinstance(aggregation, Aggregation) else Aggregation(aggregation)
        return cls(users, positives, candidates, layers=layers, graph=known, aggregation=agg, **(told | more))

    @cached_property
    def user_layers(self) -> Tensor:
        """[B, T, d]."""
        return self.graph.columns.gather(torch.stack([layer[self.users] for layer in self.layers], dim=1))

    @cached_property
    def positive_layers(self) -> Tensor:
        """[B, T, d]."""
        return self.item_layers(self.positives[:, None])

    @cached_property
    def candidate_layers(self) -> Tensor:
        """[B, N, T, d]: the large one; only for samplers that need embeddings."""
        return self.item_layers(self.candidates[:, :, None])

    def item_layers(self, items: Tensor) -> Tensor:
        """Of items [B, …, T], one for each layer, or [B, …, 1], the same for all → [B, …, T, d]."""
        rows = items + self.graph.n_users
        each = [layer[rows[..., min(t, rows.shape[-1] - 1)]] for t, layer in enumerate(self.layers)]
        return self.graph.columns.gather(torch.stack(each, dim=-2))

    @cached_property
    def layer_scores(self) -> tuple[Tensor, Tensor]:
        """p [B, T] and a [B, N, T], computed when one of them is first asked for."""
        batch = Batch(self.users, self.positives, self.layers, self.aggregation)
        return self.graph.match(batch, self.candidates)

    @property
    def a(self) -> Tensor:
        """[B, N, T]: a[b, n, l] = <anchor_l(ē_u), V[candidate n, l]>   (Eq. 5 of the paper)."""
        return self.layer_scores[1]

    @property
    def p(self) -> Tensor:
        """[B, T]: the positive's layer-wise scores."""
        return self.layer_scores[0]

    @cached_property
    def scores(self) -> Tensor:
        """[B, N]: the model's score of each candidate."""
        return self.aggregation.score(self.a)

    @cached_property
    def positive_score(self) -> Tensor:
        """[B]: the model's score of the positive."""
        return self.aggregation.score(self.p)

    @cached_property
    def user_vectors(self) -> Tensor:
        """[B, D]: ē_u."""
        return self.aggregation.pool(self.user_layers)

    @cached_property
    def item_vectors(self) -> Tensor:
        """[n_items, D]: the final embedding of every item."""
        items = tuple(layer[self.graph.n_users :] for layer in self.layers)
        return self.graph.columns.gather(self.aggregation.pool_layers(items))

    @property
    def popularity(self) -> Tensor:
        """[n_items]: training pairs of each item."""
        return self.graph.popularity

    def seen(self, items: Tensor) -> Tensor:
        """Whether each pair's user has these items [B] or [B, X] in training, so that they may not be negatives; like items."""
        return self.graph.has_seen(self.users, items)

    def hardest(self, count: int) -> Tensor:
        """[B, count]: positions of the highest scores, hardest first.

        Of equal scores the first, as with argmax; `topk` promises no order, and ties are real: without layer 0, items
        that have no training pair all score 0.
        """
        if count > self.candidates.shape[1]:
            raise TrainingError(
                f"match.hardest({count}): the pool has {self.candidates.shape[1]} candidates; set pool higher"
            )
        return self.scores.argsort(dim=1, descending=True, stable=True)[:, :count]

    def item_at_rank(self, rank: Tensor | int = 0) -> Tensor:
        """[B]: the item at a rank of its pool by falling score, 0 for the hardest: one number for all, or one a pair [B]."""
        if isinstance(rank, int) and rank == 0:
            return self.chosen(self.scores.argmax(1))
        if isinstance(rank, int):
            return self.chosen(self.hardest(rank + 1)[:, rank])
        rank = self._one_a_pair("item_at_rank", "ranks", rank).long()
        return self.chosen(torch.gather(self.hardest(self.candidates.shape[1]), 1, rank[:, None])[:, 0])

    def nearest(self, target: Tensor) -> Tensor:
        """[B]: the item of its pool whose score is nearest to a target [B]; of equals the first."""
        self._one_a_pair("nearest", "target scores", target, whole=False)
        return self.chosen((self.scores - target[:, None]).abs().argmin(1))

    def chosen(self, n: Tensor) -> Tensor:
        """Candidate ids at positions n: [B] → [B], or [B, X] → [B, X]."""
        n = self._one_a_pair("chosen", "positions in the pool", n, "[B] or [B, X]").long()
        ids = torch.gather(self.candidates, 1, n if n.dim() == 2 else n[:, None])
        return ids if n.dim() == 2 else ids[:, 0]

    def pick(self, n: Tensor) -> Mixture:
        """The candidate at position n [B] as it is, for all layers; with n [B, T], the one at each layer."""
        ids = self.chosen(n)
        return Mixture.per_layer(ids) if ids.dim() == 2 else Mixture.single(ids)

    def _one_a_pair(self, method: str, what: str, value: Tensor, shape: str = "[B]", whole: bool = True) -> Tensor:
        """`value` with one row for each pair of the batch; anything else is a sentence that says what was given."""
        if isinstance(value, Tensor):
            fits = value.dim() in ((1, 2) if "X" in shape else (1,)) and len(value) == len(self.users)
            if fits and (value.dtype in WHOLE or not whole):
                return value
            given = f"a tensor of shape {list(value.shape)} ({value.dtype})"
        else:
            given = repr(value) if isinstance(value, Real) else type(value).__name__
        number = "whole-number " if whole else ""
        raise TrainingError(
            f"match.{method} takes {what} as a {number}tensor {shape} with B={len(self.users)}; it was given {given}"
        )


class _Sizes(Graph):
    """A graph of which nothing but its sizes is known: scores are those, and anything else is a sentence."""

    def __init__(self, n_users: int, n_items: int) -> None:
        self.__dict__.update(n_users=n_users, n_items=n_items)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TrainingError(f"this sampler looks at the graph's {name}; give Matching.of(…, graph=Graph.of(split))")
