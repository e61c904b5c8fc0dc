"""The choices of SAHC-NS and its variants on a GPU: one program a pair, one kernel where plain torch would launch thirty.

Same equations as `samplers/selection.py` and `samplers/calibration.py`, which are the specification.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.fused import Half
from sahcns.kernels.gpu.pools import highest, pool_scores


@triton.jit
def _profile(a, b, n, N, EPSILON, T: tl.constexpr, BLOCK: tl.constexpr):
    """μ and σ of pair b's candidates, [BLOCK] each; 0 beyond the pool."""
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
    return tl.where(inside, mean, 0.0), tl.where(inside, tl.sqrt(spread / T) / (size + EPSILON), 0.0)


@triton.jit
def _standardised(x, inside, N, EPSILON):
    off = tl.where(inside, x - tl.sum(x, axis=0) / N, 0.0)
    return off / (tl.sqrt(tl.sum(off * off, axis=0) / N) + EPSILON)


@triton.jit
def _argmax_q(a, b, n, N, alpha, EPSILON, T: tl.constexpr, BLOCK: tl.constexpr):
    """n* = argmax_n z(μ) + α z(σ); the first of equals."""
    mu, sigma = _profile(a, b, n, N, EPSILON, T, BLOCK)
    q = _standardised(mu, n < N, N, EPSILON) + alpha * _standardised(sigma, n < N, N, EPSILON)
    return highest(tl.where(n < N, q, float("-inf")), N)


@triton.jit
def _structure_aware(a, chosen, N, alpha, EPSILON, T: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    best = _argmax_q(a, b, tl.arange(0, BLOCK), N, alpha, EPSILON, T, BLOCK)
    tl.store(chosen + b, best.to(tl.int64))


@triton.jit
def _calibrated(
    p, a, candidates, positives, place, share, items, weights, N, alpha, lambda_max, EPSILON,
    WHICH: tl.constexpr, SHARE: tl.constexpr, MEAN: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Both halves at once: items [B, 2] = (positive, j*), weights [B, 2, T] = (λ, 1 - λ)."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    if WHICH == "aware":
        best = _argmax_q(a, b, n, N, alpha, EPSILON, T, BLOCK)
    elif WHICH == "uneven":
        _, sigma = _profile(a, b, n, N, EPSILON, T, BLOCK)
        best = highest(tl.where(n < N, sigma, float("-inf")), N)
    elif WHICH == "hardest":
        best = highest(pool_scores(a, b, n, N, MEAN, T, BLOCK), N)
    else:
        best = tl.load(place + b)
    tl.store(items + b * 2, tl.load(positives + b))
    there = (best >= 0) & (
        best < N
    )  # a place that was given may be none, and then there is no item, which is refused later
    tl.store(items + b * 2 + 1, tl.load(candidates + b * N + best, mask=there, other=-1))
    if SHARE == "final":  # g = y⁺ - max_n s
        own = tl.load(p + b * T)
        for t in tl.static_range(1, T):
            own += tl.load(p + b * T + t)
        if MEAN:
            own = own / T
        whole = own - tl.max(pool_scores(a, b, n, N, MEAN, T, BLOCK), axis=0)
    for t in tl.static_range(T):
        if SHARE == "given":
            lam = tl.load(share + b * T + t)
        else:
            if SHARE == "final":
                gap = whole
            else:  # g_t = p_t - max_n a[n, t]
                score = tl.load(a + (b * N + n) * T + t, mask=n < N, other=float("-inf"))
                gap = tl.load(p + b * T + t) - tl.max(score, axis=0)
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


def calibrated(
    p: Tensor,
    a: Tensor,
    mean: bool,
    candidates: Tensor,
    positives: Tensor,
    which: Half | Tensor,
    share: Half | Tensor,
    epsilon: float,
) -> tuple[Tensor, Tensor]:
    """p [B, T], a [B, N, T], candidates [B, N] → items [B, 1, 2, 1], weights [B, 1, 2, T] of the mixture."""
    batch, count, layers = a.shape
    items = torch.empty(batch, 1, 2, 1, dtype=torch.int64, device=a.device)
    weights = torch.empty(batch, 1, 2, layers, dtype=a.dtype, device=a.device)
    place, alpha, way = (items, which.strength, which.name) if isinstance(which, Half) else (which, 0.0, "given")
    given, most, how = (weights, share.strength, share.name) if isinstance(share, Half) else (share, 0.0, "given")
    _calibrated[(batch,)](
        p.contiguous(), a.contiguous(), candidates, positives, place.contiguous(), given.contiguous(), items, weights,
        count, alpha, most, epsilon,
        WHICH=way, SHARE=how, MEAN=mean, T=layers, BLOCK=triton.next_power_of_2(count), num_warps=1,
    )  # fmt: skip
    return items, weights
