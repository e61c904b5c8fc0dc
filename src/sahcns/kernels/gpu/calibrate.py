"""The small arithmetic of SAHC-NS on a GPU: one kernel where plain torch would launch thirty.

Same equations as `samplers/selection.py` and `samplers/calibration.py`, which are the specification.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _argmax_q(a, b, n, N, alpha, EPSILON, T: tl.constexpr, BLOCK: tl.constexpr):
    """n* = argmax_n z(μ) + α z(σ); the first of equals."""
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
    # Among scores that are not numbers the place may come out beyond the pool, where there is no item to read.
    return tl.minimum(tl.argmax(q, axis=0, tie_break_left=True), N - 1)


@triton.jit
def _structure_aware(a, chosen, N, alpha, EPSILON, T: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    best = _argmax_q(a, b, tl.arange(0, BLOCK), N, alpha, EPSILON, T, BLOCK)
    tl.store(chosen + b, best.to(tl.int64))


@triton.jit
def _sahc(
    p, a, candidates, positives, items, weights, N, alpha, lambda_max, EPSILON,
    T: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Both halves at once: items [B, 2] = (positive, j*), weights [B, 2, T] = (λ, 1 - λ)."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    best = _argmax_q(a, b, n, N, alpha, EPSILON, T, BLOCK)
    tl.store(items + b * 2, tl.load(positives + b))
    tl.store(items + b * 2 + 1, tl.load(candidates + b * N + best))
    for t in tl.static_range(T):
        score = tl.load(a + (b * N + n) * T + t, mask=n < N, other=float("-inf"))
        gap = tl.load(p + b * T + t) - tl.max(score, axis=0)  # λ_t = λmax (1 - exp(-max(p_t - max_n a[n, t], 0)))
        lam = lambda_max * (1.0 - tl.exp(-tl.maximum(gap, 0.0)))
        tl.store(weights + b * 2 * T + t, lam)
        tl.store(weights + (b * 2 + 1) * T + t, 1.0 - lam)


def structure_aware(a: Tensor, alpha: float, epsilon: float) -> Tensor:
    """a [B, N, T] → n* [B]."""
    batch, count, layers = a.shape
    chosen = torch.empty(batch, dtype=torch.int64, device=a.device)
    block = triton.next_power_of_2(count)
    _structure_aware[(batch,)](a.contiguous(), chosen, count, alpha, epsilon, T=layers, BLOCK=block, num_warps=1)
    return chosen


def sahc(
    p: Tensor, a: Tensor, candidates: Tensor, positives: Tensor, alpha: float, lambda_max: float, epsilon: float
) -> tuple[Tensor, Tensor]:
    """p [B, T], a [B, N, T], candidates [B, N] → items [B, 1, 2, 1], weights [B, 1, 2, T] of the mixture."""
    batch, count, layers = a.shape
    items = torch.empty(batch, 1, 2, 1, dtype=torch.int64, device=a.device)
    weights = torch.empty(batch, 1, 2, layers, dtype=a.dtype, device=a.device)
    _sahc[(batch,)](
        p.contiguous(), a.contiguous(), candidates, positives, items, weights, count, alpha, lambda_max, epsilon,
        T=layers, BLOCK=triton.next_power_of_2(count), num_warps=1,
    )  # fmt: skip
    return items, weights
