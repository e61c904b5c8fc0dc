"""The training graph on a device: normalised adjacency, who has seen what, and the four operations a step spends its time in.

    hops(X, L)                X, ÃX, … Ã^L X               sparse × dense; Ã is symmetric, so backward is the same product
    draw(users, N)            [B, N] unseen items          exactly uniform, no rejection
    match(batch, candidates)  [B, N, T] layer-wise scores  gather and dot
    mix(layers, *reads)       [R, T, d] mixtures of rows   gather and combine; backward is a scatter-add

Here they are in plain torch, on any device and in any float type: the specification. `kernels` has graphs that override them
for a CPU or a GPU, so a method that works on a `Graph` runs at the speed of the device it is given.
"""

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.rng import Rng


class Read(NamedTuple):
    """R mixtures of M table rows at each of T layers: Σ_m weights[r, m, t] · layers[t][rows[r, m, t]]."""

    rows: Tensor  # [R, M, T] int64; [R, M, 1] reads the same row at every layer
    weights: Tensor | None  # [R, M, T], or [R, M, T, d], no gradient; None stands for M = 1 and weight 1

    def of_layer(self, t: int) -> tuple[Tensor, Tensor | None]:
        """Rows [R, M] and weights [R, M, 1 or d] of one layer."""
        weights = self.weights
        if weights is not None:
            weights = weights[:, :, t, None] if weights.dim() == 3 else weights[:, :, t]
        return self.rows[..., min(t, self.rows.shape[-1] - 1)], weights


@dataclass(frozen=True, eq=False)
class Batch:
    """B training pairs and the layers through which they are seen."""

    users: Tensor  # [B]
    positives: Tensor  # [B]
    layers: tuple[Tensor, ...]  # T tables [n, d], users then items
    aggregation: Aggregation
    weights: Tensor | None = None  # [B]: how much each pair counts; None for all alike


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


class Columns:
    """The columns of every table that this process holds: all, unless a model is cut over several (`training.ranks`)."""

    count: int = 1  # processes

    def sum(self, x: Tensor) -> Tensor:
        """What partial products over the columns come to in all processes together, with gradient."""
        return x

    def gather(self, x: Tensor) -> Tensor:
        """[…, own columns] → […, all columns], with gradient; so too for several such blocks side by side."""
        return x

    def own(self, table: Tensor) -> Tensor:
        """The own columns of what all processes hold whole, with gradient; what has no others stays as it is."""
        return table


@dataclass(frozen=True, eq=False)
class Graph:
    """One split's training pairs as tensors on one device, and the four operations over them in plain torch."""

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
    path: str = "reference"  # which implementation of the operations this is; see kernels/paths.py
    pair_weights: Tensor | None = None  # [E] float32 with mean 1, where pairs count unalike
    columns: Columns = Columns()

    per_pair: ClassVar[tuple[str, ...]] = ("pair_users", "pair_items", "seen_offsets", "seen_items", "seen_keys")
    lean: ClassVar[bool] = False  # keeps as little as it can for each pair, and has no fast path but of samplers

    @classmethod
    def of(cls, split: Split, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Self:
        """The graph of a split's training part; `kernels.build_graph` picks the fastest class for the device."""
        n_users, n_items = split.n_users, split.n_items
        if not len(split.train):
            raise DataError("the training part is empty; nothing can be learnt from it")
        # One number a pair: sorting it sorts by user, then item, many times faster than sorting two columns or np.unique.
        pairs = np.asarray(split.train.users, np.int64) * n_items + np.asarray(split.train.items, np.int64)
        weights = split.train.weights
        if (pairs[1:] < pairs[:-1]).any():  # a prepared set comes sorted
            weights = None if weights is None else weights[np.argsort(pairs, kind="stable")]
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
        if weights is not None:
            weights = weights[~full[pairs // n_items]]
            weights = weights / weights.mean(dtype=np.float64)
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
            pair_weights=None if weights is None else on(weights.astype(np.float32)).to(dtype),
        )

    @property
    def n(self) -> int:
        return self.n_users + self.n_items

    @cached_property
    def n_train_pairs(self) -> int:
        """Training pairs in all, with those of users who have every item."""
        return int(self.popularity.sum())

    @cached_property
    def edge_pairs(self) -> Tensor:
        """[2E'] which of the seen pairs each entry of the adjacency is: every one stands at its user, and at its item."""
        by_user = torch.arange(len(self.seen_items), device=self.device)
        return torch.cat([by_user, torch.argsort(self.seen_items, stable=True)])

    @property
    def full_users(self) -> int:
        """How many users have every item in training: their pairs are in the adjacency and not among those trained on."""
        return int((self.unseen.room == 0).sum())

    @property
    def device(self) -> torch.device:
        return self.popularity.device

    @property
    def dtype(self) -> torch.dtype:
        return self.adjacency.values.dtype

    @property
    def degrees(self) -> Tensor:
        """[n] int64."""
        return self.adjacency.degrees

    @property
    def n_pairs(self) -> int:
        """The pairs to train on; they lie sorted by user."""
        return len(self.pair_users)

    def pairs_at(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Users and items of the pairs at these positions."""
        return self.pair_users[at], self.pair_items[at]

    def pair_counts(self) -> Tensor:
        """[n_users] pairs to train on, of each user."""
        return torch.bincount(self.pair_users, minlength=self.n_users)

    def has_seen(self, users: Tensor, items: Tensor) -> Tensor:
        """For users [B] and items [B, …]: is this pair in training?"""
        return among(self.seen_keys, pair_keys(self, users, items))

    def seen_by(self, users: Tensor) -> tuple[Tensor, Tensor]:
        """What users [B] have seen, one after the other: place in `users`, and item."""
        counts = self.seen_offsets[users + 1] - self.seen_offsets[users]
        row = torch.repeat_interleave(torch.arange(len(users), device=users.device), counts)
        first = torch.repeat_interleave(self.seen_offsets[users] - (torch.cumsum(counts, 0) - counts), counts)
        return row, self.seen_items[first + torch.arange(len(row), device=users.device)].long()

    def cut(self, columns: Columns) -> Self:
        """The same graph in a process that holds these columns of the tables."""
        own = copy.copy(self)
        own.__dict__["columns"] = columns
        return own

    def propagate(self, x: Tensor, left: float = 0.5, right: float = 0.5) -> Tensor:
        """D^-left A D^-right x, [n, d] → [n, d]; Ã x by default."""
        return self.hops(x, 1, left, right)[1]

    def hops(self, x: Tensor, count: int, left: float = 0.5, right: float = 0.5) -> tuple[Tensor, ...]:
        """x, Px, P²x, … : count + 1 tensors [n, d], with P = D^-left A D^-right = D^(½-left) Ã D^(½-right)."""
        if left == right == 0.5:
            return self._hops(x, count)
        degrees = self.degrees.clamp(min=1).to(x.dtype)[:, None]
        before, after = degrees ** (0.5 - right), degrees ** (0.5 - left)
        layers = [x]
        for _ in range(count):
            layers.append(after * self._hops(before * layers[-1], 1)[1])
        return tuple(layers)

    def over(self, adjacency: Adjacency) -> "Graph":
        """The same graph with other edges to propagate over, such as those of a step: nothing is prepared for them."""
        return replace(self, adjacency=adjacency)

    def draw(self, users: Tensor, count: int, rng: Rng, unseen: Unseen | None = None) -> Tensor:
        """[B] → [B, count] item ids the users have not seen in training, with replacement.

        A number below the unseen weight, then one binary search over the user's seen items. Numbers run down the columns,
        so a pool of 1 is the first column of a pool of 10 drawn with the same seed.
        """
        unseen = unseen or self.unseen
        x = rng.below(unseen.room[users], count, len(users)).t()  # [B, N]
        start = unseen.offsets[users][:, None]
        wanted = ((users * (unseen.total + 1))[:, None] + x).contiguous()
        t = torch.searchsorted(unseen.keys, wanted, right=True) - start  # seen items that lie before x
        if unseen.cumulative is None or unseen.skipped is None:
            return x + t
        x = (x + unseen.skipped[start + users[:, None] + t]).contiguous()
        return torch.searchsorted(unseen.cumulative, x, right=True)

    @torch.no_grad()
    def match(self, batch: Batch, candidates: Tensor) -> tuple[Tensor, Tensor]:
        """p [B, T] and a [B, N, T] = <anchor[b, t], layers[t][row]>, of the positive and of each candidate [B, N]."""
        users = torch.stack([layer.index_select(0, batch.users) for layer in batch.layers], dim=1)
        anchor = batch.aggregation.anchor(users)  # [B, T, d]
        rows = torch.cat([batch.positives[:, None], candidates], dim=1) + self.n_users
        scores = self.columns.sum(torch.stack(self._dots(anchor, batch.layers, rows), dim=-1))
        return scores[:, 0], scores[:, 1:]

    def mix(self, layers: tuple[Tensor, ...], *reads: Read) -> tuple[Tensor, ...]:
        """[R, T, d] for each read; each gathers and combines on its own, and autograd adds up their gradients."""
        return mix_rows(layers, *reads)

    def _hops(self, x: Tensor, count: int) -> tuple[Tensor, ...]:
        """Row i of Ãx is the sum over its edges e of values[e] · x[columns[e]]."""
        edges = self.adjacency
        rows = torch.repeat_interleave(
            torch.arange(edges.n, device=x.device), edges.degrees, output_size=len(edges.columns)
        )
        layers = [x]
        for _ in range(count):
            messages = layers[-1].index_select(0, edges.columns) * edges.values[:, None]
            layers.append(torch.zeros_like(x).index_add(0, rows, messages))
        return tuple(layers)

    def _dots(self, anchor: Tensor, layers: tuple[Tensor, ...], rows: Tensor) -> list[Tensor]:
        """<anchor[b, t], layers[t][rows[b, m]]>, T times [B, M]."""
        return [torch.einsum("bd,bnd->bn", anchor[:, t], _take(layer, rows)) for t, layer in enumerate(layers)]

    def reweighted(self, weights: Tensor) -> Unseen:
        """Draw tables for candidates in proportion to `weights [n_items]`, whole numbers."""
        fits = isinstance(weights, Tensor) and weights.shape == (self.n_items,) and not weights.is_floating_point()
        if not fits or bool((weights < 0).any()):
            found = (
                f"shape {list(weights.shape)}, {weights.dtype}"
                if isinstance(weights, Tensor)
                else type(weights).__name__
            )
            raise SettingError(
                f"sampling weights must be a torch tensor of whole numbers, 0 or more, one for each of the {self.n_items} "
                f"items; these are {found} (multiply shares by 2^20 and round them)"
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


def pair_keys(graph: Graph, users: Tensor, items: Tensor) -> Tensor:
    """One number a pair of users [B] and items [B, …], like items."""
    return (users.view(-1, *[1] * (items.dim() - 1)) * graph.n_items + items).contiguous()


def among(ascending: Tensor, keys: Tensor) -> Tensor:
    """Which of `keys` are in `ascending`, which holds one at least."""
    return ascending[torch.searchsorted(ascending, keys).clamp(max=len(ascending) - 1)] == keys


def mix_rows(layers: tuple[Tensor, ...], *reads: Read) -> tuple[Tensor, ...]:
    """`Graph.mix` in plain torch."""
    mixed = []
    for read in reads:
        parts = []
        for t, layer in enumerate(layers):
            rows, weights = read.of_layer(t)
            gathered = _take(layer, rows)  # [R, M, d]
            if weights is not None:
                gathered = gathered * weights
            parts.append(gathered.sum(1))
        mixed.append(torch.stack(parts, dim=1))
    return tuple(mixed)


def _take(table: Tensor, rows: Tensor) -> Tensor:
    """table[rows], […] → […, d]; index_select copies whole rows, twice as fast on a CPU as indexing."""
    return table.index_select(0, rows.reshape(-1)).view(*rows.shape, table.shape[1])
