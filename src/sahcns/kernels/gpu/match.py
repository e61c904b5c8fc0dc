"""Layers on a GPU: how kernels see a tuple of them, final embeddings of some rows, and layer-wise scores.

Scores are gathered and multiplied in one pass; nothing of size [B, N, T, d] is ever stored.
"""

from itertools import pairwise
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.aggregation import Kind
from sahcns.graph import Batch

ROWS = 8  # of one program


class Table(NamedTuple):
    """Layer t, row r begins at `first + r·d` for t = 0, else at `rest + (t-1)·stride + r·d`."""

    first: Tensor
    rest: Tensor
    stride: int
    layers: int  # T
    rows: int  # n
    dim: int  # d

    @property
    def block(self) -> int:
        """d rounded up to a power of two, as a tile must be."""
        return int(triton.next_power_of_2(self.dim))


def table(layers: tuple[Tensor, ...]) -> Table:
    """Without a copy where layers 1 … lie evenly spaced (as `hops` leaves them); else they are stacked."""
    first, later = layers[0], layers[1:]
    rows, dim = first.shape
    if not later:
        return Table(first.contiguous(), first, 0, 1, rows, dim)
    gaps = {b.data_ptr() - a.data_ptr() for a, b in pairwise(later)}
    if len(gaps) <= 1 and all(layer.is_contiguous() for layer in layers):
        gap = gaps.pop() if gaps else 0
        if gap >= 0 and gap % first.element_size() == 0:
            return Table(first, later[0], gap // first.element_size(), len(layers), rows, dim)
    stacked = torch.stack(layers)
    return Table(stacked[0], stacked[1], rows * dim, len(layers), rows, dim)


def empty_like(layers: Table) -> tuple[Tensor, Table]:
    """A zeroed table of the same shape [T, n, d], and how the kernels see it."""
    zeros = torch.zeros(layers.layers, layers.rows, layers.dim, dtype=layers.first.dtype, device=layers.first.device)
    rest = zeros[1] if layers.layers > 1 else zeros[0]
    return zeros, Table(zeros[0], rest, layers.rows * layers.dim, layers.layers, layers.rows, layers.dim)


@triton.jit
def softplus(x):
    return tl.maximum(x, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(x)))


@triton.jit
def _pooled(
    first, rest, stride, rows, begin, count, out,
    KIND: tl.constexpr, LISTED: tl.constexpr, T: tl.constexpr, DIM: tl.constexpr, D: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    r, d = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R), tl.arange(0, D)
    real = r < count
    mask = real[:, None] & (d < DIM)[None, :]
    row = tl.load(rows + r, mask=real, other=0) if LISTED else begin + r
    at = row[:, None] * DIM + d[None, :]
    total = tl.load(first + at, mask=mask, other=0.0)
    if KIND == "concat":
        place = out + r[:, None] * (T * DIM) + d[None, :]
        tl.store(place, total, mask=mask)
        for t in tl.static_range(1, T):
            tl.store(place + t * DIM, tl.load(rest + (t - 1) * stride + at, mask=mask, other=0.0), mask=mask)
    else:
        for t in tl.static_range(1, T):
            total += tl.load(rest + (t - 1) * stride + at, mask=mask, other=0.0)
        if KIND == "mean":
            total = total / T
        tl.store(out + r[:, None] * DIM + d[None, :], total, mask=mask)


def pooled(layers: Table, kind: Kind, rows: Tensor | range) -> Tensor:
    """[len(rows), D]: of the rows named, or of a range of them."""
    width = layers.dim * (layers.layers if kind == "concat" else 1)
    out = torch.empty(len(rows), width, dtype=layers.first.dtype, device=layers.first.device)
    _pooled[(triton.cdiv(len(rows), ROWS),)](
        layers.first, layers.rest, layers.stride, out if isinstance(rows, range) else rows,
        rows.start if isinstance(rows, range) else 0, len(rows), out,
        KIND=kind, LISTED=not isinstance(rows, range), T=layers.layers, DIM=layers.dim, D=layers.block, R=ROWS, num_warps=2,
    )  # fmt: skip
    return out


@triton.jit
def anchor_rows(first, rest, stride, row, d, inside_d, DIM, T: tl.constexpr, D: tl.constexpr, MEAN: tl.constexpr):
    """ē of one row for mean and sum aggregation, [D]."""
    total = tl.load(first + row * DIM + d, mask=inside_d, other=0.0)
    for t in tl.static_range(1, T):
        total += tl.load(rest + (t - 1) * stride + row * DIM + d, mask=inside_d, other=0.0)
    if MEAN:
        total = total / T
    return total


@triton.jit
def _match(
    first, rest, stride, users, positives, candidates, p, a, n_users, N, DIM,
    T: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, CONCAT: tl.constexpr, MEAN: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0)
    stride = stride.to(tl.int64)  # one layer may be within what 32 bits count, and several beyond
    d = tl.arange(0, D)
    inside_d = d < DIM
    user = tl.load(users + b)
    positive = tl.load(positives + b) + n_users
    anchor = anchor_rows(first, rest, stride, user, d, inside_d, DIM, T, D, MEAN)
    for t in tl.static_range(T):
        layer = first
        if t > 0:
            layer = rest + (t - 1) * stride
        if CONCAT:
            anchor = tl.load(layer + user * DIM + d, mask=inside_d, other=0.0)
        row = tl.load(layer + positive * DIM + d, mask=inside_d, other=0.0)
        tl.store(p + b * T + t, tl.sum(anchor * row, axis=0))
        for n in range(0, N, TILE):
            place = n + tl.arange(0, TILE)
            inside = place < N
            item = tl.load(candidates + b.to(tl.int64) * N + place, mask=inside, other=0) + n_users
            rows = tl.load(
                layer + item[:, None] * DIM + d[None, :], mask=inside[:, None] & inside_d[None, :], other=0.0
            )
            score = tl.sum(rows * anchor[None, :], axis=1)
            tl.store(a + (b.to(tl.int64) * N + place) * T + t, score, mask=inside)


def match(batch: Batch, n_users: int, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """p [B, T] and a [B, N, T]."""
    layers, kind, users, positives = table(batch.layers), batch.aggregation.kind, batch.users, batch.positives
    size, count = candidates.shape
    p = torch.empty(size, layers.layers, dtype=layers.first.dtype, device=users.device)
    a = torch.empty(size, count, layers.layers, dtype=p.dtype, device=users.device)
    _match[(size,)](
        layers.first, layers.rest, layers.stride, users, positives, candidates, p, a, n_users, count, layers.dim,
        T=layers.layers, D=layers.block, TILE=16, CONCAT=kind == "concat", MEAN=kind == "mean", num_warps=2,
    )  # fmt: skip
    return p, a
