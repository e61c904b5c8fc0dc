"""The training graph on a device: normalised adjacency, who has seen what, and the four hot verbs over them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.kernels import Verbs, verbs_for
from sahcns.rng import Rng


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Ã = D^-½ A D^-½ in CSR, [n, n] over users then items; symmetric, so it is its own transpose.

    Training pairs only, binary, no self-loops; a node without pairs has an empty row.
    """

    offsets: Tensor  # [n+1] int32, or int64 beyond 2^31 edges
    columns: Tensor  # [nnz] like offsets
    values: Tensor  # [nnz]
    degrees: Tensor  # [n] int64
    n_users: int

    def to(self, dtype: torch.dtype) -> "Adjacency":
        return replace(self, values=self.values.to(dtype))

    @property
    def n(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, eq=False)
class Unseen:
    """Everything needed to draw exactly from what a user has not seen, without rejection.

    A number x is drawn below the total weight the user has not seen; the user's seen items (sorted) are then stepped over:
    seen item t lies before x if `before[t] ≤ x`, where before[t] is the weight of unseen items in front of it.
    With weight 1 for each item x is a rank among the unseen, before[t] = item_t - t, and the drawn item is x + t.
    """

    offsets: Tensor  # [n_users+1] first seen item of each user
    items: Tensor  # [E] seen items, ascending within each user
    keys: Tensor  # [E] user · (total+1) + before, ascending over the whole table
    skipped: Tensor | None  # [E+n_users] weight of the first t seen items of each user (None: t itself)
    cumulative: Tensor | None  # [n_items] running weight over all items (None: item j covers x = j)
    room: Tensor  # [n_users] total unseen weight
    total: int  # weight of all items

    @classmethod
    def of(cls, offsets: Tensor, items: Tensor, n_items: int, weights: Tensor | None = None) -> "Unseen":
        """`weights [n_items]` non-negative int64, or None for uniform."""
        n_users = len(offsets) - 1
        users = torch.repeat_interleave(torch.arange(n_users, device=items.device), offsets.diff())
        total = n_items if weights is None else int(weights.sum())
        size = float(n_items) if weights is None else float(weights.double().sum())  # which does not wrap around
        if size >= 2.0 ** (62 - n_users.bit_length()):
            raise DataError(
                f"popularity weights sum to {size:.0f}, too large for {n_users} users; use a smaller exponent"
            )
        if weights is None:  # every item weighs 1: what the rest comes to, without its tables
            own = torch.arange(len(items), device=items.device) - offsets[users]
            return cls(offsets, items, users * (total + 1) + items - own, None, None, total - offsets.diff(), total)
        upto, w = torch.cumsum(weights, 0), weights[items]
        running = torch.cumsum(w, 0) - w  # over the whole table
        start = torch.cat([running, running.new_zeros(1)])[offsets[:-1].clamp(max=len(items))]
        own = running - start[users]  # seen weight of this user before t
        keys = users * (total + 1) + (upto - weights)[items] - own
        seen = torch.zeros(n_users, dtype=torch.int64, device=items.device).index_add_(0, users, w)
        slots = torch.zeros(len(items) + n_users, dtype=torch.int64, device=items.device)
        slots[torch.arange(len(items), device=items.device) + users + 1] = own + w
        return cls(offsets, items, keys, slots, upto, total - seen, total)


@dataclass(frozen=True, eq=False)
class Graph:
    """One split's training pairs as tensors on one device, with the verbs that fit the device."""

    n_users: int
    n_items: int
    adjacency: Adjacency
    pair_users: Tensor  # [E] int64, sorted by user: the training pairs, but for those of users who have every item
    pair_items: Tensor  # [E] int64
    seen_offsets: Tensor  # [n_users+1] int64: user u has seen seen_items[seen_offsets[u]:seen_offsets[u+1]]
    seen_items: Tensor  # [E'] int64, ascending within each user, no repeats
    seen_keys: Tensor  # [E'] int64, user · n_items + item, ascending: is this pair in training?
    popularity: Tensor  # [n_items] int64 training pairs of each item
    unseen: Unseen
    verbs: Verbs

    @classmethod
    def of(
        cls,
        split: Split,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        path: str = "auto",
    ) -> "Graph":
        """`path`: "auto" (fastest for the device) or "reference" (plain torch, the specification)."""
        n_users, n_items = split.n_users, split.n_items
        if not len(split.train):
            raise DataError("the training part is empty; nothing can be learnt from it")
        # One number a pair: sorting it sorts by user, then item, many times faster than sorting two columns or np.unique.
        pairs = np.asarray(split.train.users, np.int64) * n_items + np.asarray(split.train.items, np.int64)
        if (pairs[1:] < pairs[:-1]).any():  # a prepared set comes sorted
            pairs.sort()
        first = np.concatenate([[True], pairs[1:] != pairs[:-1]])
        keys = pairs if first.all() else pairs[first]
        u = keys // n_items
        i = keys - u * n_items
        degrees = np.concatenate([np.bincount(u, minlength=n_users), np.bincount(i, minlength=n_items)])
        # Nothing is left to draw for those who have everything: their pairs are edges like any other, but teach nothing.
        full = degrees[:n_users] >= n_items
        taught = pairs[~full[pairs // n_items]] if full.any() else pairs
        if not len(taught):
            raise DataError(
                f"everybody with training pairs, user {split.user_ids[int(u[0])]!r} first, has every one of the {n_items} "
                "items, so no negative can be drawn; add items, or users who lack some"
            )
        back = i * n_users + u  # the same pairs by item, then user
        back.sort()
        index = np.int32 if 2 * len(keys) < 1 << 31 else np.int64
        columns = np.empty(2 * len(keys), index)
        columns[: len(keys)] = i + n_users
        columns[len(keys) :] = back % n_users
        values = np.repeat(degrees, degrees).astype(np.float64)
        values *= degrees[columns]
        np.reciprocal(np.sqrt(values, out=values), out=values)

        def on(array: npt.NDArray[Any]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        offsets = np.concatenate([[0], np.cumsum(degrees)])
        adjacency = Adjacency(on(offsets.astype(index)), on(columns), on(values).to(dtype), on(degrees), n_users)
        seen_offsets, seen_users, seen_items = on(np.concatenate([[0], np.cumsum(degrees[:n_users])])), on(u), on(i)
        repeats = len(keys) < len(pairs)  # a pair twice: one edge, two training pairs
        apart = repeats or len(taught) < len(pairs)
        return cls(
            n_users,
            n_items,
            adjacency,
            on(taught // n_items) if apart else seen_users,
            on(taught % n_items) if apart else seen_items,
            seen_offsets,
            seen_items,
            on(keys),
            on(np.bincount(pairs % n_items, minlength=n_items) if repeats else degrees[n_users:].copy()),
            Unseen.of(seen_offsets, seen_items, n_items),
            verbs_for(torch.device(device), path),
        )

    @property
    def n(self) -> int:
        return self.n_users + self.n_items

    @cached_property
    def taken(self) -> int:
        """Training pairs in all, with those of users who have every item."""
        return int(self.popularity.sum())

    @property
    def full_users(self) -> int:
        """How many users have every item in training: their pairs are in the adjacency and not among those trained on."""
        return int((self.unseen.room == 0).sum())

    @property
    def device(self) -> torch.device:
        return self.pair_users.device

    def propagate(self, x: Tensor) -> Tensor:
        """Ã x, [n, d] → [n, d]."""
        return self.verbs.hops(self.adjacency, x, 1)[1]

    def hops(self, x: Tensor, count: int) -> tuple[Tensor, ...]:
        """x, Ãx, Ã²x, … : count + 1 tensors [n, d]."""
        return self.verbs.hops(self.adjacency, x, count)

    def draw(self, users: Tensor, count: int, rng: Rng, unseen: Unseen | None = None) -> Tensor:
        """[B] → [B, count] item ids the users have not seen in training, with replacement."""
        return self.verbs.draw(unseen or self.unseen, users, count, rng)

    def reweighted(self, weights: Tensor) -> Unseen:
        """Draw tables for candidates in proportion to `weights [n_items]`, whole numbers."""
        if not isinstance(weights, Tensor):
            raise SettingError(f"sampling weights must be a torch tensor; these are {type(weights).__name__}")
        if weights.shape != (self.n_items,) or weights.is_floating_point() or bool((weights < 0).any()):
            raise SettingError(
                f"sampling weights must be whole numbers, 0 or more, one for each of the {self.n_items} items; these have "
                f"shape {list(weights.shape)} and type {weights.dtype} (multiply shares by 2^20 and round them)"
            )
        unseen = Unseen.of(self.seen_offsets, self.seen_items, self.n_items, weights.long())
        stuck = torch.nonzero((unseen.room <= 0) & (self.unseen.room > 0))
        if len(stuck):
            raise DataError(
                f"user {int(stuck[0])} (position), one of {len(stuck):,} such, has every item with a positive sampling weight, "
                "so nothing is left to draw; draw uniformly (power=0), give the other items some weight too, or, if those are "
                "without training pairs, prepare the data with unseen='drop', which leaves them out"
            )
        return unseen
