"""DINS: at each layer the hardest candidate, mixed with the positive by a share for each dimension.

Wu, Yang, Gong, Zhou, Lin, Liu, Yu. Dimension Independent Mixup for Hard Negative Sample in Collaborative Filtering. CIKM 2023.

    n*(b, l) = argmax_n a[b, n, l],   n = V[C[b, n*], l],   p = V[i, l],   u = anchor_l(ē_u)
    w = e^{u ⊙ n} / (α e^{u ⊙ p} + e^{u ⊙ n}) = σ(u ⊙ n - u ⊙ p - log α)            [B, T, d], one for each dimension
    negative[b, l] = (1 - w) ⊙ p + w ⊙ n

So a dimension that is hard already stays, and an easy one comes from the positive. The authors' code, which this follows,
lets gradient through w as well; here a share is a constant, as in every mixture.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class DINS(Sampler):
    """Hop mixing over per-layer choices, positive mixing dimension by dimension."""

    name: ClassVar[str] = "dins"

    pool: int = setting(32, "candidates drawn for each pair (the authors' LightGCN: 32 or 64)", low=1)
    alpha: float = setting(
        1.0,
        "weight α of the positive (the authors' LightGCN: .3 to 2.3, their NGCF to 7)",
        above=0,
        search=Between(0.1, 10.0, log=True),
    )

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        hardest = match.chosen(match.a.argmax(1))  # [B, T]
        return Mixture.blend(match.positives, hardest, 1.0 - self.shares(match, hardest))

    def shares(self, match: Matching, hardest: Tensor) -> Tensor:
        """w [B, T, d], of candidates [B, T]."""
        n = match.item_layers(hardest)  # [B, T, d]
        u = match.aggregation.anchor(match.user_layers)
        return torch.sigmoid(u * (n - match.positive_layers) - math.log(self.alpha))
