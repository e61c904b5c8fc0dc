"""BNS: hard, but probably a true negative.

Liu, Wang. Bayesian Negative Sampling for Recommendation. ICDE 2023.

    info   = 1 - σ(y⁺ - s)                                   how much the pair would teach
    P_fn   = c_j / Σ_k c_k                                   prior of being a false negative: share of training pairs
    F      = #{j ∈ S : score(u, j) ≤ s} / (|S| + 1)          where the candidate stands in the user's ranking
    unbias = (1 - F)(1 - P_fn) / (1 - F - P_fn + 2 F P_fn)   posterior of being a true negative
    risk   = info · (1 - (1 + λ) · unbias),   n* = argmin_n risk
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import Between, setting

Count = Callable[[Tensor, Tensor], Tensor]
CHUNK = 1 << 24  # scores held at once: 64 MiB of float32


def count_below(scores: Tensor, own: Tensor) -> Tensor:
    """scores [B, n_items], own [B, N] → how many of a row are ≤ each of own, [B, N]: one by one, as N is small."""
    return torch.stack([(scores <= mine[:, None]).sum(1) for mine in own.unbind(1)], dim=1)


@dataclass(frozen=True)
class BNS(Sampler):
    """Trades the size of the gradient against the posterior of a true negative."""

    name: ClassVar[str] = "bns"

    lam: float = setting(
        5.0, "weight λ of reliability (-1 picks the easiest)", low=-1, search=Between(0.1, 50.0, log=True)
    )
    ranks_among: str = setting(
        "all",
        "the items S that F ranks among: all (LightGCN code) or unseen (MF code)",
        choices=("all", "unseen"),
        search=(),
    )

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return match.pick(self.risks(match).argmin(1))

    def risks(self, match: Matching, count: Count = count_below) -> Tensor:
        """[B, N], by a `count` of the items below each candidate."""
        info = torch.sigmoid(match.scores - match.positive_score[:, None])  # = 1 - σ(y⁺ - s)
        prior = match.popularity[match.candidates].to(info.dtype) / match.graph.n_train_pairs
        return risk(info, prior, self.standing(match, count), self.lam)

    def standing(self, match: Matching, count: Count = count_below) -> Tensor:
        """F [B, N]: the empirical distribution of the user's scores, at each candidate."""
        size = max(1, CHUNK // match.graph.n_items)
        parts = [self._standing(match, slice(b, b + size), count) for b in range(0, len(match.users), size)]
        return torch.cat(parts)

    def _standing(self, match: Matching, rows: slice, count: Count) -> Tensor:
        scores = match.user_vectors[rows] @ match.item_vectors.T  # [b, n_items]
        own = torch.gather(scores, 1, match.candidates[rows])  # of the same product, so that F counts it and its equals
        size: Tensor | int = match.graph.n_items
        if self.ranks_among == "unseen":
            users = match.users[rows]
            scores = scores.masked_fill(_seen_mask(match, users), float("inf"))  # above every candidate: never counted
            size = match.graph.unseen.room[users][:, None]
        return count(scores, own).to(own.dtype) / (size + 1)


def risk(info: Tensor, prior: Tensor, standing: Tensor, lam: float) -> Tensor:
    """The expected loss of using each candidate; all [B, N]."""
    unbias = (1 - standing) * (1 - prior) / (1 - standing - prior + 2 * standing * prior)
    return info * (1 - (1 + lam) * unbias)


def _seen_mask(match: Matching, users: Tensor) -> Tensor:
    """[b, n_items], true where the user has seen the item in training."""
    mask = torch.zeros(len(users), match.graph.n_items, dtype=torch.bool, device=users.device)
    mask[match.graph.seen_by(users)] = True
    return mask
