"""Draw unseen items on a GPU: one thread a candidate, the same bits as `rng.Rng` and `counter.bits`."""

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.counter import GOLDEN, MIX_1, MIX_2
from sahcns.rng import CALL, Rng, signed

if TYPE_CHECKING:
    from sahcns.graph import Unseen

_GOLDEN, _MIX_1, _MIX_2 = (tl.constexpr(signed(value)) for value in (GOLDEN, MIX_1, MIX_2))


@triton.jit
def mix_bits(z):
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * _MIX_1
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * _MIX_2
    return z ^ ((z >> 31) & 0x1FFFFFFFF)


@triton.jit
def _draw(users, offsets, seen, step, key, start, B, N, n_items, out, ROUNDS, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # runs down the columns: k = n · B + b
    inside = k < B * N
    b, n = k % B, k // B
    user = tl.load(users + b, mask=inside, other=0)
    begin = tl.load(offsets + user, mask=inside, other=0)
    degree = tl.load(offsets + user + 1, mask=inside, other=0) - begin
    base = mix_bits((tl.load(step) + 1) * _GOLDEN + key)
    z = mix_bits(base + (start + k.to(tl.int64) + 1) * _GOLDEN)
    x = (z & 0x7FFFFFFFFFFFFFFF) % (n_items - degree)  # rank among the unseen
    low, high = tl.zeros_like(degree), degree  # seen items t with seen[t] - t <= x
    for _ in range(ROUNDS):
        middle = (low + high) // 2
        open_ = low < high
        item = tl.load(seen + begin + middle, mask=inside & open_, other=0)
        before = (item - middle <= x) & open_
        low = tl.where(before, middle + 1, low)
        high = tl.where(before | (low >= high), high, middle)
    tl.store(out + b.to(tl.int64) * N + n, x + low, mask=inside)


def draw(unseen: "Unseen", users: Tensor, count: int, rng: Rng, rounds: int) -> Tensor:
    """[B] → [B, count]; `rounds` is the bit length of the largest number of seen items."""
    out = torch.empty(len(users), count, dtype=torch.int64, device=users.device)
    start = rng.call * CALL
    rng.call += 1
    block = 128
    _draw[(triton.cdiv(out.numel(), block),)](
        users, unseen.offsets, unseen.items, rng.step, rng.key, start, len(users), count, unseen.total, out, rounds,
        BLOCK=block, num_warps=4,
    )  # fmt: skip
    return out
