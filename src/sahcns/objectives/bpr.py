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
        return bpr(pairs.positive, pairs.negative)


def bpr(positive: Tensor, negative: Tensor) -> Tensor:
    """Scores [B] and [B, K] → scalar; softplus, so that no exponential overflows."""
    margin = negative - positive[:, None]
    if margin.shape[1] == 1:
        return softplus(margin[:, 0]).mean()
    return softplus(torch.logsumexp(margin, dim=1)).mean()
