"""Layer-wise scores on a GPU: gather and dot in one pass, nothing of size [B, N, T, d] is ever stored."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.gpu.tables import Table


@triton.jit
def anchor_rows(first, rest, stride, row, d, inside_d, DIM, T: tl.constexpr, D: tl.constexpr, MEAN: tl.constexpr):
    """ē of one row for mean and sum aggregation, [D]."""
    total = tl.load(first + row * DIM + d, mask=inside_d, other=0.0)
    for t in tl.static_range(1, T):
        total += tl.load(rest + (t - 1) * stride + row * DIM + d, mask=inside_d, other=0.0)
    if MEAN:
        total = total / T
    return total


@triton.jit
def _match(
    first, rest, stride, users, positives, candidates, p, a, n_users, N, DIM,
    T: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, CONCAT: tl.constexpr, MEAN: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0)
    stride = stride.to(tl.int64)  # one layer may be within what 32 bits count, and several beyond
    d = tl.arange(0, D)
    inside_d = d < DIM
    user = tl.load(users + b)
    positive = tl.load(positives + b) + n_users
    anchor = anchor_rows(first, rest, stride, user, d, inside_d, DIM, T, D, MEAN)
    for t in tl.static_range(T):
        layer = first
        if t > 0:
            layer = rest + (t - 1) * stride
        if CONCAT:
            anchor = tl.load(layer + user * DIM + d, mask=inside_d, other=0.0)
        row = tl.load(layer + positive * DIM + d, mask=inside_d, other=0.0)
        tl.store(p + b * T + t, tl.sum(anchor * row, axis=0))
        for n in range(0, N, TILE):
            place = n + tl.arange(0, TILE)
            inside = place < N
            item = tl.load(candidates + b.to(tl.int64) * N + place, mask=inside, other=0) + n_users
            rows = tl.load(
                layer + item[:, None] * DIM + d[None, :], mask=inside[:, None] & inside_d[None, :], other=0.0
            )
            score = tl.sum(rows * anchor[None, :], axis=1)
            tl.store(a + (b.to(tl.int64) * N + place) * T + t, score, mask=inside)


def match(
    layers: Table, kind: str, n_users: int, users: Tensor, positives: Tensor, candidates: Tensor
) -> tuple[Tensor, Tensor]:
    """p [B, T] and a [B, N, T]."""
    batch, count = candidates.shape
    p = torch.empty(batch, layers.layers, dtype=layers.first.dtype, device=users.device)
    a = torch.empty(batch, count, layers.layers, dtype=p.dtype, device=users.device)
    _match[(batch,)](
        layers.first, layers.rest, layers.stride, users, positives, candidates, p, a, n_users, count, layers.dim,
        T=layers.layers, D=layers.block, TILE=16, CONCAT=kind == "concat", MEAN=kind == "mean", num_warps=2,
    )  # fmt: skip
    return p, a
