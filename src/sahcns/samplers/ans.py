"""ANS: candidates moved a little towards the positive, where they are easy, before the hardest is chosen.

Zhao, Chen, Lai, Han, Song, Chen. Augmented Negative Sampling for Collaborative Filtering. RecSys 2023.

A gate of candidate and user splits both items, layer by layer, into a hard part h and an easy part z; the easy part of the
candidate is moved by a bounded noise, the less the less alike the hard parts are:

    g = σ(W_item e_n ⊙ W_user e_u),   h_n = g ⊙ e_n,  z_n = e_n - h_n,   h_p = g ⊙ e_p,  z_p = e_p - h_p
    margin = σ(1 / (w · (h_n ⊙ h_p))),   Δ = .1 · margin · r / ‖r‖,  r ~ U(0, 1)^d
    ẽ_n = h_n + z_n + sign(z_p - z_n) ⊙ Δ
    n*(b, l) = argmax_n <e_u, ẽ_n> + ε (<e_u, ẽ_n> - <e_u, e_n>),   negative[b, l] = ẽ_{n*}
    L = γ · mean_b [ mean_l log(1 + Σ_n e^{<e_u, z_n> - <e_u, h_n>}) + mean_{n, l} ‖h_n - h_p‖ + mean_n Σ_l ‖z_p ⊙ z_n‖ ]

W_item, W_user: Linear(d, d), w: Linear(d, 1). Followed is the authors' code; the paper draws Δ uniformly from 0 to .1 and cuts
it at the margin. The code sums <e_u, e> over layers whatever the aggregation, and ranks by layer 0 alone; here both are the
backbone's. Gates and w learn from Δ too; to the embeddings it is a constant. L2 is on the negative, not on the whole pool.
The defaults of γ and ε are ours.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.linalg import vector_norm
from torch.nn.functional import normalize, softplus

from sahcns.aggregation import Aggregation
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.dens import linear_start, through
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import Between, setting

BOUND = 0.1  # of the noise
SMALLEST = 1e-6  # what the margin divides by is at least as far from 0


@dataclass(frozen=True)
class ANS(Sampler):
    """Augmented negatives through trained gates; one item for each layer."""

    name: ClassVar[str] = "ans"
    taught_by_choice: ClassVar[bool] = True

    epsilon: float = setting(
        0.5, "weight ε of what the noise adds to a score", low=0, high=1, search=(0.0, 0.25, 0.5, 0.75, 1.0)
    )
    gamma: float = setting(0.01, "weight γ of the gates' losses", low=0, search=Between(0.001, 1.0, log=True))

    def trainable(self, dim: int, rng: Rng, dtype: torch.dtype) -> dict[str, Tensor]:
        parts: dict[str, Tensor] = {}
        for part, width in (("item", dim), ("user", dim), ("margin", 1)):
            parts |= linear_start(part, width, dim, rng, dtype)
        return parts

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        e_u, e_p = match.user_layers[:, None], match.positive_layers[:, None]  # [B, 1, T, d]
        e_n = match.candidate_layers  # [B, N, T, d]
        noise = normalize(rng.uniform(*e_n.shape, dtype=e_n.dtype), dim=-1)
        with torch.no_grad():
            gain = (e_u * shift(match.parameters, e_u, e_p, e_n, noise)).sum(-1)  # [B, N, T]
            n = ((e_u * e_n).sum(-1) + (1 + self.epsilon) * gain).argmax(1)  # [B, T]
        e_n, noise = (rows.take_along_dim(n[:, None, :, None], 1) for rows in (e_n, noise))  # [B, 1, T, d]
        moved = shift(match.parameters, e_u, e_p, e_n, noise)
        return Mixture(match.chosen(n)[:, None, None], shift=moved, taught=match.candidates)

    def extra_loss(
        self, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
    ) -> Tensor | None:
        """`negatives` are the whole pool, [B, N, T, d]."""
        if self.gamma == 0:
            return None
        e_u, e_p = users[:, None], positives[:, None]
        g = gate(parameters, e_u, negatives)
        h_n, h_p = g * negatives, g * e_p
        z_n, z_p = negatives - h_n, e_p - h_p
        contrast = softplus(torch.logsumexp((e_u * (z_n - h_n)).sum(-1), dim=1)).mean()
        alike = vector_norm(h_n - h_p, dim=-1).mean() + vector_norm(z_p * z_n, dim=-1).sum(-1).mean()
        loss: Tensor = self.gamma * (contrast + alike)
        return loss


def gate(parameters: dict[str, Tensor], e_u: Tensor, e_n: Tensor) -> Tensor:
    """g [B, N, T, d], for e_u [B, 1, T, d]."""
    return torch.sigmoid(through(parameters, "item", e_n) * through(parameters, "user", e_u))


def shift(parameters: dict[str, Tensor], e_u: Tensor, e_p: Tensor, e_n: Tensor, noise: Tensor) -> Tensor:
    """sign(z_p - z_n) ⊙ Δ [B, N, T, d], for noise of length 1; the sign is that of e_p - e_n, since 0 < g < 1."""
    g = gate(parameters, e_u, e_n)
    likeness = through(parameters, "margin", (g * e_n) * (g * e_p))  # [B, N, T, 1]
    likeness = torch.where(likeness < 0, likeness.clamp(max=-SMALLEST), likeness.clamp(min=SMALLEST))
    return torch.sign(e_p - e_n) * noise * (BOUND * torch.sigmoid(1.0 / likeness))
