"""Random bits on a GPU: `Rng.bits` in one kernel."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.counter import GOLDEN
from sahcns.kernels.gpu.draw import mix_bits
from sahcns.rng import signed

_GOLDEN = tl.constexpr(signed(GOLDEN))


@triton.jit
def _bits(out, step, key, start, size, BLOCK: tl.constexpr):
    k = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    base = mix_bits((tl.load(step) + 1) * _GOLDEN + key)
    tl.store(out + k, mix_bits(base + (start + k + 1) * _GOLDEN), mask=k < size)


def bits(step: Tensor, key: int, start: int, size: int) -> Tensor:
    """[size] int64, the numbers start … start + size - 1 of the step."""
    out = torch.empty(size, dtype=torch.int64, device=step.device)
    _bits[(triton.cdiv(size, 1024),)](out, step, key, start, size, BLOCK=1024, num_warps=4)
    return out
