"""The graph's operations, BPR and Adam on a CPU: what won by measurement on two cores (docs/performance.md).

The sparse product runs as `embedding_bag` with per-sample weights, several times faster than torch's own CSR product; scores
of candidates are the entries of a sampled product, for which no row is copied; all reads of a step share one gradient buffer
for each layer, where autograd would make and add one for each read.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, softplus
from torch.optim.adam import adam

from sahcns.graph import Adjacency, Columns, Graph, Read, mix_rows
from sahcns.kernels.registry import Setup, register
from sahcns.objectives.base import Comparison, l2
from sahcns.objectives.bpr import BPR

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's


def product(adjacency: Adjacency, x: Tensor) -> Tensor:
    """Ã x, [n, d] → [n, d]."""
    return _sums(adjacency.columns, x.contiguous(), adjacency.offsets, adjacency.values)


def _sums(rows: Tensor, table: Tensor, offsets: Tensor, weights: Tensor | None) -> Tensor:
    """Sum k is of the rows [offsets[k], offsets[k+1]) of a table [n, d], each times its weight."""
    return embedding_bag(rows, table, offsets, mode="sum", per_sample_weights=weights, include_last_offset=True)


class _Hops(torch.autograd.Function):
    """x, Ãx, … Ã^L x. Backward is Horner's rule: g ← Ã g + g_l, from the last layer to the first."""

    @staticmethod
    def forward(ctx: Any, adjacency: Adjacency, x: Tensor, count: int) -> tuple[Tensor, ...]:
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
        return mix_rows(layers, *reads)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        layers = range(grads[0].shape[1])
        one_share = all(weights is None or weights.dim() == 3 for _, weights in ctx.reads)
        if grads[0].device.type == "cpu" and one_share:
            return None, None, *(_gathered_back(ctx.reads, grads, t, ctx.shape[0]) for t in layers)
        totals = []
        for t in layers:
            total = torch.zeros(ctx.shape, dtype=grads[0].dtype, device=grads[0].device)
            for read, grad in zip(ctx.reads, grads, strict=True):
                where, weights = read.of_layer(t)
                part = grad[:, None, t].expand(*where.shape, -1)  # [R, M, d]
                if weights is not None:
                    part = part * weights
                part = part.reshape(where.numel(), part.shape[-1])
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
    order, offsets = _by_row(torch.cat(used), n)
    return _sums(torch.cat(reader)[order], source, offsets, torch.cat(share)[order])


@cache
def _silence_torch() -> None:
    """torch warns once a process that its CSR tensors are in beta, which no user of ours can do anything about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(
            torch.zeros(2, dtype=torch.int32), torch.zeros(0, dtype=torch.int32), torch.zeros(0), (1, 1)
        )


@dataclass(frozen=True, eq=False)
class CpuGraph(Graph):
    """Draws as written, fast products, matching and reads."""

    path: str = "cpu"

    def _hops(self, x: Tensor, count: int) -> tuple[Tensor, ...]:
        layers: tuple[Tensor, ...] = _Hops.apply(self.adjacency, x, count)  # type: ignore[no-untyped-call]
        return layers

    def _dots(self, anchor: Tensor, layers: tuple[Tensor, ...], rows: Tensor) -> list[Tensor]:
        """Row b of a sparse matrix [B, n] has its entries at rows[b]."""
        (batch, count), n = rows.shape, len(layers[0])
        if count > n:  # a row of the matrix has no room for them
            return super()._dots(anchor, layers, rows)
        _silence_torch()
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


class PairLoss(torch.autograd.Function):
    """BPR and L2 of a batch with the gradient written down instead of taped, one negative a pair.

    Where the layers are summed (c = 1) or averaged (c = 1/T), every layer of a user, of a positive and of a negative
    receives the same vector, so three rows a pair are kept instead of 3T, and all layers share one order of touched rows:

        ē = c Σ_t U_t,   D = c Σ_t (N_t - I_t),   x = y⁻ - y⁺ = <ē, D>,   g = c · sigmoid(x) / B
        ∂/∂U_t = g D,   ∂/∂I_t = -g ē,   ∂/∂N_t = g ē,   ∂/∂V[m, t] = w[m, t] ∂/∂N_t;   layer 0 has l2/B · itself beside

    items [B, M, T or 1], weights [B, M, T] or None, T layers [n, d] → scalar.
    """

    @staticmethod
    def forward(
        ctx: Any,
        c: float,
        columns: Columns,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        items: Tensor,
        weights: Tensor | None,
        l2: float,
        *layers: Tensor,
    ) -> Tensor:
        (batch, mixed, width), (n, dim) = items.shape, layers[0].shape
        own = torch.cat([users, positives + n_users]).expand(width, -1)
        rows = torch.cat([own, (items + n_users).permute(2, 0, 1).reshape(width, -1)], 1)  # [T or 1, (2+M)·B]
        starts = torch.cat([torch.arange(2 * batch), torch.arange(batch + 1) * mixed + 2 * batch])  # of 3B sums
        shares = None if weights is None else _shares(weights)
        total, ego = layers[0].new_zeros(3, batch, dim), layers[0]
        for t, layer in enumerate(layers):
            row = rows[min(t, width - 1)]
            read = layer.index_select(0, row) if shares is None else _sums(row, layer.detach(), starts, shares[t])
            read = read.view(3, batch, dim)
            ego = read if t == 0 else ego  # users, positives, negatives
            total += read
        anchor, apart = total[0] * c, (total[2] - total[1]) * c  # ē and D, [B, d]
        margin = columns.sum((anchor * apart).sum(1))
        ctx.kept = rows, shares, anchor, apart, ego
        ctx.slope, ctx.ridge = torch.sigmoid(margin)[:, None] * (c / batch), l2 / batch
        ctx.n, ctx.count = n, len(layers)
        loss = softplus(margin).mean()
        return loss + (l2 / (2 * batch)) * columns.sum(ego.square().sum()) if l2 else loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, shares, anchor, apart, ego = ctx.kept
        batch, dim = anchor.shape
        slope = ctx.slope * grad
        pulled = slope * anchor
        source = torch.stack([slope * apart, -pulled, pulled])  # [3, B, d]: users, positives, negatives
        first = source + ego * (ctx.ridge * grad)
        mixed = rows.shape[1] // batch - 2
        reader = torch.cat([torch.arange(2 * batch), torch.arange(2 * batch, 3 * batch).repeat_interleave(mixed)])
        order, offsets = _by_row(rows[0], ctx.n)
        grads: list[Tensor] = []
        for t in range(ctx.count):
            if t > 1 and shares is None and len(rows) == 1:
                grads.append(grads[1])  # nothing differs from the layer before
                continue
            if 0 < t < len(rows):
                order, offsets = _by_row(rows[t], ctx.n)
            reads = (source if t else first).view(3 * batch, dim)
            grads.append(_sums(reader[order], reads, offsets, None if shares is None else shares[t][order]))
        return (None,) * 8 + tuple(grads)


def _shares(weights: Tensor) -> Tensor:
    """weights [B, M, T] → [T, (2+M)·B]: what each read counts, 1 for a user and a positive."""
    batch, mixed, count = weights.shape
    shares = weights.new_ones(count, (2 + mixed) * batch)
    shares[:, 2 * batch :] = weights.permute(2, 0, 1).reshape(count, -1)
    return shares


def _by_row(rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The reads in the order of the rows they read, and where each of n rows begins."""
    ends = torch.bincount(rows, minlength=n).cumsum(0)
    return torch.argsort(rows, stable=True), torch.cat([ends.new_zeros(1), ends])


def _supports_bpr(setup: Setup) -> bool:
    """L2 on what was mixed, layers that share an anchor, and no loss of the sampler's own, which would want the rows."""
    one_anchor = setup.backbone.aggregation.kind != "concat"
    unweighted = setup.graph.pair_weights is None
    return setup.l2_on == "mixed" and one_anchor and unweighted and not setup.sampler.has_loss()


@register("cpu", "loss", BPR, supports=_supports_bpr, cut=True)
def bpr_and_l2(objective: BPR, pairs: Comparison, strength: float, table: Tensor | None) -> Tensor:
    """See `registry.PairLoss`."""
    batch = pairs.batch
    c = 1.0 / len(batch.layers) if batch.aggregation.kind == "mean" else 1.0
    items, weights = pairs.items[:, 0].contiguous(), None if pairs.weights is None else pairs.weights[:, 0].contiguous()
    columns = pairs.graph.columns
    ids = pairs.graph.n_users, batch.users, batch.positives
    loss: Tensor = PairLoss.apply(
        c, columns, *ids, items, weights, 0.0 if table is not None else strength, *batch.layers
    )  # type: ignore[no-untyped-call]
    return loss if table is None else loss + columns.sum(l2(strength, *pairs.ego_rows(table)))


class PlainAdam:
    """Adam by torch's own fused kernel (Kingma & Ba, ICLR 2015), with the bits of torch.optim.Adam.

    Making one of those imports torch's compiler, which takes as long as importing torch itself and is of no use here.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float) -> None:
        self.lr = lr
        self.tables = [  # each with both moments and how many steps it has had
            (one, torch.zeros_like(one), torch.zeros_like(one), torch.zeros((), dtype=torch.float32, device=one.device))
            for one in parameters
        ]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter, *_ in self.tables:
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        names = ("first", "second", "steps")
        return {
            f"{at}.{name}": part
            for at, (_, *own) in enumerate(self.tables)
            for name, part in zip(names, own, strict=True)
        }

    @torch.no_grad()
    def step(self) -> None:
        rows = [(one, one.grad, *state) for one, *state in self.tables if one.grad is not None]
        parameters, gradients, first, second, steps = ([row[k] for row in rows] for k in range(5))
        adam(
            parameters, gradients, first, second, [], steps,
            fused=True, amsgrad=False, beta1=BETA_1, beta2=BETA_2, lr=self.lr, weight_decay=0.0, eps=EPSILON, maximize=False,
        )  # fmt: skip
