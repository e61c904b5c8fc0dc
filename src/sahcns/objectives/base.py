"""What an objective is: one method, each pair's positive against its negatives in, one number out.

    @dataclass(frozen=True)
    class Hinge(Objective):
        name = "hinge"

        def loss(self, pairs):
            return pairs.mean((1 + pairs.negative - pairs.positive[:, None]).clamp(min=0).mean(1))

The protocol adds L2 on the rows that a batch touches; a backbone and a sampler may add losses of their own:

    L_2 = l2 / (2B) · Σ_b ( ‖e_u⁰‖² + ‖e_i⁰‖² + Σ_k ‖e_neg⁰‖² )        layer 0; repeats in the batch count each time
"""

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from sahcns.errors import TrainingError
from sahcns.graph import Batch, Graph, Read
from sahcns.settings import Configured

Rows = tuple[Tensor, Tensor, Tensor]


@dataclass(eq=False)
class Comparison:
    """What an objective sees: B pairs, each with K negatives. Scores carry gradient; nothing is computed unasked."""

    batch: Batch
    items: Tensor  # [B, K, M, T or 1]: the items that negative k is mixed of
    weights: Tensor | None  # [B, K, M, T], their shares; None for M = 1
    graph: Graph
    averaged: bool = False  # whether the objective has asked for `mean`, where pairs have weights

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

    def mean(self, losses: Tensor) -> Tensor:
        """The mean of one loss a pair [B], each times the weight of its pair."""
        self.averaged = True
        weights = self.batch.weights
        return losses.mean() if weights is None else (losses * weights).mean()

    @cached_property
    def layers(self) -> Rows:
        """Of the users [B, T, d], the positives [B, T, d] and the negatives [B, K, T, d], with gradient."""
        return self._gather(self.batch.layers, self.items, self.weights)

    @cached_property
    def _scores(self) -> tuple[Tensor, Tensor]:
        agg = self.batch.aggregation
        users, positives, negatives = self.layers
        anchor = agg.anchor(users)
        return agg.score((anchor * positives).sum(-1)), agg.score((anchor[:, None] * negatives).sum(-1))

    def ego_rows(self, table: Tensor | None, mixed: bool = True) -> Rows:
        """Rows for L2: users and positives [B, d], negatives [B, K, d].

        table  the trainable table, read with the first layer's mixture; None where layer 0 is that table
        mixed  the negative as it is mixed, or the real item, which stands last in every mixture
        """
        if table is None:
            users, positives, negatives = self.layers
            return users[:, 0], positives[:, 0], negatives[:, :, 0]
        items = self.items[..., :1] if mixed else self.items[:, :, -1:, :1]
        weights = None if self.weights is None or not mixed else self.weights[..., :1]
        users, positives, negatives = self._gather((table,), items, weights)
        return users[:, 0], positives[:, 0], negatives[:, :, 0]

    def _gather(self, layers: tuple[Tensor, ...], items: Tensor, weights: Tensor | None) -> Rows:
        first = self.graph.n_users
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

    def loss(self, pairs: Comparison) -> Tensor:
        """One number, with gradient."""
        raise TrainingError(f"{type(self).__name__} does not define loss(self, pairs), which returns one number")


def l2(strength: float, *ego: Tensor) -> Tensor:
    """Layer-0 rows of the batch's users [B, d], positives [B, d] and negatives [B, K, d] → scalar."""
    total = ego[0].square().sum()
    for rows in ego[1:]:
        total = total + rows.square().sum()
    return strength / (2 * len(ego[0])) * total
