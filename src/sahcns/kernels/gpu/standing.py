"""How many items score no higher than each candidate: BNS's empirical distribution, by counting instead of sorting.

Each thread counts in registers of its own over all tiles; warps add up once, at the end.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _standing(scores, own, below, n_items, N, TILE: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    mine = tl.load(own + b * N + n, mask=n < N, other=0.0)
    count = tl.zeros([BLOCK, TILE], dtype=tl.int32)
    for j in range(0, n_items, TILE):
        at = j + tl.arange(0, TILE)
        score = tl.load(scores + b * n_items + at, mask=at < n_items, other=float("nan"))  # at most nothing
        count += (score[None, :] <= mine[:, None]).to(tl.int32)
    tl.store(below + b * N + n, tl.sum(count, axis=1), mask=n < N)


def standing(scores: Tensor, own: Tensor) -> Tensor:
    """scores [B, n_items], own [B, N] → how many of a row are ≤ each of own, [B, N] int32."""
    batch, n_items = scores.shape
    below = torch.empty(own.shape, dtype=torch.int32, device=own.device)
    block = int(triton.next_power_of_2(own.shape[1]))
    tile = min(128, max(32, 4096 // block))
    warps = min(16, max(4, block * tile // 1024))  # 32 counters a thread: none is spilled for pools of up to 512
    _standing[(batch,)](scores, own.contiguous(), below, n_items, own.shape[1], TILE=tile, BLOCK=block, num_warps=warps)
    return below
