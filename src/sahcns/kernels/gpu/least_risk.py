"""BNS's choice on a GPU, from the counts of `outscored.py`: the equations of `samplers/bns.py`, which are the specification."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.gpu.pools import highest, pool_scores


@triton.jit
def _least_risk(
    p, a, candidates, popularity, pairs, below, items, N, size, lam,
    MEAN: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    inside = n < N
    kind = a.dtype.element_ty
    own = tl.load(p + b * T)
    for t in tl.static_range(1, T):
        own += tl.load(p + b * T + t)
    if MEAN:
        own = own / T
    score = tl.where(inside, pool_scores(a, b, n, N, MEAN, T, BLOCK), 0.0)
    info = 1.0 / (1.0 + tl.exp(own - score))  # σ(s - y⁺)
    item = tl.load(candidates + b * N + n, mask=inside, other=0)
    prior = tl.load(popularity + item, mask=inside, other=0).to(kind) / pairs
    stands = tl.load(below + b * N + n, mask=inside, other=0).to(kind) / size
    unbias = (1.0 - stands) * (1.0 - prior) / (1.0 - stands - prior + 2.0 * stands * prior)
    risk = info * (1.0 - (1.0 + lam) * unbias)
    best = highest(tl.where(inside, -risk, float("-inf")), N)
    tl.store(items + b, tl.load(candidates + b * N + best))


def least_risk(
    p: Tensor,
    a: Tensor,
    mean: bool,
    candidates: Tensor,
    popularity: Tensor,
    pairs: int,
    below: Tensor,
    size: int,
    lam: float,
) -> Tensor:
    """p [B, T], a [B, N, T], candidates and below [B, N], popularity [n_items], which sums to `pairs` → items [B]."""
    batch, count, layers = a.shape
    items = torch.empty(batch, dtype=torch.int64, device=a.device)
    _least_risk[(batch,)](
        p.contiguous(), a.contiguous(), candidates.contiguous(), popularity, pairs, below.contiguous(), items,
        count, size, lam, MEAN=mean, T=layers, BLOCK=triton.next_power_of_2(count), num_warps=1,
    )  # fmt: skip
    return items
