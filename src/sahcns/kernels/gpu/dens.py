"""DENS's gates on a GPU: the choice in one kernel, the gate loss in one forward and two backward.

Same equations as `samplers/dens.py`, which is the specification. A program takes a few pairs at one layer, and the gates of
all of them, candidate by candidate, are small matrix products; nothing of size [B, N, T, d] is stored.

Gradient of the gate loss, with S_* = c <ē, part> summed over layers and k_* = ∂L/∂S_*:

    ∂r_n = (k_nr - k_nq) ē,               h_n = gate's logit,   ∂h_n = ∂r_n ⊙ e_n ⊙ g_n (1 - g_n)
    ∂r_p = (k_pr - k_pq) ē + ∂h_n W_pos,                        ∂h_p = ∂r_p ⊙ e_i ⊙ g_p (1 - g_p)
    ∂e_n = k_nq ē + ∂r_n ⊙ g_n + ∂h_n W_neg,   ∂e_i = k_pq ē + ∂r_p ⊙ g_p + ∂h_p W_item,   ∂e_u = ∂h_p W_user + ∂ē's share
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.kernels.gpu.match import Table, softplus, table
from sahcns.kernels.gpu.ngcf import PRECISION, WIDEST, block
from sahcns.kernels.registry import Setup, register
from sahcns.rng import Rng
from sahcns.samplers.dens import DENS
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture

PARTS = tuple(f"{gate}.{part}" for gate in ("item", "user", "pos", "neg") for part in ("weight", "bias"))
SELECT = {"R": 32, "num_warps": 4, "num_stages": 1}  # pairs of a program; sizes found by measurement on an H200
FORWARD = {"R": 16, "num_warps": 8, "num_stages": 1}
BACKWARD = {"R": 32, "num_warps": 4, "num_stages": 1}
TO_GATES = {"SPAN": 128, "R": 32, "num_warps": 4}  # the gradient of each gate in shares of so many rows


@triton.jit
def _square(weight, DIM: tl.constexpr, D: tl.constexpr):
    """A gate's matrix, [out, in]."""
    d = tl.arange(0, D)
    return tl.load(weight + d[:, None] * DIM + d[None, :], mask=(d < DIM)[:, None] & (d < DIM)[None, :], other=0.0)


@triton.jit
def _bias(one, other, DIM: tl.constexpr, D: tl.constexpr):
    """Of two gates added up, [1, D]."""
    d = tl.arange(0, D)
    return (tl.load(one + d, mask=d < DIM, other=0.0) + tl.load(other + d, mask=d < DIM, other=0.0))[None, :]


@triton.jit
def _select(
    first, rest, stride, users, positives, candidates, Wi, bi, Wu, bu, Wp, bp, Wn, bn, alpha, items, n_users, B, N,
    DIM: tl.constexpr, T: tl.constexpr, D: tl.constexpr, R: tl.constexpr, FIXED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    t = tl.program_id(1)
    layer = first
    if t > 0:
        layer = rest + (t - 1).to(tl.int64) * stride
    b = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    d = tl.arange(0, D)
    real = b < B
    mask = real[:, None] & (d < DIM)[None, :]
    user = tl.load(users + b, mask=real, other=0)
    positive = tl.load(positives + b, mask=real, other=0) + n_users
    e_u = tl.load(layer + user[:, None] * DIM + d[None, :], mask=mask, other=0.0)
    e_i = tl.load(layer + positive[:, None] * DIM + d[None, :], mask=mask, other=0.0)
    h = tl.dot(e_i, tl.trans(_square(Wi, DIM, D)), input_precision=PRECISION)
    h = tl.dot(e_u, tl.trans(_square(Wu, DIM, D)), acc=h, input_precision=PRECISION)
    r_p = e_i * tl.sigmoid(h + _bias(bi, bu, DIM, D))
    from_positive = tl.dot(r_p, tl.trans(_square(Wp, DIM, D)), input_precision=PRECISION) + _bias(bp, bn, DIM, D)
    gate = tl.trans(_square(Wn, DIM, D))
    irrelevant = 1.0 - alpha if FIXED else 1.0 - tl.load(alpha)
    best = tl.full([R], float("-inf"), dtype=tl.float32)
    chosen = tl.load(candidates + b * N, mask=real, other=0)
    for n in range(N):
        item = tl.load(candidates + b * N + n, mask=real, other=0)
        e_n = tl.load(layer + (item + n_users)[:, None] * DIM + d[None, :], mask=mask, other=0.0)
        g_n = tl.sigmoid(tl.dot(e_n, gate, input_precision=PRECISION) + from_positive)
        sel = tl.sum(e_u * (irrelevant * e_n - e_n * g_n), axis=1)
        better = sel > best  # the first of equals
        best = tl.where(better, sel, best)
        chosen = tl.where(better, item, chosen)
    tl.store(items + b * T + t, chosen, mask=real)


@triton.jit
def _forward(
    u, i, n, Wi, bi, Wu, bu, Wp, bp, Wn, bn, losses, slopes, to_anchor, g_p, g_n, weight, B,
    DIM: tl.constexpr, T: tl.constexpr, D: tl.constexpr, R: tl.constexpr, CONCAT: tl.constexpr, MEAN: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    d = tl.arange(0, D)
    real = b < B
    mask = real[:, None] & (d < DIM)[None, :]
    row = b[:, None] * (T * DIM) + d[None, :]  # of layer 0; the next layer follows DIM later
    b_p, b_n = _bias(bi, bu, DIM, D), _bias(bp, bn, DIM, D)
    anchor = tl.zeros([R, D], dtype=tl.float32)
    if not CONCAT:
        for t in range(T):
            anchor += tl.load(u + row + t * DIM, mask=mask, other=0.0)
        if MEAN:
            anchor = anchor / T
    p_r = tl.zeros([R], dtype=tl.float32)
    p_q = tl.zeros([R], dtype=tl.float32)
    n_r = tl.zeros([R], dtype=tl.float32)
    n_q = tl.zeros([R], dtype=tl.float32)
    sum_pr = tl.zeros([R, D], dtype=tl.float32)
    sum_pq = tl.zeros([R, D], dtype=tl.float32)
    sum_nr = tl.zeros([R, D], dtype=tl.float32)
    sum_nq = tl.zeros([R, D], dtype=tl.float32)
    for t in range(T):
        at = row + t * DIM
        e_u = tl.load(u + at, mask=mask, other=0.0)
        e_i = tl.load(i + at, mask=mask, other=0.0)
        e_n = tl.load(n + at, mask=mask, other=0.0)
        # The matrices are read anew at each layer: kept for all, they would fill the shared memory of a small GPU.
        h = tl.dot(e_i, tl.trans(_square(Wi, DIM, D)), input_precision=PRECISION)
        gate_p = tl.sigmoid(tl.dot(e_u, tl.trans(_square(Wu, DIM, D)), acc=h, input_precision=PRECISION) + b_p)
        r_p = e_i * gate_p
        h = tl.dot(e_n, tl.trans(_square(Wn, DIM, D)), input_precision=PRECISION)
        gate_n = tl.sigmoid(tl.dot(r_p, tl.trans(_square(Wp, DIM, D)), acc=h, input_precision=PRECISION) + b_n)
        r_n = e_n * gate_n
        tl.store(g_p + at, gate_p, mask=mask)
        tl.store(g_n + at, gate_n, mask=mask)
        if CONCAT:
            anchor = e_u
        else:
            sum_pr += r_p
            sum_pq += e_i - r_p
            sum_nr += r_n
            sum_nq += e_n - r_n
        p_r += tl.sum(anchor * r_p, axis=1)
        p_q += tl.sum(anchor * (e_i - r_p), axis=1)
        n_r += tl.sum(anchor * r_n, axis=1)
        n_q += tl.sum(anchor * (e_n - r_n), axis=1)
    if MEAN:
        p_r, p_q, n_r, n_q = p_r / T, p_q / T, n_r / T, n_q / T
    terms = softplus(p_q - p_r) + softplus(n_r - n_q) + softplus(n_r - p_r) + softplus(p_q - n_q)
    tl.store(losses + b, weight * terms, mask=real)
    scale = weight / B
    if MEAN:
        scale = scale / T
    s_1, s_2 = scale * tl.sigmoid(p_q - p_r), scale * tl.sigmoid(n_r - n_q)
    s_3, s_4 = scale * tl.sigmoid(n_r - p_r), scale * tl.sigmoid(p_q - n_q)
    k_pr, k_pq, k_nr, k_nq = -s_1 - s_3, s_1 + s_4, s_2 + s_3, -s_2 - s_4
    tl.store(slopes + b * 4, k_pr, mask=real)
    tl.store(slopes + b * 4 + 1, k_pq, mask=real)
    tl.store(slopes + b * 4 + 2, k_nr, mask=real)
    tl.store(slopes + b * 4 + 3, k_nq, mask=real)
    if not CONCAT:
        share = k_pr[:, None] * sum_pr + k_pq[:, None] * sum_pq + k_nr[:, None] * sum_nr + k_nq[:, None] * sum_nq
        if MEAN:
            share = share / T
        tl.store(to_anchor + b[:, None] * DIM + d[None, :], share, mask=mask)


@triton.jit
def _backward(
    u, i, n, Wi, Wu, Wp, Wn, slopes, to_anchor, g_p, g_n, upstream, to_u, to_i, to_n, r, h_p, h_n, rows,
    DIM: tl.constexpr, T: tl.constexpr, D: tl.constexpr, R: tl.constexpr, CONCAT: tl.constexpr, MEAN: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)  # pair · T + layer
    b = row // T
    d = tl.arange(0, D)
    real = row < rows
    mask = real[:, None] & (d < DIM)[None, :]
    at = row[:, None] * DIM + d[None, :]
    e_u = tl.load(u + at, mask=mask, other=0.0)
    e_i = tl.load(i + at, mask=mask, other=0.0)
    e_n = tl.load(n + at, mask=mask, other=0.0)
    gate_p = tl.load(g_p + at, mask=mask, other=0.0)
    gate_n = tl.load(g_n + at, mask=mask, other=0.0)
    scale = tl.load(upstream)
    k_pr = (scale * tl.load(slopes + b * 4, mask=real, other=0.0))[:, None]
    k_pq = (scale * tl.load(slopes + b * 4 + 1, mask=real, other=0.0))[:, None]
    k_nr = (scale * tl.load(slopes + b * 4 + 2, mask=real, other=0.0))[:, None]
    k_nq = (scale * tl.load(slopes + b * 4 + 3, mask=real, other=0.0))[:, None]
    r_p = e_i * gate_p
    r_n = e_n * gate_n
    if CONCAT:
        anchor = e_u
        user = k_pr * r_p + k_pq * (e_i - r_p) + k_nr * r_n + k_nq * (e_n - r_n)
    else:
        anchor = tl.zeros([R, D], dtype=tl.float32)
        for t in range(T):
            anchor += tl.load(u + (b * T + t)[:, None] * DIM + d[None, :], mask=mask, other=0.0)
        if MEAN:
            anchor = anchor / T
        user = scale * tl.load(to_anchor + b[:, None] * DIM + d[None, :], mask=mask, other=0.0)

    to_r = (k_nr - k_nq) * anchor
    to_h = to_r * r_n * (1.0 - gate_n)
    negative = k_nq * anchor + to_r * gate_n
    tl.store(to_n + at, tl.dot(to_h, _square(Wn, DIM, D), acc=negative, input_precision=PRECISION), mask=mask)
    tl.store(h_n + at, to_h, mask=mask)
    tl.store(r + at, r_p, mask=mask)

    to_r = tl.dot(to_h, _square(Wp, DIM, D), acc=(k_pr - k_pq) * anchor, input_precision=PRECISION)
    to_h = to_r * r_p * (1.0 - gate_p)
    item = k_pq * anchor + to_r * gate_p
    tl.store(to_i + at, tl.dot(to_h, _square(Wi, DIM, D), acc=item, input_precision=PRECISION), mask=mask)
    tl.store(to_u + at, tl.dot(to_h, _square(Wu, DIM, D), acc=user, input_precision=PRECISION), mask=mask)
    tl.store(h_p + at, to_h, mask=mask)


@triton.jit
def _to_gates(
    i, u, r, n, h_p, h_n, shares, rows,
    DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr, SPAN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """∂W = Σ ∂hᵀ x and ∂b = Σ ∂h of one gate, over SPAN rows."""
    gate = tl.program_id(1)
    x = i
    h = h_p
    if gate == 1:
        x = u
    if gate == 2:
        x = r
        h = h_n
    if gate == 3:
        x = n
        h = h_n
    d = tl.arange(0, D)
    to_w = tl.zeros([D, D], dtype=tl.float32)
    to_b = tl.zeros([D], dtype=tl.float32)
    for start in range(0, SPAN, R):
        row = tl.program_id(0).to(tl.int64) * SPAN + start + tl.arange(0, R)
        mask = (row < rows)[:, None] & (d < DIM)[None, :]
        at = row[:, None] * DIM + d[None, :]
        to_h = tl.load(h + at, mask=mask, other=0.0)
        to_w = tl.dot(tl.trans(to_h), tl.load(x + at, mask=mask, other=0.0), acc=to_w, input_precision=PRECISION)
        to_b += tl.sum(to_h, axis=0)
    share = shares + (tl.program_id(0) * 4 + gate) * (DIM * DIM + DIM)
    square = d[:, None] * DIM + d[None, :]
    tl.store(share + square, to_w, mask=(d < DIM)[:, None] & (d < DIM)[None, :])
    tl.store(share + DIM * DIM + d, to_b, mask=d < DIM)


def dens_choice(
    layers: Table, n_users: int, users: Tensor, positives: Tensor, candidates: Tensor, gates: dict[str, Tensor],
    alpha: Tensor | float,
) -> Tensor:  # fmt: skip
    """candidates [B, N] → the chosen item of each layer, [B, T]."""
    batch, count = candidates.shape
    items = torch.empty(batch, layers.layers, dtype=torch.int64, device=users.device)
    _select[(triton.cdiv(batch, SELECT["R"]), layers.layers)](
        layers.first, layers.rest, layers.stride, users, positives, candidates.contiguous(),
        *(gates[part].contiguous() for part in PARTS), alpha, items, n_users, batch, count,
        DIM=layers.dim, T=layers.layers, D=block(layers.dim), FIXED=not isinstance(alpha, Tensor), PRECISION=PRECISION,
        **SELECT,
    )  # fmt: skip
    return items


class GateLoss(torch.autograd.Function):
    """γ/4 · mean of the four comparisons; u, i, n [B, T, d], `gates` in the order of PARTS."""

    @staticmethod
    def forward(ctx: Any, kind: str, gamma: float, u: Tensor, i: Tensor, n: Tensor, *gates: Tensor) -> Tensor:
        read = tuple(x.contiguous() for x in (u, i, n))
        tables = tuple(gate.contiguous() for gate in gates)
        batch, layers, dim = u.shape
        losses, slopes, to_anchor = u.new_empty(batch), u.new_empty(batch, 4), u.new_empty(batch, dim)
        g_p, g_n = torch.empty_like(read[0]), torch.empty_like(read[0])
        ctx.sizes = {
            "DIM": dim, "T": layers, "D": block(dim), "CONCAT": kind == "concat", "MEAN": kind == "mean",
            "PRECISION": PRECISION,
        }  # fmt: skip
        _forward[(triton.cdiv(batch, FORWARD["R"]),)](
            *read, *tables, losses, slopes, to_anchor, g_p, g_n, gamma / 4, batch, **ctx.sizes, **FORWARD
        )
        ctx.kept = read, tables[::2], slopes, to_anchor, g_p, g_n
        return losses.mean()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        read, weights, *saved = ctx.kept
        batch, layers, dim = read[0].shape
        rows = batch * layers
        to_u, to_i, to_n, r, h_p, h_n = (torch.empty_like(read[0]) for _ in range(6))
        _backward[(triton.cdiv(rows, BACKWARD["R"]),)](
            *read, *weights, *saved, upstream, to_u, to_i, to_n, r, h_p, h_n, rows, **ctx.sizes, **BACKWARD
        )
        u, i, n = read
        spans = triton.cdiv(rows, TO_GATES["SPAN"])
        shares = u.new_empty(spans, 4, dim * dim + dim)
        _to_gates[(spans, 4)](
            i, u, r, n, h_p, h_n, shares, rows, DIM=dim, D=block(dim), PRECISION=PRECISION, **TO_GATES
        )
        to_gates = (part for gate in shares.sum(0) for part in (gate[: dim * dim].view(dim, dim), gate[dim * dim :]))
        return None, None, to_u, to_i, to_n, *to_gates


def _supports(setup: Setup) -> bool:
    """Matrices that stay on the chip."""
    return setup.backbone.dim <= WIDEST and setup.single_precision


@register("triton", "choose", DENS, supports=_supports)
def choose(sampler: DENS, match: Matching, rng: Rng) -> Mixture:
    ids = match.graph.n_users, match.users, match.positives, match.candidates
    return Mixture.per_layer(dens_choice(table(match.layers), *ids, match.parameters, sampler.alpha_at(match.epoch)))


@register("triton", "extra_loss", DENS, supports=lambda setup: _supports(setup) and _has_gate_loss(setup))
def extra_loss(
    sampler: DENS, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
) -> Tensor:
    """DENS has one negative a pair."""
    gates = (parameters[part] for part in PARTS)
    loss: Tensor = GateLoss.apply(agg.kind, sampler.gamma, users, positives, negatives[:, 0], *gates)
    return loss


def _has_gate_loss(setup: Setup) -> bool:
    return isinstance(setup.sampler, DENS) and setup.sampler.gamma > 0
