"""DirectAU: users near their items, and users and items each spread over the sphere; no negative is drawn.

Wang, Yu, Ma, Zhang, Chen, Liu, Ma. Towards Representation Alignment and Uniformity in Collaborative Filtering. KDD 2022.

    L = mean_b ‖û - î‖² + γ/2 · [ log mean_{b<b'} e^{-2‖û_b - û_b'‖²} + log mean_{b<b'} e^{-2‖î_b - î_b'‖²} ]

û, î are final vectors of length 1, so ‖x - y‖² = 2 - 2<x, y>. The weights of pairs are on their alignment.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.objectives.base import Comparison, Objective, ranking
from sahcns.settings import Between, setting

T = 2.0  # of the Gaussian


@dataclass(frozen=True)
class DirectAU(Objective):
    """Alignment and uniformity of the batch's own users and items."""

    name: ClassVar[str] = "directau"
    only_sampler: ClassVar[str] = "in-batch"

    gamma: float = setting(1.0, "weight γ of uniformity", low=0, search=Between(0.2, 10.0, log=True))
    ranking: str = ranking()

    def loss(self, pairs: Comparison) -> Tensor:
        users, items, _ = pairs.unit
        alignment = pairs.mean((users - items).square().sum(-1))
        return alignment + self.gamma / 2 * (uniformity(users) + uniformity(items))


def uniformity(unit: Tensor) -> Tensor:
    """[B, D] → scalar; 0 for a batch of one, which lies nowhere uneven."""
    count = len(unit)
    if count < 2:
        return unit.new_zeros(())
    exponents = 2.0 * T * (unit @ unit.T - 1.0)
    exponents = exponents.masked_fill(torch.eye(count, dtype=torch.bool, device=unit.device), -math.inf)
    return torch.logsumexp(exponents.flatten(), 0) - math.log(count * (count - 1))
