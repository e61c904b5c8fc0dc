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
def _perturb(e, out, step, key, start, length, n, DIM, D: tl.constexpr, R: tl.constexpr):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    d = tl.arange(0, D)
    at = rows.to(tl.int64)[:, None] * DIM + d[None, :]
    mask = (rows < n)[:, None] & (d < DIM)[None, :]
    base = mix_bits((tl.load(step) + 1) * _GOLDEN + key)
    u = ((mix_bits(base + (start + at + 1) * _GOLDEN) >> 40) & 0xFFFFFF).to(tl.float32) * 5.9604644775390625e-08
    u = tl.where(mask, u, 0.0)
    norm = tl.maximum(tl.sqrt(tl.sum(u * u, axis=1)), 1e-12)
    x = tl.load(e + at, mask=mask, other=0.0)
    sign = (x > 0).to(x.dtype) - (x < 0).to(x.dtype)
    tl.store(out + at, x + length * sign * (u / norm[:, None]), mask=mask)


class Perturb(torch.autograd.Function):
    """e + ε · sign(e) ⊙ normalise(U(0,1)^d); the noise is a constant, so the gradient passes unchanged."""

    @staticmethod
    def forward(ctx: Any, e: Tensor, length: float, rng: Rng) -> Tensor:
        n, dim = e.shape
        out = torch.empty_like(e)
        start = rng.call * CALL
        rng.call += 1
        _perturb[(triton.cdiv(n, 8),)](
            e.contiguous(),
            out,
            rng.step,
            rng.key,
            start,
            length,
            n,
            dim,
            D=triton.next_power_of_2(dim),
            R=8,
            num_warps=4,
        )
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad, None, None
