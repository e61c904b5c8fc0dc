"""Eigenvectors of many small positive semi-definite matrices at once; torch's `eigh` on a GPU takes those larger than 32
one after the other.

L = R Rᵀ by Cholesky with diagonal pivoting, in float64, which also finds the rank; then plane rotations from the right make
the columns of R orthogonal (one-sided Jacobi; Veselić & Hari, Numer. Math. 56, 1989), in float32:

    R J = U Σ,   L = U Σ² Uᵀ

so a column's squared length is an eigenvalue and its direction the eigenvector. Small eigenvalues come out as exact,
relative to their size, as large ones. In round r column i meets column i XOR r: N/2 separate pairs at once.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

RANK = 1e-12  # a pivot below this share of the largest is rounding
SETTLED = 1e-6  # squared cosine: a sweep that found no two columns nearer than 1e-3 to parallel leaves them at 1e-6
SWEEPS = 15  # six or seven are usual
LARGEST = 128  # what fits the registers of one program
REGISTERS = 128  # of a thread: four programs at once on a multiprocessor, and what is spilled is not in the loops


@triton.jit
def _cholesky(matrix, factor, ranks, n, RANK, N: tl.constexpr):
    g = tl.program_id(0).to(tl.int64)
    i, j = tl.arange(0, N), tl.arange(0, N)
    inside = (i < n)[:, None] & (j < n)[None, :]
    left = tl.load(matrix + g * n * n + i[:, None] * n + j[None, :], mask=inside, other=0.0)
    diagonal = tl.sum(tl.where(i[:, None] == j[None, :], left, 0.0), axis=0)  # over j
    best = tl.max(diagonal, axis=0)
    floor = best * RANK
    rank = 0
    while best > floor:
        pivot = tl.argmax(diagonal, axis=0)
        row = tl.sum(tl.where(i[:, None] == pivot, left, 0.0), axis=0) / tl.sqrt(best)
        tl.store(factor + g * n * n + j * n + rank, row.to(tl.float32), mask=j < n)
        left -= row[:, None] * row[None, :]
        diagonal = tl.where(j == pivot, -1.0, diagonal - row * row)  # taken, never again the largest
        best = tl.max(diagonal, axis=0)
        rank += 1
    tl.store(ranks + g, rank)


@triton.jit
def _angle(square, theirs, dot, first):
    """The rotation x ← c x - s y, y ← c y + s x that makes x and y orthogonal, its tangent, and their squared cosine."""
    both = square * theirs
    cosine = dot * dot / tl.where(both > 0.0, both, 1.0)
    turn = cosine > 1e-14
    zeta = (theirs - square) / tl.where(turn, 2.0 * dot, 1.0)
    size = 1.0 / (tl.abs(zeta) + tl.sqrt(1.0 + zeta * zeta))
    up = (zeta > 0.0) | ((zeta == 0.0) & first)  # of two of one length, one turns each way
    tangent = tl.where(turn, tl.where(up, size, -size), 0.0)
    c = 1.0 / tl.sqrt(1.0 + tangent * tangent)
    return c, c * tangent, tangent, cosine


@triton.jit
def _among(x, square, near, i, r, N: tl.constexpr, H: tl.constexpr):
    """Column i of x [N, H] meets column i XOR r; both sides of a pair do the same sums."""
    mate = i ^ r
    other = tl.gather(x, tl.broadcast_to(mate[None, :], [N, H]), 1)
    dot = tl.sum(x * other, axis=0)
    c, s, tangent, cosine = _angle(square, tl.gather(square, mate, 0), dot, i < mate)
    x = c[None, :] * x - s[None, :] * other
    return x, tl.maximum(square - tangent * dot, 0.0), tl.maximum(near, cosine)


@triton.jit
def _rotate(factor, values, ranks, n, SETTLED, SWEEPS, N: tl.constexpr, H: tl.constexpr):
    """The columns are held in two halves x and y [N, H], H = N/2: first each among itself, then one against the other."""
    g = tl.program_id(0).to(tl.int64)
    m, i = tl.arange(0, N), tl.arange(0, H)
    at = g * n * n + m[:, None] * n + i[None, :]
    rank = tl.load(ranks + g)
    x = tl.load(factor + at, mask=(m < n)[:, None] & (i < rank)[None, :], other=0.0)
    y = tl.load(factor + at + H, mask=(m < n)[:, None] & (i + H < rank)[None, :], other=0.0)
    rounds = 1  # a power of two: no column of x at or beyond it is filled
    while (rounds < rank) & (rounds < H):
        rounds *= 2
    worst = 1.0
    sweep = 0
    while (worst > SETTLED) & (sweep < SWEEPS):
        square_x, square_y = tl.sum(x * x, axis=0), tl.sum(y * y, axis=0)
        near = tl.zeros([H], dtype=tl.float32)
        for r in range(1, rounds):
            x, square_x, near = _among(x, square_x, near, i, r, N, H)
        if rank > H:
            for r in range(1, H):
                y, square_y, near = _among(y, square_y, near, i, r, N, H)
            for r in range(H):
                mate = i ^ r ^ tl.maximum(r - 1, 0)  # y is moved on from where the round before left it
                y = tl.gather(y, tl.broadcast_to(mate[None, :], [N, H]), 1)
                square_y = tl.gather(square_y, mate, 0)
                dot = tl.sum(x * y, axis=0)
                c, s, tangent, cosine = _angle(square_x, square_y, dot, i >= 0)
                turned = c[None, :] * x - s[None, :] * y
                y = c[None, :] * y + s[None, :] * x
                x = turned
                square_x = tl.maximum(square_x - tangent * dot, 0.0)
                square_y = tl.maximum(square_y + tangent * dot, 0.0)
                near = tl.maximum(near, cosine)
            y = tl.gather(y, tl.broadcast_to((i ^ (H - 1))[None, :], [N, H]), 1)  # home: empty columns are not stored
        worst = tl.max(near, axis=0)
        sweep += 1
    inside = (m < n)[:, None] & (i < n)[None, :]
    tl.store(factor + at, x, mask=inside)
    tl.store(factor + at + H, y, mask=(m < n)[:, None] & (i + H < n)[None, :])
    tl.store(values + g * n + i, tl.sum(x * x, axis=0), mask=i < n)
    tl.store(values + g * n + i + H, tl.sum(y * y, axis=0), mask=i + H < n)


def eigen(matrices: Tensor) -> tuple[Tensor, Tensor]:
    """[G, n, n] float64, n ≤ 128 → eigenvalues [G, n] in no order, and U Σ [G, n, n] with a column for each; float32."""
    count, n, _ = matrices.shape
    factor = torch.empty(matrices.shape, dtype=torch.float32, device=matrices.device)
    values = torch.empty(count, n, dtype=torch.float32, device=matrices.device)
    ranks = torch.empty(count, dtype=torch.int32, device=matrices.device)
    if count:
        block = max(16, int(triton.next_power_of_2(n)))
        _cholesky[(count,)](
            matrices.contiguous(), factor, ranks, n, RANK, N=block, num_warps=max(1, block // 16), maxnreg=REGISTERS
        )
        _rotate[(count,)](
            factor, values, ranks, n, SETTLED, SWEEPS,
            N=block, H=block // 2, num_warps=max(1, block * block // 1024), maxnreg=REGISTERS,
        )  # fmt: skip
    return values, factor
