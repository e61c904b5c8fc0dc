"""What an objective is: one method, each pair's positive against its negatives in, one number out.

    @dataclass(frozen=True)
    class Hinge(Objective):
        name = "hinge"

        def loss(self, pairs):
            return pairs.mean((1 + pairs.negative - pairs.positive[:, None]).clamp(min=0).mean(1))

The protocol adds L2 on the rows that a batch touches; a backbone and a sampler may add losses of their own:

    L_2 = l2 / (2B) · Σ_b ( ‖e_u⁰‖² + ‖e_i⁰‖² + Σ_k ‖e_neg⁰‖² )        layer 0; repeats in the batch count each time

Negatives that all pairs share count once for the batch, and those among them that are the batch's own positives not again.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from sahcns.errors import TrainingError
from sahcns.graph import Batch, Graph, Read
from sahcns.rng import Rng
from sahcns.settings import Configured, setting

Rows = tuple[Tensor, Tensor, Tensor]
LOWEST = -1e30  # in the place of −∞: where all of a row is −∞ its logsumexp has no gradient


@dataclass(eq=False)
class Comparison:
    """What an objective sees: B pairs, each with K negatives. Scores carry gradient; nothing is computed unasked."""

    batch: Batch
    items: Tensor  # [B, K, M, T or 1]: what negative k is mixed of; [1, K, 1, 1] where all pairs have the same
    weights: Tensor | None  # [B, K, M, T], or [B, K, M, T, d], their shares; None for M = 1
    graph: Graph
    left_out: Tensor | None = None  # [B, K] bool: what is no negative for this pair; its score is -∞
    log_q: Tensor | None = None  # [n_items] log of how often the sampler gives each item, up to a constant
    own: int = 0  # so many of the shared items, at the front, are the batch's positives
    shift: Tensor | None = None  # [B, K, T, d], added to what is mixed
    state: Any = None  # what the objective keeps from epoch to epoch
    averaged: bool = False  # whether the objective has asked for `mean`, where pairs have weights
    corrected: bool = False  # whether it has asked for `logits`, where there is `log_q`
    same: bool = False  # fast paths only: `left_out` does not hold that a pair's own item is none of its negatives

    @property
    def users(self) -> Tensor:
        """[B]."""
        return self.batch.users

    @property
    def positives(self) -> Tensor:
        """[B]."""
        return self.batch.positives

    @property
    def positive(self) -> Tensor:
        """y⁺ [B]: the model's score of the positive."""
        return self._scores[0]

    @property
    def negative(self) -> Tensor:
        """y⁻ [B, K]: the model's score of each negative."""
        return self._scores[1]

    def scores(self, similarity: str) -> tuple[Tensor, Tensor]:
        """Of the positive [B] and of each negative [B, K], by "dot", the model's score, or "cosine" of final vectors."""
        return self._scores if similarity == "dot" else self._cosines

    def logits(self, positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
        """What goes into a softmax [B] and [B, K], less log q of each item where the sampler says how often it gives it.

        Yi et al. Sampling-Bias-Corrected Neural Modeling for Large Corpus Item Recommendations. RecSys 2019.
        """
        self.corrected = True
        if self.log_q is None:
            return positive, negative
        return positive - self.log_q[self.positives], negative - self.log_q[self.items[:, :, -1, 0]]

    def mean(self, losses: Tensor) -> Tensor:
        """The mean of one loss a pair [B], each times the weight of its pair."""
        self.averaged = True
        weights = self.batch.weights
        return losses.mean() if weights is None else (losses * weights).mean()

    def mean_negative(self, losses: Tensor) -> Tensor:
        """[B, K] → [B]: the mean over the negatives of a pair, of those that are not left out; 0 where all are."""
        if self.left_out is None:
            return losses.mean(1)
        return losses.masked_fill(self.left_out, 0.0).sum(1) / (~self.left_out).sum(1).clamp(min=1)

    @cached_property
    def layers(self) -> Rows:
        """Of the users [B, T, d], the positives [B, T, d] and the negatives [B, K, T, d], with gradient.

        Negatives that all pairs share are there once, [1, K, T, d].
        """
        users, positives, negatives = map(self.graph.columns.gather, self._rows)
        return users, positives, negatives

    @cached_property
    def unit(self) -> Rows:
        """Final vectors of length 1: of the users [B, D], the positives [B, D] and the negatives [B or 1, K, D]."""
        users, positives, negatives = (normalize(self.batch.aggregation.pool(rows), dim=-1) for rows in self.layers)
        return users, positives, negatives

    @cached_property
    def _rows(self) -> Rows:
        """The columns of `layers` that this process holds."""
        users, positives, negatives = self._gather(self.batch.layers, self.items[:, self.own :], self.weights)
        if self.own:
            negatives = torch.cat([positives[None], negatives], 1)
        return users, positives, negatives if self.shift is None else negatives + self.graph.columns.own(self.shift)

    @cached_property
    def _scores(self) -> tuple[Tensor, Tensor]:
        agg, total = self.batch.aggregation, self.graph.columns.sum
        users, positives, negatives = self._rows
        anchor = agg.anchor(users)
        positive = total(agg.score((anchor * positives).sum(-1)))
        if len(negatives) < len(users):  # one product, where [B, K, T, d] would not fit
            return positive, self._of_this_pair(total(agg.pool(users) @ agg.pool(negatives[0]).T))
        return positive, self._of_this_pair(total(agg.score((anchor[:, None] * negatives).sum(-1))))

    @cached_property
    def _cosines(self) -> tuple[Tensor, Tensor]:
        users, positives, negatives = self.unit
        shared = len(negatives) < len(users)
        cosines = users @ negatives[0].T if shared else (users[:, None] * negatives).sum(-1)
        return (users * positives).sum(-1), self._of_this_pair(cosines)

    def _of_this_pair(self, scores: Tensor) -> Tensor:
        return scores if self.left_out is None else scores.masked_fill(self.left_out, -math.inf)

    def ego_rows(self, table: Tensor | None, mixed: bool = True) -> Rows:
        """Rows for L2, of the columns that this process holds.

        Users and positives [B, d], negatives [B, K, d], those that all pairs share once.

        table  the trainable table, read with the first layer's mixture; None where layer 0 is that table
        mixed  the negative as it is mixed, or the real item, which stands last in every mixture
        """
        if table is None:
            users, positives, negatives = self._rows
            return users[:, 0], positives[:, 0], negatives[:, self.own :, 0]
        items = self.items[:, self.own :, :, :1] if mixed else self.items[:, self.own :, -1:, :1]
        weights = None if self.weights is None or not mixed else self.weights[:, :, :, :1]
        users, positives, negatives = self._gather((table,), items, weights)
        return users[:, 0], positives[:, 0], negatives[:, :, 0]

    def _gather(self, layers: tuple[Tensor, ...], items: Tensor, weights: Tensor | None) -> Rows:
        first = self.graph.n_users
        if weights is not None and weights.dim() == 5:
            weights = self.graph.columns.own(weights)
        users, positives, negatives = self.graph.mix(
            layers,
            Read(self.users[:, None, None], None),
            Read((self.positives + first)[:, None, None], None),
            Read(items.flatten(0, 1) + first, None if weights is None else weights.flatten(0, 1)),
        )
        return users, positives, negatives.view(*items.shape[:2], *negatives.shape[1:])


@dataclass(frozen=True)
class Objective(Configured):
    """What a batch is worth; `.settings()` explains each argument."""

    only_sampler: ClassVar[str] = ""  # name of the one sampler, in its default settings, with which it makes sense

    def loss(self, pairs: Comparison) -> Tensor:
        """One number, with gradient."""
        raise TrainingError(f"{type(self).__name__} does not define loss(self, pairs), which returns one number")

    @property
    def ranks_by_cosine(self) -> bool:
        """Whether the trained vectors are brought to length 1; for objectives with a setting `ranking`."""
        return getattr(self, "ranking", "dot") == "cosine"

    # What follows is opt-in; most objectives never see it.

    def begin(self, graph: Graph) -> Any:
        """State to keep from epoch to epoch, made once before training; found again as `pairs.state`."""
        return None

    def end_epoch(self, state: Any, users: Tensor, items: Tensor, graph: Graph, epoch: int, rng: Rng) -> None:
        """Called after each epoch with the final vectors [n_users, D] and [n_items, D]; changes the state in place."""


def similarity(default: str = "cosine") -> Any:
    """The setting that says what a score is in training."""
    return setting(default, "what a score is in training", choices=("cosine", "dot"), search=())


def ranking() -> Any:
    """The setting that says what ranks items once the model is trained."""
    return setting("dot", "what ranks afterwards; cosine: vectors of length 1", choices=("dot", "cosine"), search=())


def log_one_plus_sum(margins: Tensor) -> Tensor:
    """log(1 + Σ_k e^margin) of [B, K] → [B], without overflow and with a finite gradient, for -∞ too."""
    if margins.shape[1] == 1:
        return softplus(margins[:, 0])
    return softplus(torch.logsumexp(margins.clamp(min=LOWEST), 1))


def l2(strength: float, *ego: Tensor) -> Tensor:
    """Layer-0 rows of the batch's users [B, d], positives [B, d] and negatives [B or 1, K, d] → scalar."""
    total = ego[0].square().sum()
    for rows in ego[1:]:
        total = total + rows.square().sum()
    return strength / (2 * len(ego[0])) * total
