"""The verbs on a CPU: what won by measurement on two cores (docs/performance.md).

The sparse product runs as `embedding_bag` with per-sample weights, several times faster than torch's own CSR product; scores
of candidates are the entries of a sampled product, for which no row is copied; all reads of a step share one gradient buffer
for each layer, where autograd would make and add one for each read.
"""

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from sahcns.aggregation import Aggregation
from sahcns.kernels.cpu_pair_loss import PairLoss
from sahcns.kernels.reference import ReferenceVerbs
from sahcns.kernels.verbs import Read
from sahcns.objectives import l2

if TYPE_CHECKING:
    from sahcns.graph import Adjacency


def product(adjacency: "Adjacency", x: Tensor) -> Tensor:
    """Ã x, [n, d] → [n, d]."""
    return embedding_bag(
        adjacency.columns,
        x.contiguous(),
        adjacency.offsets,
        mode="sum",
        per_sample_weights=adjacency.values,
        include_last_offset=True,
    )


class _Hops(torch.autograd.Function):
    """x, Ãx, … Ã^L x. Backward is Horner's rule: g ← Ã g + g_l, from the last layer to the first."""

    @staticmethod
    def forward(ctx: Any, adjacency: "Adjacency", x: Tensor, count: int) -> tuple[Tensor, ...]:
        ctx.adjacency = adjacency
        layers = [x.detach()]  # a table that asks for gradient sends embedding_bag the slow way
        for _ in range(count):
            layers.append(product(adjacency, layers[-1]))
        return (x.view_as(x), *layers[1:])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        total = grads[-1]
        for grad in reversed(grads[:-1]):
            total = product(ctx.adjacency, total).add_(grad)
        return None, total, None


class Mix(torch.autograd.Function):
    """Gather and combine; backward scatters every read into one buffer for each layer."""

    @staticmethod
    def forward(ctx: Any, reads: tuple[Read, ...], ordered: bool, *layers: Tensor) -> tuple[Tensor, ...]:
        """`ordered` adds in a fixed order on a GPU too, by sorting; a CPU always does."""
        ctx.reads, ctx.ordered, ctx.shape = reads, ordered, layers[0].shape
        return ReferenceVerbs().mix(layers, *reads)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        layers = range(grads[0].shape[1])
        if grads[0].device.type == "cpu":
            return None, None, *(_gathered_back(ctx.reads, grads, t, ctx.shape[0]) for t in layers)
        totals = []
        for t in layers:
            total = torch.zeros(ctx.shape, dtype=grads[0].dtype, device=grads[0].device)
            for (rows, weights), grad in zip(ctx.reads, grads, strict=True):
                where = rows[..., min(t, rows.shape[-1] - 1)]  # [R, M]
                part = grad[:, None, t].expand(*where.shape, -1)  # [R, M, d]
                if weights is not None:
                    part = part * weights[..., t, None]
                part = part.reshape(where.numel(), -1)
                if ctx.ordered:
                    total.index_put_((where.reshape(-1),), part, accumulate=True)
                else:
                    total.index_add_(0, where.reshape(-1), part)
            totals.append(total)
        return None, None, *totals


def _gathered_back(reads: tuple[Read, ...], grads: tuple[Tensor, ...], t: int, n: int) -> Tensor:
    """Layer t's gradient [n, d] as a sparse product: row i sums the read gradients that used it, times their weights."""
    source = torch.cat([grad[:, t] for grad in grads])  # [ΣR, d]
    used, reader, share, first = [], [], [], 0
    for (rows, weights), grad in zip(reads, grads, strict=True):
        where = rows[..., min(t, rows.shape[-1] - 1)]  # [R, M]
        used.append(where.reshape(-1))
        reader.append(torch.arange(first, first + len(grad)).repeat_interleave(where.shape[1]))
        share.append(
            source.new_ones(where.numel()) if weights is None else weights[..., t].reshape(-1).to(source.dtype)
        )
        first += len(grad)
    rows = torch.cat(used)
    order = torch.argsort(rows, stable=True)
    offsets = torch.zeros(n + 1, dtype=torch.int64)
    torch.cumsum(torch.bincount(rows, minlength=n), 0, out=offsets[1:])
    return embedding_bag(
        torch.cat(reader)[order],
        source,
        offsets,
        mode="sum",
        per_sample_weights=torch.cat(share)[order],
        include_last_offset=True,
    )


@cache
def _warned() -> None:
    """torch warns once a process that its CSR tensors are in beta, which no user of ours can do anything about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(
            torch.zeros(2, dtype=torch.int32), torch.zeros(0, dtype=torch.int32), torch.zeros(0), (1, 1)
        )


class CpuVerbs(ReferenceVerbs):
    """Reference draws, fast products, matching and reads."""

    name = "cpu"

    def hops(self, adjacency: "Adjacency", x: Tensor, count: int) -> tuple[Tensor, ...]:
        layers: tuple[Tensor, ...] = _Hops.apply(adjacency, x, count)  # type: ignore[no-untyped-call]
        return layers

    def _dots(self, anchor: Tensor, layers: tuple[Tensor, ...], rows: Tensor) -> list[Tensor]:
        """Row b of a sparse matrix [B, n] has its entries at rows[b]."""
        (batch, count), n = rows.shape, len(layers[0])
        if count > n:  # a row of the matrix has no room for them
            return super()._dots(anchor, layers, rows)
        _warned()
        starts = torch.arange(0, batch * count + 1, count, dtype=torch.int32)
        empty = torch.zeros(batch * count, dtype=anchor.dtype)
        pattern = torch.sparse_csr_tensor(starts, rows.int().view(-1), empty, (batch, n), check_invariants=False)
        return [
            torch.sparse.sampled_addmm(pattern, anchor[:, t], layer.t(), beta=0.0).values().view(batch, count)
            for t, layer in enumerate(layers)
        ]

    def mix(self, layers: tuple[Tensor, ...], *reads: Read) -> tuple[Tensor, ...]:
        mixed: tuple[Tensor, ...] = Mix.apply(reads, False, *layers)  # type: ignore[no-untyped-call]
        return mixed

    def pair_loss(
        self,
        layers: tuple[Tensor, ...],
        agg: Aggregation,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        items: Tensor,
        weights: Tensor | None,
        strength: float,
    ) -> Tensor | None:
        if agg.kind == "concat":  # each layer has an anchor of its own
            return None
        c = 1.0 / len(layers) if agg.kind == "mean" else 1.0
        loss: Tensor = PairLoss.apply(c, n_users, users, positives, items, weights, strength, *layers)  # type: ignore[no-untyped-call]
        return loss

    def ridge(
        self,
        ego: Tensor,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        items: Tensor,
        weights: Tensor | None,
        strength: float,
    ) -> Tensor:
        first = None if weights is None else weights[..., :1]
        reads = (
            (users[:, None, None], None),
            ((positives + n_users)[:, None, None], None),
            (items[..., :1] + n_users, first),
        )
        return l2(strength, *(read[:, 0] for read in self.mix((ego,), *(Read(*read) for read in reads))))
