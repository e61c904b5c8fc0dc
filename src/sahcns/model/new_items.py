"""A vector for an item that the model has never met, from its first buyers, without training again.

The mirror of fold_in.py: the users' vectors are held, and near 1 on those who bought it, near 0 elsewhere,

    v = argmin Σ_{u∈S} (1 − u·v)² + a Σ_u (u·v)² + r ‖v‖²

Unlike a person's vector, whose length changes no order, it competes with trained ones. So old items are folded in from
as many buyers, and all new vectors are stretched by the one factor that brings those nearest to what was learnt.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.data.ids import Id, IdMap, Texts
from sahcns.data.interactions import Interactions
from sahcns.data.preparing import merge_texts
from sahcns.errors import DataError, SettingError
from sahcns.model.baskets import columns
from sahcns.model.fold_in import fold_in, gram
from sahcns.model.recommender import Recommender

COMPARED = 1000  # old items by which the length of new vectors is found
Buyers = Mapping[int, Iterable[Id]] | Mapping[str, Iterable[Id]] | Mapping[Id, Iterable[Id]]  # {item: people}


@dataclass(frozen=True, eq=False)
class NewItems:
    """A model that has items beside those it was trained on, and what could not be used."""

    model: Recommender
    added: tuple[Id, ...]
    unknown: dict[Id, int]  # people whom the model does not know, or has learnt nothing of, and their rows
    left_out: tuple[Id, ...]  # items that nobody else bought


def add_items(model: Recommender, buyers: Interactions | Buyers, titles: Mapping[Id, str] | None = None) -> NewItems:
    """The model with further items, each from the people who bought it first; items that it knows stay as they are.

    buyers   what `sahcns.read` gives, whose ratings and times do not count, or {item: people}
    titles   of new items, where `buyers` has none

    It ranks and is saved like any other. What it was trained with stays behind: train on from the former model.
    """
    if model.item_weights is not None:
        raise SettingError(
            f"{model.record['baseline']['name']} has no vectors, so no item can be folded in; train it anew"
        )
    if isinstance(buyers, Interactions):
        name, people, items, who, what = columns(buyers)
    else:
        name, items, people, what, who = columns(buyers)
    fresh, places = model.item_ids.places(items) < 0, model.user_ids.places(people)
    trained = np.zeros(len(places), bool)
    trained[places >= 0] = model.has_training(torch.from_numpy(places[places >= 0])).numpy()
    rows = fresh[what]
    lost = np.bincount(who[rows & ~trained[who]], minlength=len(people))
    rows &= trained[who]
    pairs = np.unique(np.stack([what[rows].astype(np.int64), places[who[rows]]]), axis=1)  # by item, then user
    used, starts = np.unique(pairs[0], return_index=True)
    if not len(used):
        raise DataError(
            f"no item in {name} is new to the model and was bought by somebody whom it knows: people there are such as "
            f"{people[0]!r}, and in the model such as {model.user_ids[0]!r}"
        )
    baskets = [torch.from_numpy(part) for part in np.split(pairs[1], starts[1:])]
    added = items.decode(used.tolist())
    texts = {item: (titles or {}).get(item, "") for item in added}
    if isinstance(buyers, Interactions) and buyers.titles is not None:
        texts = {item: texts[item] or buyers.titles[int(place)] for item, place in zip(added, used, strict=True)}
    grown = _grown(model, added, baskets, folded_items(model, baskets), texts)
    left_out = items.decode(np.setdiff1d(np.flatnonzero(fresh), used).tolist())
    unknown = {people[int(one)]: int(lost[one]) for one in np.flatnonzero(lost)}
    return NewItems(grown, tuple(added), unknown, tuple(left_out))


def folded_items(model: Recommender, buyers: list[Tensor]) -> Tensor:
    """Vectors of new items [M, D] by the positions of who bought each."""
    everybody = gram(model.user_vectors)
    folded = torch.stack([fold_in(model.user_vectors[people], everybody) for people in buyers])
    if model.ranks_by_cosine:
        return normalize(folded, dim=1)
    return folded * _stretch(model, everybody, int(np.median([len(people) for people in buyers])))


def _stretch(model: Recommender, everybody: Tensor, count: int) -> float:
    """The factor that brings old items, folded in from `count` of their buyers, nearest to their own vectors."""
    items, users = model.known_items[model.known_part == 0].long(), model.known_users[model.known_part == 0].long()
    order = items.argsort(stable=True)
    bounds = torch.searchsorted(items[order], torch.arange(len(model.item_ids) + 1))
    most = bounds.diff().argsort(descending=True, stable=True)
    enough = most[bounds.diff()[most] >= min(count, int(bounds.diff().max()))]
    product = square = 0.0
    for item in enough[torch.linspace(0, len(enough) - 1, min(COMPARED, len(enough))).long()].tolist():
        own = users[order[bounds[item] : bounds[item + 1]]]
        some = own[torch.linspace(0, len(own) - 1, min(count, len(own))).long()]
        vector = fold_in(model.user_vectors[some], everybody)
        product += float(vector @ model.item_vectors[item])
        square += float(vector @ vector)
    return product / square if product > 0 else 1.0


def _grown(
    model: Recommender, added: list[Id], buyers: list[Tensor], vectors: Tensor, texts: Mapping[Id, str]
) -> Recommender:
    """The model with items in between, as ids are sorted; who bought them has them, set aside from what was learnt."""
    ids = IdMap.of([*model.item_ids, *added])
    if ids.kind != model.item_ids.kind:
        raise DataError(
            f"item {added[0]!r} is a text, and the items of the model are whole numbers such as {model.item_ids[0]!r}"
        )
    former = torch.from_numpy(ids.encode(model.item_ids))
    places = torch.from_numpy(ids.encode(added))
    table = model.item_vectors.new_empty(len(ids), model.item_vectors.shape[1])
    table[former], table[places] = model.item_vectors, vectors
    who = torch.cat([model.aside_users.long(), *buyers])
    what = torch.cat(
        [former[model.aside_items.long()], places.repeat_interleave(torch.tensor([len(one) for one in buyers]))]
    )
    order = who.argsort(stable=True)
    titles = Texts.of(texts[item] for item in added) if any(texts.values()) else None
    positions = former.numpy(), places.numpy()
    return replace(
        model,
        item_vectors=table,
        item_ids=ids,
        titles=merge_texts([model.titles, titles], positions, len(ids)),
        categories=merge_texts([model.categories], positions[:1], len(ids)),
        known_items=former[model.known_items.long()].int(),
        aside_users=who[order].int(),
        aside_items=what[order].int(),
        weights={},  # they are of the former items
        record={**model.record, "new_items": {"items": len(added), "buyers": sum(map(len, buyers))}},
    )
