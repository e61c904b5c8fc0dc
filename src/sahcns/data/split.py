"""A prepared data set in memory: training, validation and test pairs over dense ids, and its fingerprint."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.data.ids import IdMap, Texts
from sahcns.errors import DataError

Int32 = npt.NDArray[np.int32]
PARTS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Interactions as two parallel int32 columns; weights, float32 with mean 1 over all parts, where they count unalike."""

    users: Int32
    items: Int32
    weights: npt.NDArray[np.float32] | None = None

    @classmethod
    def none(cls) -> "Pairs":
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32))

    def __len__(self) -> int:
        return len(self.users)

    def take(self, rows: npt.NDArray[Any]) -> "Pairs":
        """Those of a mask, or of some places."""
        return Pairs(self.users[rows], self.items[rows], None if self.weights is None else self.weights[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Three disjoint sets of pairs over users 0 … n_users-1 and items 0 … n_items-1.

    titles       one text per item, '' where unknown
    aside        further pairs of these users and items, which a filter took out: known, and so not to be recommended
    categories   one text per item, '' where unknown, several with `|` between
    """

    train: Pairs
    valid: Pairs
    test: Pairs
    user_ids: IdMap
    item_ids: IdMap
    titles: Texts | None = None
    manifest: Mapping[str, object] = field(default_factory=dict)
    aside: Pairs = field(default_factory=Pairs.none)
    categories: Texts | None = None

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {len(pairs):,}" for name, pairs in self.parts().items())
        return f"Split({self.n_users:,} users, {self.n_items:,} items: {parts})"

    @property
    def n_users(self) -> int:
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        return len(self.item_ids)

    def parts(self) -> dict[str, Pairs]:
        return {"train": self.train, "valid": self.valid, "test": self.test}

    def together(self) -> tuple[Pairs, npt.NDArray[np.uint8]]:
        """All pairs by user, then item, and the part of each; weights of 1 where only other parts have some."""
        parts = [*self.parts().values()]
        users = np.concatenate([one.users for one in parts], dtype=np.int32)
        items = np.concatenate([one.items for one in parts], dtype=np.int32)
        weights = None
        if any(one.weights is not None for one in parts):
            weights = np.concatenate([np.ones(len(p), np.float32) if p.weights is None else p.weights for p in parts])
        # By one number a pair: parts that are sorted already, as prepared ones are, are merged, ten times faster than lexsort.
        order = np.argsort(users.astype(np.int64) * self.n_items + items, kind="stable")
        labels = np.repeat(np.arange(len(parts), dtype=np.uint8), [len(one) for one in parts])
        return Pairs(users, items, weights).take(order), labels[order]

    def whole(self) -> "Split":
        """The same pairs, all of them for training: what the model to put to use is trained on."""
        return replace(self, train=self.together()[0], valid=Pairs.none(), test=Pairs.none(), manifest={})

    def with_valid(self) -> "Split":
        """The validation pairs for training too; the test part stays."""
        return replace(replace(self, test=Pairs.none()).whole(), test=self.test)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the three sets of pairs and both id maps: equal fingerprints, equal data."""
        digest = hashlib.sha256(f"sahcns-split-1 {self.n_users} {self.n_items}".encode())
        for name, pairs in self.parts().items():
            digest.update(f" {name} {len(pairs)} ".encode())
            digest.update(np.ascontiguousarray(pairs.users, "<i4").data)
            digest.update(np.ascontiguousarray(pairs.items, "<i4").data)
            if pairs.weights is not None and len(pairs):
                digest.update(b" weights ")
                digest.update(np.ascontiguousarray(pairs.weights, "<f4").data)
        for ids in (self.user_ids, self.item_ids):
            for suffix, array in ids.arrays().items():
                digest.update(f" {suffix} {len(array)} ".encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @classmethod
    def from_pairs(
        cls,
        train: npt.ArrayLike,
        valid: npt.ArrayLike = (),
        test: npt.ArrayLike = (),
        *,
        n_users: int | None = None,
        n_items: int | None = None,
    ) -> "Split":
        """From arrays of dense `[user, item]` rows; the ids are the positions themselves.

        The parts are taken as they are: that no pair stands in two of them is the caller's care.
        """
        given = {"train": train, "valid": valid, "test": test}
        tables = [_dense(name, part) for name, part in given.items()]
        together = np.concatenate(tables)
        if len(together) and together.min() < 0:
            raise DataError(f"ids must be 0 or more; the pairs hold {together.min()}")
        least = together.max(axis=0) + 1 if len(together) else np.zeros(2, np.int64)
        users, items = n_users or int(least[0]), n_items or int(least[1])
        if users < least[0] or items < least[1]:
            raise DataError(
                f"the pairs hold user {least[0] - 1} and item {least[1] - 1}, beyond n_users={users} or n_items={items}"
            )
        first, second, third = (Pairs(t[:, 0].astype(np.int32), t[:, 1].astype(np.int32)) for t in tables)
        return cls(first, second, third, user_ids=IdMap(np.arange(users)), item_ids=IdMap(np.arange(items)))


def _dense(name: str, part: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Rows [n, 2] of whole numbers; a third column, say, would otherwise be taken for users and items."""
    table = np.asarray(part)
    if not table.size:
        return np.zeros((0, 2), np.int64)
    if table.ndim != 2 or table.shape[1] != 2 or not np.issubdtype(table.dtype, np.integer):
        raise DataError(
            f"{name} is an array of {table.dtype} with shape {table.shape}; it must hold whole numbers with shape (n, 2), a "
            "row [user, item] for each pair; ids of any kind, ratings and times are for prepare(read(table))"
        )
    return table.astype(np.int64, copy=False)
