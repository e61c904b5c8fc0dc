"""DivNS: hard negatives, each mixed with a diverse one from what was left over.

Xuan, Sokol, Sanderson, Chan. Diversity-Augmented Negative Sampling for Implicit Collaborative Filtering. arXiv 2508.14468.

Each epoch, for every pair: the top candidate is the hard negative j₁ (kept in H_u), the next r go to the cache C_u.
At its end, |I_u⁺| diverse items are selected from the distinct ones of C_u, and used during the next epoch:

    L = diag(w) S diag(w),  S cosine of the final item embeddings,  w_j = 1 / (1 + max(0, mean_{h ∈ H_u} cos(j, h)))
    D_u ~ k-DPP(L),   negative = λ V[j₁] + (1 - λ) V[d],   d ∈ D_u

Ours where the paper is silent: the first epoch is DNS; a user with fewer distinct items than pairs goes round them again;
at most `cap` cached items a user enter the kernel. r = 0 or λ = 1 is DNS.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.errors import SettingError
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.diverse import SELECTORS
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import setting

GROUP = 1 << 25  # numbers in one padded group of user caches: bounds memory


@dataclass(frozen=True, eq=False)
class Group:
    """G users of like size; their training pairs lie one after the other."""

    starts: Tensor  # [G] each user's first pair
    counts: Tensor  # [G] and how many there are
    longest: int  # the most of them


@dataclass(eq=False)
class Caches:
    """What is kept between epochs, one row a training pair (pairs lie sorted by user)."""

    hard: Tensor  # [E] the hard negative used, -1 before the pair's first visit
    cache: Tensor  # [E, r] the next hardest, -1 before
    queue: Tensor  # [E] the diverse item to mix in, -1 for none
    groups: tuple[Group, ...] = ()  # all users with pairs; made at the end of the first epoch

    @property
    def tables(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.hard, self.cache, self.queue


@dataclass(frozen=True)
class DivNS(Sampler):
    """DNS with a diverse companion."""

    name: ClassVar[str] = "divns"
    remade: ClassVar[tuple[str, ...]] = ("groups",)

    ratio: int = setting(
        4,
        "cached candidates for each pair, r (the paper: 4; yelp 0)",
        low=0,
        search=(1, 2, 4, 6, 8),
        unless={"lam": (1.0,)},  # then nothing of the cache is used
    )
    lam: float = setting(
        0.8,
        "share λ of the hard negative (the paper: .8; yelp 1)",
        low=0,
        high=1,
        search=(0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    )
    selector: str = setting("kdpp", "how the diverse items are selected", choices=tuple(SELECTORS), search=())
    cap: int = setting(512, "most cached items of one user that enter the kernel", low=1, search=())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio >= self.pool:
            raise SettingError(f"DivNS: ratio={self.ratio} leaves no hard negative in a pool of {self.pool}; lower it")

    def begin(self, graph: Graph) -> Caches | None:
        if self.ratio == 0 or self.lam == 1:
            return None
        empty = torch.full((graph.n_pairs, self.ratio + 2), -1, device=graph.device)
        return Caches(empty[:, 0].clone(), empty[:, 2:].clone(), empty[:, 1].clone())

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        if match.state is None:
            return Mixture.single(match.item_at_rank())
        state: Caches = match.state
        top = match.chosen(match.hardest(1 + self.ratio))  # [B, 1 + r], hardest first
        hard = top[:, 0]
        state.hard[match.pairs] = hard
        state.cache[match.pairs] = top[:, 1:]
        diverse = state.queue[match.pairs]
        lam = torch.full_like(diverse, self.lam, dtype=match.scores.dtype).masked_fill(diverse < 0, 1.0)
        companion = torch.where(diverse < 0, hard, diverse)
        return Mixture.blend(hard, companion, lam[:, None].expand(-1, len(match.layers)))

    def end_epoch(self, state: Caches, item_vectors: Tensor, graph: Graph, rng: Rng) -> None:
        """Fill the queue of every pair from its user's cache."""
        unit = normalize(item_vectors, dim=1)
        for group in self.groups(state, graph):
            self.fill(state, unit, group, rng)

    def groups(self, state: Caches, graph: Graph) -> tuple[Group, ...]:
        """All users with pairs; found once, and kept."""
        if not state.groups:
            state.groups = tuple(self._groups(graph))
        return state.groups

    def _groups(self, graph: Graph) -> Iterator[Group]:
        """Users of like size together, so that padding is small."""
        counts = graph.pair_counts()
        starts = torch.cumsum(counts, 0) - counts
        order = torch.argsort(counts, stable=True)
        order = order[counts[order] > 0]
        sizes = counts[order].cpu()
        begin = 0
        while begin < len(order):
            limit = max(4, 1 << (int(sizes[begin]) - 1).bit_length())
            if limit * self.ratio >= self.cap:  # more pairs, but no larger kernels
                limit *= 4
            end = int(torch.searchsorted(sizes, limit, right=True))
            longest = int(sizes[end - 1])
            end = min(end, begin + max(1, GROUP // (64 * max(longest, min(longest * self.ratio, self.cap)))))
            users = order[begin:end]
            yield Group(starts[users], counts[users], int(sizes[end - 1]))
            begin = end

    def fill(self, state: Caches, unit: Tensor, group: Group, rng: Rng) -> None:
        """The queues of one group, from unit item vectors [n_items, D]."""
        slot = torch.arange(group.longest, device=unit.device)
        inside = slot < group.counts[:, None]  # [G, s]
        pairs = torch.where(inside, group.starts[:, None] + slot, 0)
        hard = torch.where(inside, state.hard[pairs], -1)
        cached = torch.where(inside[..., None], state.cache[pairs], -1).flatten(1)[:, : self.cap]  # [G, c]
        cached = cached.sort(dim=1).values
        fresh = torch.ones_like(cached, dtype=torch.bool)
        fresh[:, 1:] = cached[:, 1:] != cached[:, :-1]
        valid = fresh & (cached >= 0)
        vectors = unit[cached.clamp(min=0)]  # [G, c, d]
        used = unit[hard.clamp(min=0)] * (hard >= 0)[..., None]
        if self.selector == "min_sim":
            weight = -_least_cosine(vectors, used, hard >= 0)
        else:
            centre = used.sum(1) / (hard >= 0).sum(1, keepdim=True).clamp(min=1)
            like = (vectors @ centre[..., None])[..., 0]  # mean cosine to the hard negatives
            weight = 1.0 / (1.0 + like.clamp(min=0.0))
        want = torch.minimum(group.counts, valid.sum(1))
        picked = SELECTORS[self.selector](vectors, valid, weight, want, rng)  # [G, k]
        found = (picked >= 0).sum(1, keepdim=True)
        turn = slot % found.clamp(min=1)  # [G, s]: round and round
        at = torch.gather(picked, 1, turn.clamp(max=max(picked.shape[1] - 1, 0))) if picked.shape[1] else turn - 1
        items = torch.gather(cached, 1, at.clamp(min=0))
        state.queue[pairs[inside]] = torch.where((found > 0) & (at >= 0), items, -1)[inside]


def _least_cosine(vectors: Tensor, used: Tensor, known: Tensor) -> Tensor:
    """[G, c]: of unit vectors [G, c, d] with those of the known [G, s] among used [G, s, d]; as many of them at once as d."""
    least = vectors.new_full(vectors.shape[:2], float("inf"))
    for first in range(0, used.shape[1], used.shape[2]):
        some = slice(first, first + used.shape[2])
        cosines = (vectors @ used[:, some].mT).masked_fill(~known[:, None, some], float("inf"))
        least = torch.minimum(least, cosines.amin(2))
    return least
