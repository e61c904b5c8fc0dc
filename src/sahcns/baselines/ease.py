"""EASE: the linear autoencoder with a closed form.

Steck. Embarrassingly Shallow Autoencoders for Sparse Data. WWW 2019.

    P = (XᵀX + λI)⁻¹,   B_ij = -P_ij / P_jj,   B_jj = 0,   s_u = x_u B
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csr_matrix

from sahcns.baselines.base import Baseline, ItemWeights
from sahcns.errors import SettingError
from sahcns.settings import setting

BLOCK = 1024  # rows of B at a time: besides P in 8 bytes there is B in 4, and nothing else of that size


@dataclass(frozen=True)
class EASE(Baseline):
    """One inverse of an items × items matrix; refused where that does not fit."""

    name: ClassVar[str] = "ease"

    l2: float = setting(500.0, "ridge λ", above=0, search=(50.0, 200.0, 500.0, 1000.0, 2000.0))
    most_items: int = setting(
        20_000, "items beyond which it is refused: the inverse takes 8 bytes for each pair of them", low=1
    )

    def fit(self, matrix: csr_matrix) -> ItemWeights:
        n = matrix.shape[1]
        if n > self.most_items:
            raise SettingError(
                f"EASE: {n:,} items take {8 * n * n / 2**30:.0f} GiB for one inverse, more than most_items={self.most_items:,}"
            )
        gram = (matrix.T @ matrix).toarray(order="F").astype(np.float64)  # LAPACK's order, so that it works in place
        gram[np.diag_indices(n)] += self.l2
        factor, _ = lapack.dpotrf(gram, lower=1, overwrite_a=1)
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)  # the lower half
        diagonal = np.diag(inverse).copy()
        weights = np.empty((n, n), np.float32)
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            own = np.tril(inverse[rows, rows])
            weights[rows, : rows.start] = inverse[rows, : rows.start] / -diagonal[: rows.start]
            weights[rows, rows] = (own + np.tril(own, -1).T) / -diagonal[rows]
            weights[rows, rows.stop :] = inverse[rows.stop :, rows].T / -diagonal[rows.stop :]
        weights[np.diag_indices(n)] = 0.0
        return ItemWeights(weights)
