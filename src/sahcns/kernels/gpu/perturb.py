"""SimGCL's noise on a GPU: drawn, normalised, signed and added in one pass. The bits are those of `Rng.uniform`."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.counter import GOLDEN
from sahcns.kernels.gpu.draw import mix_bits
from sahcns.rng import CALL, Rng, signed

_GOLDEN = tl.constexpr(signed(GOLDEN))


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


class Perturb(torch.autograd.Function):
    """e + ε · sign(e) ⊙ normalise(U(0,1)^d); the noise is a constant, so the gradient passes unchanged."""

    @staticmethod
    def forward(ctx: Any, e: Tensor, length: float, rng: Rng) -> Tensor:
        out = torch.empty(e.shape, dtype=e.dtype, device=e.device)
        perturb(e.contiguous(), out[:, None], length, rng, rng.call, 0)
        rng.call += 1
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad, None, None
