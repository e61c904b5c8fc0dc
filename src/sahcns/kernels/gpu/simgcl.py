"""SimGCL's contrastive loss on a GPU; `backbones/simgcl.py` is the specification, random numbers included.

Noise is a constant, so a noisy layer is the clean layer plus a constant: both passes begin from the clean layer 1, and the
gradient of either's mean is one and the same for every clean layer. No product is needed backward beyond those of the
clean layers. The last noisy layer is only read at the nodes of the batch, so only there it is computed:

    tables X¹ … X^(L-1) [n, 2, d],   x = Σ_l X^l[k] + noisy (Ã X^(L-1))[k],   z = x / ‖x‖,   k in the batch

A node counts at its first place in the batch; at its other places z is 0 and InfoNCE leaves it out.
"""

from dataclasses import replace
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.gpu import info_nce
from sahcns.kernels.gpu.hops import Plan, product
from sahcns.kernels.gpu.perturb import perturb, sign_of, uniform_at
from sahcns.rng import CALL, Rng


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
        loss, (cosines, lse, share) = info_nce.forward(z, inverse[0], tau, weight)
        ctx.saved = (nodes, n_users, z, inverse, tau, cosines, lse, share, layers[-1].shape, sizes, len(layers))
        return loss

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Any, ...]:
        nodes, n_users, z, inverse, tau, cosines, lse, share, shape, sizes, layers = ctx.saved
        batch = len(nodes[0])
        dz = info_nce.backward(z, inverse[0], tau, cosines, lse)
        out = torch.zeros(shape, dtype=z.dtype, device=z.device)
        _spread[(2 * batch,)](
            *nodes, n_users, batch, z, dz, inverse, share, upstream, tau, out, **sizes, num_warps=1
        )  # fmt: skip
        return (None,) * 9 + tuple(out for _ in range(layers))


def _wide(plan: Plan) -> Plan:
    """Rows of twice the usual length: as many warps again."""
    return replace(plan, shape=replace(plan.shape, warps=2 * plan.shape.warps))
