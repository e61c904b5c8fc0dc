"""DivNS on a GPU; `samplers/divns.py` is the specification.

In a step: the hardest candidates of a pair, filed in its cache, and its mixture, in one kernel. At the end of an epoch, for
a group of users with their cached items padded to c: one kernel before the k-DPP and one after it.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.graph import Graph
from sahcns.kernels.gpu.kdpp import fits, kdpp
from sahcns.kernels.gpu.pools import hardest, highest, pool_scores
from sahcns.kernels.registry import Setup, register
from sahcns.rng import Rng
from sahcns.samplers.divns import Caches, DivNS
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture


@triton.jit
def _divns(
    a, candidates, pairs, hard, cache, queue, items, weights, N, lam,
    MEAN: tl.constexpr, RATIO: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    score = pool_scores(a, b, n, N, MEAN, T, BLOCK)
    pair = tl.load(pairs + b)
    top = highest(score, N)
    first = tl.load(candidates + b * N + top)
    tl.store(hard + pair, first)
    for r in tl.static_range(RATIO):
        score = tl.where(n == top, float("-inf"), score)
        top = highest(score, N)
        tl.store(cache + pair * RATIO + r, tl.load(candidates + b * N + top))
    diverse = tl.load(queue + pair)
    share = tl.where(diverse < 0, 1.0, lam)
    tl.store(items + b * 2, first)
    tl.store(items + b * 2 + 1, tl.where(diverse < 0, first, diverse))
    for t in tl.static_range(T):
        tl.store(weights + b * 2 * T + t, share)
        tl.store(weights + (b * 2 + 1) * T + t, 1.0 - share)


@triton.jit
def _collect(
    unit, starts, counts, hard, cache, ids, valid, want, b, c, DIM: tl.constexpr, D: tl.constexpr, RATIO: tl.constexpr,
    C: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """A user's cached items, valid where they come for the first time, and their vectors, times
    w = 1 / (1 + max(0, <v, centre>)) if valid, else times 0."""
    g = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    inside_d = d < DIM
    start, count = tl.load(starts + g), tl.load(counts + g)
    j = tl.arange(0, C)
    size = tl.minimum(count * RATIO, c)
    item = tl.load(cache + start * RATIO + j, mask=j < size, other=-1)
    before = tl.zeros([C], dtype=tl.int32)
    for s in range(0, size, 16):
        i = s + tl.arange(0, 16)
        other = tl.load(cache + start * RATIO + i, mask=i < size, other=-1)
        before += tl.sum(((item[:, None] == other[None, :]) & (i[None, :] < j[:, None])).to(tl.int32), axis=1)
    real = (item >= 0) & (before == 0)
    tl.store(ids + g * c + j, item, mask=j < c)
    tl.store(valid + g * c + j, real, mask=j < c)
    tl.store(want + g, tl.minimum(count, tl.sum(real.to(tl.int64), axis=0)))
    centre = tl.zeros([D], dtype=tl.float32)  # mean of the hard negatives
    found = tl.zeros([R], dtype=tl.float32)
    for s in range(0, count, R):
        slot = s + tl.arange(0, R)
        used = tl.load(hard + start + slot, mask=slot < count, other=-1)
        known = used >= 0
        rows = tl.load(unit + used[:, None] * DIM + d[None, :], mask=known[:, None] & inside_d[None, :], other=0.0)
        centre += tl.sum(rows, axis=0)
        found += known.to(tl.float32)
    centre = centre / tl.maximum(tl.sum(found, axis=0), 1.0)
    tl.debug_barrier()
    for s in range(0, c, R):
        place = s + tl.arange(0, R)
        one = tl.load(ids + g * c + place, mask=place < c, other=-1)
        counts_in = tl.load(valid + g * c + place, mask=place < c, other=0) != 0
        v = tl.load(unit + one[:, None] * DIM + d[None, :], mask=counts_in[:, None] & inside_d[None, :], other=0.0)
        like = tl.sum(v * centre[None, :], axis=1)
        v = v * (1.0 / (1.0 + tl.maximum(like, 0.0)))[:, None]
        to = (g * c + place)[:, None] * DIM + d[None, :]
        tl.store(b + to, v, mask=(place < c)[:, None] & inside_d[None, :])


@triton.jit
def _deal(ids, picked, want, starts, counts, queue, c, R: tl.constexpr):
    """The picked items to the user's pairs, round and round; -1 where there are none."""
    g = tl.program_id(0).to(tl.int64)
    start, count, given = tl.load(starts + g), tl.load(counts + g), tl.load(want + g)
    for s in range(0, count, R):
        slot = s + tl.arange(0, R)
        turn = slot % tl.maximum(given, 1)
        at = tl.load(picked + g * c + turn, mask=slot < count, other=-1)
        item = tl.load(ids + g * c + at, mask=at >= 0, other=-1)
        tl.store(queue + start + slot, item, mask=slot < count)


def collect(
    unit: Tensor, starts: Tensor, counts: Tensor, c: int, hard: Tensor, cache: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """ids [G, c], which of them are valid [G, c], how many to pick [G], and b [G, c, d] with L = b bᵀ."""
    users, dim = len(starts), unit.shape[1]
    ids = torch.empty(users, c, dtype=torch.int64, device=unit.device)
    valid = torch.empty(users, c, dtype=torch.bool, device=unit.device)
    want = torch.empty(users, dtype=torch.int64, device=unit.device)
    b = torch.empty(users, c, dim, dtype=torch.float32, device=unit.device)
    _collect[(users,)](
        unit.float().contiguous(), starts, counts, hard, cache, ids, valid, want, b, c,
        DIM=dim, D=triton.next_power_of_2(dim), RATIO=cache.shape[1], C=max(16, triton.next_power_of_2(c)), R=32, num_warps=4,
    )  # fmt: skip
    return ids, valid, want, b


def diversify(
    unit: Tensor, starts: Tensor, counts: Tensor, longest: int, hard: Tensor, cache: Tensor, queue: Tensor, cap: int, rng: Rng
) -> bool:  # fmt: skip
    """Fill the queue of G users with `counts [G]` ≤ longest pairs from `starts [G]` on; False if they do not fit."""
    c = min(longest * cache.shape[1], cap)
    if not fits(c, unit.shape[1]):
        return False
    ids, valid, want, b = collect(unit, starts, counts, c, hard, cache)
    picked = kdpp(b, valid, want, rng)
    _deal[(len(starts),)](ids, picked, want, starts, counts, queue, c, R=64, num_warps=1)
    return True


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


@register("triton", "choose", DivNS)
def choose(sampler: DivNS, match: Matching, rng: Rng) -> Mixture:
    if match.state is None:
        return hardest(match)
    state: Caches = match.state
    mean = match.aggregation.kind == "mean"
    return Mixture(*divns(match.a, mean, match.candidates, match.pairs, *state.tables, sampler.lam))


def _supports(setup: Setup) -> bool:
    return isinstance(setup.sampler, DivNS) and setup.sampler.selector == "kdpp"


@register("triton", "end_epoch", DivNS, supports=_supports, cut=True)
def end_epoch(sampler: DivNS, state: Caches, item_vectors: Tensor, graph: Graph, rng: Rng) -> None:
    """Groups too large for the kernels are filled by plain torch."""
    unit = normalize(item_vectors, dim=1)
    for group in sampler.groups(state, graph):
        users = group.starts, group.counts, group.longest
        if not diversify(unit, *users, *state.tables, sampler.cap, rng):
            sampler.fill(state, unit, group, rng)
