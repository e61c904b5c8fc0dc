"""How many items score no higher than each candidate, without a table of all scores: BNS's empirical distribution.

A program multiplies a block of users by a span of the items and compares each product at once; counts are whole numbers, so
they may be added in any order. What a product is compared with, the candidate's own score, comes from the same arithmetic, so
that a candidate is among those counted, and items which share a vector are equals to the last bit (without layer 0, all items
of the same users do).
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.aggregation import Kind
from sahcns.kernels.gpu.pooled import pooled
from sahcns.kernels.gpu.tables import Table

USERS, ITEMS, DEPTH = 64, 128, 64  # of one product; dimensions beyond DEPTH are added up
SPAN = 5  # products of one program
MOST = 32  # candidates whose counts stay in registers
PRECISION = tl.constexpr("tf32x3")  # as exact as 32 bits


@triton.jit
def _scores(
    users, items, b, j, real, there,
    DIM: tl.constexpr, D: tl.constexpr, M: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """<users[b], items[j]>, [M, K]."""
    score = tl.zeros([M, K], dtype=tl.float32)
    for first in tl.static_range(0, DIM, D):
        d = first + tl.arange(0, D)
        u = tl.load(users + b[:, None] * DIM + d[None, :], mask=real[:, None] & (d < DIM)[None, :], other=0.0)
        at = j.to(tl.int64)[None, :] * DIM + d[:, None]
        i = tl.load(items + at, mask=there[None, :] & (d < DIM)[:, None], other=0.0)
        score = tl.dot(u, i, score, input_precision=PRECISION)
    return score


@triton.jit
def _own(
    users, items, candidates, own, batch, N,
    DIM: tl.constexpr, D: tl.constexpr, M: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """K of a block's M · N candidates, user after user, with all of its users; each column has one user of its own."""
    begin = tl.program_id(0).to(tl.int64) * M
    b, place = begin + tl.arange(0, M), tl.program_id(1) * K + tl.arange(0, K)
    user = begin + place // N
    there = (place < M * N) & (user < batch)
    j = tl.load(candidates + begin * N + place, mask=there, other=0)
    score = _scores(users, items, b, j, b < batch, there, DIM, D, M, K, PRECISION)
    mine = tl.sum(tl.where(b[:, None] == user[None, :], score, 0.0), axis=0)
    tl.store(own + begin * N + place, mine, mask=there)


@triton.jit
def _outscored(
    users, items, own, below, batch, n_items, N, DIM: tl.constexpr, D: tl.constexpr, M: tl.constexpr,
    K: tl.constexpr, SPAN: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, n = tl.program_id(0) * M + tl.arange(0, M).to(tl.int64), tl.arange(0, BLOCK)
    real = b < batch
    count = tl.zeros([M, BLOCK], dtype=tl.int32)
    for step in range(SPAN):
        j = (tl.program_id(1) * SPAN + step) * K + tl.arange(0, K)
        score = _scores(users, items, b, j, real, j < n_items, DIM, D, M, K, PRECISION)
        score = tl.where((j < n_items)[None, :], score, float("nan"))  # at most nothing
        for place in range(N):
            mine = tl.load(own + b * N + place, mask=real, other=0.0)
            lower = tl.sum((score <= mine[:, None]).to(tl.int32), axis=1)
            count += tl.where(n[None, :] == place, lower[:, None], 0)
    tl.atomic_add(below + b[:, None] * N + n[None, :], count, mask=real[:, None] & (n < N)[None, :], sem="relaxed")


def outscored(layers: Table, kind: Kind, n_users: int, users: Tensor, candidates: Tensor) -> Tensor:
    """users [B], candidates [B, N] → how many items score no higher than each, [B, N] int32."""
    items = pooled(layers, kind, range(n_users, layers.rows))
    anchors = pooled(layers, kind, users.contiguous())
    (batch, count), (n_items, dim), candidates = candidates.shape, items.shape, candidates.contiguous()
    own = torch.empty(batch, count, dtype=torch.float32, device=users.device)
    below = torch.zeros(batch, count, dtype=torch.int32, device=users.device)
    blocks = triton.cdiv(batch, USERS)
    sizes = {
        "DIM": dim, "D": min(DEPTH, max(16, triton.next_power_of_2(dim))), "M": USERS, "K": ITEMS,
        "PRECISION": PRECISION, "num_warps": 4,
    }  # fmt: skip
    _own[(blocks, triton.cdiv(USERS * count, ITEMS))](anchors, items, candidates, own, batch, count, **sizes)
    _outscored[(blocks, triton.cdiv(n_items, ITEMS * SPAN))](
        anchors, items, own, below, batch, n_items, count, SPAN=SPAN, BLOCK=triton.next_power_of_2(count), **sizes
    )
    return below
