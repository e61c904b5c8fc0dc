"""Lists for people of every kind in one product, and never a list that means nothing.

Somebody with training pairs is ranked by what the model learnt of them; somebody without them by a fold-in of what is known
of them, and if nothing is known, by what most people have. Each list says which: its `source`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from sahcns.model.fold_in import fold_in
from sahcns.ranking import Csr, recommend
from sahcns.ranking.retrieval import best_of_scores, block_rows

if TYPE_CHECKING:
    from sahcns.model.recommender import Recommender

Source = Literal["model", "fold-in", "popular"]
SOURCES: tuple[Source, ...] = ("model", "fold-in", "popular")
MODEL, FOLD_IN, POPULAR = range(3)
NO_ITEMS = torch.zeros(0, dtype=torch.int64, device="cpu")


@dataclass(frozen=True, eq=False)
class Ranked:
    """B lists in positions: items [B, k], best first, -1 where none is left; scores [B, k]; sources [B] into `SOURCES`."""

    items: Tensor
    scores: Tensor
    sources: Tensor


def rank_people(
    model: "Recommender",
    users: Tensor,
    having: Mapping[int, Tensor],
    masked: Csr,
    k: int,
    hidden: Tensor | None = None,
) -> Ranked:
    """The k best items of B people.

    users [B] are positions, -1 for somebody new; `having` is what the new ones have, by their place among the B; `masked` is
    what each of the B is not to be shown, `hidden` what none of them is.
    """
    trained = model.has_training(users.clamp(min=0)) & (users >= 0)
    have = dict(having)
    for at in (~trained & (users >= 0)).nonzero()[:, 0].tolist():
        have[at] = model.everything_of(int(users[at]))
    sources = torch.where(trained, MODEL, POPULAR)
    for at, items in have.items():
        sources[at] = FOLD_IN if len(items) else POPULAR
    if model.item_weights is None:
        vectors = model.user_vectors[users.clamp(min=0)]
        for at in (sources == FOLD_IN).nonzero()[:, 0].tolist():
            vectors[at] = fold_in(model.item_vectors[have[at]], model.item_gram)
        items, scores = recommend(vectors, model.item_vectors, masked, k, hidden=hidden)
    else:
        items, scores = _by_item_weights(model, users, have, masked, k, hidden)
    popular = (sources == POPULAR).nonzero()[:, 0]
    if len(popular):
        ones = model.holders.new_ones(len(popular), 1)
        best = recommend(ones, model.holders[:, None], masked.take(popular), k, hidden=hidden)
        items[popular], scores[popular] = best
    return Ranked(items, scores, sources)


def _by_item_weights(
    model: "Recommender", users: Tensor, have: Mapping[int, Tensor], masked: Csr, k: int, hidden: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Scores Σ_i x_ui W_ij of what each has, in blocks."""
    assert model.item_weights is not None
    blocks = [(users.new_zeros(0, k), torch.zeros(0, k))]  # of nobody, where there is nobody
    block = block_rows(len(model.item_ids), users.device)
    for start in range(0, len(users), block):
        part = torch.arange(start, min(start + block, len(users)), device="cpu")
        history = [have[at] if at in have else model.known(int(users[at]), "train") for at in part.tolist()]
        scores = model.item_weights.of_baskets(history)
        blocks.append(best_of_scores(scores, masked.take(part), k, hidden))
    return torch.cat([items for items, _ in blocks]), torch.cat([scores for _, scores in blocks])


def pairs_of(column: Tensor, users: Tensor) -> tuple[Tensor, Tensor]:
    """The pairs of some users [B] in an ascending column of users: to which of the B each belongs, and its place there."""
    wanted = users.to(column.dtype)
    first, end = (torch.searchsorted(column, wanted, right=right) for right in (False, True))
    lengths = end - first
    whose = torch.repeat_interleave(lengths)
    return whose, torch.arange(len(whose), device=column.device) + (end - lengths.cumsum(0))[whose]


@dataclass(frozen=True, eq=False)
class Wish:
    """The list of one person: a user of the data by position, or somebody new by the items that they have."""

    k: int = 20
    user: int | None = None
    items: Tensor = NO_ITEMS  # positions of what somebody new has
    exclude: str = "known"  # of a known user; see Recommender.recommend
    hidden: Tensor = NO_ITEMS  # positions of items not to be shown


@dataclass(frozen=True)
class RankedList:
    """Item positions and scores, best first."""

    items: list[int]
    scores: list[float]
    source: Source


def rank_wishes(model: "Recommender", wishes: Sequence[Wish]) -> list[RankedList]:
    """All lists from one product of vectors; those of people of whom nothing is known are one more."""
    users = torch.tensor([-1 if wish.user is None else wish.user for wish in wishes], device="cpu")
    known = (users >= 0).nonzero()[:, 0]
    seen = [(known[rows], items) for rows, items in _seen_of_users(model, [wishes[at] for at in known.tolist()])]
    hidden = wishes[0].hidden if all(wish.hidden is wishes[0].hidden for wish in wishes) else None  # the same for all
    for at, wish in enumerate(wishes):
        for items in (wish.items, wish.hidden if hidden is None else NO_ITEMS):
            if len(items):
                seen.append((torch.full((len(items),), at, device="cpu"), items))
    rows, items = (torch.cat([NO_ITEMS, *(pair[side] for pair in seen)]) for side in (0, 1))
    masked = Csr.of(rows.numpy(), items.numpy(), len(wishes), len(model.item_ids), model.item_vectors.device)
    k = min(max(wish.k for wish in wishes), len(model.item_ids))
    having = {at: wish.items for at, wish in enumerate(wishes) if wish.user is None}
    ranked = rank_people(model, users, having, masked, k, hidden if hidden is not None and len(hidden) else None)
    lists = zip(ranked.items.tolist(), ranked.scores.tolist(), wishes, ranked.sources.tolist(), strict=True)
    return [_cut(items[: wish.k], scores[: wish.k], SOURCES[source]) for items, scores, wish, source in lists]


def _seen_of_users(model: "Recommender", wishes: Sequence[Wish]) -> list[tuple[Tensor, Tensor]]:
    """What known users are not to be shown: places among `wishes` and items, by what they exclude."""
    pairs = []
    for exclude in {wish.exclude for wish in wishes}:
        own = [at for at, wish in enumerate(wishes) if wish.exclude == exclude]
        masked = model.seen(torch.tensor([wishes[at].user for at in own], device="cpu"), exclude)
        pairs.append((torch.tensor(own, device="cpu")[masked.rows], masked.items))
    return pairs


def _cut(items: list[int], scores: list[float], source: Source) -> RankedList:
    """Without the empty places at its end, -1."""
    count = items.index(-1) if -1 in items else len(items)
    return RankedList(items[:count], scores[:count], source)
