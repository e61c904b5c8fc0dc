"""Random numbers on a GPU, the same bits as `rng.Rng` and `counter.bits`: as they are, as draws of unseen items, as noise."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.counter import GOLDEN, MIX_1, MIX_2
from sahcns.graph import Unseen
from sahcns.rng import CALL, Rng, signed

_GOLDEN, _MIX_1, _MIX_2 = (tl.constexpr(signed(value)) for value in (GOLDEN, MIX_1, MIX_2))


@triton.jit
def mix_bits(z):
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * _MIX_1
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * _MIX_2
    return z ^ ((z >> 31) & 0x1FFFFFFFF)


@triton.jit
def _bits(out, step, key, start, size, BLOCK: tl.constexpr):
    k = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    base = mix_bits((tl.load(step) + 1) * _GOLDEN + key)
    tl.store(out + k, mix_bits(base + (start + k + 1) * _GOLDEN), mask=k < size)


class GpuRng(Rng):
    """A stream on a GPU whose bits take one launch."""

    def bits(self, *shape: int) -> Tensor:
        out = torch.empty(shape, dtype=torch.int64, device=self.device)
        start = self.call * CALL
        self.call += 1
        size = out.numel()
        _bits[(triton.cdiv(size, 1024),)](out, self.step, self.key, start, size, BLOCK=1024, num_warps=4)
        return out


@triton.jit
def _draw(users, offsets, seen, step, key, start, B, N, n_items, out, ROUNDS, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # runs down the columns: k = n · B + b
    inside = k < B * N
    b, n = k % B, k // B
    user = tl.load(users + b, mask=inside, other=0)
    begin = tl.load(offsets + user, mask=inside, other=0).to(tl.int64)
    degree = tl.load(offsets + user + 1, mask=inside, other=0) - begin
    base = mix_bits((tl.load(step) + 1) * _GOLDEN + key)
    z = mix_bits(base + (start + k.to(tl.int64) + 1) * _GOLDEN)
    x = (z & 0x7FFFFFFFFFFFFFFF) % (n_items - degree)  # rank among the unseen
    low, high = tl.zeros_like(degree), degree  # seen items t with seen[t] - t <= x
    for _ in range(ROUNDS):
        middle = (low + high) // 2
        open_ = low < high
        item = tl.load(seen + begin + middle, mask=inside & open_, other=0).to(tl.int64)
        before = (item - middle <= x) & open_
        low = tl.where(before, middle + 1, low)
        high = tl.where(before | (low >= high), high, middle)
    tl.store(out + b.to(tl.int64) * N + n, x + low, mask=inside)


def draw(unseen: Unseen, users: Tensor, count: int, rng: Rng, rounds: int) -> Tensor:
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


@triton.jit
def uniform_at(step, key, start, at):
    """Numbers `start + at` of the step, uniform in [0, 1)."""
    base = mix_bits((tl.load(step) + 1) * _GOLDEN + key)
    return ((mix_bits(base + (start + at + 1) * _GOLDEN) >> 40) & 0xFFFFFF).to(tl.float32) * 5.9604644775390625e-08


@triton.jit
def sign_of(x):
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@triton.jit
def _perturb(
    e, out, step, key, start, next_start, length, n, row, view, DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr
):
    """Program (·, v) makes view v: e is read at `row · r + view · v`, out is written as [n, views, d]."""
    v = tl.program_id(1)
    rows = tl.program_id(0) * R + tl.arange(0, R)
    d = tl.arange(0, D)
    mask = (rows < n)[:, None] & (d < DIM)[None, :]
    rows = rows.to(tl.int64)
    u = uniform_at(step, key, start + v * next_start, rows[:, None] * DIM + d[None, :])
    u = tl.where(mask, u, 0.0)
    norm = tl.maximum(tl.sqrt(tl.sum(u * u, axis=1)), 1e-12)
    x = tl.load(e + rows[:, None] * row + v * view + d[None, :], mask=mask, other=0.0)
    to = (rows[:, None] * tl.num_programs(1) + v) * DIM + d[None, :]
    tl.store(out + to, x + length * sign_of(x) * (u / norm[:, None]), mask=mask)


def perturb(e: Tensor, out: Tensor, length: float, rng: Rng, call: int, calls: int) -> None:
    """e [n, d] or [n, views, d] → out [n, views, d]; view v adds the noise of call number `call + v · calls`."""
    n, views, dim = out.shape
    _perturb[(triton.cdiv(n, 8), views)](
        e, out, rng.step, rng.key, call * CALL, calls * CALL, length, n, e.stride(0), e.stride(1) if e.dim() == 3 else 0,
        DIM=dim, D=triton.next_power_of_2(dim), R=8, num_warps=4,
    )  # fmt: skip
