"""The small arithmetic of SAHC-NS on a GPU: one kernel where plain torch would launch thirty.

Same equations as `samplers/selection.py` and `samplers/calibration.py`, which are the specification.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _structure_aware(a, chosen, N, alpha, EPSILON, T: tl.constexpr, BLOCK: tl.constexpr):
    """n* = argmax_n z(μ) + α z(σ); the first of equals."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    inside = n < N
    mean = tl.zeros([BLOCK], dtype=a.dtype.element_ty)
    size = mean
    for t in tl.static_range(T):
        score = tl.load(a + (b * N + n) * T + t, mask=inside, other=0.0)
        mean += score
        size += tl.abs(score)
    mean, size = mean / T, size / T
    spread = tl.zeros([BLOCK], dtype=mean.dtype)
    for t in tl.static_range(T):
        off = tl.load(a + (b * N + n) * T + t, mask=inside, other=0.0) - mean
        spread += off * off
    sigma = tl.where(inside, tl.sqrt(spread / T) / (size + EPSILON), 0.0)
    mu = tl.where(inside, mean, 0.0)
    off_mu = tl.where(inside, mu - tl.sum(mu, axis=0) / N, 0.0)
    off_sigma = tl.where(inside, sigma - tl.sum(sigma, axis=0) / N, 0.0)
    z_mu = off_mu / (tl.sqrt(tl.sum(off_mu * off_mu, axis=0) / N) + EPSILON)
    z_sigma = off_sigma / (tl.sqrt(tl.sum(off_sigma * off_sigma, axis=0) / N) + EPSILON)
    q = tl.where(inside, z_mu + alpha * z_sigma, float("-inf"))
    tl.store(chosen + b, tl.argmax(q, axis=0, tie_break_left=True).to(tl.int64))


@triton.jit
def _layer_gap(p, a, lam, N, lambda_max, T: tl.constexpr, BLOCK: tl.constexpr):
    """λ_t = λmax (1 - exp(-max(p_t - max_n a[n, t], 0)))."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    for t in tl.static_range(T):
        score = tl.load(a + (b * N + n) * T + t, mask=n < N, other=float("-inf"))
        gap = tl.load(p + b * T + t) - tl.max(score, axis=0)
        tl.store(lam + b * T + t, lambda_max * (1.0 - tl.exp(-tl.maximum(gap, 0.0))))


def structure_aware(a: Tensor, alpha: float, epsilon: float) -> Tensor:
    """a [B, N, T] → n* [B]."""
    batch, count, layers = a.shape
    chosen = torch.empty(batch, dtype=torch.int64, device=a.device)
    block = triton.next_power_of_2(count)
    _structure_aware[(batch,)](a.contiguous(), chosen, count, alpha, epsilon, T=layers, BLOCK=block, num_warps=1)
    return chosen


def layer_gap(p: Tensor, a: Tensor, lambda_max: float) -> Tensor:
    """p [B, T], a [B, N, T] → λ [B, T]."""
    batch, count, layers = a.shape
    lam = torch.empty_like(p)
    block = triton.next_power_of_2(count)
    _layer_gap[(batch,)](p.contiguous(), a.contiguous(), lam, count, lambda_max, T=layers, BLOCK=block, num_warps=1)
    return lam
