"""InfoNCE on a GPU over given unit vectors z [view, part, B, d]: cosines once, then each row's softmax, then the gradient.

    S = z₁ z₂ᵀ,   loss = 1/n Σ_k logsumexp(S[k] / τ) - S[k, k] / τ,   P = softmax(S / τ) - I
    ∂/∂z₁ = P z₂ / (τ n),   ∂/∂z₂ = Pᵀ z₁ / (τ n)                                      over the n real rows of a part

`real [part · B]` is above 0 where a row counts; the others' rows and columns are left out. P is made where it is used.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

PRECISION = "tf32x3"  # three products of 10-bit parts on tensor cores: the error is that of float32, not of tf32
TILE = 64


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


def forward(z: Tensor, real: Tensor, tau: float, weight: float) -> tuple[Tensor, tuple[Tensor, ...]]:
    """z [2, 2, B, d], real [2B] → weight · (InfoNCE of part 0 + of part 1), and what `backward` needs."""
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


def backward(z: Tensor, real: Tensor, tau: float, cosines: Tensor, lse: Tensor) -> Tensor:
    """P z₂ and Pᵀ z₁, [2, 2, B, d]: the gradient but for 1 / (τ n)."""
    batch, dim = z.shape[2:]
    dz = torch.empty_like(z)
    _pull[(triton.cdiv(batch, PULL["R"]), 2, 2)](
        z, cosines, lse, real, dz, batch, 1.0 / tau, DIM=dim, D=_block(dim), PRECISION=PRECISION, **PULL
    )
    return dz


PULL = {"R": 32, "C": 64, "num_warps": 4}  # sizes found by measurement on an H200


def _block(dim: int) -> int:
    """d rounded up to what a matrix product accepts."""
    return max(16, int(triton.next_power_of_2(dim)))
