"""Sampled softmax and BSL on a GPU, for negatives that all pairs of a batch share, without a table [B, K] in memory.

Rows j of the batch are its B users, their B positives and X items beside. They are gathered, pooled and brought to length 1
once, z [2B + X, W]; tiles of scores are made where they are used, forward and backward, by tensor cores. Negatives are the
rows from B on (in-batch) or those from 2B on:

    x[b, k] = <z_b, z_k> / τ₂ - log q_k,   x⁺_b = <z_b, z_{B+b}> / τ₁ - log q,   S_b = logsumexp_k x[b, k]
    softmax:  L_b = log(1 + e^{S_b - x⁺_b}),    Z_b = x⁺_b + L_b,   a_b = w_b / (τ₂ B),        κ_b = -σ(S_b - x⁺_b) w_b / (τ₁ B)
    BSL:      L_b = t₂ S_b - x⁺_b,              Z_b = S_b,          a_b = t₂ w_b / (τ₂ B),     κ_b = -w_b / (τ₁ B)
    G[b, k] = a_b e^{x[b, k] - Z_b},   ∂/∂z_b = Σ_k G[b, k] z_k + κ_b z_{B+b},   ∂/∂z_k = Σ_b G[b, k] z_b (+ κ_k z_k's user)
    cosine:  z = e / ‖e‖,  ∂/∂e = (∂/∂z - z <z, ∂/∂z>) / ‖e‖;   then to every layer by atomic adds, L2 of layer 0 with it

L2 counts each of the 2B + X rows once. Scores are sums of W products of a cosine's parts, divided by a τ of 0.1: tf32 alone,
with 10 bits, would put an error of 10⁻³ and more on a logit. Three products of 10-bit parts leave that of float32, and the
time is not in the products.
"""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from sahcns.kernels.gpu.match import empty_like, softplus, table
from sahcns.kernels.registry import Setup, register
from sahcns.objectives.base import Comparison
from sahcns.objectives.bsl import BSL
from sahcns.objectives.softmax import SampledSoftmax

PRECISION = "tf32x3"
WIDEST = 256  # of a final vector, of which tiles are held whole
STRIPS = 32  # most parts that a row's logsumexp is made of
PROGRAMS = 256  # of each side in the gradient, more or less
TILE = 64  # negatives, or users, that a program takes at a time
GATHER, PULL = {"R": 8, "num_warps": 2}, {"R": 32, "C": TILE, "num_warps": 4}


class Terms(NamedTuple):
    """What an objective is, beyond its scores."""

    cosine: bool
    softmax: bool  # else BSL
    temperature: float  # τ₁
    negative_temperature: float  # τ₂
    power: float = 1.0  # t₂


@triton.jit
def _node(users, items, j, B, count, n_users):
    """Row of the tables, in 64 bits as ids are."""
    user = tl.load(users + j, mask=j < B, other=0)
    item = tl.load(items + j - B, mask=(j >= B) & (j < count), other=0)
    return tl.where(j < B, user, item + n_users)


@triton.jit
def _gather(
    first, rest, stride, ego, users, items, z, inverse, sums, B, count, n_users, l2, DIM: tl.constexpr, D: tl.constexpr,
    EDIM: tl.constexpr, E: tl.constexpr, T: tl.constexpr, KIND: tl.constexpr, COSINE: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """z and 1 / ‖e‖ of some rows, and the L2 of each."""
    j, d, e = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, D), tl.arange(0, E)
    stride = stride.to(tl.int64)  # one layer may be within what 32 bits count, and several beyond
    node, real = _node(users, items, j, B, count, n_users), j < count
    mask = real[:, None] & (d < DIM)[None, :]
    at = node[:, None] * DIM + d[None, :]
    total = tl.load(first + at, mask=mask, other=0.0)
    square = tl.sum(total * total, axis=1)
    for t in tl.static_range(1, T):
        x = tl.load(rest + (t - 1) * stride + at, mask=mask, other=0.0)
        if KIND == "concat":
            square += tl.sum(x * x, axis=1)
        else:
            total += x
    if KIND == "mean":
        total = total / T
    if KIND != "concat":
        square = tl.sum(total * total, axis=1)
    by = square * 0.0 + 1.0
    if COSINE:
        by = 1.0 / tl.maximum(tl.sqrt(square), 1e-12)
    tl.store(inverse + j, by, mask=real)
    if KIND == "concat":
        place = z + j[:, None] * (T * DIM) + d[None, :]
        tl.store(place, total * by[:, None], mask=mask)
        for t in tl.static_range(1, T):
            x = tl.load(rest + (t - 1) * stride + at, mask=mask, other=0.0)
            tl.store(place + t * DIM, x * by[:, None], mask=mask)
    else:
        tl.store(z + j[:, None] * DIM + d[None, :], total * by[:, None], mask=mask)
    own = tl.load(ego + node[:, None] * EDIM + e[None, :], mask=real[:, None] & (e < EDIM)[None, :], other=0.0)
    tl.store(sums + j, l2 * tl.sum(own * own, axis=1), mask=real)


@triton.jit
def _rows(z, j, inside, W: tl.constexpr, D: tl.constexpr):
    d = tl.arange(0, D)
    return tl.load(z + j[:, None] * W + d[None, :], mask=inside[:, None] & (d < W)[None, :], other=0.0)


@triton.jit
def _logits(
    a, b, items, left_out, log_q, r, c, B, K, begin, sharp,
    SAME: tl.constexpr, OUT: tl.constexpr, LOGQ: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """x of users r with vectors a and negatives c with vectors b, a tile; -inf for what is no negative of a user."""
    item = tl.load(items + begin + c, mask=c < K, other=0)
    x = tl.dot(a, tl.trans(b), input_precision=PRECISION) * sharp
    if LOGQ:
        x -= tl.load(log_q + item, mask=c < K, other=0.0)[None, :]
    there = (r < B)[:, None] & (c < K)[None, :]
    if OUT:
        there &= tl.load(left_out + r.to(tl.int64)[:, None] * K + c[None, :], mask=there, other=1) == 0
    if SAME:
        there &= tl.load(items + r, mask=r < B, other=0)[:, None] != item[None, :]
    return tl.where(there, x, float("-inf"))


@triton.jit
def _scores(
    z, items, left_out, log_q, high, total, B, K, begin, strip, strips, sharp, W: tl.constexpr, D: tl.constexpr,
    SAME: tl.constexpr, OUT: tl.constexpr, LOGQ: tl.constexpr, R: tl.constexpr, C: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Of one strip of negatives, the largest x and the sum of exponentials below it, for each user."""
    r, column = tl.program_id(0) * R + tl.arange(0, R), tl.program_id(1)
    a = _rows(z, r, r < B, W, D)
    top = tl.full([R], float("-inf"), tl.float32)
    sums = tl.zeros([R], tl.float32)
    for start in range(0, strip, C):
        c = column * strip + start + tl.arange(0, C)
        b = _rows(z + (B + begin) * W, c, c < K, W, D)
        x = _logits(a, b, items, left_out, log_q, r, c, B, K, begin, sharp, SAME, OUT, LOGQ, PRECISION)
        higher = tl.maximum(top, tl.max(x, axis=1))
        some = tl.where(higher > float("-inf"), higher, 0.0)
        sums = sums * tl.exp(top - some) + tl.sum(tl.exp(x - some[:, None]), axis=1)
        top = higher
    tl.store(high + r * strips + column, top, mask=r < B)
    tl.store(total + r * strips + column, sums, mask=r < B)


@triton.jit
def _settle(
    z, items, log_q, weights, high, total, settled, sums, B, strips, sharp, sharper, power, W: tl.constexpr, D: tl.constexpr,
    S: tl.constexpr, SOFTMAX: tl.constexpr, LOGQ: tl.constexpr, WEIGHTED: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """The loss of each pair, added to its L2, and Z, a and κ, [3, B]; sharp = 1/τ₁, sharper = 1/τ₂."""
    r, k = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, S)
    inside = (r < B)[:, None] & (k < strips)[None, :]
    tops = tl.load(high + r[:, None] * strips + k[None, :], mask=inside, other=float("-inf"))
    top = tl.max(tops, axis=1)
    some = tl.where(top > float("-inf"), top, 0.0)
    parts = tl.load(total + r[:, None] * strips + k[None, :], mask=inside, other=0.0)
    result = top + tl.log(tl.maximum(tl.sum(parts * tl.exp(tops - some[:, None]), axis=1), 1e-30))
    own = tl.sum(_rows(z, r, r < B, W, D) * _rows(z + B * W, r, r < B, W, D), axis=1) * sharp
    if LOGQ:
        own -= tl.load(log_q + tl.load(items + r, mask=r < B, other=0), mask=r < B, other=0.0)
    share = own * 0.0 + 1.0 / B
    if WEIGHTED:
        share *= tl.load(weights + r, mask=r < B, other=0.0)
    if SOFTMAX:
        loss = softplus(result - own)
        low = own + loss
        slope = -1.0 / (1.0 + tl.exp(own - result))
    else:
        low = tl.where(top > float("-inf"), result, 0.0)
        loss = power * low - own
        slope = own * 0.0 - 1.0
    tl.store(settled + r, low, mask=r < B)
    tl.store(settled + B + r, power * sharper * share, mask=r < B)
    tl.store(settled + 2 * B + r, slope * sharp * share, mask=r < B)
    tl.store(sums + r, tl.load(sums + r, mask=r < B, other=0.0) + loss * share, mask=r < B)


@triton.jit
def _pull(
    z, items, left_out, log_q, settled, to_users, to_items, B, K, begin, sharp, user_blocks, item_blocks, user_strip,
    item_strip, user_parts, W: tl.constexpr, D: tl.constexpr, SAME: tl.constexpr, OUT: tl.constexpr, LOGQ: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The first programs: rows of G z over a strip of negatives; the others: rows of Gᵀ z over a strip of users."""
    program, d = tl.program_id(0), tl.arange(0, D)
    pulled = tl.zeros([R, D], dtype=tl.float32)
    if program < user_blocks * user_parts:
        r, part = (program % user_blocks) * R + tl.arange(0, R), program // user_blocks
        a = _rows(z, r, r < B, W, D)
        low = tl.load(settled + r, mask=r < B, other=0.0)
        scale = tl.load(settled + B + r, mask=r < B, other=0.0)
        for start in range(0, user_strip, C):
            c = part * user_strip + start + tl.arange(0, C)
            b = _rows(z + (B + begin) * W, c, c < K, W, D)
            x = _logits(a, b, items, left_out, log_q, r, c, B, K, begin, sharp, SAME, OUT, LOGQ, PRECISION)
            g = tl.exp(x - low[:, None]) * scale[:, None]
            pulled = tl.dot(g, b, acc=pulled, input_precision=PRECISION)
        to = to_users + (part * B + r).to(tl.int64)[:, None] * W + d[None, :]
        tl.store(to, pulled, mask=(r < B)[:, None] & (d < W)[None, :])
    else:
        other = program - user_blocks * user_parts
        i, piece = (other % item_blocks) * R + tl.arange(0, R), other // item_blocks
        mine = _rows(z + (B + begin) * W, i, i < K, W, D)
        for start in range(0, item_strip, C):
            u = piece * item_strip + start + tl.arange(0, C)
            theirs = _rows(z, u, u < B, W, D)
            y = _logits(theirs, mine, items, left_out, log_q, u, i, B, K, begin, sharp, SAME, OUT, LOGQ, PRECISION)
            lows = tl.load(settled + u, mask=u < B, other=0.0)
            scales = tl.load(settled + B + u, mask=u < B, other=0.0)
            h = tl.exp(y - lows[:, None]) * scales[:, None]
            pulled = tl.dot(tl.trans(h), theirs, acc=pulled, input_precision=PRECISION)
        place = to_items + (piece * K + i).to(tl.int64)[:, None] * W + d[None, :]
        tl.store(place, pulled, mask=(i < K)[:, None] & (d < W)[None, :])


@triton.jit
def _spread(
    ego, users, items, z, inverse, settled, to_users, to_items, upstream, grad, ego_grad, B, K, begin, count, n_users, n, l2,
    user_parts, item_parts, W: tl.constexpr, D: tl.constexpr, EDIM: tl.constexpr, E: tl.constexpr, DIM: tl.constexpr,
    T: tl.constexpr, KIND: tl.constexpr, COSINE: tl.constexpr,
):  # fmt: skip
    """Program j: the gradient of row j, to every layer and to the table of L2; grad [T, n, DIM]."""
    j = tl.program_id(0)
    d, e = tl.arange(0, D), tl.arange(0, E)
    inside = d < W
    node = _node(users, items, j, B, count, n_users)
    own = tl.load(z + j * W + d, mask=inside, other=0.0)
    dz = tl.zeros([D], dtype=z.dtype.element_ty)
    if j < B:
        for part in range(user_parts):
            dz += tl.load(to_users + (part * B + j).to(tl.int64) * W + d, mask=inside, other=0.0)
    elif j - B >= begin:
        for part in range(item_parts):
            dz += tl.load(to_items + (part * K + j - B - begin).to(tl.int64) * W + d, mask=inside, other=0.0)
    if j < 2 * B:
        other = tl.where(j < B, j + B, j - B)
        kappa = tl.load(settled + 2 * B + tl.minimum(j, other))
        dz += kappa * tl.load(z + other * W + d, mask=inside, other=0.0)
    if COSINE:
        dz = (dz - own * tl.sum(own * dz, axis=0)) * tl.load(inverse + j)
    up = tl.load(upstream)
    dz = dz * up
    ridge = 2.0 * l2 * up * tl.load(ego + node * EDIM + e, mask=e < EDIM, other=0.0)
    tl.atomic_add(ego_grad + node * EDIM + e, ridge, mask=e < EDIM, sem="relaxed")
    if KIND == "concat":
        tl.atomic_add(grad + ((d // DIM) * n + node) * DIM + d % DIM, dz, mask=inside, sem="relaxed")
    else:
        if KIND == "mean":
            dz = dz / T
        for t in tl.static_range(T):
            tl.atomic_add(grad + (t * n + node) * DIM + d, dz, mask=inside, sem="relaxed")


class SharedLoss(torch.autograd.Function):
    """Σ_b w_b L_b / B + l2/(2B) Σ_j ‖ego_j‖², of items [B + X] and T layers [n, d]; `ego` [n, ·], or None for layer 0."""

    @staticmethod
    def forward(
        ctx: Any, terms: Terms, kind: str, l2: float, n_users: int, begin: int, same: bool, users: Tensor, items: Tensor,
        left_out: Tensor | None, log_q: Tensor | None, weights: Tensor | None, ego: Tensor | None, *layers: Tensor,
    ) -> Tensor:  # fmt: skip
        """Negatives are the items from `begin` on, 0 or B; `same` leaves out a pair's own item, `left_out` [B, K] any."""
        seen, new = table(layers), layers[0].new_empty
        batch, count, negatives = len(users), len(users) + len(items), len(items) - begin
        width = seen.dim * (seen.layers if kind == "concat" else 1)
        own = seen.first if ego is None else ego.contiguous()
        z, inverse, sums, settled = new(count, width), new(count), new(count), new(3, batch)
        of_rows: dict[str, Any] = {"DIM": seen.dim, "EDIM": own.shape[1], "E": _block(own.shape[1]), "T": seen.layers}
        of_rows |= {"KIND": kind, "COSINE": terms.cosine}
        ridge = l2 / (2 * batch)
        _gather[(triton.cdiv(count, GATHER["R"]),)](
            seen.first, seen.rest, seen.stride, own, users, items, z, inverse, sums, batch, count, n_users, ridge,
            D=seen.block, **of_rows, **GATHER,
        )  # fmt: skip
        strip = triton.cdiv(triton.cdiv(negatives, TILE), STRIPS) * TILE
        strips = triton.cdiv(negatives, strip)
        high, total = new(batch, strips), new(batch, strips)
        masks = (z if left_out is None else left_out.contiguous(), z if log_q is None else log_q)
        of_tiles = {"SAME": same, "OUT": left_out is not None, "LOGQ": log_q is not None, "PRECISION": PRECISION}
        of_z = {"W": width, "D": max(16, _block(width))}
        sharp, sharper = 1.0 / terms.temperature, 1.0 / terms.negative_temperature
        rows = 64 if of_z["D"] <= 64 else 32  # 64 wide ones and what is loaded ahead have no room in shared memory
        _scores[(triton.cdiv(batch, rows), strips)](
            z, items, *masks, high, total, batch, negatives, begin, strip, strips, sharper, **of_z, **of_tiles,
            R=rows, C=TILE, num_warps=4, num_stages=1 if strip == TILE else 3,
        )  # fmt: skip
        _settle[(triton.cdiv(batch, 32),)](
            z, items, masks[1], z if weights is None else weights, high, total, settled, sums, batch, strips,
            sharp, sharper, terms.power, **of_z, S=_block(strips), SOFTMAX=terms.softmax, LOGQ=log_q is not None,
            WEIGHTED=weights is not None, R=32, num_warps=4,
        )  # fmt: skip
        ctx.saved = users, items, masks, z, inverse, settled, seen, own, ego is not None
        ctx.numbers = n_users, begin, ridge, sharper
        ctx.sizes = of_z, of_rows, of_tiles
        return sums.sum()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Any, ...]:
        users, items, masks, z, inverse, settled, seen, own, apart = ctx.saved
        n_users, begin, ridge, sharper = ctx.numbers
        of_z, of_rows, of_tiles = ctx.sizes
        batch, negatives = len(users), len(items) - begin
        user_blocks, user_parts, user_strip = _cut(batch, negatives)
        item_blocks, item_parts, item_strip = _cut(negatives, batch)
        to_users, to_items = z.new_empty(user_parts, batch, of_z["W"]), z.new_empty(item_parts, negatives, of_z["W"])
        _pull[(user_blocks * user_parts + item_blocks * item_parts,)](
            z, items, *masks, settled, to_users, to_items, batch, negatives, begin, sharper, user_blocks, item_blocks,
            user_strip, item_strip, user_parts, **of_z, **of_tiles, **PULL,
        )  # fmt: skip
        zeros, _ = empty_like(seen)
        ego_grad = torch.zeros_like(own) if apart else zeros
        _spread[(len(z),)](
            own, users, items, z, inverse, settled, to_users, to_items, upstream, zeros, ego_grad, batch, negatives, begin,
            len(z), n_users, seen.rows, ridge, user_parts, item_parts, **of_z, **of_rows, num_warps=1,
        )  # fmt: skip
        return (None,) * 11 + (ego_grad if apart else None, *zeros.unbind(0))


def _block(size: int) -> int:
    return int(triton.next_power_of_2(size))


def _cut(rows: int, columns: int) -> tuple[int, int, int]:
    """Blocks of rows, in how many parts the columns of each are taken, and how many columns a part has."""
    blocks, tiles = triton.cdiv(rows, PULL["R"]), triton.cdiv(columns, TILE)
    each = triton.cdiv(tiles, max(1, min(tiles, PROGRAMS // blocks)))
    return blocks, triton.cdiv(tiles, each), each * TILE


def _supports(setup: Setup) -> bool:
    """Atomic adds come in whatever order, which the ordered path promises not to; tiles hold whole vectors."""
    backbone = setup.backbone
    width = backbone.dim * (backbone.depth + 1 if backbone.aggregation.kind == "concat" else 1)
    fits = setup.single_precision and width <= WIDEST
    return setup.l2_on == "mixed" and fits and setup.graph.path != "triton-ordered"


@register("triton", "shared_loss", SampledSoftmax, supports=_supports)
def softmax_and_l2(objective: SampledSoftmax, pairs: Comparison, l2: float, table: Tensor | None) -> Tensor:
    """See `registry.PairLoss`."""
    tau = objective.temperature
    return _shared_loss(Terms(objective.similarity == "cosine", True, tau, tau), pairs, l2, table)


@register("triton", "shared_loss", BSL, supports=_supports)
def bsl_and_l2(objective: BSL, pairs: Comparison, l2: float, table: Tensor | None) -> Tensor:
    """See `registry.PairLoss`."""
    tau, tau_negative, power = objective.temperatures_and_power
    return _shared_loss(Terms(objective.similarity == "cosine", False, tau, tau_negative, power), pairs, l2, table)


def _shared_loss(terms: Terms, pairs: Comparison, l2: float, table: Tensor | None) -> Tensor:
    batch, items, begin = pairs.batch, pairs.items[0, :, 0, 0].contiguous(), 0
    if not pairs.own:
        items, begin = torch.cat([batch.positives, items]), len(batch.positives)
    masks = pairs.same, batch.users, items, pairs.left_out, pairs.log_q, batch.weights
    loss: Tensor = SharedLoss.apply(
        terms, batch.aggregation.kind, l2, pairs.graph.n_users, begin, *masks, table, *batch.layers
    )
    return loss
