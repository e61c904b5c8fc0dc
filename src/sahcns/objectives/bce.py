"""BCE: each pair by itself, the positive towards 1 and every negative towards 0.

He, Liao, Zhang, Nie, Hu, Chua. Neural Collaborative Filtering. WWW 2017.

    L = mean_b [ -log σ(y⁺/τ) - (w/K) Σ_k log(1 - σ(y⁻_k/τ)) ]          w = K counts each negative like the positive
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import softplus

from sahcns.objectives.base import Comparison, Objective, ranking, similarity
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class BCE(Objective):
    """Binary cross-entropy of positives and negatives."""

    name: ClassVar[str] = "bce"

    weight: float = setting(
        1.0, "weight w of a pair's negatives together", above=0, search=Between(0.5, 64.0, log=True)
    )
    temperature: float = setting(1.0, "temperature τ; 0.1 or so with cosines", above=0, search=())
    similarity: str = similarity("dot")
    ranking: str = ranking()

    def loss(self, pairs: Comparison) -> Tensor:
        positive, negative = (scores / self.temperature for scores in pairs.scores(self.similarity))
        return pairs.mean(softplus(-positive) + self.weight * pairs.mean_negative(softplus(negative)))
