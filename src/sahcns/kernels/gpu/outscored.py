"""How many items score no higher than each candidate, without a table of all scores: BNS's empirical distribution.

A program multiplies a block of users by a span of the items and compares each product at once; counts are whole numbers, so
they may be added in any order. A candidate is left out of its own count and added at the end: it is at most itself, however
its score was rounded elsewhere.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

USERS, ITEMS, DEPTH = 64, 128, 64  # of one product; dimensions beyond DEPTH are added up
SPAN = 5  # products of one program
MOST = 32  # candidates whose counts stay in registers
PRECISION = tl.constexpr("tf32x3")  # as exact as 32 bits


@triton.jit
def _outscored(
    users, items, own, candidates, below, batch, n_items, N, DIM: tl.constexpr, D: tl.constexpr, M: tl.constexpr,
    K: tl.constexpr, SPAN: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, n = tl.program_id(0) * M + tl.arange(0, M).to(tl.int64), tl.arange(0, BLOCK)
    real = b < batch
    count = tl.zeros([M, BLOCK], dtype=tl.int32)
    for step in range(SPAN):
        j = (tl.program_id(1) * SPAN + step) * K + tl.arange(0, K)
        score = tl.zeros([M, K], dtype=tl.float32)
        for first in tl.static_range(0, DIM, D):
            d = first + tl.arange(0, D)
            u = tl.load(users + b[:, None] * DIM + d[None, :], mask=real[:, None] & (d < DIM)[None, :], other=0.0)
            at = j.to(tl.int64)[None, :] * DIM + d[:, None]
            i = tl.load(items + at, mask=(j < n_items)[None, :] & (d < DIM)[:, None], other=0.0)
            score = tl.dot(u, i, score, input_precision=PRECISION)
        score = tl.where((j < n_items)[None, :], score, float("nan"))  # at most nothing
        for place in range(N):
            mine = tl.load(own + b * N + place, mask=real, other=0.0)
            self = tl.load(candidates + b * N + place, mask=real, other=0)
            lower = (score <= mine[:, None]) & (j[None, :] != self[:, None])
            count += tl.where(n[None, :] == place, tl.sum(lower.to(tl.int32), axis=1)[:, None], 0)
    tl.atomic_add(below + b[:, None] * N + n[None, :], count, mask=real[:, None] & (n < N)[None, :], sem="relaxed")


def outscored(users: Tensor, items: Tensor, own: Tensor, candidates: Tensor) -> Tensor:
    """users [B, D], items [n_items, D], own [B, N] the candidates' scores → how many items are ≤ each, [B, N] int32."""
    (batch, dim), n_items, count = users.shape, len(items), own.shape[1]
    below = torch.ones(batch, count, dtype=torch.int32, device=own.device)  # itself
    _outscored[(triton.cdiv(batch, USERS), triton.cdiv(n_items, ITEMS * SPAN))](
        users.contiguous(), items.contiguous(), own.contiguous(), candidates.contiguous(), below, batch, n_items, count,
        DIM=dim, D=min(DEPTH, max(16, triton.next_power_of_2(dim))), M=USERS, K=ITEMS, SPAN=SPAN,
        BLOCK=triton.next_power_of_2(count), PRECISION=PRECISION, num_warps=4,
    )  # fmt: skip
    return below
