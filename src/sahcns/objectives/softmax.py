"""Sampled softmax: the positive's share among itself and its K negatives, sharpened by a temperature.

Wu, Wang, Gao, Chen, Fu, Qiu. On the Effectiveness of Sampled Softmax Loss for Item Recommendation. TOIS 2024.

    L = mean_b -log( e^{y⁺/τ} / (e^{y⁺/τ} + Σ_k e^{y⁻_k/τ}) )          BPR with K negatives for τ = 1

The number of negatives is the sampler's: `RNS(pool=64)` gives 64.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from sahcns.objectives.base import Comparison, Objective
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class SampledSoftmax(Objective):
    """Cross-entropy of the positive against the sampler's negatives."""

    name: ClassVar[str] = "sampled-softmax"

    temperature: float = setting(
        0.1, "temperature τ; lower looks more at the hardest negatives", above=0, search=Between(0.05, 1.0, log=True)
    )

    def loss(self, pairs: Comparison) -> Tensor:
        margin = (pairs.negative - pairs.positive[:, None]) / self.temperature
        return pairs.mean(softplus(torch.logsumexp(margin, dim=1)))  # log(1 + Σ_k e^margin), without overflow
