"""Ã X on a GPU: long rows get a whole program each, short rows share one; one launch, no atomics.

Rows are ordered by degree, longest first. A long row is read in wide tiles by all warps of its program, which shortens the
longest chain of dependent loads; short rows of like degree are read together. The sum of a row is always taken in the same
order, so the product is deterministic.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from sahcns.graph import Adjacency


@dataclass(frozen=True)
class Shape:
    """Sizes of the tiles, found by measurement on an H200 (benchmarks/tune_hops.py)."""

    long: int = 64  # a row with more edges than this has a program of its own
    long_tile: int = 128
    rows: int = 4  # short rows of one program
    short_tile: int = 16
    warps: int = 4


@triton.jit
def _long_row(offsets, columns, values, x, add, out, row, DIM, D: tl.constexpr, TILE: tl.constexpr, ADD: tl.constexpr):
    start, end = tl.load(offsets + row), tl.load(offsets + row + 1)
    d = tl.arange(0, D)
    inside_d = d < DIM
    total = tl.zeros([D], dtype=out.dtype.element_ty)
    for e in range(start, end, TILE):
        k = e + tl.arange(0, TILE)
        inside = k < end
        column = tl.load(columns + k, mask=inside, other=0)
        value = tl.load(values + k, mask=inside, other=0.0)
        mask = inside[:, None] & inside_d[None, :]
        rows = tl.load(x + column.to(tl.int64)[:, None] * DIM + d[None, :], mask=mask, other=0.0)
        total += tl.sum(rows * value[:, None], axis=0)
    at = row.to(tl.int64) * DIM + d
    if ADD:
        total += tl.load(add + at, mask=inside_d, other=0.0)
    tl.store(out + at, total, mask=inside_d)


@triton.jit
def _short_rows(
    offsets,
    columns,
    values,
    x,
    add,
    out,
    row,
    real,
    DIM,
    D: tl.constexpr,
    R: tl.constexpr,
    TILE: tl.constexpr,
    ADD: tl.constexpr,
):
    start = tl.load(offsets + row, mask=real, other=0)  # [R]
    end = tl.load(offsets + row + 1, mask=real, other=0)
    d = tl.arange(0, D)
    inside_d = d < DIM
    total = tl.zeros([R, D], dtype=out.dtype.element_ty)
    for e in range(0, tl.max(end - start, axis=0), TILE):
        k = start[:, None] + e + tl.arange(0, TILE)[None, :]  # [R, TILE]
        inside = k < end[:, None]
        column = tl.load(columns + k, mask=inside, other=0)
        value = tl.load(values + k, mask=inside, other=0.0)
        mask = inside[:, :, None] & inside_d[None, None, :]
        rows = tl.load(x + column.to(tl.int64)[:, :, None] * DIM + d[None, None, :], mask=mask, other=0.0)
        total += tl.sum(rows * value[:, :, None], axis=1)
    at = row.to(tl.int64)[:, None] * DIM + d[None, :]
    mask = real[:, None] & inside_d[None, :]
    if ADD:
        total += tl.load(add + at, mask=mask, other=0.0)
    tl.store(out + at, total, mask=mask)


@triton.jit
def _product(
    order, offsets, columns, values, x, add, out, n_long, n_rows, DIM,
    D: tl.constexpr, LONG_TILE: tl.constexpr, R: tl.constexpr, TILE: tl.constexpr, ADD: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    if program < n_long:
        row = tl.load(order + program)
        _long_row(offsets, columns, values, x, add, out, row, DIM, D, LONG_TILE, ADD)
    else:
        place = n_long + (program - n_long) * R + tl.arange(0, R)
        real = place < n_rows
        row = tl.load(order + place, mask=real, other=0)
        _short_rows(offsets, columns, values, x, add, out, row, real, DIM, D, R, TILE, ADD)


@dataclass(frozen=True, eq=False)
class Plan:
    """An adjacency laid out for the kernel: int32 indices, rows by falling degree."""

    order: Tensor
    offsets: Tensor
    columns: Tensor
    values: Tensor
    n_long: int
    shape: Shape

    @classmethod
    def of(cls, adjacency: "Adjacency", shape: Shape | None = None) -> "Plan":
        shape = shape or Shape()
        index = torch.int32 if len(adjacency.columns) < 1 << 31 else torch.int64
        return cls(
            torch.argsort(adjacency.degrees, descending=True, stable=True).to(torch.int32),
            adjacency.offsets.to(index),
            adjacency.columns.to(torch.int32),
            adjacency.values,
            int((adjacency.degrees > shape.long).sum()),
            shape,
        )


def product(plan: Plan, x: Tensor, out: Tensor, add: Tensor | None = None) -> Tensor:
    """out = Ã x (+ add); all [n, d], contiguous."""
    n, dim = x.shape
    shape = plan.shape
    programs = plan.n_long + triton.cdiv(n - plan.n_long, shape.rows)
    _product[(programs,)](
        plan.order, plan.offsets, plan.columns, plan.values, x, x if add is None else add, out, plan.n_long, n, dim,
        D=triton.next_power_of_2(dim), LONG_TILE=shape.long_tile, R=shape.rows, TILE=shape.short_tile,
        ADD=add is not None, num_warps=shape.warps,
    )  # fmt: skip
    return out


class Hops(torch.autograd.Function):
    """x, Ãx, … Ã^L x in one buffer. Backward is Horner's rule: g ← Ã g + g_l, from the last layer to the first."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, x: Tensor, count: int) -> tuple[Tensor, ...]:
        ctx.plan = plan
        ctx.set_materialize_grads(False)
        buffer = torch.empty(count, *x.shape, dtype=x.dtype, device=x.device)
        source = x.contiguous()
        for layer in buffer:
            product(plan, source, layer)
            source = layer
        return (x.view_as(x), *buffer.unbind(0))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[None, Tensor | None, None]:
        total: Tensor | None = None
        for grad in reversed(grads):
            if total is None:
                total = None if grad is None else grad.contiguous()
            else:
                total = product(ctx.plan, total, torch.empty_like(total), None if grad is None else grad.contiguous())
        return None, total, None
