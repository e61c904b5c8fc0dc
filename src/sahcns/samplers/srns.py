"""SRNS: of a small memory of hard items, one whose score has gone up and down over the last epochs.

Ding, Quan, Yao, Li, Jin. Simplify and Robustify Negative Sampling for Implicit Collaborative Filtering. NeurIPS 2020.

    P_t(j) = σ(s_t[u, j] - s_t[u, i])                                  how near item j is to the positive, in epoch t
    j* = argmax_{j ∈ M_u} P_now(j) + α min(1, t / T₀) · std_{last 5 epochs} P(j)
    M_u ← S₁ of M_u ∪ pool, drawn without replacement ∝ e^{s / τ}                            at each visit of the user

A false negative scores high all the time, so its std is low. With α = 0 and memory = 0 it is DNS.

Followed is the authors' code where the paper is silent: choice before refresh, one refresh a user and batch, by its first pair.
Ours: for scores of the past that code watches 3,000 fixed items a user, in six sets that take turns, and the memory holds
places in the current one. Here the vectors of the last epochs are kept instead, an item's as of the end of an epoch and a
user's as of the last visit in it: then every item has a past, positions mean the same item for ever, and it takes
6 · (users + items) · D numbers. The S₂ new items are the pair's pool; those that the memory holds already are left out.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import setting

PAST = 5  # epochs that the std is of
TURNS = PAST + 1  # and the one that is on


@dataclass(eq=False)
class Memory:
    """What is kept between steps; epoch t has row t mod 6 of the tables of vectors."""

    items: Tensor  # [n_users, S₁] M_u, -1 before the user's first visit
    epoch: Tensor  # scalar, the epoch that is on
    visited: Tensor  # [6, n_users] the epoch of the user's vector, or long ago for none
    user_vectors: Tensor  # [6, n_users, D]; [0] before the first step, since `begin` does not know D
    item_vectors: Tensor  # [6, n_items, D], likewise


@dataclass(frozen=True)
class SRNS(Sampler):
    """Hard and of high variance, from a memory of each user's."""

    name: ClassVar[str] = "srns"

    pool: int = setting(64, "new items at each refresh of the memory, S₂ (their ML-1m: 64)", low=1)
    memory: int = setting(
        8,
        "items in each user's memory, S₁ (their ML-1m: 8); 0 chooses from the pool itself",
        low=0,
        search=(2, 4, 8, 16),
    )
    alpha: float = setting(
        5.0, "weight α of the std (their ML-1m: 5)", low=0, search=(0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
    )
    warmup: int = setting(50, "epochs T₀ until α has its full weight", low=1, search=())
    temperature: float = setting(
        10.0,
        "temperature τ of the refresh; lower keeps the hardest (their ML-1m: 10)",
        above=0,
        search=(0.5, 1.0, 2.0, 5.0, 10.0),
        unless={"memory": (0,)},
    )

    def begin(self, graph: Graph) -> Memory:
        def whole(*shape: int, fill: int) -> Tensor:
            return torch.full(shape, fill, device=graph.device)

        vectors = torch.zeros(0, dtype=graph.dtype, device=graph.device)
        items, visited = whole(graph.n_users, self.memory, fill=-1), whole(TURNS, graph.n_users, fill=-TURNS)
        return Memory(items, whole(fill=0), visited, vectors, vectors.clone())

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        held = self.remembered(match)  # M_u [B, S₁]
        union = replace(match, candidates=torch.cat([held, match.candidates], dim=1)) if self.memory else match
        merit = torch.sigmoid(union.scores[:, : held.shape[1]] - union.positive_score[:, None])
        if self.alpha > 0:
            merit = merit + self.alpha * (match.epoch / self.warmup).clamp(max=1.0) * deviation(match, held)
            self.note(match)
        if self.memory:
            match.state.items[match.users] = self.refreshed(union, rng)
        return union.pick(merit.argmax(1))

    def remembered(self, match: Matching) -> Tensor:
        """M_u [B, S₁]; at the user's first visit the pool's first items, and without a memory the pool."""
        if self.memory == 0:
            return match.candidates
        place = torch.arange(self.memory, device=match.users.device) % match.candidates.shape[1]
        kept = match.state.items[match.users]
        return torch.where(kept < 0, match.candidates[:, place], kept)

    def refreshed(self, union: Matching, rng: Rng) -> Tensor:
        """The new M_u [B, S₁] of the old one and the pool; for pairs of one user the same, that of the first of them."""
        held, fresh = union.candidates.tensor_split([self.memory], dim=1)
        keys = union.scores / self.temperature + rng.gumbel(*union.candidates.shape, dtype=union.scores.dtype)
        keys[:, self.memory :].masked_fill_((fresh[:, :, None] == held[:, None]).any(2), -torch.inf)
        drawn = union.chosen(keys.topk(self.memory, dim=1).indices)
        place = torch.arange(len(drawn), device=drawn.device)
        first = torch.full((union.graph.n_users,), len(drawn), device=drawn.device)
        return drawn[first.scatter_reduce_(0, union.users, place, "amin")[union.users]]

    def note(self, match: Matching) -> None:
        """Keep the users' vectors as those of the epoch that is on."""
        state: Memory = match.state
        epoch = state.epoch.copy_(match.epoch)
        for table, count in ((state.user_vectors, match.graph.n_users), (state.item_vectors, match.graph.n_items)):
            if table.numel() == 0:  # made larger in place: a recorded step goes on with the tensors that it saw
                table.resize_(TURNS, count, match.user_vectors.shape[1]).zero_()
        turn = (epoch % TURNS).expand_as(match.users)
        state.user_vectors[turn, match.users] = match.user_vectors.to(state.user_vectors.dtype)
        state.visited[turn, match.users] = epoch

    def end_epoch(self, state: Memory, item_vectors: Tensor, graph: Graph, rng: Rng) -> None:
        if state.item_vectors.numel():
            state.item_vectors[state.epoch % TURNS] = item_vectors.to(state.item_vectors.dtype)


def deviation(match: Matching, items: Tensor) -> Tensor:
    """std_{last 5 epochs} P of items [B, S₁], of as many epochs as there were."""
    state: Memory = match.state
    if state.user_vectors.numel() == 0:  # the first step
        return torch.zeros_like(items, dtype=match.layers[0].dtype)
    users = state.user_vectors[:, match.users]  # [6, B, D]
    ids = torch.cat([match.positives[:, None], items], dim=1)
    scores = torch.einsum("hbd,hbnd->hbn", users, state.item_vectors[:, ids])  # [6, B, 1 + S₁]
    age = match.epoch.long() - state.visited[:, match.users]  # [6, B]
    counts = ((age >= 1) & (age <= PAST))[..., None]
    near = torch.sigmoid(scores[..., 1:] - scores[..., :1]).masked_fill(~counts, 0.0)
    number = counts.sum(0).clamp(min=1)
    mean = near.sum(0) / number
    variance = ((near - mean).square() * counts).sum(0) / number
    return variance.sqrt().to(match.layers[0].dtype)
