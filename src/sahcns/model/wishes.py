"""Lists for people of every kind in one product, and never a list that means nothing.

Somebody with training pairs is ranked by their own vector; somebody without them by a fold-in of what is known of them,
and if nothing is known, by what most people have. Each list says which: its `source`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sahcns.model.fold_in import fold_in
from sahcns.model.recommender import Recommender
from sahcns.ranking import Csr, recommend

Source = Literal["model", "fold-in", "popular"]
NO_ITEMS = torch.zeros(0, dtype=torch.int64)


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


def rank_wishes(model: Recommender, wishes: Sequence[Wish]) -> list[RankedList]:
    """All lists from one product of vectors; those of people of whom nothing is known are one more."""
    users = torch.tensor([-1 if wish.user is None else wish.user for wish in wishes])
    known = (users >= 0).nonzero()[:, 0]
    trained = model.has_training(users.clamp(min=0)) & (users >= 0)
    have: list[Tensor] = [wish.items for wish in wishes]
    for at in (~trained & (users >= 0)).nonzero()[:, 0].tolist():
        have[at] = model.everything_of(int(users[at]))
    sources: list[Source] = [
        "model" if own else "fold-in" if len(items) else "popular" for own, items in zip(trained, have, strict=True)
    ]
    seen = [(known[rows], items) for rows, items in _seen_of_users(model, [wishes[at] for at in known.tolist()])]
    for at, wish in enumerate(wishes):
        for items in (wish.items, wish.hidden):
            if len(items):
                seen.append((torch.full((len(items),), at), items))
    rows, items = (torch.cat([NO_ITEMS, *(pair[side] for pair in seen)]) for side in (0, 1))
    masked = Csr.of(rows.numpy(), items.numpy(), len(wishes), len(model.item_ids), model.item_vectors.device)
    vectors = model.user_vectors[users.clamp(min=0)]
    for at, source in enumerate(sources):
        if source == "fold-in":
            vectors[at] = fold_in(model.item_vectors[have[at]], model.item_gram)
    k = min(max(wish.k for wish in wishes), len(model.item_ids))
    found, scores = recommend(vectors, model.item_vectors, masked, k)
    popular = torch.tensor([at for at, source in enumerate(sources) if source == "popular"], dtype=torch.int64)
    if len(popular):
        ones = model.holders.new_ones(len(popular), 1)
        found[popular], scores[popular] = recommend(ones, model.holders[:, None], masked.take(popular), k)
    return [
        _cut(row[: wish.k], score[: wish.k], source)
        for row, score, wish, source in zip(found.tolist(), scores.tolist(), wishes, sources, strict=True)
    ]


def _seen_of_users(model: Recommender, wishes: Sequence[Wish]) -> list[tuple[Tensor, Tensor]]:
    """What known users are not to be shown: places among `wishes` and items, by what they exclude."""
    found = []
    for exclude in {wish.exclude for wish in wishes}:
        own = [at for at, wish in enumerate(wishes) if wish.exclude == exclude]
        masked = model.seen(torch.tensor([wishes[at].user for at in own]), exclude)
        if masked is not None:
            found.append((torch.tensor(own)[masked.rows], masked.items))
    return found


def _cut(items: list[int], scores: list[float], source: Source) -> RankedList:
    """Without the empty places at its end, -1."""
    count = items.index(-1) if -1 in items else len(items)
    return RankedList(items[:count], scores[:count], source)
