"""MixGCF: at each layer the hardest candidate, mixed with the positive by a random weight.

Huang, Dong, Ding, Yang, Feng, Wang, Tang. MixGCF: An Improved Training Method for Graph Neural Network-based Recommender
Systems. KDD 2021.

    β[b, l] ~ U(0, 1), shared by the pool
    n*(b, l) = argmax_n <anchor_l, β V[i, l] + (1 - β) V[C[b, n], l]> = argmax_n a[b, n, l]      (β does not depend on n)
    negative[b, l] = β V[i, l] + (1 - β) V[C[b, n*], l]

The algebra saves the mixed pool: only the T chosen vectors are ever mixed.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.errors import SettingError
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import setting


@dataclass(frozen=True)
class MixGCF(Sampler):
    """Hop mixing over per-layer choices, positive mixing with random strength."""

    name: ClassVar[str] = "mixgcf"

    beta_low: float = setting(
        0.0, "smallest share β of the positive", low=0, high=1, search=(0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
    )
    beta_high: float = setting(
        1.0, "largest share β of the positive", low=0, high=1, search=(0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta_low > self.beta_high:
            raise SettingError(
                f"MixGCF: beta_low={self.beta_low} must not be above beta_high={self.beta_high}; swap them"
            )

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        beta = self.draw_shares(match.a, rng)
        return Mixture.blend(match.positives, match.chosen(match.a.argmax(1)), beta)

    def draw_shares(self, a: Tensor, rng: Rng) -> Tensor:
        """β [B, T], for a [B, N, T]."""
        return rng.uniform(len(a), a.shape[2], dtype=a.dtype) * (self.beta_high - self.beta_low) + self.beta_low
