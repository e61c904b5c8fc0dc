"""DENS: a negative that looks like the positive where it does not matter, and differs where it does.

Lai, Chen, Zhao, Chen, Han. Disentangled Negative Sampling for Collaborative Filtering. WSDM 2023.

Four gates Linear(d, d), shared by all layers, split an item into a relevant part r and an irrelevant part q:

    g_p = sigmoid(W_item e_i + W_user e_u),   r_p = e_i ⊙ g_p,   q_p = e_i - r_p
    g_n = sigmoid(W_neg e_n + W_pos r_p),     r_n = e_n ⊙ g_n,   q_n = e_n - r_n
    sel[b, n, l] = (1 - α) <e_u, q_n> - α <e_u, r_n>,   n*(b, l) = argmax_n sel,   negative[b, l] = V[C[b, n*], l]  (raw)

    L_gate = γ/4 · mean [ sp(P_q - P_r) + sp(N_r - N_q) + sp(N_r - P_r) + sp(P_q - N_q) ],   sp = softplus

on pooled parts scored with ē_u. The gates learn from L_gate alone; selection is by index.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import linear, softplus

from sahcns.aggregation import Aggregation
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import Between, setting

GATES = ("item", "user", "pos", "neg")


@dataclass(frozen=True)
class DENS(Sampler):
    """Disentangled factors through trained gates; one item for each layer."""

    name: ClassVar[str] = "dens"

    alpha: float = setting(
        1.0,
        "weight α of the relevant factor (the paper: toys 1, yelp 0, ml-1m 0)",
        low=0,
        high=1,
        search=(0.0, 0.25, 0.5, 0.75, 1.0),
        unless={"schedule": ("warmup", "cooldown")},
    )
    gamma: float = setting(
        0.3,
        "weight γ of the gate loss (the paper: toys .3, yelp .05, ml-1m .01)",
        low=0,
        search=Between(0.01, 1.0, log=True),
    )
    schedule: str = setting(
        "fixed",
        "α as given; rising to 1 over the warm-up (DENS's code); or falling from 1",
        choices=("fixed", "warmup", "cooldown"),
        search=("fixed", "warmup", "cooldown"),
    )
    warmup: int = setting(100, "epochs of the warm-up or cool-down", low=1, search=())

    def trainable(self, dim: int, rng: Rng, dtype: torch.dtype) -> dict[str, Tensor]:
        gates: dict[str, Tensor] = {}
        for gate in GATES:
            gates |= linear_start(gate, dim, dim, rng, dtype)
        return gates

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        alpha = self.alpha_at(match.epoch)
        e_u, e_n = match.user_layers, match.candidate_layers  # [B, T, d], [B, N, T, d]
        r_p = relevant_positive(match.parameters, e_u, match.positive_layers)
        r_n = relevant_negative(match.parameters, r_p[:, None], e_n)
        sel = torch.einsum("btd,bntd->bnt", e_u, (1 - alpha) * e_n - r_n)  # [B, N, T]
        return Mixture.per_layer(match.chosen(sel.argmax(1)))

    def alpha_at(self, epoch: Tensor) -> Tensor | float:
        """α of the schedule at an epoch."""
        if self.schedule == "fixed":
            return self.alpha
        progress = (epoch / self.warmup).clamp(max=1.0)
        return progress if self.schedule == "warmup" else 1.0 - progress

    def extra_loss(
        self, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
    ) -> Tensor | None:
        if self.gamma == 0:
            return None
        r_p = relevant_positive(parameters, users, positives)
        r_n = relevant_negative(parameters, r_p[:, None], negatives)  # [B, K, T, d]
        anchor = agg.anchor(users)

        def score(part: Tensor) -> Tensor:  # [B, K, T, d] → [B, K]
            return agg.score((anchor[:, None] * part).sum(-1))

        p_r, p_q = score(r_p[:, None]), score((positives - r_p)[:, None])
        n_r, n_q = score(r_n), score(negatives - r_n)
        negative = softplus(n_r - n_q) + softplus(n_r - p_r) + softplus(p_q - n_q)  # [B, K]
        return self.gamma / 4 * (softplus(p_q - p_r).squeeze(1) + negative.sum(1)).mean()


def relevant_positive(gates: dict[str, Tensor], e_u: Tensor, e_i: Tensor) -> Tensor:
    """r_p [B, T, d]."""
    return e_i * torch.sigmoid(through(gates, "item", e_i) + through(gates, "user", e_u))


def relevant_negative(gates: dict[str, Tensor], r_p: Tensor, e_n: Tensor) -> Tensor:
    """r_n [B, N, T, d], for r_p [B, 1, T, d]."""
    return e_n * torch.sigmoid(through(gates, "neg", e_n) + through(gates, "pos", r_p))


def linear_start(name: str, width: int, dim: int, rng: Rng, dtype: torch.dtype) -> dict[str, Tensor]:
    """W [width, d] and b [width] of a layer, where torch's Linear starts."""
    bound = 1.0 / math.sqrt(dim)
    weight, bias = (((rng.uniform(*shape, dtype=torch.float64) * 2 - 1) * bound) for shape in ((width, dim), (width,)))
    return {f"{name}.weight": weight.to(dtype), f"{name}.bias": bias.to(dtype)}


def through(parameters: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    """W x + b."""
    return linear(x, parameters[f"{name}.weight"], parameters[f"{name}.bias"])
