"""k-DPP samples of many users at once on a GPU: the steps of `samplers/diverse.py`, which is the specification, with one
program a user and the loops inside, where plain torch would launch a kernel for each step of each loop.

With b [c, d] the weighted vectors, L = b bᵀ. Its eigenvectors come from L itself or, where that is smaller, from bᵀ b:
u = b v / √λ. The seed decides the sample; it is not the plain path's sample, as eigenvalues come in another order.

torch's `eigh` on a GPU takes matrices larger than 32 one after the other, so eigenvectors are found here. L = R Rᵀ by
Cholesky with diagonal pivoting, in float64, which also finds the rank; then plane rotations from the right make the columns
of R orthogonal (one-sided Jacobi; Veselić & Hari, Numer. Math. 56, 1989), in float32: R J = U Σ, so that L = U Σ² Uᵀ. A
column's squared length is an eigenvalue and its direction the eigenvector. Small eigenvalues come out as exact, relative to
their size, as large ones. In round r column i meets column i XOR r: N/2 separate pairs at once.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.gpu.random import uniform_at
from sahcns.rng import CALL, Rng

SOLID = 1e-9  # an eigenvalue below this share of the largest counts as 0
WIDEST = 1 << 15  # numbers of one user's eigenvectors that one program holds

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


@triton.jit
def _choose(
    values, want, take, scale, sizes, step, key, start, n, SOLID, DUAL: tl.constexpr, N: tl.constexpr
):  # fmt: skip
    """Which eigenvectors: `take[i, r]` says whether the i-th is one of them if r + 1 are still wanted among 0 … i.

    table[r] is log e_{r+1}(λ_0 … λ_i); in logarithms nothing under- or overflows, and -1e300 stands for that of 0.
    """
    g = tl.program_id(0).to(tl.int64)
    r = tl.arange(0, N)
    lam = tl.load(values + g * n + r, mask=r < n, other=0.0)
    floor = SOLID * tl.maximum(tl.max(lam, axis=0), 1e-30)
    k = tl.minimum(tl.load(want + g).to(tl.int32), tl.sum((lam > floor).to(tl.int32), axis=0))
    tl.store(sizes + g, k)
    table = tl.full([N], -1e300, dtype=tl.float64)
    for i in range(n):
        value = tl.load(values + g * n + i)
        before = tl.gather(table, tl.maximum(r - 1, 0), 0)
        before = tl.where(r == 0, 0.0, before)  # e_0 = 1
        log_value = tl.log(tl.maximum(value, 1e-30).to(tl.float64))
        through = tl.where(value > floor, log_value + before, -1e300)
        high, low = tl.maximum(table, through), tl.minimum(table, through)
        after = high + tl.log(1.0 + tl.exp(low - high))
        odds = tl.where(value > floor, tl.exp(through - after), 0.0)
        tl.store(take + (g * n + i) * N + r, (uniform_at(step, key, start, g * n + i) < odds).to(tl.int8))
        table = after
    tl.debug_barrier()
    rest = k
    for back in range(n):
        i = n - 1 - back
        mine = tl.where(rest > 0, tl.load(take + (g * n + i) * N + tl.maximum(rest - 1, 0)), 0)
        length = tl.load(values + g * n + i)
        if not DUAL:
            length = tl.sqrt(length)  # b v, with v of length √λ, is √λ times as long again
        tl.store(scale + g * n + i, tl.where(mine > 0, 1.0 / tl.where(mine > 0, length, 1.0), 0.0))
        rest -= mine.to(tl.int32)


@triton.jit
def _pick(
    vectors, scale, valid, rest, want, sizes, picked, step, key, start, next_start, c, n,
    C: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Items one by one from the span of the chosen eigenvectors, then, beyond its dimension, any of the rest."""
    g = tl.program_id(0).to(tl.int64)
    j, e = tl.arange(0, C), tl.arange(0, N)
    inside = (j < c)[:, None] & (e < n)[None, :]
    v = tl.load(vectors + g * c * n + j[:, None] * n + e[None, :], mask=inside, other=0.0)
    v = v * tl.load(scale + g * n + e, mask=e < n, other=0.0)[None, :]  # orthonormal columns where chosen, else 0
    free = (tl.load(valid + g * c + j, mask=j < c, other=0) != 0).to(tl.float32)
    left = tl.sum(v * v, axis=1) * free  # squared length beyond the span of those picked
    k = tl.load(sizes + g)
    for s in range(k):
        reached = tl.cumsum(left, axis=0)
        threshold = uniform_at(step, key, start, g * n + s) * tl.max(reached, axis=0)
        place = tl.min(tl.where((reached > threshold) & (left > 0.0), j, C), axis=0)
        place = tl.where(place < C, place, tl.argmax(left, axis=0))
        row = tl.sum(tl.where(j[:, None] == place, v, 0.0), axis=0)
        row = row * (1.0 / tl.sqrt(tl.maximum(tl.sum(row * row, axis=0), 1e-30)))
        along = tl.sum(v * row[None, :], axis=1)
        v -= along[:, None] * row[None, :]
        free = tl.where(j == place, 0.0, free)
        left = tl.maximum(left - along * along, 0.0) * free
        tl.store(picked + g * c + s, place.to(tl.int64))
    more = tl.load(want + g).to(tl.int32) - k
    if more > 0:
        tl.store(rest + g * c + j, free > 0.0, mask=j < c)
        tl.debug_barrier()
        mine = uniform_at(step, key, start + next_start, g * c + j)
        above = tl.zeros([C], dtype=tl.int32)  # how many of the rest have drawn a larger number
        for first in range(0, c, 16):
            i = first + tl.arange(0, 16)
            there = tl.load(rest + g * c + i, mask=i < c, other=0) != 0
            theirs = tl.where(there, uniform_at(step, key, start + next_start, g * c + i), -1.0)
            tied = (theirs[None, :] == mine[:, None]) & (i[None, :] < j[:, None])
            above += tl.sum(((theirs[None, :] > mine[:, None]) | tied).to(tl.int32), axis=1)
        tl.store(picked + g * c + k + above, j.to(tl.int64), mask=(free > 0.0) & (above < more))


def fits(items: int, dim: int) -> bool:
    """Whether the kernels hold a user padded to `items` cached items of `dim` numbers."""
    return min(items, dim) <= LARGEST and _block(items) * _block(min(items, dim)) <= WIDEST


def kdpp(b: Tensor, valid: Tensor, want: Tensor, rng: Rng) -> Tensor:
    """b [G, c, d] float32, 0 where not `valid [G, c]`; want [G] ≤ valid items → positions [G, c], -1 after `want` of them."""
    exact = b.double()
    dual = b.shape[2] < b.shape[1]
    values, columns = eigen(exact.mT @ exact if dual else exact @ exact.mT)  # [G, n], [G, n, n]
    return sample(values, b @ columns if dual else columns, valid, want, rng, dual)


def sample(values: Tensor, vectors: Tensor, valid: Tensor, want: Tensor, rng: Rng, dual: bool) -> Tensor:
    """From eigenvalues [G, n] and their vectors in item space [G, c, n], of length √λ, or λ if `dual`."""
    count, c, n = vectors.shape
    picked = torch.full((count, c), -1, dtype=torch.int64, device=values.device)
    take = torch.empty(count, n, _block(n), dtype=torch.int8, device=values.device)
    rest = torch.empty(count, c, dtype=torch.bool, device=values.device)
    scale, sizes = torch.empty_like(values), torch.empty(count, dtype=torch.int32, device=values.device)
    start = rng.call * CALL
    rng.call += 3
    if count:
        rows, block = _block(c), _block(n)
        _choose[(count,)](
            values, want, take, scale, sizes, rng.step, rng.key, start, n, SOLID, DUAL=dual, N=block, num_warps=1
        )
        _pick[(count,)](
            vectors.contiguous(), scale, valid.contiguous(), rest, want, sizes, picked,
            rng.step, rng.key, start + CALL, CALL, c, n,
            C=rows, N=block, num_warps=min(16, max(1, rows * block // 512)), maxnreg=REGISTERS,
        )  # fmt: skip
    return picked


def _block(size: int) -> int:
    return max(16, int(triton.next_power_of_2(size)))
