"""GF-CF: two filters of what somebody has on the graph, in closed form.

Shen, Wu, Zhang, Shan, Zhang, Letaief, Li. How Powerful Is Graph Convolution for Recommendation? CIKM 2021.

    R̃ = D_U^-½ X D_I^-½,   s_u = x_u ( R̃ᵀR̃ + α D_I^-½ V Vᵀ D_I^½ )      V [n_items, K]: R̃'s first right singular vectors

The first term is linear in the graph's frequencies, the second an ideal low-pass: it keeps the K smoothest ones alone.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds

from sahcns.baselines.base import Baseline, ItemWeights
from sahcns.errors import SettingError
from sahcns.rng import Rng
from sahcns.settings import setting

NOTHING = 1e-6  # a singular value below it, of at most 1, is 0: its vector could be any


@dataclass(frozen=True)
class GFCF(Baseline):
    """One partial singular value decomposition; refused where an items × items matrix does not fit."""

    name: ClassVar[str] = "gf-cf"

    weight: float = setting(0.3, "weight α of the low-pass filter", low=0, search=(0.0, 0.1, 0.3, 1.0))
    vectors: int = setting(256, "singular vectors K that it keeps; fewer than there are users and items", low=1)
    most_items: int = setting(
        20_000, "items beyond which it is refused: the weights take 4 bytes for each pair of them", low=1
    )

    def fit(self, matrix: csr_matrix) -> ItemWeights:
        n = matrix.shape[1]
        if n > self.most_items:
            raise SettingError(
                f"GF-CF: {n:,} items take {4 * n * n / 2**30:.0f} GiB of weights, more than most_items={self.most_items:,}"
            )
        users, items = (np.sqrt(np.asarray(matrix.sum(axis), np.float64).ravel()) for axis in (1, 0))
        inverse = _inverse(items)
        normed = csr_matrix(diags(_inverse(users)) @ matrix @ diags(inverse))  # R̃
        weights = np.asarray((normed.T @ normed).toarray(), np.float32)
        count = min(self.vectors, min(normed.shape) - 1)
        if count > 0 and self.weight > 0:
            start = Rng(0, "gf-cf").uniform(min(normed.shape)).double().numpy()  # or each call would begin elsewhere
            _, sizes, rows = svds(normed, k=count, v0=start)
            smooth = rows[sizes > NOTHING].T  # V
            weights += (self.weight * inverse[:, None] * smooth).astype(np.float32) @ (smooth.T * items).astype(
                np.float32
            )
        return ItemWeights(weights)


def _inverse(roots: np.ndarray) -> np.ndarray:
    """1/x, and 0 for who has nothing."""
    inverse: np.ndarray = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
    return inverse
