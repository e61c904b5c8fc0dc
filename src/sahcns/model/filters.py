"""Which items may be shown: all but a deny-list, only those of an allow-list, only those of some categories."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Number
from typing import TypedDict

import torch
from torch import Tensor

from sahcns.data.ids import Id, IdMap, Texts
from sahcns.errors import DataError, SettingError, nearest

Shelves = Mapping[str, Tensor]
"""Category → the positions of its items, ascending; in the order of the alphabet."""


class Limits(TypedDict, total=False):
    """What may be shown to anybody; see `Recommender.recommend`."""

    without: Sequence[Id]
    only: Sequence[Id] | None
    category: Sequence[str]


def shelves_of(categories: Texts | None) -> Shelves:
    """From one text an item, several categories with `|` between."""
    shelves: dict[str, list[int]] = {}
    for item in range(0 if categories is None else len(categories)):
        for name in filter(None, categories[item].split("|") if categories is not None else ()):
            shelves.setdefault(name, []).append(item)
    return {name: torch.tensor(shelves[name], device="cpu") for name in sorted(shelves, key=str.casefold)}


def hidden_items(
    ids: IdMap, shelves: Shelves, without: Iterable[Id], only: Iterable[Id] | None, category: Sequence[str]
) -> Tensor:
    """Positions of what nobody is shown: the items of `without`, and all that are not among `only`, nor in a category."""
    never = _places(ids, "without", without)
    if only is None and not category:
        return never
    shown = torch.ones(len(ids), dtype=torch.bool, device="cpu")
    if only is not None:
        shown = torch.zeros_like(shown).index_fill_(0, _places(ids, "only", only), True)
    if category:
        in_one = torch.zeros_like(shown)
        refuse_one("category", category)
        for name in category:
            in_one.index_fill_(0, _shelf(shelves, name), True)
        shown &= in_one
    return (~shown).index_fill_(0, never, True).nonzero()[:, 0]


def _shelf(shelves: Shelves, name: str) -> Tensor:
    for known, items in shelves.items():
        if known.casefold() == name.casefold():
            return items
    if not shelves:
        raise DataError(f"category={name!r}: the items of this model have no categories")
    raise DataError(f"category={name!r} is none of the data; {nearest(name, shelves)}")


def _places(ids: IdMap, argument: str, items: Iterable[Id]) -> Tensor:
    refuse_one(argument, items)
    places = torch.from_numpy(ids.places(items))
    return places[places >= 0]


def refuse_one(argument: str, ids: object) -> None:
    """A text is a sequence too, of ids with one letter each."""
    if isinstance(ids, str | Number):
        raise SettingError(f"{argument}={ids!r} must be a list, such as [{ids!r}]")


def whole(k: int) -> int:
    if not isinstance(k, Integral) or k < 1:
        raise SettingError(f"k={k!r} must be a whole number, 1 or more")
    return int(k)
