"""NGCF's layers (variant "mixgcf") on a GPU: one dense kernel a layer forward and one backward, next to the sparse product.

    s = Ãe,   h = LeakyReLU(s W₁ + b₁ + (e ⊙ s) W₂ + b₂),   z = h / ‖h‖         h feeds the next layer, z is stored

Backward, from the gradients of z and of h, with everything but s, e, z and ‖h‖ computed again:

    g = (∂h + (∂z - z <z, ∂z>) / ‖h‖) ⊙ LeakyReLU'(h)
    ∂W₁ = sᵀ g,   ∂W₂ = (e ⊙ s)ᵀ g,   ∂b = Σ g,   ∂s = g W₁ᵀ + (g W₂ᵀ) ⊙ e,   ∂e = Ã ∂s + (g W₂ᵀ) ⊙ s

A fixed number of programs walks over the rows and keeps its share of ∂W; the shares are added at the end, always in the
same order. `backbones/ngcf.py` is the specification.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.backbones.base import Parameters
from sahcns.backbones.ngcf import NGCF
from sahcns.graph import Graph
from sahcns.kernels.gpu.graph import GpuGraph
from sahcns.kernels.gpu.hops import Plan, product
from sahcns.kernels.registry import Setup, register
from sahcns.rng import Rng

WIDEST = 64  # larger matrices do not fit beside their gradients
PRECISION = "tf32x3"  # three products of 10-bit parts on tensor cores: the error is that of float32, not of tf32
FORWARD = {"R": 128, "num_warps": 8}  # rows of a program; sizes found by measurement on an H200
BACKWARD = {"R": 16, "num_warps": 4, "num_stages": 1}
PROGRAMS = 264
_SLOPE = tl.constexpr(0.2)
_SMALLEST = tl.constexpr(1e-12)  # of a norm that divides, as in torch's normalize


@triton.jit
def _forward(
    side, e, W1, b1, W2, b2, out, copy, stored, norms, n,
    DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr, OUT: tl.constexpr, COPY: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    d = tl.arange(0, D)
    inside_d = d < DIM
    at = rows[:, None] * DIM + d[None, :]
    mask = (rows < n)[:, None] & inside_d[None, :]
    square = d[:, None] * DIM + d[None, :]
    whole = inside_d[:, None] & inside_d[None, :]
    s = tl.load(side + at, mask=mask, other=0.0)
    mine = tl.load(e + at, mask=mask, other=0.0)
    bias = tl.load(b1 + d, mask=inside_d, other=0.0) + tl.load(b2 + d, mask=inside_d, other=0.0)
    h = tl.dot(s, tl.load(W1 + square, mask=whole, other=0.0), input_precision=PRECISION)
    h = tl.dot(mine * s, tl.load(W2 + square, mask=whole, other=0.0), acc=h, input_precision=PRECISION)
    h += bias[None, :]
    h = tl.where(h > 0, h, h * _SLOPE)
    norm = tl.sqrt(tl.sum(h * h, axis=1))
    tl.store(norms + rows, norm, mask=rows < n)
    tl.store(stored + at, h / tl.maximum(norm, _SMALLEST)[:, None], mask=mask)
    if OUT:
        tl.store(out + at, h, mask=mask)
    if COPY:
        tl.store(copy + at, h.to(copy.dtype.element_ty), mask=mask)


@triton.jit
def _backward(
    side, e, stored, norms, W1, W2, g_stored, g_next, g_ego, to_side, to_e, shares, n,
    DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr, STORED: tl.constexpr, NEXT: tl.constexpr, EGO: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    d = tl.arange(0, D)
    inside_d = d < DIM
    square = d[:, None] * DIM + d[None, :]
    whole = inside_d[:, None] & inside_d[None, :]
    w1 = tl.trans(tl.load(W1 + square, mask=whole, other=0.0))
    w2 = tl.trans(tl.load(W2 + square, mask=whole, other=0.0))
    to_w1 = tl.zeros([D, D], dtype=tl.float32)
    to_w2 = tl.zeros([D, D], dtype=tl.float32)
    to_b = tl.zeros([D], dtype=tl.float32)
    for start in range(tl.program_id(0) * R, n, tl.num_programs(0) * R):
        rows = start + tl.arange(0, R)
        at = rows.to(tl.int64)[:, None] * DIM + d[None, :]
        mask = (rows < n)[:, None] & inside_d[None, :]
        z = tl.load(stored + at, mask=mask, other=0.0)
        g = tl.zeros([R, D], dtype=tl.float32)
        if STORED:
            norm = tl.load(norms + rows, mask=rows < n, other=1.0)
            to_z = tl.load(g_stored + at, mask=mask, other=0.0)
            along = tl.where(norm >= _SMALLEST, tl.sum(z * to_z, axis=1), 0.0)
            g += (to_z - z * along[:, None]) / tl.maximum(norm, _SMALLEST)[:, None]
        if NEXT:
            g += tl.load(g_next + at, mask=mask, other=0.0)
        g = tl.where(z > 0, g, g * _SLOPE)
        s = tl.load(side + at, mask=mask, other=0.0)
        mine = tl.load(e + at, mask=mask, other=0.0)
        to_w1 = tl.dot(tl.trans(s), g, acc=to_w1, input_precision=PRECISION)
        to_w2 = tl.dot(tl.trans(mine * s), g, acc=to_w2, input_precision=PRECISION)
        to_b += tl.sum(g, axis=0)
        own = tl.dot(g, w1, input_precision=PRECISION)
        affinity = tl.dot(g, w2, input_precision=PRECISION)
        tl.store(to_side + at, (own + affinity * mine).to(to_side.dtype.element_ty), mask=mask)
        affinity = affinity * s
        if EGO:
            affinity += tl.load(g_ego + at, mask=mask, other=0.0)
        tl.store(to_e + at, affinity, mask=mask)
    share = shares + tl.program_id(0) * (2 * DIM * DIM + 2 * DIM)
    tl.store(share + square, to_w1, mask=whole)
    tl.store(share + DIM * DIM + square, to_w2, mask=whole)
    tl.store(share + 2 * DIM * DIM + d, to_b, mask=inside_d)
    tl.store(share + 2 * DIM * DIM + DIM + d, to_b, mask=inside_d)


class NgcfLayers(torch.autograd.Function):
    """e⁰, z¹ … z^L, the last L in one buffer; `weights` are W₁, b₁, W₂, b₂ of each layer in turn."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, half: bool, ego: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        """`half` gathers in 16 bits, as `Hops` does."""
        depth, (n, dim) = len(weights) // 4, ego.shape
        side, layers, stored = (ego.new_empty(count, n, dim) for count in (depth, depth - 1, depth))
        norms = ego.new_empty(depth, n)
        e = ego.contiguous()
        source = e.half() if half else e
        before = [e, *layers.unbind(0)]
        for layer in range(depth):
            last = layer == depth - 1
            product(plan, source, side[layer])
            copy = torch.empty_like(source) if half and not last else source
            out = before[layer] if last else before[layer + 1]
            _forward[(triton.cdiv(n, FORWARD["R"]),)](
                side[layer], before[layer], *(w.contiguous() for w in weights[4 * layer : 4 * layer + 4]), out, copy,
                stored[layer], norms[layer], n,
                DIM=dim, D=block(dim), OUT=not last, COPY=half and not last, PRECISION=PRECISION, **FORWARD,
            )  # fmt: skip
            source = copy if half else out
        ctx.plan, ctx.half, ctx.weights = plan, half, weights
        ctx.kept = side, before, stored, norms
        ctx.set_materialize_grads(False)
        return (ego.view_as(ego), *stored.unbind(0))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        side, before, stored, norms = ctx.kept
        depth, n, dim = side.shape
        given = [None if grad is None else grad.contiguous() for grad in grads]
        programs = min(PROGRAMS, triton.cdiv(n, BACKWARD["R"]))
        shares = side.new_empty(depth, programs, 2 * dim * dim + 2 * dim)
        total: Tensor | None = None
        for layer in range(depth - 1, -1, -1):
            to_stored, to_ego = given[layer + 1], given[0] if layer == 0 else None
            if to_stored is None and total is None:
                shares[layer].zero_()
                continue
            to_side = torch.empty(n, dim, dtype=torch.bfloat16 if ctx.half else side.dtype, device=side.device)
            to_e = side.new_empty(n, dim)
            _backward[(programs,)](
                side[layer], before[layer], stored[layer], norms[layer],
                ctx.weights[4 * layer].contiguous(), ctx.weights[4 * layer + 2].contiguous(),
                *(to_e if grad is None else grad for grad in (to_stored, total, to_ego)), to_side, to_e, shares[layer], n,
                DIM=dim, D=block(dim), STORED=to_stored is not None, NEXT=total is not None, EGO=to_ego is not None,
                PRECISION=PRECISION, **BACKWARD,
            )  # fmt: skip
            product(ctx.plan, to_side, to_e, to_e)
            total = to_e
        by_layer = shares.sum(1)  # [L, 2 d² + 2 d]
        to_weights: list[Tensor] = []
        for row in by_layer.unbind(0):
            first, second, *biases = row.split([dim * dim, dim * dim, dim, dim])
            to_weights += [first.view(dim, dim), biases[0].view(1, dim), second.view(dim, dim), biases[1].view(1, dim)]
        return None, None, given[0] if total is None else total, *to_weights


def block(dim: int) -> int:
    """d rounded up to what a matrix product accepts."""
    return max(16, int(triton.next_power_of_2(dim)))


def _supports(setup: Setup) -> bool:
    """Matrices that stay on the chip, and one activation."""
    model = setup.backbone
    known = isinstance(model, NGCF) and model.variant == "mixgcf" and model.depth > 0
    return known and model.dim <= WIDEST and setup.single_precision


@register("triton", "layers", NGCF, supports=_supports)
def layers(backbone: NGCF, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
    assert isinstance(graph, GpuGraph)
    ego = parameters["ego"]
    weights = (parameters[f"{part}.{k}"] for k in range(backbone.depth) for part in ("W1", "b1", "W2", "b2"))
    half = graph.half and ego.requires_grad and torch.is_grad_enabled()  # rankings are always in full precision
    found: tuple[Tensor, ...] = NgcfLayers.apply(graph.plan, half, ego, *weights)
    return found


@register("triton", "training_layers", NGCF, supports=lambda setup: _supports(setup) and not _drops(setup))
def training_layers(backbone: NGCF, parameters: Parameters, graph: Graph, rng: Rng) -> tuple[Tensor, ...]:
    return layers(backbone, parameters, graph)


def _drops(setup: Setup) -> bool:
    return isinstance(setup.backbone, NGCF) and setup.backbone.dropout > 0
