"""Diverse subsets of many users' caches at once: the selectors of DivNS.

A group is G users padded to c cached items: `vectors [G, c, d]` unit rows, `valid [G, c]`, `weight [G, c]` (low for items
like the user's hard negatives), `want [G]` items to select. Each selector returns positions [G, k], best first, -1 where
a user has nothing more to give.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from sahcns.rng import Rng

Selector = Callable[[Tensor, Tensor, Tensor, Tensor, Rng], Tensor]


def random(vectors: Tensor, valid: Tensor, weight: Tensor, want: Tensor, rng: Rng) -> Tensor:
    """Uniformly without replacement."""
    return _best(rng.uniform(*valid.shape), valid, want)


def min_sim(vectors: Tensor, valid: Tensor, weight: Tensor, want: Tensor, rng: Rng) -> Tensor:
    """The lowest cosine to any hard negative: what DivNS's released code does (with item ids where it used positions)."""
    return _best(weight, valid, want)


def greedy_map(vectors: Tensor, valid: Tensor, weight: Tensor, want: Tensor, rng: Rng) -> Tensor:
    """Greedily the item that raises det(L_D) most, L = diag(w) S diag(w)  (Chen, Zhang, Zhou, NeurIPS 2018)."""
    b = vectors * weight[..., None] * valid[..., None]  # [G, c, d], L = b bᵀ
    gain = (b * b).sum(-1)
    steps = int(want.max()) if len(want) else 0
    return _conditioned(b, gain, valid, want, steps, lambda left: left.argmax(1))


def kdpp(vectors: Tensor, valid: Tensor, weight: Tensor, want: Tensor, rng: Rng) -> Tensor:
    """An exact sample of the k-DPP P(D) ∝ det(L_D), L = diag(w) S diag(w), |D| = k  (Kulesza & Taskar, ICML 2011).

    L has rank at most d, so k is at most min(d, items); a user who wants more gets the rest uniformly from what is left.
    Eigenvalues and -vectors of L = b bᵀ by `eigh`, or of bᵀ b where that is smaller: u = b v / √λ. Then k of them are
    chosen through the elementary symmetric polynomials, then items one by one from the projection they span.
    """
    b = (vectors * weight[..., None] * valid[..., None]).double()  # [G, c, d]
    dual = b.shape[2] < b.shape[1]
    values, basis = torch.linalg.eigh(b.mT @ b if dual else b @ b.mT)  # [G, n], [G, n, n], n = min(c, d)
    solid = values > 1e-9 * values[:, -1:].clamp(min=1e-30)
    k = torch.minimum(want, solid.sum(1))  # [G]
    chosen = _eigenvectors(torch.where(solid, values, 0.0), k, rng)  # [G, n] bool
    if dual:
        basis = b @ basis * values.clamp(min=1e-30).rsqrt()[:, None]
    v = basis * chosen[:, None]  # [G, c, n]: orthonormal columns where chosen, 0 elsewhere
    u = rng.uniform(len(v), max(1, int(k.max()) if len(k) else 0), dtype=torch.float64)
    step = iter(range(u.shape[1]))

    def sample(left: Tensor) -> Tensor:
        cumulative = left.clamp(min=0).cumsum(1)
        threshold = u[:, next(step), None] * cumulative[:, -1:]
        return torch.searchsorted(cumulative, threshold, right=True)[:, 0].clamp(max=left.shape[1] - 1)

    picked = _conditioned(v, (v * v).sum(-1), valid, k, int(k.max()) if len(k) else 0, sample)
    return _filled(picked, k, valid, want, rng)


SELECTORS: dict[str, Selector] = {"kdpp": kdpp, "greedy_map": greedy_map, "min_sim": min_sim, "random": random}


def _best(score: Tensor, valid: Tensor, want: Tensor) -> Tensor:
    """Positions by falling score, at most `want` of each row."""
    order = score.masked_fill(~valid, float("-inf")).argsort(dim=1, descending=True, stable=True)
    k = int(want.max()) if len(want) else 0
    within = torch.arange(order.shape[1], device=order.device) < torch.minimum(want, valid.sum(1))[:, None]
    return torch.where(within, order, -1)[:, :k]


def _conditioned(
    v: Tensor, left: Tensor, valid: Tensor, want: Tensor, steps: int, pick: Callable[[Tensor], Tensor]
) -> Tensor:
    """Pick item after item; `left [G, c]` is each item's squared length beyond the span of those picked."""
    rows = torch.arange(len(v), device=v.device)
    left = left.masked_fill(~valid, 0.0).clone()
    basis = v.new_zeros(len(v), v.shape[1], steps)  # component of every item along each picked direction
    picked = torch.full((len(v), steps), -1, dtype=torch.int64, device=v.device)
    for s in range(steps):
        j = pick(left)
        own = left[rows, j]
        active = (s < want) & (own > 1e-12)
        picked[:, s] = torch.where(active, j, -1)
        dots = (v @ v[rows, j][:, :, None])[..., 0] - (basis[..., :s] @ basis[rows, j, :s][..., None])[..., 0]
        along = torch.where(active[:, None], dots * own.clamp(min=1e-12).rsqrt()[:, None], 0.0)
        basis[..., s] = along
        left = (left - along * along).clamp(min=0.0)
        left[rows, j] = torch.where(active, 0.0, left[rows, j])
    return picked


def _eigenvectors(values: Tensor, k: Tensor, rng: Rng) -> Tensor:
    """Which k of d eigenvectors: backwards through e_k(λ₁ … λ_d), in logarithms so that nothing under- or overflows."""
    g, d = values.shape
    top = int(k.max()) if g else 0
    logs = values.clamp(min=1e-300).log().masked_fill(values <= 0, float("-inf"))
    table = [values.new_full((g, top + 1), float("-inf"))]
    table[0][:, 0] = 0.0
    for i in range(d):
        before = table[-1]
        after = before.clone()
        after[:, 1:] = torch.logaddexp(before[:, 1:], logs[:, i, None] + before[:, :-1])
        table.append(after)
    u = rng.uniform(d, g, dtype=torch.float64)
    rest, rows = k.clone(), torch.arange(g, device=k.device)
    chosen = torch.zeros(g, d, dtype=torch.bool, device=k.device)
    for i in range(d - 1, -1, -1):
        smaller = table[i][rows, (rest - 1).clamp(min=0)]
        odds = torch.exp(logs[:, i] + smaller - table[i + 1][rows, rest])
        take = (rest > 0) & (u[i] < torch.nan_to_num(odds))
        chosen[:, i] = take
        rest = rest - take.long()
    return chosen


def _filled(picked: Tensor, k: Tensor, valid: Tensor, want: Tensor, rng: Rng) -> Tensor:
    """Up to `want` items: after the sample, uniformly from what is left."""
    rank = rng.uniform(*valid.shape)
    place = torch.arange(picked.shape[1], device=picked.device, dtype=rank.dtype)
    first = torch.where(picked >= 0, 2.0 + picked.shape[1] - place, 0.0)  # above every other rank, falling
    return _best(rank.scatter_reduce(1, picked.clamp(min=0), first, "amax"), valid, want)
