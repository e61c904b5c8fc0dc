"""Ã X on a GPU: long rows get a whole program each, short rows share one; one launch, no atomics.

Rows are ordered by degree, longest first. A long row is read in wide tiles by all warps of its program, which shortens the
longest chain of dependent loads; short rows of like degree are read together. The sum of a row is always taken in the same
order, so the product is deterministic.

What is gathered decides the time (every edge reads a row of X), so in training the gathered side can be a copy in 16 bits,
written by the product before it; sums, layers and gradients that anyone else sees stay in 32 bits.
"""

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.graph import Adjacency

DENSE = 64  # edges a row; above it a graph is laid out otherwise


@dataclass(frozen=True)
class Shape:
    """Sizes of the tiles; the values are those that won on an H200 (benchmarks/tune_hops.py)."""

    long: int  # a row with more edges than this has a program of its own
    long_tile: int
    rows: int  # short rows of one program
    short_tile: int
    warps: int

    @classmethod
    def of(cls, edges_a_row: float, half: bool) -> "Shape":
        """For sparse graphs (Toys: 16 edges a row) and dense ones (ML-1m: 138)."""
        if edges_a_row > DENSE:
            return cls(128, 128, 8, 16, 2)
        return cls(64, 128 if half else 64, 8, 8, 2)


@triton.jit
def _finish(total, add, out, copy, at, mask, ADD: tl.constexpr, OUT: tl.constexpr, COPY: tl.constexpr):
    if ADD:
        total += tl.load(add + at, mask=mask, other=0.0)
    if OUT:
        tl.store(out + at, total, mask=mask)
    if COPY:
        tl.store(copy + at, total.to(copy.dtype.element_ty), mask=mask)


@triton.jit
def _gather_row(
    row, offsets, columns, values, x,
    DIM: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, BY_NODE: tl.constexpr = False,
):  # fmt: skip
    """One long row of Ã x, read by all warps: [D]."""
    d = tl.arange(0, D)
    start, end = tl.load(offsets + row), tl.load(offsets + row + 1)
    total = tl.zeros([D], dtype=values.dtype.element_ty)
    for e in range(start, end, TILE):
        k = e + tl.arange(0, TILE)
        inside = k < end
        column = tl.load(columns + k, mask=inside, other=0)
        value = tl.load(values + (column if BY_NODE else k), mask=inside, other=0.0)
        mask = inside[:, None] & (d < DIM)[None, :]
        gathered = tl.load(x + column.to(tl.int64)[:, None] * DIM + d[None, :], mask=mask, other=0.0)
        total += tl.sum(gathered.to(total.dtype) * value[:, None], axis=0)
    return total


@triton.jit
def _gather_rows(
    rows, real, offsets, columns, values, x,
    DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr, TILE: tl.constexpr, BY_NODE: tl.constexpr = False,
):  # fmt: skip
    """Short rows of Ã x, read together: [R, D]."""
    d = tl.arange(0, D)
    first = tl.load(offsets + rows, mask=real, other=0)
    last = tl.load(offsets + rows + 1, mask=real, other=0)
    totals = tl.zeros([R, D], dtype=values.dtype.element_ty)
    for e in range(0, tl.max(last - first, axis=0), TILE):
        k = first[:, None] + e + tl.arange(0, TILE)[None, :]  # [R, TILE]
        inside = k < last[:, None]
        column = tl.load(columns + k, mask=inside, other=0)
        value = tl.load(values + (column if BY_NODE else k), mask=inside, other=0.0)
        mask = inside[:, :, None] & (d < DIM)[None, None, :]
        gathered = tl.load(x + column.to(tl.int64)[:, :, None] * DIM + d[None, None, :], mask=mask, other=0.0)
        totals += tl.sum(gathered.to(totals.dtype) * value[:, :, None], axis=1)
    return totals


@triton.jit
def _product(
    order, offsets, columns, values, scales, x, add, out, copy, n_long, n_rows,
    DIM: tl.constexpr, D: tl.constexpr, LONG_TILE: tl.constexpr, R: tl.constexpr, TILE: tl.constexpr,
    ADD: tl.constexpr, OUT: tl.constexpr, COPY: tl.constexpr, BY_NODE: tl.constexpr,
):  # fmt: skip
    """With BY_NODE the value of an edge is scales[row] · values[column], else values[edge]."""
    program = tl.program_id(0)
    d = tl.arange(0, D)
    if program < n_long:
        row = tl.load(order + program)
        total = _gather_row(row, offsets, columns, values, x, DIM, D, LONG_TILE, BY_NODE)
        if BY_NODE:
            total *= tl.load(scales + row)
        _finish(total, add, out, copy, row.to(tl.int64) * DIM + d, d < DIM, ADD, OUT, COPY)
    else:
        place = n_long + (program - n_long) * R + tl.arange(0, R)
        real = place < n_rows
        rows = tl.load(order + place, mask=real, other=0)  # [R]
        totals = _gather_rows(rows, real, offsets, columns, values, x, DIM, D, R, TILE, BY_NODE)
        if BY_NODE:
            totals *= tl.load(scales + rows, mask=real, other=0.0)[:, None]
        ats = rows.to(tl.int64)[:, None] * DIM + d[None, :]
        _finish(totals, add, out, copy, ats, real[:, None] & (d < DIM)[None, :], ADD, OUT, COPY)


@dataclass(frozen=True, eq=False)
class Plan:
    """An adjacency laid out for the kernel: int32 indices, rows by falling degree."""

    order: Tensor
    offsets: Tensor
    columns: Tensor
    values: Tensor
    n_long: int
    shape: Shape
    scales: Tensor | None = None  # [n]: values are of columns [m], and an edge has scales[row] · values[column]

    @classmethod
    def of(cls, adjacency: Adjacency, shape: Shape) -> "Plan":
        index = torch.int32 if len(adjacency.columns) < 1 << 31 else torch.int64
        return cls(
            torch.argsort(adjacency.degrees, descending=True, stable=True).to(torch.int32),
            adjacency.offsets.to(index),
            adjacency.columns.to(torch.int32),
            adjacency.values,
            int((adjacency.degrees > shape.long).sum()),
            shape,
        )


def product(plan: Plan, x: Tensor, out: Tensor | None, add: Tensor | None = None, copy: Tensor | None = None) -> None:
    """out = copy = Ã x + add, all [n, d] and contiguous; `x` and `copy` may be in 16 bits, sums are in full precision."""
    n, dim = len(plan.order), x.shape[1]
    shape, by_node = plan.shape, plan.scales is not None
    programs = plan.n_long + triton.cdiv(n - plan.n_long, shape.rows)
    _product[(programs,)](
        plan.order, plan.offsets, plan.columns, plan.values, plan.scales if by_node else plan.values, x,
        x if add is None else add, x if out is None else out, x if copy is None else copy, plan.n_long, n,
        DIM=dim, D=triton.next_power_of_2(dim), LONG_TILE=shape.long_tile, R=shape.rows, TILE=shape.short_tile,
        ADD=add is not None, OUT=out is not None, COPY=copy is not None, BY_NODE=by_node, num_warps=shape.warps,
    )  # fmt: skip


class Hops(torch.autograd.Function):
    """x, Ãx, … Ã^L x in one buffer. Backward is Horner's rule: g ← Ã g + g_l, from the last layer to the first.

    With `half`, what is gathered is float16 forward (layers are of moderate size) and bfloat16 backward (gradients are not).
    """

    @staticmethod
    def forward(ctx: Any, plan: Plan, x: Tensor, count: int, half: bool) -> tuple[Tensor, ...]:
        ctx.plan, ctx.half = plan, half
        ctx.set_materialize_grads(False)
        buffer = torch.empty(count, *x.shape, dtype=x.dtype, device=x.device)
        source = x.half() if half else x.contiguous()
        for hop, layer in enumerate(buffer):
            copy = torch.empty_like(source) if half and hop < count - 1 else None
            product(plan, source, layer, copy=copy)
            source = layer if copy is None else copy
        return (x.view_as(x), *buffer.unbind(0))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[None, Tensor | None, None, None]:
        total: Tensor | None = None
        for layer in range(len(grads) - 1, -1, -1):
            grad = grads[layer]
            grad = None if grad is None else grad.contiguous()
            if total is None:
                total = grad.bfloat16() if ctx.half and layer > 0 and grad is not None else grad
            elif ctx.half and layer > 0:
                copy = torch.empty_like(total)
                product(ctx.plan, total, None, grad, copy)
                total = copy
            else:
                out = torch.empty(total.shape, dtype=ctx.plan.values.dtype, device=total.device)
                product(ctx.plan, total, out, grad)
                total = out
        return None, total, None, None
