"""Ã X on a GPU where Ã is dense enough for tensor cores: its full corner as tiles of 0 and 1, the rest gathered as ever.

With users and items each ordered by degree, most edges of a dense set lie in one corner (ML-1m: 85 % of the edges in a fifth
of the cells). There a row of X is read once for all rows of a tile, where gathering reads it once for every edge:

    Ã X = D^-½ A (D^-½ X),   D^-½ X = X₁ + X₂ + X₃, each in bfloat16        (8 bits each: together the 24 bits of float32)

A is 0 or 1, so the products are exact and only sums are rounded, in float32. `_multiply` sums a stretch of tiles; `_complete`
gathers the other edges of each row, adds the sums of its stretches in order, and cuts what comes out for the next product.
No atomics: the product is deterministic. Where the GPU can, `_complete` gathers while `_multiply` is still at work.
"""

import itertools
import os
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.graph import Adjacency
from sahcns.kernels.gpu.corner import Tile, by_degree, corner, without
from sahcns.kernels.gpu.hops import Plan, Shape, _gather_row, _gather_rows

MOST_ROWS, MOST_EDGES = 1 << 18, 1 << 25  # so that counting tiles and keeping them stays small beside the graph
PARTS = 3
ROOM = 227 * 1024  # bytes of shared memory for a program at compute capability 9.0
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
KIND = tl.float32 if INTERPRETED else tl.bfloat16  # which the interpreter cannot multiply


@triton.jit
def _write_parts(total, parts, at, mask, D: tl.constexpr):
    first = total.to(tl.bfloat16)
    rest = total - first.to(tl.float32)
    second = rest.to(tl.bfloat16)
    tl.store(parts + at, first, mask=mask)
    tl.store(parts + at + D, second, mask=mask)
    tl.store(parts + at + 2 * D, (rest - second.to(tl.float32)).to(tl.bfloat16), mask=mask)


@triton.jit
def _cut(x, places, scales, parts, n_rows, DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr):
    """parts[place] = D^-½ x in three parts, D wide each."""
    rows, d = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, D)
    real = rows < n_rows
    mask = real[:, None] & (d < DIM)[None, :]
    value = tl.load(x + rows.to(tl.int64)[:, None] * DIM + d[None, :], mask=mask, other=0.0)
    value *= tl.load(scales + rows, mask=real, other=0.0)[:, None]
    at = tl.load(places + rows, mask=real, other=0).to(tl.int64)[:, None] * (3 * D) + d[None, :]
    _write_parts(value, parts, at, real[:, None], D)


@triton.jit
def _multiply(
    cells, stretches, parts, sums, M: tl.constexpr, K: tl.constexpr, D: tl.constexpr, KIND: tl.constexpr,
    OVERLAP: tl.constexpr,
):  # fmt: skip
    """sums[stretch] = tiles of A times their rows of D^-½ X, [M, D]."""
    stretch = tl.program_id(0)
    tile, column = tl.load(stretches + 4 * stretch), tl.load(stretches + 4 * stretch + 1)
    count, end = tl.load(stretches + 4 * stretch + 2), tl.load(stretches + 4 * stretch + 3)
    m, k, d = tl.arange(0, M), tl.arange(0, K), tl.arange(0, D)
    cell = cells + tile.to(tl.int64) * (M * K) + m[:, None] * K + k[None, :]
    total = tl.zeros([M, D], dtype=tl.float32)
    if OVERLAP:  # wait for the kernel before, and only then let the next one begin: it reads what that one wrote
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    for step in range(count):
        a = tl.load(cell + step * (M * K)).to(KIND)
        place = column + step * K + k
        real = (place < end)[:, None]
        x = parts + place.to(tl.int64)[:, None] * (3 * D) + d[None, :]
        total = tl.dot(a, tl.load(x, mask=real, other=0.0).to(KIND), total)
        total = tl.dot(a, tl.load(x + D, mask=real, other=0.0).to(KIND), total)
        total = tl.dot(a, tl.load(x + 2 * D, mask=real, other=0.0).to(KIND), total)
    tl.store(sums + (stretch * M + m).to(tl.int64)[:, None] * D + d[None, :], total)


@triton.jit
def _settle(
    total, dense, scale, place, add, out, parts, at, mask, real,
    D: tl.constexpr, ADD: tl.constexpr, CUT: tl.constexpr,
):  # fmt: skip
    """The gathered and the multiplied share of rows together, as the result and as parts of the next product's input."""
    total += dense * scale
    if ADD:
        total += tl.load(add + at, mask=mask, other=0.0)
    tl.store(out + at, total, mask=mask)
    if CUT:
        _write_parts(total * scale, parts, place.to(tl.int64) * (3 * D) + tl.arange(0, D), real, D)


@triton.jit
def _complete(
    order, offsets, columns, values, x, sums, firsts, places, scales, add, out, parts, n_long, n_rows,
    DIM: tl.constexpr, D: tl.constexpr, LONG_TILE: tl.constexpr, R: tl.constexpr, TILE: tl.constexpr,
    M: tl.constexpr, S: tl.constexpr, ADD: tl.constexpr, CUT: tl.constexpr, OVERLAP: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    d, s = tl.arange(0, D), tl.arange(0, S)
    if program < n_long:
        row = tl.load(order + program)
        total = _gather_row(row, offsets, columns, values, x, DIM, D, LONG_TILE)
        place = tl.load(places + row)
        if OVERLAP:
            tl.extra.cuda.gdc_wait()
            tl.extra.cuda.gdc_launch_dependents()
        start, end = tl.load(firsts + place // M), tl.load(firsts + place // M + 1)
        dense = tl.zeros([D], dtype=tl.float32)
        for stretch in range(start, end, S):
            at = ((stretch + s) * M + place % M).to(tl.int64)[:, None] * D + d[None, :]
            dense += tl.sum(tl.load(sums + at, mask=(stretch + s < end)[:, None], other=0.0), axis=0)
        own = row.to(tl.int64) * DIM + d
        scale = tl.load(scales + row)
        _settle(total, dense, scale, place, add, out, parts, own, d < DIM, d < D, D, ADD, CUT)
    else:
        index = n_long + (program - n_long) * R + tl.arange(0, R)
        real = index < n_rows
        rows = tl.load(order + index, mask=real, other=0)
        totals = _gather_rows(rows, real, offsets, columns, values, x, DIM, D, R, TILE)
        spots = tl.load(places + rows, mask=real, other=0)
        begin = tl.load(firsts + spots // M, mask=real, other=0)
        last = tl.load(firsts + spots // M + 1, mask=real, other=0)
        heap = tl.zeros([R, D], dtype=tl.float32)
        if OVERLAP:
            tl.extra.cuda.gdc_wait()
            tl.extra.cuda.gdc_launch_dependents()
        for stretch in range(tl.max(last - begin, axis=0)):
            which = begin + stretch
            ats = (which * M + spots % M).to(tl.int64)[:, None] * D + d[None, :]
            heap += tl.load(sums + ats, mask=(which < last)[:, None], other=0.0)
        owns = rows.to(tl.int64)[:, None] * DIM + d[None, :]
        rates = tl.load(scales + rows, mask=real, other=0.0)[:, None]
        _settle(
            totals, heap, rates, spots[:, None], add, out, parts, owns, real[:, None] & (d < DIM)[None, :], real[:, None],
            D, ADD, CUT,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Blocks:
    """An adjacency laid out for these kernels. A place is a row's position when users, then items, are ordered by degree."""

    cells: Tensor  # [tiles, M, K] of A, 0 or 1, those of one row of tiles behind each other
    stretches: Tensor  # [stretches, 4] int32: first tile, place of its first column, how many tiles, end of that side
    firsts: Tensor  # [rows of tiles + 1] int32: first stretch of each
    places: Tensor  # [n] int32
    scales: Tensor  # [n] D^-½
    rest: Plan  # the edges outside the tiles
    tile: Tile
    height: int  # places in all, the empty ones included
    overlap: bool  # whether a kernel begins before the one it reads from has ended

    @property
    def launch(self) -> dict[str, bool]:
        return {"launch_pdl": True} if self.overlap else {}

    @classmethod
    def of(cls, adjacency: Adjacency, tile: Tile | None = None, shape: Shape | None = None) -> "Blocks | None":
        """None if no part of the graph is dense enough, or it is too large to look."""
        tile = tile or Tile()
        if adjacency.n > MOST_ROWS or len(adjacency.columns) > MOST_EDGES or adjacency.values.dtype != torch.float32:
            return None
        places, sides = by_degree(adjacency, max(tile.rows, tile.columns))
        row = places.repeat_interleave(adjacency.degrees)  # of each edge, as places
        column = places[adjacency.columns]
        belts = corner(row, column, sides, tile)
        if not any(belt.tiles for belt in belts):
            return None
        device = places.device
        before = [0, *itertools.accumulate(belt.tiles for belt in belts)]  # tiles in front of each belt
        pieces = [belt.pieces(tile.stretch) for belt in belts]
        stretches = [
            (first + lo, belt.side.start + lo * tile.columns, hi - lo, belt.side.end)
            for first, belt, cuts in zip(before, belts, pieces, strict=False)
            for lo, hi in itertools.pairwise(cuts)
        ]
        firsts = [0, *itertools.accumulate(len(cuts) - 1 for cuts in pieces)]
        first, start, many = (
            torch.tensor(numbers, device=device)
            for numbers in (before[:-1], [belt.side.start for belt in belts], [belt.tiles for belt in belts])
        )
        belt_of = row // tile.rows
        across = (column - start[belt_of]) // tile.columns
        inside = across < many[belt_of]
        cells = torch.zeros(before[-1], tile.rows, tile.columns, dtype=torch.bfloat16, device=device)
        cells[(first[belt_of] + across)[inside], (row % tile.rows)[inside], (column % tile.columns)[inside]] = 1
        rest = without(adjacency, inside)
        return cls(
            cells,
            torch.tensor(stretches, dtype=torch.int32, device=device),
            torch.tensor(firsts, dtype=torch.int32, device=device),
            places.to(torch.int32),
            adjacency.degrees.clamp(min=1).double().rsqrt().float(),
            Plan.of(rest, shape or Shape.of(len(rest.columns) / rest.n, half=False)),
            tile,
            sides[1].stop,
            _can_overlap(),
        )


def _can_overlap() -> bool:
    """NVIDIA from compute capability 9.0 on, with a Triton that knows of it."""
    if INTERPRETED or not hasattr(tl.extra.cuda, "gdc_wait"):
        return False
    target = triton.runtime.driver.active.get_current_target()
    return bool(target.backend == "cuda" and target.arch >= 90)


def fits(x: Tensor, tile: Tile | None = None) -> bool:
    """Whether rows are of a width that tensor cores take, and tiles of a size that this GPU holds."""
    width = triton.next_power_of_2(x.shape[1])
    return x.dtype == torch.float32 and 16 <= width <= 128 and _stages(tile or Tile(), width, x.device) > 1


def _stages(tile: Tile, width: int, device: torch.device) -> int:
    """How many tiles are under way at a time, as far as shared memory goes."""
    if device.type != "cuda":  # interpreted, or compiled for a GPU that is not there
        room = ROOM
    else:
        room = getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 0)
    return min(tile.stages, int(room) // (2 * tile.columns * (tile.rows + PARTS * width)))


def cut(blocks: Blocks, x: Tensor) -> Tensor:
    """D^-½ x in three parts, in the order of places."""
    n, dim = x.shape
    parts = x.new_empty(blocks.height, PARTS, triton.next_power_of_2(dim), dtype=torch.bfloat16)
    _cut[(triton.cdiv(n, 8),)](x, blocks.places, blocks.scales, parts, n, DIM=dim, D=parts.shape[2], R=8, num_warps=2)
    return parts


def multiply(blocks: Blocks, parts: Tensor) -> Tensor:
    """The tiles' share of the product: [stretches, M, D], for `_complete` to add up."""
    tile, width = blocks.tile, parts.shape[2]
    sums = torch.empty(len(blocks.stretches), tile.rows, width, device=parts.device)
    _multiply[(len(sums),)](
        blocks.cells, blocks.stretches, parts, sums, M=tile.rows, K=tile.columns, D=width, KIND=KIND, OVERLAP=blocks.overlap,
        num_warps=tile.warps, num_stages=_stages(tile, width, parts.device), **blocks.launch,
    )  # fmt: skip
    return sums


def product(blocks: Blocks, x: Tensor, parts: Tensor, out: Tensor, add: Tensor | None, last: bool) -> Tensor:
    """out = Ã x + add, [n, d] and contiguous; returns the parts of `out`, or nothing of use after the last product."""
    n, dim = x.shape
    plan, sums = blocks.rest, multiply(blocks, parts)
    shape = plan.shape
    following = parts if last else torch.empty_like(parts)
    _complete[(plan.n_long + triton.cdiv(n - plan.n_long, shape.rows),)](
        plan.order, plan.offsets, plan.columns, plan.values, x, sums, blocks.firsts, blocks.places, blocks.scales,
        x if add is None else add, out, following, plan.n_long, n,
        DIM=dim, D=parts.shape[2], LONG_TILE=shape.long_tile, R=shape.rows, TILE=shape.short_tile,
        M=blocks.tile.rows, S=8, ADD=add is not None, CUT=not last, OVERLAP=blocks.overlap,
        num_warps=shape.warps, **blocks.launch,
    )  # fmt: skip
    return following


class BlockHops(torch.autograd.Function):
    """As `Hops`: x, Ãx, … Ã^L x, and Horner's rule backward."""

    @staticmethod
    def forward(ctx: Any, blocks: Blocks, x: Tensor, count: int) -> tuple[Tensor, ...]:
        ctx.blocks = blocks
        ctx.set_materialize_grads(False)
        buffer = torch.empty(count, *x.shape, dtype=x.dtype, device=x.device)
        source = x.contiguous()
        parts = cut(blocks, source) if count else None
        for hop, layer in enumerate(buffer):
            assert parts is not None
            parts = product(blocks, source, parts, layer, None, hop == count - 1)
            source = layer
        return (x.view_as(x), *buffer.unbind(0))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[None, Tensor | None, None]:
        total: Tensor | None = None
        parts: Tensor | None = None
        for layer in range(len(grads) - 1, -1, -1):
            grad = grads[layer]
            grad = None if grad is None else grad.contiguous()
            if total is None:
                total = grad
                continue
            out = torch.empty_like(total)
            parts = product(
                ctx.blocks, total, cut(ctx.blocks, total) if parts is None else parts, out, grad, layer == 0
            )
            total = out
        return None, total, None
