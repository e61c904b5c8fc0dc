"""BNS's choice on a GPU; `samplers/bns.py` is the specification.

How many items score no higher than a candidate is counted without a table of all scores: a program multiplies a block of
users by a span of the items and compares each product at once; counts are whole numbers, so they may be added in any order.
What a product is compared with, the candidate's own score, comes from the same arithmetic, so that a candidate is among
those counted, and items which share a vector are equals to the last bit (without layer 0, all items of the same users do).
Pools too large for that, or other items to rank among, are counted in a table of scores.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.aggregation import Kind
from sahcns.kernels.gpu.match import Table, pooled, table
from sahcns.kernels.gpu.pools import highest, pool_scores, positive_score
from sahcns.kernels.registry import Setup, register
from sahcns.rng import Rng
from sahcns.samplers.bns import BNS
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture

USERS, ITEMS, DEPTH = 64, 128, 64  # of one product; dimensions beyond DEPTH are added up
SPAN = 5  # products of one program
MOST = 32  # candidates whose counts stay in registers
PRECISION = tl.constexpr("tf32x3")  # as exact as 32 bits


@triton.jit
def _scores(
    users, items, b, j, real, there,
    DIM: tl.constexpr, D: tl.constexpr, M: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """<users[b], items[j]>, [M, K]."""
    score = tl.zeros([M, K], dtype=tl.float32)
    for first in tl.static_range(0, DIM, D):
        d = first + tl.arange(0, D)
        u = tl.load(users + b[:, None] * DIM + d[None, :], mask=real[:, None] & (d < DIM)[None, :], other=0.0)
        at = j.to(tl.int64)[None, :] * DIM + d[:, None]
        i = tl.load(items + at, mask=there[None, :] & (d < DIM)[:, None], other=0.0)
        score = tl.dot(u, i, score, input_precision=PRECISION)
    return score


@triton.jit
def _own(
    users, items, candidates, own, batch, N,
    DIM: tl.constexpr, D: tl.constexpr, M: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """K of a block's M · N candidates, user after user, with all of its users; each column has one user of its own."""
    begin = tl.program_id(0).to(tl.int64) * M
    b, place = begin + tl.arange(0, M), tl.program_id(1) * K + tl.arange(0, K)
    user = begin + place // N
    there = (place < M * N) & (user < batch)
    j = tl.load(candidates + begin * N + place, mask=there, other=0)
    score = _scores(users, items, b, j, b < batch, there, DIM, D, M, K, PRECISION)
    mine = tl.sum(tl.where(b[:, None] == user[None, :], score, 0.0), axis=0)
    tl.store(own + begin * N + place, mine, mask=there)


@triton.jit
def _outscored(
    users, items, own, below, batch, n_items, N, DIM: tl.constexpr, D: tl.constexpr, M: tl.constexpr,
    K: tl.constexpr, SPAN: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, n = tl.program_id(0) * M + tl.arange(0, M).to(tl.int64), tl.arange(0, BLOCK)
    real = b < batch
    count = tl.zeros([M, BLOCK], dtype=tl.int32)
    for step in range(SPAN):
        j = (tl.program_id(1) * SPAN + step) * K + tl.arange(0, K)
        score = _scores(users, items, b, j, real, j < n_items, DIM, D, M, K, PRECISION)
        score = tl.where((j < n_items)[None, :], score, float("nan"))  # at most nothing
        for place in range(N):
            mine = tl.load(own + b * N + place, mask=real, other=0.0)
            lower = tl.sum((score <= mine[:, None]).to(tl.int32), axis=1)
            count += tl.where(n[None, :] == place, lower[:, None], 0)
    tl.atomic_add(below + b[:, None] * N + n[None, :], count, mask=real[:, None] & (n < N)[None, :], sem="relaxed")


def outscored(layers: Table, kind: Kind, n_users: int, users: Tensor, candidates: Tensor) -> Tensor:
    """users [B], candidates [B, N] → how many items score no higher than each, [B, N] int32."""
    items = pooled(layers, kind, range(n_users, layers.rows))
    anchors = pooled(layers, kind, users.contiguous())
    (batch, count), (n_items, dim), candidates = candidates.shape, items.shape, candidates.contiguous()
    own = torch.empty(batch, count, dtype=torch.float32, device=users.device)
    below = torch.zeros(batch, count, dtype=torch.int32, device=users.device)
    blocks = triton.cdiv(batch, USERS)
    sizes = {
        "DIM": dim, "D": min(DEPTH, max(16, triton.next_power_of_2(dim))), "M": USERS, "K": ITEMS,
        "PRECISION": PRECISION, "num_warps": 4,
    }  # fmt: skip
    _own[(blocks, triton.cdiv(USERS * count, ITEMS))](anchors, items, candidates, own, batch, count, **sizes)
    _outscored[(blocks, triton.cdiv(n_items, ITEMS * SPAN))](
        anchors, items, own, below, batch, n_items, count, SPAN=SPAN, BLOCK=triton.next_power_of_2(count), **sizes
    )
    return below


@triton.jit
def _count_below(scores, own, below, n_items, N, TILE: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    mine = tl.load(own + b * N + n, mask=n < N, other=0.0)
    count = tl.zeros([BLOCK, TILE], dtype=tl.int32)
    for j in range(0, n_items, TILE):
        at = j + tl.arange(0, TILE)
        score = tl.load(scores + b * n_items + at, mask=at < n_items, other=float("nan"))  # at most nothing
        count += (score[None, :] <= mine[:, None]).to(tl.int32)
    tl.store(below + b * N + n, tl.sum(count, axis=1), mask=n < N)


def count_below(scores: Tensor, own: Tensor) -> Tensor:
    """scores [B, n_items], own [B, N] → how many of a row are ≤ each of own, [B, N] int32."""
    batch, n_items = scores.shape
    below = torch.empty(own.shape, dtype=torch.int32, device=own.device)
    block = int(triton.next_power_of_2(own.shape[1]))
    tile = min(128, max(32, 4096 // block))
    warps = min(16, max(4, block * tile // 1024))  # 32 counters a thread: none is spilled for pools of up to 512
    _count_below[(batch,)](
        scores, own.contiguous(), below, n_items, own.shape[1], TILE=tile, BLOCK=block, num_warps=warps
    )
    return below


@triton.jit
def _least_risk(
    p, a, candidates, popularity, pairs, below, items, N, size, lam,
    MEAN: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    inside = n < N
    kind = a.dtype.element_ty
    own = positive_score(p, b, MEAN, T)
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


def _supports(setup: Setup) -> bool:
    """Counts of a pool that stay in registers, among all items."""
    sampler = setup.sampler
    among_all = isinstance(sampler, BNS) and sampler.ranks_among == "all"
    return among_all and sampler.pool <= MOST and setup.single_precision


@register("triton", "choose", BNS, supports=_supports)
def choose(sampler: BNS, match: Matching, rng: Rng) -> Mixture:
    graph, kind = match.graph, match.aggregation.kind
    below = outscored(table(match.layers), kind, graph.n_users, match.users, match.candidates)
    ids = match.candidates, graph.popularity, graph.n_train_pairs
    return Mixture.single(least_risk(match.p, match.a, kind == "mean", *ids, below, graph.n_items + 1, sampler.lam))


@register("triton", "choose", BNS, supports=lambda setup: not _supports(setup))
def choose_by_table(sampler: BNS, match: Matching, rng: Rng) -> Mixture:
    return match.pick(sampler.risks(match, count_below).argmin(1))
