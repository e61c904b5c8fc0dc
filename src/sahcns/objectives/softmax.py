"""Sampled softmax: the positive's share among itself and its K negatives, sharpened by a temperature.

Wu, Wang, Gao, Chen, Fu, Qiu. On the Effectiveness of Sampled Softmax Loss for Item Recommendation. TOIS 2024.

    L = mean_b -log( e^{y⁺/τ} / (e^{y⁺/τ} + Σ_k e^{y⁻_k/τ}) )          y a cosine; with dot products and τ = 1 it is BPR

The number of negatives is the sampler's: `InBatch()` gives the batch's other positives, `RNS(pool=64)` gives 64.
Where the sampler says how often it gives each item, y/τ stands for y/τ - log q.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sahcns.objectives.base import Comparison, Objective, log_one_plus_sum, ranking, similarity
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class SampledSoftmax(Objective):
    """Cross-entropy of the positive against the sampler's negatives."""

    name: ClassVar[str] = "sampled-softmax"

    temperature: float = setting(
        0.1, "temperature τ; lower looks more at the hardest negatives", above=0, search=Between(0.05, 1.0, log=True)
    )
    similarity: str = similarity()
    ranking: str = ranking()

    def loss(self, pairs: Comparison) -> Tensor:
        return pairs.mean(softmax_loss(pairs, self.similarity, self.temperature))


def softmax_loss(pairs: Comparison, similarity: str, temperature: float) -> Tensor:
    """[B]."""
    positive, negative = (scores / temperature for scores in pairs.scores(similarity))
    positive, negative = pairs.logits(positive, negative)
    return log_one_plus_sum(negative - positive[:, None])
