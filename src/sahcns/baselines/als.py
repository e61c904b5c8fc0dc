"""ALS: implicit matrix factorisation by alternating least squares.

Hu, Koren, Volinsky. Collaborative Filtering for Implicit Feedback Datasets. ICDM 2008. Conjugate gradient: Takács, Pilászy,
Tikk. Applications of the Conjugate Gradient Method for Implicit Feedback Collaborative Filtering. RecSys 2011.

    min Σ_ui c_ui (p_ui - <x_u, y_i>)² + λ (Σ ‖x_u‖² + Σ ‖y_i‖²),   p_ui = 1 for a pair, else 0;   c_ui = 1 + α r_ui
    for all u:  (YᵀY + Σ_i α r_ui y_i y_iᵀ + λI) x_u = Σ_i (1 + α r_ui) y_i          and the same for items
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.nn.functional import embedding_bag

from sahcns.baselines.base import Baseline, Factors
from sahcns.rng import Rng
from sahcns.settings import setting


@dataclass(frozen=True)
class ALS(Baseline):
    """A few conjugate gradient steps for all users at once, then for all items, and so on."""

    name: ClassVar[str] = "als"

    dim: int = setting(64, "size of a vector", low=1, search=(32, 64, 128))
    l2: float = setting(50.0, "ridge λ", above=0, search=(5.0, 20.0, 50.0, 100.0))
    alpha: float = setting(5.0, "confidence α of a pair", above=0, search=(1.0, 5.0, 20.0))
    iterations: int = setting(12, "times that users and items are solved", low=1)
    steps: int = setting(3, "conjugate gradient steps of one solve", low=1)
    seed: int = setting(0, "of the first item vectors", low=0)

    def fit(self, matrix: csr_matrix) -> Factors:
        n_users, n_items = matrix.shape
        by_user, by_item = csr_matrix(matrix), csr_matrix(matrix.T)
        items = Rng(self.seed, "als").uniform(n_items, self.dim, dtype=torch.float32) * 0.1
        users = torch.zeros(n_users, self.dim)
        for _ in range(self.iterations):
            users = self._solve(by_user, items, users)
            items = self._solve(by_item, users, items)
        return Factors(users, items)

    def _solve(self, ratings: csr_matrix, fixed: Tensor, x: Tensor) -> Tensor:
        """Rows x [n, d] of one side, given the other side `fixed` [m, d] and r [n, m]."""
        gram = fixed.T @ fixed + self.l2 * torch.eye(self.dim)
        starts, columns = (torch.from_numpy(part.astype(np.int64)) for part in (ratings.indptr, ratings.indices))
        owner = torch.repeat_interleave(torch.arange(len(x)), starts.diff())
        other, extra = fixed[columns], self.alpha * torch.from_numpy(ratings.data.astype(np.float32))  # [E, d], [E]

        def gather(values: Tensor) -> Tensor:
            """Σ over each row's entries of value · y_i, [n, d]; many times faster than torch's sparse product."""
            return embedding_bag(
                columns, fixed, starts, mode="sum", per_sample_weights=values, include_last_offset=True
            )

        def apply(p: Tensor) -> Tensor:
            return p @ gram + gather(extra * (p[owner] * other).sum(1))

        residual = gather(1.0 + extra) - apply(x)
        p, size = residual, residual.square().sum(1, keepdim=True)
        for _ in range(self.steps):
            q = apply(p)
            step = size / (p * q).sum(1, keepdim=True).clamp(min=1e-20)
            x, residual = x + step * p, residual - step * q
            following = residual.square().sum(1, keepdim=True)
            p, size = residual + following / size.clamp(min=1e-20) * p, following
        return x
