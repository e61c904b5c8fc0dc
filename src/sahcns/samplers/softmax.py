"""Softmax(ρ,N): a candidate drawn by the softmax of its loss, at a temperature that the pool itself sets.

Shi, Chen, Feng, Zhang, Wu, Gao, He. On the Theories Behind Hard Negative Sampling for Recommendation. WWW 2023.

    Z_n = softplus(s[b, n] - y⁺[b]),   τ_b = √(Var_n Z / 2ρ),   w_n = softmax_n(Z_n / τ_b),   n* ~ w

Var has Bessel's correction, as in the authors' code. ρ is the distance from uniform weights that is allowed: near 0 it is RNS,
and a large one DNS.

The paper speaks of sampling; its code adds up the losses of all N candidates, each times its weight, Σ_n w_n Z_n. One candidate
drawn by these weights, as here, has the same loss and gradient on average, for one row in the place of N, and noise of its own.
The code draws pools among all items, a user's own included; here they are those of all samplers.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import Between, setting


@dataclass(frozen=True)
class Softmax(Sampler):
    """One of the pool, the more often the larger its loss."""

    name: ClassVar[str] = "softmax"

    pool: int = setting(200, "candidates drawn for each pair, N (the paper: 200)", low=1)
    rho: float = setting(
        1.0,
        "distance ρ from uniform weights; larger is harder (the paper: .01 to 100)",
        above=0,
        search=Between(0.01, 100.0, log=True),
    )

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        logits = self.logits(match)
        return match.pick((logits + rng.gumbel(*logits.shape, dtype=logits.dtype)).argmax(1))

    def logits(self, match: Matching) -> Tensor:
        """Z / τ [B, N], of which the softmax are the weights."""
        loss = softplus(match.scores - match.positive_score[:, None])
        centred = loss - loss.mean(1, keepdim=True)  # the same weights
        variance = centred.square().sum(1, keepdim=True) / max(1, loss.shape[1] - 1)
        tau = torch.sqrt(variance / (2 * self.rho))  # 0 where all losses are the same, and weigh the same
        return centred / tau.clamp(min=torch.finfo(tau.dtype).tiny)
