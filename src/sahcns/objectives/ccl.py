"""CCL: cosines of positives towards 1, and of negatives below a margin.

Mao, Zhu, Wang, Dai, Dong, Xiao, He. SimpleX: A Simple and Strong Baseline for Collaborative Filtering. CIKM 2021.

    L = mean_b [ 1 - c⁺ + (w/K) Σ_k max(0, c_k - m) ]
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.objectives.base import Comparison, Objective, ranking
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class CCL(Objective):
    """Cosine contrastive loss, of SimpleX; made for many negatives, a few hundred or more."""

    name: ClassVar[str] = "ccl"

    margin: float = setting(
        0.4, "margin m: a negative of a lower cosine teaches nothing", low=-1, high=1, search=Between(0.0, 0.9)
    )
    weight: float = setting(
        150.0, "weight w of a pair's negatives together", above=0, search=Between(1.0, 1000.0, log=True)
    )
    ranking: str = ranking()

    def loss(self, pairs: Comparison) -> Tensor:
        positive, negative = pairs.scores("cosine")
        return pairs.mean(1 - positive + self.weight * pairs.mean_negative((negative - self.margin).clamp(min=0)))
