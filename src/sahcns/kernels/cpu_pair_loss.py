"""BPR and L2 of a batch on a CPU, with the gradient written down instead of taped.

Where the layers are summed (c = 1) or averaged (c = 1/T), every layer of a user, of a positive and of a negative receives
the same vector, so that three rows a pair are kept instead of 3T, and all layers share one order of the touched rows:

    ē = c Σ_t U_t,   D = c Σ_t (N_t - I_t),   x = y⁻ - y⁺ = <ē, D>,   g = c · sigmoid(x) / B
    ∂/∂U_t = g D,   ∂/∂I_t = -g ē,   ∂/∂N_t = g ē,   ∂/∂V[m, t] = w[m, t] ∂/∂N_t;   layer 0 has l2/B · itself in addition
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, softplus


class PairLoss(torch.autograd.Function):
    """items [B, M, T or 1], weights [B, M, T] or None, T layers [n, d] → scalar."""

    @staticmethod
    def forward(
        ctx: Any,
        c: float,
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
            if shares is None:
                read = layer.index_select(0, row)
            else:
                read = embedding_bag(
                    row, layer.detach(), starts, mode="sum", per_sample_weights=shares[t], include_last_offset=True
                )
            read = read.view(3, batch, dim)
            ego = read if t == 0 else ego  # users, positives, negatives
            total += read
        anchor, apart = total[0] * c, (total[2] - total[1]) * c  # ē and D, [B, d]
        margin = (anchor * apart).sum(1)
        ctx.kept = rows, shares, anchor, apart, ego
        ctx.slope, ctx.ridge = torch.sigmoid(margin)[:, None] * (c / batch), l2 / batch
        ctx.n, ctx.count = n, len(layers)
        loss = softplus(margin).mean()
        return loss + (l2 / (2 * batch)) * ego.square().sum() if l2 else loss

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
            gathered = embedding_bag(
                reader[order],
                (source if t else first).view(3 * batch, dim),
                offsets,
                mode="sum",
                per_sample_weights=None if shares is None else shares[t][order],
                include_last_offset=True,
            )
            grads.append(gathered)
        return (None,) * 7 + tuple(grads)


def _shares(weights: Tensor) -> Tensor:
    """weights [B, M, T] → [T, (2+M)·B]: what each read counts, 1 for a user and a positive."""
    batch, mixed, count = weights.shape
    made = weights.new_ones(count, (2 + mixed) * batch)
    made[:, 2 * batch :] = weights.permute(2, 0, 1).reshape(count, -1)
    return made


def _by_row(rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The reads in the order of the rows they read, and where each of n rows begins."""
    ends = torch.bincount(rows, minlength=n).cumsum(0)
    return torch.argsort(rows, stable=True), torch.cat([ends.new_zeros(1), ends])
