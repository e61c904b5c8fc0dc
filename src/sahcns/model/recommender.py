"""A trained model in use: recommendations and similar items in the original ids."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Number
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.data.ids import Id, IdMap, Texts
from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, SettingError
from sahcns.model.fold_in import fold_in, gram
from sahcns.model.folder import read_model, write_model
from sahcns.ranking import Csr, recommend
from sahcns.ranking.retrieval import not_finite

EXCLUDE = ("known", "train", "nothing")
NOBODY = torch.zeros(0, dtype=torch.int32, device="cpu")  # whatever torch's default is when this is imported


@dataclass(frozen=True)
class Recommendation:
    """One recommended item."""

    item: Id
    score: float
    title: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Recommender:
    """Final vectors, id maps and what each user is known to have; nothing here needs the training code."""

    user_vectors: Tensor  # [n_users, D] float32
    item_vectors: Tensor  # [n_items, D]
    user_ids: IdMap
    item_ids: IdMap
    titles: Texts | None
    known_users: Tensor  # [K] int32, ascending: pairs of the data set
    known_items: Tensor  # [K] int32
    known_part: Tensor  # [K] uint8: 0 train, 1 valid, 2 test
    weights: dict[str, Tensor]  # what was trained, to rank again or to go on from
    record: dict[str, Any]  # how it was trained
    aside_users: Tensor = NOBODY  # [A] int32, ascending: pairs that a filter took out of the data set
    aside_items: Tensor = NOBODY  # [A] int32

    def __post_init__(self) -> None:
        """Looks once for what cannot be ranked, so that no request has to."""
        for name, table in (("user_vectors", self.user_vectors), ("item_vectors", self.item_vectors)):
            if table.ndim == 2 and (row := not_finite(table)) is not None:
                raise DataError(f"{name} row {row} is not finite, the model has diverged; train it again")

    def __repr__(self) -> str:
        made = (self.record.get(part, {}).get("name") for part in ("backbone", "sampler"))
        named = "".join(f"{name}, " for name in made if name)
        return f"Recommender({named}{len(self.user_ids):,} users, {len(self.item_ids):,} items)"

    @classmethod
    def of(
        cls, split: Split, users: Tensor, items: Tensor, weights: dict[str, Tensor], record: dict[str, Any]
    ) -> "Recommender":
        parts = list(split.parts().values())
        who = np.concatenate([np.asarray(part.users, np.int32) for part in parts])
        what = np.concatenate([np.asarray(part.items, np.int32) for part in parts])
        which = np.concatenate([np.full(len(part), code, np.uint8) for code, part in enumerate(parts)])
        order = np.argsort(who.astype(np.int64) * split.n_items + what, kind="stable")  # quick: parts come sorted
        known_users, known_items, known_part = (torch.from_numpy(column[order]) for column in (who, what, which))
        aside = [np.asarray(column, np.int32) for column in (split.aside.users, split.aside.items)]
        by_user = np.argsort(aside[0], kind="stable")
        return cls(
            users,
            items,
            split.user_ids,
            split.item_ids,
            split.titles,
            known_users,
            known_items,
            known_part,
            weights,
            record,
            *(torch.from_numpy(column[by_user]) for column in aside),
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Recommender":
        """From a model folder; needs neither the training data nor a GPU."""
        return read_model(cls, folder)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Into a model folder: safetensors and JSON, written whole or not at all."""
        return write_model(self, folder)

    def split(self) -> Split:
        """The data set that the model was trained and judged on, from the pairs kept with it."""
        parts = [self.known_part == code for code in range(3)]
        train, valid, test = (Pairs(self.known_users[rows].numpy(), self.known_items[rows].numpy()) for rows in parts)
        aside = Pairs(self.aside_users.numpy(), self.aside_items.numpy())
        return Split(train, valid, test, self.user_ids, self.item_ids, self.titles, aside=aside)

    def recommend(
        self, users: Iterable[Id], k: int = 20, *, exclude: str = "known", without: Sequence[Id] = ()
    ) -> list[list[Recommendation]]:
        """The k best items of each user.

        `exclude`: "known" leaves out everything the data set says the user has, and what a filter took out of it (a
        rating too low, another year); "train" only what the model was trained on (so that held-out items can come
        back); "nothing" leaves nothing out. `without`: items that nobody is to be shown, such as those out of stock;
        ones that the model does not know are never shown anyway.
        """
        return self._named(*self.ranked(self.rows(users), k, exclude=exclude, without=without))

    def recommend_new(self, items: Sequence[Id], k: int = 20, *, without: Sequence[Id] = ()) -> list[Recommendation]:
        """The k best items for somebody whom the model does not know, from the items that they have."""
        _refuse_one("items", items)
        have = torch.unique(torch.from_numpy(self.item_ids.encode(items, what="item")))
        if not len(have):
            raise SettingError("items is empty; somebody new is known by at least one item that they have")
        return self._named(*self.ranked_new([have], k, without=without))[0]

    def similar_items(self, item: Id, k: int = 20, *, without: Sequence[Id] = ()) -> list[Recommendation]:
        """The k items whose vectors point most nearly the same way (cosine)."""
        place = self.item_ids.encode([item], what="item")
        own = [torch.from_numpy(place)]
        return self._named(*recommend(self._unit[own[0]], self._unit, own, self._most(k), hidden=self.hidden(without)))[
            0
        ]

    def popular(self, k: int = 20, *, without: Sequence[Id] = ()) -> list[Recommendation]:
        """The k items that most people of the data have, for somebody of whom nothing is known; the score counts them."""
        one, each = self.holders.new_ones(1, 1), self.holders[:, None]
        return self._named(*recommend(one, each, None, self._most(k), hidden=self.hidden(without)))[0]

    def rows(self, users: Iterable[Id]) -> Tensor:
        """Positions [B] of users by their ids."""
        _refuse_one("users", users)
        return torch.from_numpy(self.user_ids.encode(users, what="user"))

    def ranked(
        self, rows: Tensor, k: int, *, exclude: str = "known", without: Sequence[Id] = ()
    ) -> tuple[Tensor, Tensor]:
        """`recommend` in positions: users [B] → items and scores [B, ≤ k], best first; -1 and -inf where none is left."""
        if exclude not in EXCLUDE:
            raise SettingError(f"exclude={exclude!r} must be one of {', '.join(EXCLUDE)}")
        seen = self.seen(rows, exclude)
        return recommend(self.user_vectors[rows], self.item_vectors, seen, self._most(k), hidden=self.hidden(without))

    def ranked_new(self, having: Sequence[Tensor], k: int, *, without: Sequence[Id] = ()) -> tuple[Tensor, Tensor]:
        """`recommend_new` in positions: what each of B people has, without repeats → items and scores [B, ≤ k]."""
        users = torch.stack([fold_in(self.item_vectors[have], self.item_gram) for have in having])
        return recommend(users, self.item_vectors, having, self._most(k), hidden=self.hidden(without))

    @cached_property
    def item_gram(self) -> Tensor:
        """VᵀV [D, D] of the item vectors, for fold-in."""
        return gram(self.item_vectors)

    @cached_property
    def _unit(self) -> Tensor:
        """Item vectors of length 1 [n_items, D]."""
        return normalize(self.item_vectors, dim=1)

    @cached_property
    def holders(self) -> Tensor:
        """How many people have each item [n_items]."""
        return torch.bincount(self.known_items, minlength=len(self.item_ids)).float()

    def known(self, user: int, which: str = "known") -> Tensor:
        """Item positions a user (position) is known to have, in the training part or in all of the data ("known")."""
        if which not in EXCLUDE:
            raise SettingError(f"which={which!r} must be one of {', '.join(EXCLUDE)}")
        if not 0 <= user < len(self.user_ids):
            raise SettingError(f"user={user!r} is no position (0 to {len(self.user_ids) - 1})")
        if which == "nothing":
            return self.known_items.new_zeros(0, dtype=torch.int64)
        own = _of(self.known_users, self.known_users.new_tensor([int(user)]))[1]
        items = self.known_items[own].long()
        return items[self.known_part[own] == 0] if which == "train" else items

    def seen(self, rows: Tensor, exclude: str) -> Csr | None:
        """What each of some users (positions [B]) is not to be shown."""
        if exclude == "nothing":
            return None
        whose, place = _of(self.known_users, rows)
        if exclude == "train":
            trained = self.known_part[place] == 0
            whose, place = whose[trained], place[trained]
        what = self.known_items[place]
        if exclude == "known":
            whose_aside, place = _of(self.aside_users, rows)
            whose, what = torch.cat([whose, whose_aside]), torch.cat([what, self.aside_items[place]])
        return Csr.of(whose.numpy(), what.numpy(), len(rows), len(self.item_ids), self.item_vectors.device)

    @cached_property
    def _trained(self) -> Tensor:
        """Who has a training pair [n_users]."""
        return torch.bincount(self.known_users[self.known_part == 0], minlength=len(self.user_ids)) > 0

    def has_training(self, rows: Tensor) -> Tensor:
        """Whether each of some users (positions [B]) has a training pair; of others nothing was learnt."""
        trained: Tensor = self._trained[rows]
        return trained

    def untrained(self, rows: Tensor) -> Tensor:
        """Those of some users (positions) who have no training pair, so that nothing was learnt about them."""
        return rows[~self.has_training(rows)]

    def everything_of(self, user: int) -> Tensor:
        """Item positions that a user (position) has in any part, or that a filter took out; ascending."""
        own = [_of(column, column.new_tensor([user]))[1] for column in (self.known_users, self.aside_users)]
        items: Tensor = torch.unique(torch.cat([self.known_items[own[0]], self.aside_items[own[1]]]))
        return items.long()

    def prepare(self) -> None:
        """Compute now what requests share, so that the first one does not wait for it."""
        _ = self.item_gram, self.holders, self._trained, self._unit

    def title(self, item: int) -> str | None:
        return (self.titles[item] or None) if self.titles is not None else None

    def _most(self, k: int) -> int:
        """How many places a list of k has: no more than there are items."""
        if not isinstance(k, Integral) or k < 1:
            raise SettingError(f"k={k!r} must be a whole number, 1 or more")
        return min(int(k), len(self.item_ids))

    def hidden(self, without: Sequence[Id]) -> Tensor:
        _refuse_one("without", without)
        places = (self.item_ids.find(item) for item in without)
        return self.known_items.new_tensor([place for place in places if place is not None], dtype=torch.int64)

    def _named(self, items: Tensor, scores: Tensor) -> list[list[Recommendation]]:
        """Positions and scores [B, k] → the items of each row, without empty places."""
        rows = zip(items.tolist(), scores.tolist(), strict=True)
        return [
            [Recommendation(self.item_ids[i], score, self.title(i)) for i, score in zip(*row, strict=True) if i >= 0]
            for row in rows
        ]


def list_rows(items: Sequence[Recommendation]) -> list[dict[str, Any]]:
    """A list as plain values for JSON."""
    return [
        {"rank": rank, "item": one.item, "title": one.title, "score": one.score} for rank, one in enumerate(items, 1)
    ]


def _of(column: Tensor, users: Tensor) -> tuple[Tensor, Tensor]:
    """The pairs of some users [B] in an ascending column of users: to which of the B each belongs, and its place there."""
    wanted = users.to(column.dtype)
    first, end = (torch.searchsorted(column, wanted, right=right) for right in (False, True))
    lengths = end - first
    whose = torch.repeat_interleave(lengths)
    return whose, torch.arange(len(whose), device=column.device) + (end - lengths.cumsum(0))[whose]


def _refuse_one(argument: str, ids: object) -> None:
    """A text is a sequence too, of ids with one letter each."""
    if isinstance(ids, str | Number):
        raise SettingError(f"{argument}={ids!r} must be a list of ids, such as [{ids!r}]")
