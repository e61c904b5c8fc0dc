"""The choices of SAHC-NS and its variants on a GPU: one program a pair, one kernel where plain torch would launch thirty.

Same equations as `samplers/sahc.py`, which is the specification.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.gpu.pools import highest, pool_scores, positive_score
from sahcns.kernels.registry import Setup, register
from sahcns.rng import Rng
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.samplers.sahc import (
    EPSILON,
    Calibration,
    DiscrepancyOnly,
    FixedUniform,
    GlobalGap,
    Hardest,
    LayerGap,
    NoCalibration,
    Selection,
    SelectThenCalibrate,
    StructureAware,
)


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
    p, a, candidates, positives, share, items, weights, N, alpha, lambda_max, EPSILON,
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
    else:
        best = highest(pool_scores(a, b, n, N, MEAN, T, BLOCK), N)
    tl.store(items + b * 2, tl.load(positives + b))
    tl.store(items + b * 2 + 1, tl.load(candidates + b * N + best))
    if SHARE == "final":  # g = y⁺ - max_n s
        whole = positive_score(p, b, MEAN, T) - tl.max(pool_scores(a, b, n, N, MEAN, T, BLOCK), axis=0)
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


@register("triton", "choose", StructureAware, LayerGap)
@register("triton", "choose", StructureAware, GlobalGap)
@register("triton", "choose", StructureAware, FixedUniform)
@register("triton", "choose", Hardest, LayerGap)
@register("triton", "choose", Hardest, GlobalGap)
@register("triton", "choose", Hardest, FixedUniform)
@register("triton", "choose", DiscrepancyOnly, LayerGap)
@register("triton", "choose", DiscrepancyOnly, GlobalGap)
@register("triton", "choose", DiscrepancyOnly, FixedUniform)
def choose(sampler: SelectThenCalibrate, match: Matching, rng: Rng) -> Mixture:
    """items [B, 1, 2, 1] and weights [B, 1, 2, T] in one kernel."""
    selection, calibration = sampler.parts()
    p, a = match.layer_scores
    batch, count, layers = a.shape
    items = torch.empty(batch, 1, 2, 1, dtype=torch.int64, device=a.device)
    weights = torch.empty(batch, 1, 2, layers, dtype=a.dtype, device=a.device)
    which, alpha = _selection(selection)
    how, most = _calibration(calibration)
    share = calibration(match, rng) if how == "given" else None
    _calibrated[(batch,)](
        p.contiguous(), a.contiguous(), match.candidates, match.positives, weights if share is None else share.contiguous(),
        items, weights, count, alpha, most, EPSILON,
        WHICH=which, SHARE=how, MEAN=match.aggregation.kind == "mean", T=layers, BLOCK=triton.next_power_of_2(count),
        num_warps=1,
    )  # fmt: skip
    return Mixture(items, weights)


def _selection(selection: Selection) -> tuple[str, float]:
    """What the kernel calls it, and its α."""
    if isinstance(selection, StructureAware) and selection.alpha != 0:
        return "aware", selection.alpha
    return ("uneven" if isinstance(selection, DiscrepancyOnly) else "hardest"), 0.0


def _calibration(calibration: Calibration) -> tuple[str, float]:
    """What the kernel calls it, and its λmax."""
    if isinstance(calibration, LayerGap):
        return "layers", calibration.lambda_max
    return ("final", calibration.lambda_max) if isinstance(calibration, GlobalGap) else ("given", 0.0)


def _by_structure(setup: Setup) -> bool:
    """Without α the selection is DNS's, which plain torch does in one launch too."""
    parts = setup.sampler.parts() if isinstance(setup.sampler, SelectThenCalibrate) else ()
    return any(isinstance(part, StructureAware) and part.alpha != 0 for part in parts)


@register("triton", "choose", StructureAware, NoCalibration, supports=_by_structure)
def choose_alone(sampler: SelectThenCalibrate, match: Matching, rng: Rng) -> Mixture:
    selection, _ = sampler.parts()
    return match.pick(structure_aware(match.a, _selection(selection)[1], EPSILON))
