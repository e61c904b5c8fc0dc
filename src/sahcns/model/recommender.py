"""A trained model in use: recommendations and similar items in the original ids."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.baselines import ItemWeights
from sahcns.data.ids import Id, IdMap, Texts
from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, SettingError
from sahcns.model.card import describe, describe_html
from sahcns.model.explain import Explanation, Paths, Reason, explain
from sahcns.model.filters import Limits, Shelves, hidden_items, refuse_one, shelves_of, whole
from sahcns.model.fold_in import gram
from sahcns.model.folder import read_model, write_model
from sahcns.model.wishes import NO_ITEMS, SOURCES, Ranked, Source, pairs_of, rank_people
from sahcns.ranking import Csr, recommend
from sahcns.ranking.retrieval import best_of_scores, not_finite
from sahcns.training.train import Trained

EXCLUDE = ("known", "train", "nothing")
NOBODY = torch.zeros(0, dtype=torch.int32, device="cpu")  # whatever torch's default is when this is imported
EMPTY = torch.zeros(0, 0, dtype=torch.float32, device="cpu")
NO_IDS = IdMap(np.zeros(0, np.int64))


@dataclass(frozen=True)
class Recommendation:
    """One recommended item, and what its list rests on: the model, a fold-in of what is known, or what is popular."""

    item: Id
    score: float
    title: str | None = None
    source: Source = "model"


@dataclass(eq=False, repr=False)
class Recommender:
    """What was learnt, ids, and what each user is known to have; `fit` fills it from a file, `load` from a folder."""

    user_vectors: Tensor = EMPTY  # [n_users, D] float32
    item_vectors: Tensor = EMPTY  # [n_items, D]
    user_ids: IdMap = NO_IDS
    item_ids: IdMap = NO_IDS
    titles: Texts | None = None
    known_users: Tensor = NOBODY  # [K] int32, ascending: pairs of the data set
    known_items: Tensor = NOBODY  # [K] int32
    known_part: Tensor = NOBODY  # [K] uint8: 0 train, 1 valid, 2 test
    weights: dict[str, Tensor] = field(default_factory=dict)  # what was trained, to rank again or to go on from
    record: dict[str, Any] = field(default_factory=dict)  # how it was trained
    aside_users: Tensor = NOBODY  # [A] int32, ascending: pairs that a filter took out of the data set
    aside_items: Tensor = NOBODY  # [A] int32
    item_weights: ItemWeights | None = None  # of EASE, GF-CF and item-kNN, which have no vectors
    categories: Texts | None = None  # of items, several with `|` between
    known_weights: Tensor | None = None  # [K] float32, where the pairs of the data set count unalike

    def __post_init__(self) -> None:
        """Looks once for what cannot be ranked, so that no request has to."""
        for name, table in (("user_vectors", self.user_vectors), ("item_vectors", self.item_vectors)):
            if table.ndim == 2 and (row := not_finite(table)) is not None:
                raise DataError(f"{name} row {row} is not finite, the model has diverged; train it again")

    def __repr__(self) -> str:
        return describe(self.record, len(self.user_ids), len(self.item_ids))

    def _repr_html_(self) -> str:
        return describe_html(repr(self), self.record)

    @classmethod
    def of(
        cls,
        split: Split,
        users: Tensor,
        items: Tensor,
        weights: dict[str, Tensor],
        record: dict[str, Any],
        item_weights: ItemWeights | None = None,
    ) -> "Recommender":
        known, part = split.together()
        aside = split.aside.take(np.argsort(split.aside.users, kind="stable"))
        columns = (known.users, known.items, part, aside.users, aside.items)
        known_users, known_items, known_part, aside_users, aside_items = map(torch.from_numpy, columns)
        known_weights = None if known.weights is None else torch.from_numpy(known.weights)
        return cls(
            users, items, split.user_ids, split.item_ids, split.titles, known_users, known_items, known_part, weights,
            record, aside_users, aside_items, item_weights, split.categories, known_weights,
        )  # fmt: skip

    @classmethod
    def from_training(cls, trained: Trained) -> "Recommender":
        return cls.of(trained.split, trained.users, trained.items, trained.weights, trained.record.to_dict())

    def fit(self, source: Any, **options: Any) -> "Recommender":
        """Learn from a file of orders or a table; itself. `record["judged"]` says how it did beside the baselines.

        The options are those of `sahcns.model.orders.train_orders`, and how `sahcns.read` is to read the source.
        """
        from sahcns.model.orders import learn  # its progress bar needs rich, which a model in a service does not

        self.__dict__ = Recommender.of(**learn(source, **options).parts).__dict__
        return self

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Recommender":
        """From a model folder; needs neither the training data nor a GPU."""
        return read_model(cls, folder)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Into a model folder: safetensors and JSON, written whole or not at all."""
        return write_model(self, folder)

    def split(self) -> Split:
        """The data set that the model was trained and judged on, from the pairs kept with it."""
        weights = None if self.known_weights is None else self.known_weights.numpy()
        known, part = Pairs(self.known_users.numpy(), self.known_items.numpy(), weights), self.known_part.numpy()
        train, valid, test = (known.take(part == code) for code in range(3))
        aside = Pairs(self.aside_users.numpy(), self.aside_items.numpy())
        return Split(
            train, valid, test, self.user_ids, self.item_ids, self.titles, aside=aside, categories=self.categories
        )

    def recommend(
        self,
        users: Iterable[Id],
        k: int = 20,
        *,
        exclude: str = "known",
        without: Sequence[Id] = (),
        only: Sequence[Id] | None = None,
        category: Sequence[str] = (),
    ) -> list[list[Recommendation]]:
        """The k best items of each user.

        `exclude`: "known" leaves out everything the data set says the user has, and what a filter took out of it (a
        rating too low, another year); "train" only what the model was trained on (so that held-out items can come
        back); "nothing" leaves nothing out. `without`: items that nobody is to be shown, such as those out of stock;
        `only`: the items that may be shown, such as those of one shop; ids that the model does not know do no harm.
        `category`: only items of one of these categories.
        """
        return self._named(
            self.ranked(self.rows(users), k, exclude=exclude, without=without, only=only, category=category)
        )

    def recommend_new(self, items: Sequence[Id], k: int = 20, **limits: Unpack[Limits]) -> list[Recommendation]:
        """The k best items for somebody whom the model does not know, from the items that they have; limits as above."""
        return self._named(self.ranked_new([self._basket(items)], k, **limits))[0]

    def similar_items(self, item: Id, k: int = 20, **limits: Unpack[Limits]) -> list[Recommendation]:
        """The k items whose vectors point most nearly the same way (cosine); without vectors, those of its largest weights."""
        own = torch.from_numpy(self.item_ids.encode([item], what="item"))
        k, hidden = self._most(k), self.hidden(**limits)
        if self.item_weights is not None:
            scores = self.item_weights.of_baskets([own])
            best = best_of_scores(scores, Csr.of_lists([own], len(self.item_ids)), k, hidden)
        else:
            best = recommend(self._unit[own], self._unit, [own], k, hidden=hidden)
        return self._named(Ranked(*best, torch.zeros(1, dtype=torch.int64, device="cpu")))[0]

    def similar_users(self, user: Id, k: int = 20) -> list[tuple[Id, float]]:
        """The k users whose vectors point most nearly the same way, with the cosine."""
        if self.item_weights is not None:
            raise SettingError(
                f"{self.record['baseline']['name']} knows items alone: it has no vectors of users to compare"
            )
        own, units = self.rows([user]), normalize(self.user_vectors, dim=1)
        places, scores = recommend(units[own], units, [own], whole(k))
        nearest = zip(places[0].tolist(), scores[0].tolist(), strict=True)
        return [(self.user_ids[place], score) for place, score in nearest if place >= 0]

    def popular(self, k: int = 20, **limits: Unpack[Limits]) -> list[Recommendation]:
        """The k items that most people of the data have, for somebody of whom nothing is known; the score counts them."""
        return self._named(self.ranked_new([NO_ITEMS], k, **limits))[0]

    def score(self, users: Iterable[Id], items: Iterable[Id]) -> npt.NDArray[np.float32]:
        """The score of each user with each item [users, items]; it orders the items of one user, no more."""
        rows, columns = self.rows(users), torch.from_numpy(self.item_ids.encode(items, what="item"))
        if self.item_weights is not None:
            return self.item_weights.of_baskets([self.known(user, "train") for user in rows.tolist()])[
                :, columns
            ].numpy()
        scores: Tensor = self.user_vectors[rows] @ self.item_vectors[columns].T
        return scores.numpy()

    def explain(self, user: Id, item: Id) -> Explanation:
        """Which of the things that a user has carry the score of an item, and over which paths in the graph."""
        (place,) = self.rows([user]).tolist()
        return self._explained(item, user=place)

    def explain_new(self, items: Sequence[Id], item: Id) -> Explanation:
        """The same for somebody new, by the items that they have."""
        return self._explained(item, items=self._basket(items))

    def _explained(self, item: Id, *, user: int | None = None, items: Tensor = NO_ITEMS) -> Explanation:
        (place,) = self.item_ids.encode([item], what="item").tolist()
        why = explain(self, place, user=user, items=items)
        parts = zip(why.items.tolist(), why.parts.tolist(), why.paths.tolist(), strict=True)
        reasons = [Reason(self.item_ids[i], self.title(i), part, tuple(paths)) for i, part, paths in parts]
        return Explanation(self.item_ids[place], self.title(place), why.score, why.own, tuple(reasons), why.exact)

    def _basket(self, items: Sequence[Id]) -> Tensor:
        refuse_one("items", items)
        have: Tensor = torch.unique(torch.from_numpy(self.item_ids.encode(items, what="item")))
        if not len(have):
            raise SettingError("items is empty; somebody new is known by at least one item that they have")
        return have

    @property
    def ranks_by_cosine(self) -> bool:
        """Whether its vectors were brought to length 1 after training."""
        return bool(self.record.get("objective", {}).get("ranking") == "cosine")

    def rows(self, users: Iterable[Id]) -> Tensor:
        """Positions [B] of users by their ids."""
        refuse_one("users", users)
        return torch.from_numpy(self.user_ids.encode(users, what="user"))

    def ranked(self, rows: Tensor, k: int, *, exclude: str = "known", **limits: Unpack[Limits]) -> Ranked:
        """`recommend` in positions: users [B] → items and scores [B, ≤ k]."""
        if exclude not in EXCLUDE:
            raise SettingError(f"exclude={exclude!r} must be one of {', '.join(EXCLUDE)}")
        return rank_people(self, rows, {}, self.seen(rows, exclude), self._most(k), self.hidden(**limits))

    def ranked_new(self, having: Sequence[Tensor], k: int, **limits: Unpack[Limits]) -> Ranked:
        """`recommend_new` in positions: what each of B people has, without repeats → items and scores [B, ≤ k]."""
        users = torch.full((len(having),), -1, device="cpu")
        masked = Csr.of_lists(having, len(self.item_ids), self.item_vectors.device)
        return rank_people(self, users, dict(enumerate(having)), masked, self._most(k), self.hidden(**limits))

    @cached_property
    def paths(self) -> Paths | None:
        """What `explain` needs of a linear backbone."""
        return Paths.of(self)

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
        own = pairs_of(self.known_users, self.known_users.new_tensor([int(user)]))[1]
        items = self.known_items[own].long()
        return items[self.known_part[own] == 0] if which == "train" else items

    def seen(self, rows: Tensor, exclude: str) -> Csr:
        """What each of some users (positions [B]) is not to be shown."""
        whose, place = pairs_of(self.known_users, rows[:0] if exclude == "nothing" else rows)
        if exclude == "train":
            trained = self.known_part[place] == 0
            whose, place = whose[trained], place[trained]
        what = self.known_items[place]
        if exclude == "known":
            whose_aside, place = pairs_of(self.aside_users, rows)
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
        return self.seen(torch.tensor([user], device="cpu"), "known").items

    def prepare(self) -> None:
        """Compute now what requests share, so that the first one does not wait for it."""
        _ = self.item_gram, self.holders, self._trained, self._unit, self.shelves

    def title(self, item: int) -> str | None:
        return (self.titles[item] or None) if self.titles is not None else None

    def _most(self, k: int) -> int:
        """How many places a list of k has: no more than there are items."""
        if not len(self.item_ids):
            raise SettingError("this recommender has learnt nothing yet: call fit, or take one with Recommender.load")
        return min(whole(k), len(self.item_ids))

    def hidden(
        self, without: Sequence[Id] = (), only: Sequence[Id] | None = None, category: Sequence[str] = ()
    ) -> Tensor:
        """Positions of what nobody is shown: the items of `without`, and all that are not among `only` or in a category."""
        return hidden_items(self.item_ids, self.shelves if category else {}, without, only, category)

    @cached_property
    def shelves(self) -> Shelves:
        """Category → positions of its items."""
        return shelves_of(self.categories)

    def _named(self, ranked: Ranked) -> list[list[Recommendation]]:
        """The items of each row, without empty places."""
        rows = zip(ranked.items.tolist(), ranked.scores.tolist(), ranked.sources.tolist(), strict=True)
        return [
            [
                Recommendation(self.item_ids[item], score, self.title(item), SOURCES[source])
                for item, score in zip(items, scores, strict=True)
                if item >= 0
            ]
            for items, scores, source in rows
        ]


def list_rows(items: Sequence[Recommendation]) -> list[dict[str, Any]]:
    """A list as plain values for JSON."""
    return [
        {"rank": rank, "item": one.item, "title": one.title, "score": one.score} for rank, one in enumerate(items, 1)
    ]
