"""BNS: hard, but probably a true negative.

Liu, Wang. Bayesian Negative Sampling for Recommendation. ICDE 2023.

    info   = 1 - σ(y⁺ - s)                                   how much the pair would teach
    P_fn   = c_j / Σ_k c_k                                   prior of being a false negative: share of training pairs
    F      = #{j ∈ S : score(u, j) ≤ s} / (|S| + 1)          where the candidate stands in the user's ranking
    unbias = (1 - F)(1 - P_fn) / (1 - F - P_fn + 2 F P_fn)   posterior of being a true negative
    risk   = info · (1 - (1 + λ) · unbias),   n* = argmin_n risk
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import Between, setting

CHUNK = 1 << 24  # scores held at once: 64 MiB of float32


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
        below = self._outscored(match) if self._as_published(match) else None
        if below is not None:
            graph, mean = match.graph, match.aggregation.kind == "mean"
            pools = match.p, match.a, mean, match.candidates
            found = graph.verbs.least_risk(*pools, graph.popularity, graph.taken, below, graph.n_items + 1, self.lam)
            if found is not None:
                return Mixture.single(found)
        return match.pick(self.risks(match).argmin(1))

    def _as_published(self, match: Matching) -> bool:
        """Whether a kernel may reckon the risks: neither they nor the scores are a subclass's own."""
        kind = type(self)
        return not match.scored and (kind.risks, kind.standing) == (BNS.risks, BNS.standing)

    def _outscored(self, match: Matching) -> Tensor | None:
        """How many of S score no higher than each candidate [B, N], if a kernel can count them."""
        if self.ranks_among != "all":
            return None
        graph = match.graph
        return graph.verbs.outscored(match.layers, match.aggregation, graph.n_users, match.users, match.candidates)

    def risks(self, match: Matching) -> Tensor:
        """[B, N]."""
        info = torch.sigmoid(match.scores - match.positive_score[:, None])  # = 1 - σ(y⁺ - s)
        prior = match.popularity[match.candidates].to(info.dtype) / match.graph.taken
        return risk(info, prior, self.standing(match), self.lam)

    def standing(self, match: Matching) -> Tensor:
        """F [B, N]: the empirical distribution of the user's scores, at each candidate."""
        below = self._outscored(match)
        if below is not None:
            return below.to(match.layers[0].dtype) / (match.graph.n_items + 1)
        size = max(1, CHUNK // match.graph.n_items)
        parts = [self._standing(match, slice(b, b + size)) for b in range(0, len(match.users), size)]
        return torch.cat(parts)

    def _standing(self, match: Matching, rows: slice) -> Tensor:
        scores = match.user_vectors[rows] @ match.item_vectors.T  # [b, n_items]
        own = torch.gather(scores, 1, match.candidates[rows])  # of the same product, so that F counts it and its equals
        size: Tensor | int = match.graph.n_items
        if self.ranks_among == "unseen":
            users = match.users[rows]
            seen = _seen_mask(match, users)
            scores = scores.masked_fill(seen, float("inf"))  # above every candidate: never counted
            size = match.graph.unseen.room[users][:, None]
        below = match.graph.verbs.standing(scores, own)
        return below.to(own.dtype) / (size + 1)


def risk(info: Tensor, prior: Tensor, standing: Tensor, lam: float) -> Tensor:
    """The expected loss of using each candidate; all [B, N]."""
    unbias = (1 - standing) * (1 - prior) / (1 - standing - prior + 2 * standing * prior)
    return info * (1 - (1 + lam) * unbias)


def _seen_mask(match: Matching, users: Tensor) -> Tensor:
    """[b, n_items], true where the user has seen the item in training."""
    offsets = match.graph.seen_offsets
    counts = offsets[users + 1] - offsets[users]
    mask = torch.zeros(len(users), match.graph.n_items, dtype=torch.bool, device=users.device)
    row = torch.repeat_interleave(torch.arange(len(users), device=users.device), counts)
    first = torch.repeat_interleave(offsets[users] - (torch.cumsum(counts, 0) - counts), counts)
    mask[row, match.graph.seen_items[first + torch.arange(len(row), device=users.device)]] = True
    return mask
