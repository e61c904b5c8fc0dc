"""PSL: a softmax loss in which a function with less weight on false negatives stands in the place of the exponential.

Yang, Chen, Xin, Zhou, Hu, Feng, Chen, Wang. PSL: Rethinking and Improving Softmax Loss from Pairwise Perspective for
Recommendation. NeurIPS 2024.

    L = mean_b log( 1 + Σ_k σ(d_k)^{1/τ} ),   d_k = (y⁻_k - y⁺) / s          1 is the positive's own term, σ(0) = 1
    σ(d) = tanh(d) + 1  |  max(0, d + 1)  |  max(0, arctan(d) + 1)          e^d would be sampled softmax with s τ

With cosines and s = 2, d is in [-1, 1], for which these functions were made.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from sahcns.objectives.base import Comparison, Objective, log_one_plus_sum, ranking, similarity
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class PSL(Objective):
    """Pairwise softmax loss."""

    name: ClassVar[str] = "psl"

    activation: str = setting("tanh", "σ", choices=("tanh", "relu", "atan"))
    temperature: float = setting(0.05, "temperature τ", above=0, search=Between(0.005, 0.25, log=True))
    scale: float = setting(2.0, "s, by which differences of scores are divided", above=0, search=())
    similarity: str = similarity()
    ranking: str = ranking()

    def loss(self, pairs: Comparison) -> Tensor:
        positive, negative = pairs.scores(self.similarity)
        d = (negative - positive[:, None]) / self.scale
        own, others = pairs.logits(torch.zeros_like(positive), log_activation(self.activation, d) / self.temperature)
        return pairs.mean(log_one_plus_sum(others - own[:, None]))


def log_activation(activation: str, d: Tensor) -> Tensor:
    """log σ(d), -∞ where σ is 0; like d."""
    if activation == "tanh":
        return math.log(2.0) + logsigmoid(2.0 * d)  # tanh(d) + 1 = 2 / (1 + e^{-2d})
    end = -1.0 if activation == "relu" else -math.tan(1.0)
    inside = d > end
    d = torch.where(inside, d, 0.0)  # or the gradient of a logarithm of 0 would not be a number
    return torch.log1p(d if activation == "relu" else d.atan()).masked_fill(~inside, -math.inf)
