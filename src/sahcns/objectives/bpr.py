"""BPR: the positive above its negatives.

Rendle, Freudenthaler, Gantner, Schmidt-Thieme. BPR: Bayesian Personalized Ranking from Implicit Feedback. UAI 2009;
the several-negatives form is that of the MixGCF lineage and is BPR for K = 1:

    L = mean_b log(1 + Σ_k exp(y⁻[b, k] - y⁺[b]))
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from sahcns.objectives.base import Comparison, Objective


@dataclass(frozen=True)
class BPR(Objective):
    """Bayesian personalised ranking; one or several negatives a pair."""

    name: ClassVar[str] = "bpr"

    def loss(self, pairs: Comparison) -> Tensor:
        return pairs.mean(bpr(pairs.positive, pairs.negative))


def bpr(positive: Tensor, negative: Tensor) -> Tensor:
    """Scores [B] and [B, K] → [B]; softplus, so that no exponential overflows."""
    margin = negative - positive[:, None]
    return softplus(margin[:, 0] if margin.shape[1] == 1 else torch.logsumexp(margin, dim=1))
