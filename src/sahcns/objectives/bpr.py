"""BPR: the positive above its negatives.

Rendle, Freudenthaler, Gantner, Schmidt-Thieme. BPR: Bayesian Personalized Ranking from Implicit Feedback. UAI 2009;
the several-negatives form is that of the MixGCF lineage and is BPR for K = 1:

    L = mean_b log(1 + Σ_k exp(y⁻[b, k] - y⁺[b]))
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.objectives.base import Comparison, Objective, log_one_plus_sum


@dataclass(frozen=True)
class BPR(Objective):
    """Bayesian personalised ranking; one or several negatives a pair."""

    name: ClassVar[str] = "bpr"

    def loss(self, pairs: Comparison) -> Tensor:
        return pairs.mean(bpr(*pairs.logits(pairs.positive, pairs.negative)))


def bpr(positive: Tensor, negative: Tensor) -> Tensor:
    """Scores [B] and [B, K] → [B]."""
    return log_one_plus_sum(negative - positive[:, None])
