"""DivNS's step on a GPU: the hardest candidates of a pair, filed in its cache, and its mixture, in one kernel."""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _divns(
    a, candidates, pairs, hard, cache, queue, items, weights, N, lam,
    MEAN: tl.constexpr, RATIO: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    score = tl.zeros([BLOCK], dtype=a.dtype.element_ty)
    for t in tl.static_range(T):
        score += tl.load(a + (b * N + n) * T + t, mask=n < N, other=0.0)
    if MEAN:
        score = score / T
    score = tl.where(n < N, score, float("-inf"))
    pair = tl.load(pairs + b)
    top = tl.argmax(score, axis=0, tie_break_left=True)
    first = tl.load(candidates + b * N + top)
    tl.store(hard + pair, first)
    for r in tl.static_range(RATIO):
        score = tl.where(n == top, float("-inf"), score)
        top = tl.argmax(score, axis=0, tie_break_left=True)
        tl.store(cache + pair * RATIO + r, tl.load(candidates + b * N + top))
    diverse = tl.load(queue + pair)
    share = tl.where(diverse < 0, 1.0, lam)
    tl.store(items + b * 2, first)
    tl.store(items + b * 2 + 1, tl.where(diverse < 0, first, diverse))
    for t in tl.static_range(T):
        tl.store(weights + b * 2 * T + t, share)
        tl.store(weights + (b * 2 + 1) * T + t, 1.0 - share)


def divns(
    a: Tensor, mean: bool, candidates: Tensor, pairs: Tensor, hard: Tensor, cache: Tensor, queue: Tensor, lam: float
) -> tuple[Tensor, Tensor]:
    """a [B, N, T], candidates [B, N] → items [B, 1, 2, 1], weights [B, 1, 2, T]; hard [E] and cache [E, r] are updated."""
    batch, count, layers = a.shape
    items = torch.empty(batch, 1, 2, 1, dtype=torch.int64, device=a.device)
    weights = torch.empty(batch, 1, 2, layers, dtype=a.dtype, device=a.device)
    _divns[(batch,)](
        a.contiguous(), candidates.contiguous(), pairs, hard, cache, queue, items, weights, count, lam,
        MEAN=mean, RATIO=cache.shape[1], T=layers, BLOCK=triton.next_power_of_2(count), num_warps=1,
    )  # fmt: skip
    return items, weights
