"""The choices of DNS, DNS(M,N), AHNS and MixGCF on a GPU: one program a pair, one kernel from scores to the mixture's items.

Same choices as `samplers/dns.py`, `samplers/dns_mn.py`, `samplers/ahns.py` and `samplers/mixgcf.py`, which are the
specification.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.registry import register
from sahcns.rng import Rng
from sahcns.samplers.ahns import AHNS
from sahcns.samplers.dns import DNS
from sahcns.samplers.dns_mn import DNSMN
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixgcf import MixGCF
from sahcns.samplers.mixture import Mixture


@triton.jit
def pool_scores(a, b, n, N, MEAN: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr):
    """The model's scores of pair b's candidates, [BLOCK]; -∞ beyond the pool."""
    score = tl.zeros([BLOCK], dtype=a.dtype.element_ty)
    for t in tl.static_range(T):
        score += tl.load(a + (b * N + n) * T + t, mask=n < N, other=0.0)
    if MEAN:
        score = score / T
    return tl.where(n < N, score, float("-inf"))


@triton.jit
def positive_score(p, b, MEAN: tl.constexpr, T: tl.constexpr):
    """y⁺ of pair b."""
    score = tl.load(p + b * T)
    for t in tl.static_range(1, T):
        score += tl.load(p + b * T + t)
    if MEAN:
        score = score / T
    return score


@triton.jit
def highest(score, N):
    """The first of the highest, within the pool even if scores are not numbers."""
    return tl.minimum(tl.argmax(score, axis=0, tie_break_left=True), N - 1)


@triton.jit
def _at_rank(
    a, candidates, rank, items, N, MEAN: tl.constexpr, RANK: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr
):
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    score = pool_scores(a, b, n, N, MEAN, T, BLOCK)
    if RANK:
        for _ in range(tl.load(rank + b)):
            score = tl.where(n == highest(score, N), float("-inf"), score)
    tl.store(items + b, tl.load(candidates + b * N + highest(score, N)))


@triton.jit
def _nearest(a, candidates, target, items, N, MEAN: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    distance = tl.abs(pool_scores(a, b, n, N, MEAN, T, BLOCK) - tl.load(target + b))
    near = tl.where(n < N, -distance, float("-inf"))
    tl.store(items + b, tl.load(candidates + b * N + highest(near, N)))


@triton.jit
def _mixgcf(a, candidates, positives, beta, items, weights, N, T: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    for t in tl.static_range(T):
        best = highest(tl.load(a + (b * N + n) * T + t, mask=n < N, other=float("-inf")), N)
        share = tl.load(beta + b * T + t)
        tl.store(items + b * 2 * T + t, tl.load(positives + b))
        tl.store(items + (b * 2 + 1) * T + t, tl.load(candidates + b * N + best))
        tl.store(weights + b * 2 * T + t, share)
        tl.store(weights + (b * 2 + 1) * T + t, 1.0 - share)


def item_at_rank(a: Tensor, mean: bool, candidates: Tensor, rank: Tensor | None) -> Tensor:
    """a [B, N, T], candidates [B, N], rank [B] → [B]."""
    batch, count, layers = a.shape
    items = torch.empty(batch, dtype=torch.int64, device=a.device)
    _at_rank[(batch,)](
        a.contiguous(), candidates.contiguous(), items if rank is None else rank.contiguous(), items, count,
        MEAN=mean, RANK=rank is not None, T=layers, BLOCK=triton.next_power_of_2(count), num_warps=1,
    )  # fmt: skip
    return items


def nearest(a: Tensor, mean: bool, candidates: Tensor, target: Tensor) -> Tensor:
    """a [B, N, T], candidates [B, N], target [B] → [B]."""
    batch, count, layers = a.shape
    items = torch.empty(batch, dtype=torch.int64, device=a.device)
    _nearest[(batch,)](
        a.contiguous(), candidates.contiguous(), target.contiguous(), items, count,
        MEAN=mean, T=layers, BLOCK=triton.next_power_of_2(count), num_warps=1,
    )  # fmt: skip
    return items


def mixgcf(a: Tensor, candidates: Tensor, positives: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
    """a [B, N, T], candidates [B, N], beta [B, T] → items and weights [B, 1, 2, T]."""
    batch, count, layers = a.shape
    items = torch.empty(batch, 1, 2, layers, dtype=torch.int64, device=a.device)
    weights = torch.empty(batch, 1, 2, layers, dtype=beta.dtype, device=a.device)
    _mixgcf[(batch,)](
        a.contiguous(), candidates.contiguous(), positives, beta.contiguous(), items, weights, count,
        T=layers, BLOCK=triton.next_power_of_2(count), num_warps=1,
    )  # fmt: skip
    return items, weights


def hardest(match: Matching, rank: Tensor | None = None) -> Mixture:
    """The item at a rank of its pool, one for all layers."""
    return Mixture.single(item_at_rank(match.a, match.aggregation.kind == "mean", match.candidates, rank))


@register("triton", "choose", DNS)
def choose_dns(sampler: DNS, match: Matching, rng: Rng) -> Mixture:
    return hardest(match)


@register("triton", "choose", DNSMN, supports=lambda setup: getattr(setup.sampler, "pick", "") != "all")
def choose_dns_mn(sampler: DNSMN, match: Matching, rng: Rng) -> Mixture:
    return hardest(match, sampler.draw_ranks(match, rng))


@register("triton", "choose", AHNS)
def choose_ahns(sampler: AHNS, match: Matching, rng: Rng) -> Mixture:
    mean, target = match.aggregation.kind == "mean", sampler.target(match)
    return Mixture.single(nearest(match.a, mean, match.candidates, target))


@register("triton", "choose", MixGCF)
def choose_mixgcf(sampler: MixGCF, match: Matching, rng: Rng) -> Mixture:
    return Mixture(*mixgcf(match.a, match.candidates, match.positives, sampler.draw_shares(match.a, rng)))
