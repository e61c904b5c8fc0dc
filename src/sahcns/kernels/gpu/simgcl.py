"""SimGCL's contrastive loss on a GPU; `backbones/simgcl.py` is the specification, random numbers included.

Noise is a constant, so a noisy layer is the clean layer plus a constant: both passes begin from the clean layer 1, and the
gradient of either's mean is one and the same for every clean layer. No product is needed backward beyond those of the
clean layers. The last noisy layer is only read at the nodes of the batch, so only there it is computed:

    tables X¹ … X^(L-1) [n, 2, d],   x = Σ_l X^l[k] + noisy (Ã X^(L-1))[k],   z = x / ‖x‖,   k in the batch

A node counts at its first place in the batch; at its other places z is 0 and InfoNCE leaves it out. InfoNCE over unit vectors
z [view, part, B, d]: cosines once, then each row's softmax, then the gradient; P is made where it is used.

    S = z₁ z₂ᵀ,   loss = 1/n Σ_k logsumexp(S[k] / τ) - S[k, k] / τ,   P = softmax(S / τ) - I
    ∂/∂z₁ = P z₂ / (τ n),   ∂/∂z₂ = Pᵀ z₁ / (τ n)                                      over the n real rows of a part
"""

from dataclasses import replace
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.backbones.base import Parameters
from sahcns.backbones.simgcl import SimGCL
from sahcns.graph import Graph
from sahcns.kernels.gpu.graph import GpuGraph
from sahcns.kernels.gpu.hops import Plan, product
from sahcns.kernels.gpu.random import perturb, sign_of, uniform_at
from sahcns.kernels.registry import Setup, register
from sahcns.rng import CALL, Rng

PRECISION = "tf32x3"  # three products of 10-bit parts on tensor cores: the error is that of float32, not of tf32
TILE = 64
PULL = {"R": 32, "C": 64, "num_warps": 4}  # sizes found by measurement on an H200


@triton.jit
def _cosines(
    z, real, cosines, high, total, B, blocks, sharp, DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """One tile of S, and the largest and the sum of exponentials of each of its rows; sharp = 1/τ."""
    block = tl.program_id(1)
    i, j, d = tl.program_id(0) * R + tl.arange(0, R), block * R + tl.arange(0, R), tl.arange(0, D)
    begin = tl.program_id(2) * B
    a = tl.load(z + (begin + i)[:, None] * DIM + d[None, :], mask=(i < B)[:, None] & (d < DIM)[None, :], other=0.0)
    b = tl.load(
        z + (2 * B + begin + j)[:, None] * DIM + d[None, :], mask=(j < B)[:, None] & (d < DIM)[None, :], other=0.0
    )
    s = tl.dot(a, tl.trans(b), input_precision=PRECISION)
    row = (begin + i).to(tl.int64)
    tl.store(cosines + row[:, None] * B + j[None, :], s, mask=(i < B)[:, None] & (j < B)[None, :])
    there = tl.load(real + begin + j, mask=j < B, other=0.0) > 0.0
    x = tl.where(there[None, :], s * sharp, float("-inf"))
    top = tl.max(x, axis=1)
    some = tl.where(top > float("-inf"), top, 0.0)
    tl.store(high + row * blocks + block, top, mask=i < B)
    tl.store(total + row * blocks + block, tl.sum(tl.exp(x - some[:, None]), axis=1), mask=i < B)


@triton.jit
def _settle(cosines, real, high, total, lse, losses, B, blocks, sharp, R: tl.constexpr, K: tl.constexpr):
    """logsumexp of whole rows from those of their tiles, and the loss of each."""
    k, t = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, K)
    inside = (k < 2 * B)[:, None] & (t < blocks)[None, :]
    at = k.to(tl.int64)[:, None] * blocks + t[None, :]
    tops = tl.load(high + at, mask=inside, other=float("-inf"))
    top = tl.max(tops, axis=1)
    top = tl.where(top > float("-inf"), top, 0.0)
    sums = tl.load(total + at, mask=inside, other=0.0) * tl.exp(tops - top[:, None])
    result = top + tl.log(tl.maximum(tl.sum(sums, axis=1), 1e-30))
    own = tl.load(cosines + k.to(tl.int64) * B + k % B, mask=k < 2 * B, other=0.0) * sharp
    counts = tl.load(real + k, mask=k < 2 * B, other=0.0) > 0.0
    tl.store(lse + k, result, mask=k < 2 * B)
    tl.store(losses + k, tl.where(counts, result - own, 0.0), mask=k < 2 * B)


@triton.jit
def _sum_up(losses, real, loss, share, B, weight, BLOCK: tl.constexpr):
    """loss = weight · Σ over the two parts of the mean over real rows; share [2] = weight / n."""
    result = tl.load(losses) * 0.0
    for part in tl.static_range(2):
        sums = tl.zeros([BLOCK], dtype=losses.dtype.element_ty)
        count = tl.zeros([BLOCK], dtype=losses.dtype.element_ty)
        for c in range(0, B, BLOCK):
            j = c + tl.arange(0, BLOCK)
            sums += tl.load(losses + part * B + j, mask=j < B, other=0.0)
            count += (tl.load(real + part * B + j, mask=j < B, other=0.0) > 0.0).to(sums.dtype)
        each = weight / tl.sum(count, axis=0)
        tl.store(share + part, each)
        result += tl.sum(sums, axis=0) * each
    tl.store(loss, result)


@triton.jit
def _weights(cosine, row, column, lse, row_real, column_real, sharp):
    """A tile of P."""
    p = tl.exp(cosine * sharp - lse[:, None]) - (row[:, None] == column[None, :]).to(tl.float32)
    return tl.where(row_real[:, None] & column_real[None, :], p, 0.0)


@triton.jit
def _pull(
    z, cosines, lse, real, dz, B, sharp, DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Program (·, 0, ·): rows of P z₂; program (·, 1, ·): rows of Pᵀ z₁."""
    side, begin = tl.program_id(1), tl.program_id(2) * B
    r, d = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, D)
    mine = tl.load(real + begin + r, mask=r < B, other=0.0) > 0.0
    pulled = tl.zeros([R, D], dtype=tl.float32)
    if side == 0:
        low = tl.load(lse + begin + r, mask=r < B, other=0.0)
        for start in range(0, B, C):
            c = start + tl.arange(0, C)
            theirs = tl.load(real + begin + c, mask=c < B, other=0.0) > 0.0
            at = (begin + r).to(tl.int64)[:, None] * B + c[None, :]
            x = tl.load(cosines + at, mask=(r < B)[:, None] & (c < B)[None, :], other=0.0)
            p = _weights(x, r, c, low, mine, theirs, sharp)
            rows = (2 * B + begin + c)[:, None] * DIM + d[None, :]
            y = tl.load(z + rows, mask=(c < B)[:, None] & (d < DIM)[None, :], other=0.0)
            pulled = tl.dot(p, y, acc=pulled, input_precision=PRECISION)
    else:
        for start in range(0, B, C):
            i = start + tl.arange(0, C)
            others = tl.load(real + begin + i, mask=i < B, other=0.0) > 0.0
            lows = tl.load(lse + begin + i, mask=i < B, other=0.0)
            place = (begin + i).to(tl.int64)[:, None] * B + r[None, :]
            found = tl.load(cosines + place, mask=(i < B)[:, None] & (r < B)[None, :], other=0.0)
            q = _weights(found, i, r, lows, others, mine, sharp)
            lines = (begin + i)[:, None] * DIM + d[None, :]
            first = tl.load(z + lines, mask=(i < B)[:, None] & (d < DIM)[None, :], other=0.0)
            pulled = tl.dot(tl.trans(q), first, acc=pulled, input_precision=PRECISION)
    to = (side * 2 * B + begin + r)[:, None] * DIM + d[None, :]
    tl.store(dz + to, pulled, mask=(r < B)[:, None] & (d < DIM)[None, :])


def info_nce(z: Tensor, real: Tensor, tau: float, weight: float) -> tuple[Tensor, tuple[Tensor, ...]]:
    """z [2, 2, B, d], real [2B] → weight · (InfoNCE of part 0 + of part 1), and what `info_nce_gradient` needs."""
    batch, dim = z.shape[2:]
    blocks = triton.cdiv(batch, TILE)
    cosines, high, total = z.new_empty(2, batch, batch), z.new_empty(2 * batch, blocks), z.new_empty(2 * batch, blocks)
    lse, losses, loss, share = z.new_empty(2 * batch), z.new_empty(2 * batch), z.new_empty(()), z.new_empty(2)
    _cosines[(blocks, blocks, 2)](
        z, real, cosines, high, total, batch, blocks, 1.0 / tau,
        DIM=dim, D=_block(dim), R=TILE, PRECISION=PRECISION, num_warps=4,
    )  # fmt: skip
    _settle[(triton.cdiv(2 * batch, 32),)](
        cosines, real, high, total, lse, losses, batch, blocks, 1.0 / tau,
        R=32, K=int(triton.next_power_of_2(blocks)), num_warps=4,
    )  # fmt: skip
    _sum_up[(1,)](losses, real, loss, share, batch, weight, BLOCK=2048, num_warps=8)
    return loss, (cosines, lse, share)


def info_nce_gradient(z: Tensor, real: Tensor, tau: float, cosines: Tensor, lse: Tensor) -> Tensor:
    """P z₂ and Pᵀ z₁, [2, 2, B, d]: the gradient but for 1 / (τ n)."""
    batch, dim = z.shape[2:]
    dz = torch.empty_like(z)
    _pull[(triton.cdiv(batch, PULL["R"]), 2, 2)](
        z, cosines, lse, real, dz, batch, 1.0 / tau, DIM=dim, D=_block(dim), PRECISION=PRECISION, **PULL
    )
    return dz


def _block(dim: int) -> int:
    """d rounded up to what a matrix product accepts."""
    return max(16, int(triton.next_power_of_2(dim)))


@triton.jit
def _node(users, positives, n_users, k, B):
    """Batch places 0 … B-1 are the users, B … 2B-1 their positives."""
    user = tl.load(users + k, mask=k < B, other=0)
    positive = tl.load(positives + k - B, mask=(k >= B) & (k < 2 * B), other=0)
    return tl.where(k < B, user, positive + n_users)


@triton.jit
def _earliest(users, positives, earliest, n_users, B, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_min(earliest + _node(users, positives, n_users, k, B), k, mask=k < 2 * B, sem="relaxed")


@triton.jit
def _see(
    users, positives, earliest, n_users, B, offsets, columns, values, tables, first, ego, step, key, start, next_start, length,
    n, z, inverse, DIM: tl.constexpr, D: tl.constexpr, HOPS: tl.constexpr, EGO: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Program (k, v): z of batch place k in view v, and 1 / ‖x‖; both 0 where the node came before."""
    k, v = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, D)
    inside_d = d < DIM
    node = _node(users, positives, n_users, k, B)
    unit = tl.zeros([D], dtype=z.dtype.element_ty)
    size = tl.sum(unit, axis=0)
    if tl.load(earliest + node) == k:
        x = tl.zeros([D], dtype=z.dtype.element_ty)
        if HOPS > 1:
            last = tables + (HOPS - 2) * (node * 0 + n) * 2 * DIM + v * DIM  # in 64 bits, as a node is
            end = tl.load(offsets + node + 1)
            for e in range(tl.load(offsets + node), end, TILE):
                edge = e + tl.arange(0, TILE)
                inside = edge < end
                column = tl.load(columns + edge, mask=inside, other=0).to(tl.int64)
                value = tl.load(values + edge, mask=inside, other=0.0)
                mask = inside[:, None] & inside_d[None, :]
                rows = tl.load(last + column[:, None] * 2 * DIM + d[None, :], mask=mask, other=0.0)
                x += tl.sum(rows * value[:, None], axis=0)
        else:
            x += tl.load(first + node * DIM + d, mask=inside_d, other=0.0)
        u = tl.where(inside_d, uniform_at(step, key, start + v * next_start, node * DIM + d), 0.0)
        x += length * sign_of(x) * (u / tl.maximum(tl.sqrt(tl.sum(u * u, axis=0)), 1e-12))
        for hop in tl.static_range(HOPS - 1):
            x += tl.load(tables + (hop * n + node) * 2 * DIM + v * DIM + d, mask=inside_d, other=0.0)
        if EGO:
            x += tl.load(ego + node * DIM + d, mask=inside_d, other=0.0)
        size = 1.0 / tl.maximum(tl.sqrt(tl.sum(x * x, axis=0)), 1e-12)
        unit = x * size
    tl.store(z + (v * 2 * B + k).to(tl.int64) * DIM + d, unit, mask=inside_d)
    tl.store(inverse + v * 2 * B + k, size)


@triton.jit
def _spread(
    users, positives, n_users, B, z, dz, inverse, share, upstream, tau, out, DIM: tl.constexpr, D: tl.constexpr
):
    """∂/∂x = (∂/∂z - z <z, ∂/∂z>) / ‖x‖, both views added; a node is written once, so no atomics."""
    k = tl.program_id(0)
    d = tl.arange(0, D)
    inside_d = d < DIM
    if tl.load(inverse + k) > 0.0:
        node = _node(users, positives, n_users, k, B)
        total = tl.zeros([D], dtype=z.dtype.element_ty)
        for v in tl.static_range(2):
            at = (v * 2 * B + k).to(tl.int64) * DIM + d
            unit = tl.load(z + at, mask=inside_d, other=0.0)
            grad = tl.load(dz + at, mask=inside_d, other=0.0)
            total += (grad - unit * tl.sum(unit * grad, axis=0)) * tl.load(inverse + v * 2 * B + k)
        scale = tl.load(upstream) * tl.load(share + k // B) / tau
        tl.store(out + node * DIM + d, total * scale, mask=inside_d)


class Contrast(torch.autograd.Function):
    """weight · [InfoNCE(users) + InfoNCE(positives)] between two noisy passes, as a function of the clean layers."""

    @staticmethod
    def forward(
        ctx: Any, plan: Plan, n_users: int, users: Tensor, positives: Tensor, length: float, tau: float, weight: float,
        rng: Rng, has_ego: bool, *layers: Tensor,
    ) -> Tensor:  # fmt: skip
        batch, depth = len(users), len(layers) - has_ego
        n, dim = layers[-1].shape
        new = layers[-1].new_empty
        first = layers[-depth].contiguous()
        tables = new(max(depth - 1, 1), n, 2, dim)
        for hop in range(depth - 1):
            if hop > 0:
                product(_wide(plan), tables[hop - 1].view(n, 2 * dim), tables[hop].view(n, 2 * dim))
            perturb(tables[hop] if hop else first, tables[hop], length, rng, rng.call + hop, depth)
        nodes = (users, positives)
        earliest = torch.full((n,), 2 * batch, dtype=torch.int32, device=users.device)
        _earliest[(triton.cdiv(2 * batch, 256),)](*nodes, earliest, n_users, batch, BLOCK=256, num_warps=4)
        z, inverse = new(2, 2, batch, dim), new(2, 2 * batch)
        sizes = {"DIM": dim, "D": triton.next_power_of_2(dim)}
        _see[(2 * batch, 2)](
            *nodes, earliest, n_users, batch, plan.offsets, plan.columns, plan.values, tables, first, layers[0].contiguous(),
            rng.step, rng.key, (rng.call + depth - 1) * CALL, depth * CALL, length, n, z, inverse,
            **sizes, HOPS=depth, EGO=has_ego, TILE=32, num_warps=2,
        )  # fmt: skip
        rng.call += 2 * depth
        loss, (cosines, lse, share) = info_nce(z, inverse[0], tau, weight)
        ctx.saved = (nodes, n_users, z, inverse, tau, cosines, lse, share, layers[-1].shape, sizes, len(layers))
        return loss

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Any, ...]:
        nodes, n_users, z, inverse, tau, cosines, lse, share, shape, sizes, layers = ctx.saved
        batch = len(nodes[0])
        dz = info_nce_gradient(z, inverse[0], tau, cosines, lse)
        out = torch.zeros(shape, dtype=z.dtype, device=z.device)
        _spread[(2 * batch,)](
            *nodes, n_users, batch, z, dz, inverse, share, upstream, tau, out, **sizes, num_warps=1
        )  # fmt: skip
        return (None,) * 9 + tuple(out for _ in range(layers))


def _wide(plan: Plan) -> Plan:
    """Rows of twice the usual length: as many warps again."""
    return replace(plan, shape=replace(plan.shape, warps=2 * plan.shape.warps))


def _supports(setup: Setup) -> bool:
    return isinstance(setup.backbone, SimGCL) and setup.backbone.cl_weight > 0 and setup.single_precision


@register("triton", "extra_loss", SimGCL, supports=_supports)
def extra_loss(
    backbone: SimGCL,
    parameters: Parameters,
    graph: Graph,
    users: Tensor,
    positives: Tensor,
    rng: Rng,
    layers: tuple[Tensor, ...] | None = None,
) -> Tensor:
    assert isinstance(graph, GpuGraph)
    clean = layers or backbone.layers(parameters, graph)
    scales = backbone.noise, backbone.temperature, backbone.cl_weight
    batch = graph.n_users, users, positives
    loss: Tensor = Contrast.apply(graph.plan, *batch, *scales, rng, backbone.has_ego_layer, *clean)
    return loss
