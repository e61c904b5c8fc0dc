"""BPR and L2 of a batch on a GPU, in one kernel forward and one backward.

Forward gathers the user, the positive and the mixture and leaves one loss a pair. Backward gathers again and scatters the
gradient of every layer into one buffer by atomic adds:

    x = y⁻ - y⁺,   g = sigmoid(x) / B
    ∂/∂U_t = g · c (n̄ - ī)   (concat: N_t - I_t),   ∂/∂I_t = -g · c ē,   ∂/∂N_t = g · c ē,   ∂/∂V[m, t] = w[m, t] ∂/∂N_t

For a sampler with a loss of its own the gathered rows U, I, N are given out as well; what comes back for them is added
before the scatter. Where the layers leave the trainable table E out, L2 reads the batch's rows from it:

    l2 / (2B) · Σ_b ( ‖E[u]‖² + ‖E[i]‖² + ‖Σ_m w[m, 0] E[j_m]‖² )
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.gpu.match import Table, anchor_rows, empty_like, softplus, table
from sahcns.kernels.registry import Setup, register
from sahcns.objectives.base import Comparison
from sahcns.objectives.bpr import BPR


@triton.jit
def _mixed(
    layer, items, weights, b, d, inside_d, n_users, DIM,
    t: tl.constexpr, M: tl.constexpr, T: tl.constexpr, TI: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Row t of the negative: Σ_m w[b, m, t] · V[items[b, m, t], t]."""
    total = tl.zeros([D], dtype=layer.dtype.element_ty)
    for m in tl.static_range(M):
        at = (b * M + m) * TI
        if TI > 1:
            at += t
        row = tl.load(layer + (tl.load(items + at) + n_users) * DIM + d, mask=inside_d, other=0.0)
        if M > 1:
            row = row * tl.load(weights + (b * M + m) * T + t)
        total += row
    return total


@triton.jit
def _margin(
    first, rest, stride, users, positives, items, weights, b, d, inside_d, n_users, DIM, L2,
    M: tl.constexpr, T: tl.constexpr, TI: tl.constexpr, D: tl.constexpr, CONCAT: tl.constexpr, MEAN: tl.constexpr,
):  # fmt: skip
    """y⁻ - y⁺, the pair's L2 term, ē and n̄ - ī (both before the mean's 1/T)."""
    user = tl.load(users + b)
    positive = tl.load(positives + b) + n_users
    anchor = anchor_rows(first, rest, stride, user, d, inside_d, DIM, T, D, MEAN)
    margin = tl.sum(anchor * 0.0, axis=0)
    ridge = margin
    difference = tl.zeros([D], dtype=anchor.dtype)
    for t in tl.static_range(T):
        layer = first
        if t > 0:
            layer = rest + (t - 1) * stride
        own = tl.load(layer + positive * DIM + d, mask=inside_d, other=0.0)
        negative = _mixed(layer, items, weights, b, d, inside_d, n_users, DIM, t, M, T, TI, D)
        apart = negative - own
        if CONCAT:
            anchor = tl.load(layer + user * DIM + d, mask=inside_d, other=0.0)
        margin += tl.sum(anchor * apart, axis=0)
        difference += apart
        if t == 0:
            ego = tl.load(layer + user * DIM + d, mask=inside_d, other=0.0)
            ridge = L2 * tl.sum(ego * ego + own * own + negative * negative, axis=0)
    if MEAN:
        margin = margin / T
    return margin, ridge, anchor, difference


@triton.jit
def _forward(
    first, rest, stride, users, positives, items, weights, losses, out_u, out_i, out_n, n_users, DIM, L2,
    M: tl.constexpr, T: tl.constexpr, TI: tl.constexpr, D: tl.constexpr, CONCAT: tl.constexpr, MEAN: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0)
    stride = stride.to(tl.int64)  # one layer may be within what 32 bits count, and several beyond
    d = tl.arange(0, D)
    margin, ridge, _, _ = _margin(
        first, rest, stride, users, positives, items, weights, b, d, d < DIM, n_users, DIM, L2, M, T, TI, D, CONCAT, MEAN
    )  # fmt: skip
    tl.store(losses + b, softplus(margin) + ridge)
    if ROWS:
        inside_d = d < DIM
        user = tl.load(users + b)
        positive = tl.load(positives + b) + n_users
        for t in tl.static_range(T):
            layer = first
            if t > 0:
                layer = rest + (t - 1) * stride
            at = (b * T + t) * DIM + d
            tl.store(out_u + at, tl.load(layer + user * DIM + d, mask=inside_d, other=0.0), mask=inside_d)
            tl.store(out_i + at, tl.load(layer + positive * DIM + d, mask=inside_d, other=0.0), mask=inside_d)
            negative = _mixed(layer, items, weights, b, d, inside_d, n_users, DIM, t, M, T, TI, D)
            tl.store(out_n + at, negative, mask=inside_d)


@triton.jit
def _backward(
    first, rest, stride, users, positives, items, weights, scale, more_u, more_i, more_n, g_first, g_rest, g_stride,
    n_users, DIM, L2, B,
    M: tl.constexpr, T: tl.constexpr, TI: tl.constexpr, D: tl.constexpr, CONCAT: tl.constexpr, MEAN: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0)
    stride, g_stride = stride.to(tl.int64), g_stride.to(tl.int64)
    d = tl.arange(0, D)
    inside_d = d < DIM
    margin, _, anchor, difference = _margin(
        first, rest, stride, users, positives, items, weights, b, d, inside_d, n_users, DIM, L2, M, T, TI, D, CONCAT, MEAN
    )  # fmt: skip
    user = tl.load(users + b)
    positive = tl.load(positives + b) + n_users
    upstream = tl.load(scale) / B
    g = upstream / (1.0 + tl.exp(-margin))
    if MEAN:
        g = g / T
        difference = difference / T
    for t in tl.static_range(T):
        layer = first
        grad = g_first
        if t > 0:
            layer = rest + (t - 1) * stride
            grad = g_rest + (t - 1) * g_stride
        own = tl.load(layer + positive * DIM + d, mask=inside_d, other=0.0)
        mine = tl.load(layer + user * DIM + d, mask=inside_d, other=0.0)
        negative = _mixed(layer, items, weights, b, d, inside_d, n_users, DIM, t, M, T, TI, D)
        if CONCAT:
            anchor = mine
            to_user = g * (negative - own)
        else:
            to_user = g * difference
        to_negative = g * anchor
        to_positive = -g * anchor
        if t == 0:
            to_user += 2.0 * upstream * L2 * mine
            to_positive += 2.0 * upstream * L2 * own
            to_negative += 2.0 * upstream * L2 * negative
        if ROWS:
            at_row = (b * T + t) * DIM + d
            to_user += tl.load(more_u + at_row, mask=inside_d, other=0.0)
            to_positive += tl.load(more_i + at_row, mask=inside_d, other=0.0)
            to_negative += tl.load(more_n + at_row, mask=inside_d, other=0.0)
        tl.atomic_add(grad + user * DIM + d, to_user, mask=inside_d, sem="relaxed")
        for m in tl.static_range(M):
            at = (b * M + m) * TI
            if TI > 1:
                at += t
            row = tl.load(items + at) + n_users
            share = to_negative
            if M > 1:
                share = to_negative * tl.load(weights + (b * M + m) * T + t)
            if row == positive:
                to_positive += share
            else:
                tl.atomic_add(grad + row * DIM + d, share, mask=inside_d, sem="relaxed")
        tl.atomic_add(grad + positive * DIM + d, to_positive, mask=inside_d, sem="relaxed")


class PairLoss(torch.autograd.Function):
    """mean_b softplus(y⁻ - y⁺) + l2/(2B) Σ_b (‖e_u⁰‖² + ‖e_i⁰‖² + ‖e_neg⁰‖²), one negative a pair."""

    @staticmethod
    def forward(
        ctx: Any, rows: bool, kind: str, n_users: int, l2: float, users: Tensor, positives: Tensor, items: Tensor,
        weights: Tensor | None, *layers: Tensor,
    ) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
        """With `rows` also what was gathered: users, positives and negatives, [B, T, d] each."""
        seen = table(layers)
        losses = torch.empty(len(users), dtype=seen.first.dtype, device=users.device)
        batch = (users, positives, items, items if weights is None else weights)
        ctx.call = (seen, kind, n_users, l2, batch)
        read = [losses.new_empty(len(users), seen.layers, seen.dim) if rows else losses for _ in range(3)]
        _forward[(len(users),)](
            seen.first, seen.rest, seen.stride, *batch, losses, *read, n_users, seen.dim, l2 / 2,
            ROWS=rows, **_sizes(seen, kind, items),
        )  # fmt: skip
        return (losses.mean(), *read) if rows else losses.mean()

    @staticmethod
    def backward(ctx: Any, scale: Tensor, *more: Tensor) -> tuple[Any, ...]:
        seen, kind, n_users, l2, batch = ctx.call
        zeros, grad = empty_like(seen)
        _backward[(len(batch[0]),)](
            seen.first, seen.rest, seen.stride, *batch, scale, *([part.contiguous() for part in more] or [scale] * 3),
            grad.first, grad.rest, grad.stride, n_users, seen.dim, l2 / 2, len(batch[0]),
            ROWS=bool(more), **_sizes(seen, kind, batch[2]),
        )  # fmt: skip
        return (None,) * 8 + tuple(zeros.unbind(0))


def _sizes(seen: Table, kind: str, items: Tensor) -> dict[str, Any]:
    """items [B, M, T or 1]."""
    return {
        "M": items.shape[1], "T": seen.layers, "TI": items.shape[2], "D": seen.block,
        "CONCAT": kind == "concat", "MEAN": kind == "mean", "num_warps": 1,
    }  # fmt: skip


@triton.jit
def _ridge(
    ego, users, positives, items, weights, sums, upstream, grad, n_users, scale,
    DIM: tl.constexpr, D: tl.constexpr, M: tl.constexpr, T: tl.constexpr, TI: tl.constexpr, BACKWARD: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    inside = d < DIM
    user = tl.load(users + b)
    positive = tl.load(positives + b) + n_users
    u = tl.load(ego + user * DIM + d, mask=inside, other=0.0)
    i = tl.load(ego + positive * DIM + d, mask=inside, other=0.0)
    mixed = tl.zeros([D], dtype=u.dtype)
    for m in tl.static_range(M):
        row = tl.load(ego + (tl.load(items + (b * M + m) * TI) + n_users) * DIM + d, mask=inside, other=0.0)
        if M > 1:
            row = row * tl.load(weights + (b * M + m) * T)
        mixed += row
    if BACKWARD:
        by = 2.0 * scale * tl.load(upstream)
        tl.atomic_add(grad + user * DIM + d, by * u, mask=inside, sem="relaxed")
        tl.atomic_add(grad + positive * DIM + d, by * i, mask=inside, sem="relaxed")
        for m in tl.static_range(M):
            share = by * mixed
            if M > 1:
                share = share * tl.load(weights + (b * M + m) * T)
            to = tl.load(items + (b * M + m) * TI) + n_users
            tl.atomic_add(grad + to * DIM + d, share, mask=inside, sem="relaxed")
    else:
        tl.store(sums + b, scale * tl.sum(u * u + i * i + mixed * mixed, axis=0))


class Ridge(torch.autograd.Function):
    """ego [n, d], users and positives [B], items [B, M, T or 1], weights [B, M, T] or None for M = 1 → scalar."""

    @staticmethod
    def forward(
        ctx: Any,
        l2: float,
        users: Tensor,
        positives: Tensor,
        items: Tensor,
        weights: Tensor | None,
        n_users: int,
        ego: Tensor,
    ) -> Tensor:
        ctx.call = (ego, users, positives, items, items if weights is None else weights)
        ctx.rest = (n_users, l2 / (2 * len(users)))
        ctx.sizes = {
            "DIM": ego.shape[1], "D": triton.next_power_of_2(ego.shape[1]), "M": items.shape[1],
            "T": 1 if weights is None else weights.shape[2], "TI": items.shape[2], "num_warps": 1,
        }  # fmt: skip
        sums = ego.new_empty(len(users))
        _ridge[(len(users),)](*ctx.call, sums, sums, sums, *ctx.rest, **ctx.sizes, BACKWARD=False)
        return sums.sum()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Any, ...]:
        grad = torch.zeros_like(ctx.call[0])
        _ridge[(len(ctx.call[1]),)](*ctx.call, upstream, upstream, grad, *ctx.rest, **ctx.sizes, BACKWARD=True)
        return (None,) * 6 + (grad,)


def _supports(setup: Setup) -> bool:
    """L2 on what was mixed; atomic adds come in whatever order, which the ordered path promises not to."""
    unweighted = setup.graph.pair_weights is None
    return setup.l2_on == "mixed" and unweighted and setup.graph.path != "triton-ordered"


@register("triton", "loss", BPR, supports=lambda setup: _supports(setup) and not setup.sampler.has_loss())
def bpr_and_l2(objective: BPR, pairs: Comparison, l2: float, table: Tensor | None) -> Tensor:
    """See `registry.PairLoss`."""
    loss: Tensor = _pair_loss(pairs, l2, table, rows=False)
    return loss if table is None else loss + _ridge_loss(pairs, l2, table)


@register("triton", "loss", BPR, supports=lambda setup: _supports(setup) and setup.sampler.has_loss())
def bpr_and_l2_with_layers(objective: BPR, pairs: Comparison, l2: float, table: Tensor | None) -> Tensor:
    """The same, with the gathered layers left in `pairs` for the sampler's own loss."""
    loss: Tensor
    loss, users, positives, negatives = _pair_loss(pairs, l2, table, rows=True)
    pairs.layers = users, positives, negatives[:, None]
    return loss if table is None else loss + _ridge_loss(pairs, l2, table)


def _mixture(pairs: Comparison) -> tuple[Tensor, Tensor | None]:
    """items [B, M, T or 1], weights [B, M, T] or None."""
    return pairs.items[:, 0].contiguous(), None if pairs.weights is None else pairs.weights[:, 0].contiguous()


def _pair_loss(pairs: Comparison, l2: float, table: Tensor | None, rows: bool) -> Any:
    batch, strength = pairs.batch, 0.0 if table is not None else l2
    ids = batch.users, batch.positives, *_mixture(pairs)
    return PairLoss.apply(rows, batch.aggregation.kind, pairs.graph.n_users, strength, *ids, *batch.layers)


def _ridge_loss(pairs: Comparison, l2: float, table: Tensor) -> Tensor:
    loss: Tensor = Ridge.apply(l2, pairs.users, pairs.positives, *_mixture(pairs), pairs.graph.n_users, table)
    return loss
