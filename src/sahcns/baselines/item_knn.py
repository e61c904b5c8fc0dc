"""Item-kNN: items that the same people have.

Deshpande, Karypis. Item-Based Top-N Recommendation Algorithms. TOIS 2004.

    W_ij = <x_i, x_j> / (‖x_i‖ ‖x_j‖ + h)      cosine of columns with shrinkage h; W_ii = 0; each j keeps its largest weights
    s_uj = Σ_i x_ui W_ij
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix, hstack

from sahcns.baselines.base import Baseline, ItemWeights
from sahcns.settings import setting

BLOCK = 1024  # columns of W at a time: its product is dense in memory only by so many


@dataclass(frozen=True)
class ItemKNN(Baseline):
    """Cosine neighbours of what somebody has."""

    name: ClassVar[str] = "item-knn"

    neighbours: int = setting(200, "items that vote for each item", low=1, search=(50, 200, 1000))
    shrinkage: float = setting(
        100.0, "shrinkage h: how much a pair seen rarely counts less", low=0, search=(10.0, 100.0, 500.0)
    )

    def fit(self, matrix: csr_matrix) -> ItemWeights:
        columns = csr_matrix(matrix.T)  # [n_items, n_users]
        lengths = np.sqrt(np.asarray(columns.multiply(columns).sum(1)).ravel())
        parts = [
            self._columns(columns, lengths, start, min(start + BLOCK, len(lengths)))
            for start in range(0, len(lengths), BLOCK)
        ]
        return ItemWeights(csr_matrix(hstack(parts)))

    def _columns(self, columns: csr_matrix, lengths: np.ndarray, start: int, stop: int) -> csr_matrix:
        """W[:, start:stop], [n_items, stop - start]."""
        dots = (columns @ columns[start:stop].T).toarray()
        weights = dots / (np.outer(lengths, lengths[start:stop]) + self.shrinkage + 1e-12)
        weights[np.arange(start, stop), np.arange(stop - start)] = 0.0
        if self.neighbours < len(weights):
            last = np.partition(weights, -self.neighbours, axis=0)[-self.neighbours]
            weights[weights < last] = 0.0
        return csr_matrix(weights.astype(np.float32))
