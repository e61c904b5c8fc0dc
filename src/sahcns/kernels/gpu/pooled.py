"""Final embeddings of some rows, from all layers at once: `Aggregation.pool_layers` in one launch."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.aggregation import Kind
from sahcns.kernels.gpu.tables import Table

ROWS = 8  # of one program


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
