"""A graph for sets that would not fit: 8 bytes a pair, and the gradient of a batch made in the tables of its layers.

    items [E] by user, users [E] by item             int32 columns of both directions
    pair k = (the user whose items k is among, items[k])      Ã[u, i] = s_u s_i with s = 1/√degree

The order of an epoch is computed too, where there are that many (`training.epochs`).

A step holds six tables [n, d]: the embeddings x, Adam's two moments, and three layers x_t = Ã^t x. An objective sees rows of
layers only, so backward needs no layer again, and its totals take their room:

    ∂L/∂x = g_0,   g_t = Ã g_{t+1} + Σ_reads scatter(∂L/∂rows_t),   g_{L+1} = 0      in two tables that take turns
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, SettingError, TrainingError
from sahcns.graph import Columns, Graph, Read, Unseen, mix_rows
from sahcns.kernels.cpu import Mix
from sahcns.rng import Rng

PIECE = 1 << 25  # pairs that are looked at together while the graph is made
MOST = (1 << 31) - (1 << 10)  # pairs that int32 can count, and a kernel's tile beyond the last


class Hopped(tuple[Tensor, ...]):
    """x, Ãx, … as a lean graph gives them; each has a gradient of its own, and rows mixed of them have one to x alone.

    `spare` says that nobody looks at the tables once that gradient is asked for.
    """

    source: Tensor  # x
    spare: bool = False

    def room(self) -> Iterator[Tensor]:
        """Tables for totals: two of the layers at most, once, and new ones after that."""
        taken = [layer.detach() for layer in self[:0:-1]][:2] if self.spare else []
        self.spare = False
        yield from taken
        while True:
            yield torch.empty_like(self.source)


class _Hops(torch.autograd.Function):
    """x, Ãx, … Ã^L x in one buffer; backward is Horner's rule on whole tables."""

    @staticmethod
    def forward(ctx: Any, graph: "LeanGraph", x: Tensor, count: int) -> tuple[Tensor, ...]:
        ctx.graph = graph
        ctx.set_materialize_grads(False)
        layers = [x.detach().contiguous()]
        for out in torch.empty(count, *x.shape, dtype=x.dtype, device=x.device):
            graph.product(layers[-1], out)
            layers.append(out)
        return (x.view_as(x), *layers[1:])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[None, Tensor | None, None]:
        total: Tensor | None = None
        for grad in reversed(grads):
            if total is not None:
                source, total = total, torch.empty_like(total)
                ctx.graph.product(source, total)
            if grad is not None:
                total = grad.contiguous() if total is None else total.add_(grad)
        return None, total, None


class _Rows(torch.autograd.Function):
    """Mixtures of rows of x, Ãx, …, with gradient to x."""

    @staticmethod
    def forward(ctx: Any, graph: "LeanGraph", reads: tuple[Read, ...], layers: Hopped, x: Tensor) -> tuple[Tensor, ...]:
        ctx.call = graph, reads, layers
        return mix_rows(tuple(layer.detach() for layer in layers), *reads)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        graph, reads, layers = ctx.call
        room = layers.room()
        total, other = next(room).zero_(), None
        for t in reversed(range(len(layers))):
            if t < len(layers) - 1:
                other = next(room) if other is None else other
                graph.product(total, other)
                total, other = other, total
            for read, grad in zip(reads, grads, strict=True):
                rows, weights = read.of_layer(t)  # [R, M]
                for m, row in enumerate(rows.unbind(1)):
                    total.index_add_(0, row, grad[:, t] if weights is None else grad[:, t] * weights[:, m])
        return None, None, None, total


class LeanGraph(Graph):
    """What a `Graph` does, from the columns of both directions alone, in plain torch; what it keeps no array for is refused."""

    per_pair: ClassVar[tuple[str, ...]] = ("seen_offsets", "seen_items")
    lean: ClassVar[bool] = True

    seen_items: Tensor  # [E] int32, by user and ascending: also the items of the pairs
    item_users: Tensor  # [E] int32, by item and ascending
    seen_offsets: Tensor  # [n_users+1] int32
    item_offsets: Tensor  # [n_items+1] int32
    node_degrees: Tensor  # [n] int64
    scale: Tensor  # [n] s = 1/√degree, 1 for none
    most: int  # items of one user

    def __init__(
        self, split: Split, items: Tensor, users: Tensor, degrees: Tensor, dtype: torch.dtype, path: str
    ) -> None:
        n_users, n_items = split.n_users, split.n_items
        counts, popularity = degrees[:n_users], degrees[n_users:]
        offsets = [torch.cat([side.new_zeros(1), torch.cumsum(side, 0)]).int() for side in (counts, popularity)]
        w = split.train.weights
        weights = None if w is None else torch.from_numpy(w / w.mean(dtype=np.float64)).to(items.device, dtype)
        self.__dict__.update(
            n_users=n_users, n_items=n_items, path=path, columns=Columns(), pair_weights=weights,
            seen_items=items, item_users=users, seen_offsets=offsets[0], item_offsets=offsets[1],
            node_degrees=degrees, popularity=popularity, most=int(counts.max()),
            scale=degrees.clamp(min=1).to(dtype).rsqrt(),
            unseen=Unseen(offsets[0], items, items[:0], None, None, n_items - counts, n_items),
        )  # fmt: skip

    @classmethod
    def of(
        cls,
        split: Split,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        path: str = "lean",
    ) -> Self:
        """Made on the device from a piece of the pairs at a time, so that the host holds the set and a few pieces."""
        train, n_users, n_items = _sorted(split), split.n_users, split.n_items
        pieces = [slice(at, at + PIECE) for at in range(0, len(train), PIECE)]

        def on(array: npt.NDArray[np.int32], piece: slice) -> Tensor:
            return torch.from_numpy(array[piece].copy()).to(device)  # what is mapped from a file cannot be written to

        items, users = (torch.empty(len(train), dtype=torch.int32, device=device) for _ in range(2))
        degrees = torch.zeros(n_users + n_items, dtype=torch.int64, device=device)
        counts, popularity = degrees[:n_users], degrees[n_users:]
        for piece in pieces:
            items[piece] = on(train.items, piece)
            counts += torch.bincount(on(train.users, piece), minlength=n_users)
            popularity += torch.bincount(items[piece], minlength=n_items)
        if bool((full := counts >= n_items).any()):
            raise DataError(
                f"user {split.user_ids[int(full.nonzero()[0])]!r} has every item, so no negative can be drawn for them; "
                f"leave such users out, or take other kernels than {path!r}"
            )
        free = torch.cumsum(popularity, 0) - popularity  # where the next user of each item goes
        for piece in pieces:
            item, order = torch.sort(items[piece].long(), stable=True)
            here = torch.bincount(item, minlength=n_items)
            rank = torch.arange(len(item), device=item.device) - (torch.cumsum(here, 0) - here)[item]
            users[free[item] + rank] = on(train.users, piece)[order]
            free += here
        return cls(replace(split, train=train), items, users, degrees, dtype, path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TrainingError(
            f"kernels={self.path!r} keep 8 bytes for each pair and no {name}, which this run looks at; take another backbone, "
            "sampler or objective, or other kernels and a smaller set"
        )

    @property
    def dtype(self) -> torch.dtype:
        return self.scale.dtype

    @property
    def degrees(self) -> Tensor:
        return self.node_degrees

    @property
    def n_pairs(self) -> int:
        return len(self.seen_items)

    def pairs_at(self, at: Tensor) -> tuple[Tensor, Tensor]:
        return torch.searchsorted(self.seen_offsets, at.int(), right=True) - 1, self.seen_items[at].long()

    def pair_counts(self) -> Tensor:
        return self.degrees[: self.n_users]

    def draw(self, users: Tensor, count: int, rng: Rng, unseen: Unseen | None = None) -> Tensor:
        x = rng.below(self.unseen.room[users], count, len(users)).t()  # [B, N]
        users = users[:, None].expand_as(x)
        return x + self._search(users, lambda t, item: item - t <= x) - self.seen_offsets[users]

    def has_seen(self, users: Tensor, items: Tensor) -> Tensor:
        items = items.expand(len(users), *items.shape[1:])
        users = users.view(-1, *[1] * (items.dim() - 1)).expand_as(items)
        place = self._search(users, lambda t, item: item < items)
        return (place < self.seen_offsets[users + 1]) & (self.seen_items[place.clamp(max=self.n_pairs - 1)] == items)

    def _search(self, users: Tensor, before: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Place of the first of a user's items, or of their end, that is not `before(t, item t)`; like `users`, int64."""
        begin, end = (self.seen_offsets[users + k].long() for k in (0, 1))
        low = begin
        for _ in range(self.most.bit_length()):
            middle = (low + end) // 2
            item = self.seen_items[middle.clamp(max=self.n_pairs - 1)]
            up = (low < end) & before(middle - begin, item)
            low, end = torch.where(up, middle + 1, low), torch.where(up, end, middle)
        return low

    def reweighted(self, weights: Tensor) -> Unseen:
        raise SettingError(
            f"kernels={self.path!r} draw candidates uniformly, since anything else would take 24 bytes for each pair; set the "
            "sampler's power to 0, or take another one"
        )

    def mix(self, layers: tuple[Tensor, ...], *reads: Read) -> tuple[Tensor, ...]:
        mixed: tuple[Tensor, ...]
        if isinstance(layers, Hopped):
            mixed = _Rows.apply(self, reads, layers, layers.source)  # type: ignore[no-untyped-call]
        else:
            mixed = Mix.apply(reads, False, *layers)  # type: ignore[no-untyped-call]
        return mixed

    def product(self, x: Tensor, out: Tensor) -> None:
        """out = Ã x, both [n, d] and contiguous."""
        n_users, scaled = self.n_users, x * self.scale[:, None]
        for columns, offsets, read, to in (
            (self.seen_items, self.seen_offsets, scaled[n_users:], out[:n_users]),
            (self.item_users, self.item_offsets, scaled[:n_users], out[n_users:]),
        ):
            to.copy_(embedding_bag(columns, read, offsets, mode="sum", include_last_offset=True))
        out *= self.scale[:, None]

    def _hops(self, x: Tensor, count: int) -> tuple[Tensor, ...]:
        layers = Hopped(_Hops.apply(self, x, count))  # type: ignore[no-untyped-call]
        layers.source = x
        return layers


def _sorted(split: Split) -> Pairs:
    """The training pairs by user and then item; a pair that stands twice is an error."""
    train, n_items = split.train, split.n_items
    if not 0 < len(train) < MOST:
        raise DataError(f"the training part has {len(train):,} pairs; there must be 1 to {MOST - 1:,}")

    def keys(at: int, size: int) -> npt.NDArray[np.int64]:
        return train.users[at : at + size].astype(np.int64) * n_items + train.items[at : at + size]

    if all((np.diff(keys(at, PIECE + 1)) > 0).all() for at in range(0, len(train), PIECE)):
        return train
    every, weights = keys(0, len(train)), train.weights
    weights = None if weights is None else weights[np.argsort(every, kind="stable")]
    every.sort()
    if len(twice := np.flatnonzero(np.diff(every) == 0)):
        user, item = (int(part) for part in divmod(every[twice[0]], n_items))
        raise DataError(
            f"user {split.user_ids[user]!r} has item {split.item_ids[item]!r} twice in training, and lean kernels know a pair "
            "once; leave repeated pairs out"
        )
    return Pairs((every // n_items).astype(np.int32), (every % n_items).astype(np.int32), weights)
