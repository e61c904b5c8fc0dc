"""What a baseline is: a matrix of who has what in, scores of every item out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from sahcns.data.split import Pairs
from sahcns.errors import TrainingError
from sahcns.settings import Configured


class Scorer(Protocol):
    """A fitted model, seen from a user's history: rows of who has what, [B, n_items]."""

    def scores(self, rows: Tensor, history: csr_matrix) -> Tensor:
        """Scores [B, n_items] of users at positions `rows` [B], who have `history` [B, n_items]."""


@dataclass(frozen=True, eq=False)
class Factors:
    """A vector for each user and item: the score is their inner product."""

    users: Tensor  # [n_users, D]
    items: Tensor  # [n_items, D]

    def scores(self, rows: Tensor, history: csr_matrix) -> Tensor:
        return self.users[rows] @ self.items.T


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """A weight for each pair of items: the score of j is Σ_i x_ui W_ij over what the user has, so anybody new has one."""

    weights: csr_matrix | np.ndarray  # [n_items, n_items]

    def scores(self, rows: Tensor, history: csr_matrix) -> Tensor:
        product = history @ self.weights
        dense = product.toarray() if isinstance(product, csr_matrix) else np.asarray(product)
        return torch.from_numpy(np.ascontiguousarray(dense, dtype=np.float32))

    def of_baskets(self, baskets: Sequence[Tensor]) -> Tensor:
        """Scores [B, n_items] of people by the positions of what they have."""
        bounds = np.cumsum([0, *map(len, baskets)])
        items = np.concatenate([np.zeros(0, np.int64), *(basket.numpy() for basket in baskets)])
        ones = np.ones(len(items), np.float32)
        history = csr_matrix((ones, items, bounds), shape=(len(baskets), self.weights.shape[0]))
        return self.scores(torch.arange(len(baskets)), history)


@dataclass(frozen=True)
class Baseline(Configured):
    """A recommender without gradient, described by its constructor arguments."""

    def fit(self, matrix: csr_matrix) -> Scorer:
        """From who has what, X [n_users, n_items], 1 or a weight in each cell that is a training pair."""
        raise TrainingError(f"{type(self).__name__} does not define fit(self, matrix)")


def interaction_matrix(pairs: Pairs, n_users: int, n_items: int) -> csr_matrix:
    """X [n_users, n_items] with its weight, or 1, for each pair, however often it stands there."""
    weights = np.ones(len(pairs), np.float32) if pairs.weights is None else pairs.weights
    matrix = csr_matrix((weights, (pairs.users, pairs.items)), shape=(n_users, n_items))
    if pairs.weights is None:
        matrix.data[:] = 1.0
    return matrix
