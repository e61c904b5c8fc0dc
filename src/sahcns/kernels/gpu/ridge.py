"""L2 on a GPU for a backbone whose layers leave the trainable table out: the batch's rows are read from the table.

The same number as `objectives.l2`:

    l2 / (2B) · Σ_b ( ‖E[u]‖² + ‖E[i]‖² + ‖Σ_m w[m, 0] E[j_m]‖² )
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


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
