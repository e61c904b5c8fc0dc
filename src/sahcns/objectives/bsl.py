"""BSL: a softmax loss whose negative part counts by a power of its own.

Wu, Chen, Wu, Shi, Zhang, Wang. BSL: Understanding and Improving Softmax Loss for Recommendation. ICDE 2024.

    L = mean_b [ -y⁺/τ₁ + t₂ · log Σ_k e^{y⁻_k/τ₂} ]          the positive is not in the sum

The authors' code has one temperature, τ₁ = τ₂, and the power t₂. Another implementation has two temperatures and the power
τ₂/τ₁: that is `negative_temperature` with `power=None`. A pair whose negatives are all left out has no second part.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.objectives.base import Comparison, Objective, ranking, similarity
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class BSL(Objective):
    """Bilateral softmax loss."""

    name: ClassVar[str] = "bsl"

    temperature: float = setting(
        0.12, "temperature τ₁ (Gowalla .12, Yelp2018 .15)", above=0, search=Between(0.05, 0.5, log=True)
    )
    negative_temperature: float | None = setting(None, "temperature τ₂ of negatives; none is τ₁", above=0, search=())
    power: float | None = setting(
        0.84, "power t₂ (Gowalla .84, Yelp2018 1.12); none is τ₂/τ₁", above=0, search=Between(0.7, 1.4)
    )
    similarity: str = similarity()
    ranking: str = ranking()

    @property
    def temperatures_and_power(self) -> tuple[float, float, float]:
        """τ₁, τ₂ and t₂, those that follow from others too."""
        tau, tau_negative = self.temperature, self.negative_temperature or self.temperature
        return tau, tau_negative, tau_negative / tau if self.power is None else self.power

    def loss(self, pairs: Comparison) -> Tensor:
        tau, tau_negative, power = self.temperatures_and_power
        positive, negative = pairs.scores(self.similarity)
        positive, negative = pairs.logits(positive / tau, negative / tau_negative)
        return pairs.mean(power * _log_sum(negative) - positive)


def _log_sum(logits: Tensor) -> Tensor:
    """log Σ_k e^logit of [B, K] → [B]; 0 for a pair without negatives, whose gradient would not be a number."""
    without = logits.detach().amax(1).isneginf()
    if (
        logits.device.type == "cpu" and not without.any()
    ):  # two copies of [B, K] less; a GPU would have to be waited for
        return torch.logsumexp(logits, 1)
    return torch.logsumexp(logits.masked_fill(without[:, None], 0.0), 1).masked_fill(without, 0.0)
