"""What many new people have, in the positions of a model, and what of it the model cannot use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sahcns.data.ids import Id, IdMap
from sahcns.data.interactions import Interactions
from sahcns.errors import DataError, SettingError
from sahcns.model.recommender import Recommender

Having = Mapping[int, Iterable[Id]] | Mapping[str, Iterable[Id]] | Mapping[Id, Iterable[Id]]  # {person: items}


@dataclass(frozen=True, eq=False)
class Baskets:
    """People by any ids of their own, each with at least one item that the model knows.

    Nobody is looked up among the users of the model: who is known to it too is judged by the basket alone.
    """

    people: IdMap
    having: tuple[Tensor, ...]  # for each of them the item positions, ascending, each once
    unknown: dict[Id, int]  # items that the model does not know, and how many rows name each; they are left aside
    left_out: tuple[Id, ...]  # people with no other items, for whom there is no list

    @classmethod
    def of(cls, model: Recommender, source: Interactions | Having) -> "Baskets":
        """From what `sahcns.read` gives, whose ratings and times do not count, or from {person: items}."""
        name, user_ids, item_ids, users, items = columns(source)
        places = model.item_ids.places(item_ids)
        rows = np.bincount(items, minlength=len(item_ids))
        unknown = {item_ids[int(place)]: int(rows[place]) for place in np.flatnonzero(places < 0)}
        positions = places[items]
        in_model = positions >= 0
        n_items = len(model.item_ids)
        pairs = np.unique(users[in_model].astype(np.int64) * n_items + positions[in_model])  # by person, then item
        who, first = np.unique(pairs // n_items, return_index=True)
        if not len(who):
            raise DataError(
                f"nobody in {name} has an item that the model knows: items there are such as {item_ids[0]!r}, and in "
                f"the model such as {model.item_ids[0]!r}; give ids as they stand in the data it was trained on"
            )
        parts = np.split(pairs % n_items, first[1:])
        nothing = np.setdiff1d(np.arange(len(user_ids)), who)
        return cls(
            user_ids.take(who), tuple(map(torch.from_numpy, parts)), unknown, tuple(user_ids.decode(nothing.tolist()))
        )

    def __len__(self) -> int:
        return len(self.people)


def columns(
    source: Interactions | Having,
) -> tuple[str, IdMap, IdMap, npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    """What they are called in an error, ids of people and items, and both columns as positions [E]."""
    if isinstance(source, Interactions):
        return source.name, source.user_ids, source.item_ids, source.users, source.items
    baskets: dict[Id, list[Id]] = {person: list(basket) for person, basket in source.items()}
    every = [item for basket in baskets.values() for item in basket]
    if not every:
        raise SettingError("the baskets are empty; somebody new is known by at least one item that they have")
    user_ids, item_ids = IdMap.of(baskets), IdMap.of(every)
    users = np.repeat(user_ids.encode(baskets), [len(basket) for basket in baskets.values()])
    return "the baskets", user_ids, item_ids, users, item_ids.encode(every)
