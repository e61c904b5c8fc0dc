"""The best k items of every user: one matrix product, one mask and one selection a block of users.

Scores are inner products in float32 (float64 if a table is float64), never leave the device, and no block waits for the
host. Equal scores are ordered by the lowest item id: the selection looks one place past k, and only the few rows in
which it meets a tie are selected again by the slower rule that settles them.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from sahcns.errors import SettingError, TrainingError
from sahcns.ranking.truth import Csr, Truth

# A block of scores: on a GPU large enough to fill it, on a CPU small enough to stay in the cache until it is selected.
BLOCK_BYTES = {"cuda": 256 << 20, "cpu": 16 << 20}
FEWEST = 20  # users of a block: a product of a few rows waits for the items, which are past any cache by then


def rank(user_vectors: Tensor, item_vectors: Tensor, truth: Truth, k: int, block: int | None = None) -> Tensor:
    """Top items of each evaluated user, best first: [E, k] int64, row r for truth.users[r].

    user_vectors [n_users, D], item_vectors [n_items, D]. Masked items never appear; a user with fewer than k unmasked
    items has the rest filled with -1. `block`, the number of users scored at once, may change the last bit of a score and
    nothing else; so may, on some processors, the place where an item stands.
    """
    tables = {"user_vectors": user_vectors, "item_vectors": item_vectors}
    for (name, table), rows in zip(tables.items(), (truth.n_users, truth.n_items), strict=True):
        if table.ndim != 2 or len(table) != rows:
            raise SettingError(f"{name} has shape {tuple(table.shape)}; this split needs ({rows}, D)")
        if table.device != truth.users.device:
            raise SettingError(f"{name} is on {table.device} and the truth on {truth.users.device}; move one of them")
        if (row := not_finite(table)) is not None:
            raise TrainingError(
                f"{name} row {row} is not finite, the model has diverged; lower the learning rate "
                "or go back to an earlier checkpoint"
            )
    return _best(user_vectors[truth.users], item_vectors, truth.masked, k, block)[0]


def not_finite(table: Tensor) -> int | None:
    """The first row [n, D] with a number that is NaN or infinite, if there is one; waits for the device."""
    return None if table.isfinite().all() else int((~table.isfinite()).any(1).nonzero()[0])


def recommend(
    user_vectors: Tensor,
    item_vectors: Tensor,
    seen: Csr | Sequence[Tensor] | None,
    k: int,
    block: int | None = None,
    hidden: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Items and scores for any users, best first: [B, k] int64 and [B, k]; missing places hold -1 and -inf.

    user_vectors [B, D]; `seen` is what each of the B users must not be shown: a Csr, or a tensor of item ids a user;
    `hidden` are item ids that none of them is shown. The tables must be finite, which is for the caller to see to: a
    service would look through all items at each request.
    """
    for name, table in (("user_vectors", user_vectors), ("item_vectors", item_vectors)):
        if table.ndim != 2:
            raise SettingError(f"{name} has shape {tuple(table.shape)}; it must be a matrix, one vector a row")
    lists = [user_vectors.new_zeros(0)] * len(user_vectors) if seen is None else seen
    if len(lists) != len(user_vectors):
        raise SettingError(f"seen has {len(lists)} lists for {len(user_vectors)} users; give one list a user")
    masked = lists if isinstance(lists, Csr) else Csr.of_lists(lists, len(item_vectors), item_vectors.device)
    hidden = None if hidden is None else hidden.to(item_vectors.device)
    return _best(user_vectors, item_vectors, masked, k, block, hidden)


def best_of_scores(scores: Tensor, masked: Csr, k: int, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """`recommend` of scores [B, n_items] that are there already, and are changed."""
    wanted = min(k, scores.shape[1])
    scores.view(-1).index_fill_(0, masked.flat(scores.shape[1]), -math.inf)
    if hidden is not None:
        scores.index_fill_(1, hidden, -math.inf)
    values, ids = _settled(scores, wanted)
    return _padded(ids, values, k - wanted)


def most_popular(truth: Truth, k: int) -> Tensor:
    """[E, k] like `rank`, without scores: the items with most training pairs, equals by lowest id, -1 where items run out.

    All users share one order, and differ in what is masked. A masked item at place p, the t-th of its row from 0, has
    p - t places before it that are free; so free place j stands at j + t', where t' counts those with p - t ≤ j.
    """
    n, masked = truth.n_items, truth.masked
    order = truth.popularity.argsort(descending=True, stable=True)  # [I], item at each place
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(n, device=order.device))
    at_place = (masked.rows * n + place[masked.items]).sort().values  # row · n + p, ascending
    among = torch.arange(len(at_place), device=at_place.device) - masked.starts[masked.rows]  # t
    before = at_place - among  # row · n + p - t
    free = torch.arange(min(k, n), device=order.device)  # j
    rows = torch.arange(len(truth), device=order.device)[:, None]
    at = free + torch.searchsorted(before, rows * n + free, right=True) - masked.starts[:-1, None]  # [E, ≤ k]
    items = torch.where(at < n, order[at.clamp(max=n - 1)], -1)
    return pad(items, (0, k - len(free)), value=-1)


def block_rows(n_items: int, device: torch.device, itemsize: int = 4) -> int:
    """How many users are scored at once when nobody says."""
    row = max(1, n_items * itemsize)
    fitting = BLOCK_BYTES.get(device.type, BLOCK_BYTES["cuda"]) // row
    return max(1, fitting, min(FEWEST, BLOCK_BYTES["cuda"] // row))


@torch.no_grad()
def _best(
    users: Tensor,
    items: Tensor,
    masked: Csr,
    k: int,
    block: int | None,
    hidden: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Vectors [B, D] and [I, D] → items [B, k] and scores [B, k]."""
    if users.shape[1] != items.shape[1]:
        raise SettingError(f"users have {users.shape[1]} dimensions and items {items.shape[1]}; they must agree")
    for name, value in (("k", k), ("block", block)):
        if value is not None and value < 1:
            raise SettingError(f"{name}={value} must be 1 or more")
    dtype = torch.float64 if torch.float64 in (users.dtype, items.dtype) else torch.float32
    users, items = users.to(dtype), items.to(dtype)
    wanted = min(k, len(items))
    block = block or block_rows(len(items), items.device, dtype.itemsize)
    values, ids = _select(users, items, masked, wanted + 1, block, hidden)
    tied = ((values[:, 1:] == values[:, :-1]) & values[:, 1:].isfinite()).any(1)
    any_tied, below = torch.stack(
        [tied.any(), (values < math.inf).all()]
    ).tolist()  # what the host must know, in one copy
    if not below:
        raise TrainingError(
            f"scores overflow {dtype}: the vectors are finite but their products are not; lower the learning rate"
        )
    values, ids = values[:, :wanted], ids[:, :wanted]
    if any_tied:
        rows = tied.nonzero().squeeze(1)
        again = _select(users[rows], items, masked.take(rows), wanted, block, hidden, settle=True)
        values, ids = values.index_copy(0, rows, again[0]), ids.index_copy(0, rows, again[1])
    return _padded(ids, values, k - wanted)


def _padded(ids: Tensor, values: Tensor, missing: int) -> tuple[Tensor, Tensor]:
    """Items and scores with -1 and -inf where nothing is left, and in so many places more."""
    short = (0, missing)
    return pad(ids.masked_fill(values == -math.inf, -1), short, value=-1), pad(values, short, value=-math.inf)


def _select(
    users: Tensor, items: Tensor, masked: Csr, k: int, block: int, hidden: Tensor | None = None, settle: bool = False
) -> tuple[Tensor, Tensor]:
    """Top k of every row in blocks, masked items at -inf: values and ids [B, k]; k may be one more than the items."""
    n_users, n_items = len(users), len(items)
    group = _group(n_items, k)
    width = math.ceil(max(n_items, k) / group) * group
    # The columns past n_items fill up the last group (and place k); they are written once and never win.
    # A lone row is scored twice over: the product of one row is another, which may round twins apart.
    scores = users.new_full((max(min(block, n_users), 2), width), -math.inf)
    flat = masked.flat(width)
    values = users.new_empty((n_users, k))
    ids = torch.empty((n_users, k), dtype=torch.int64, device=users.device)
    for start in range(0, n_users, block):
        stop = min(start + block, n_users)
        part, rows = scores[: stop - start], max(stop - start, 2)
        # Written in place, which autocast leaves alone: a ranking in half precision would be full of ties.
        torch.mm(users[start:stop].expand(rows, -1), items.T, out=scores[:rows, :n_items])
        own = flat[masked.bounds[start] : masked.bounds[stop]]
        part.view(-1).index_fill_(0, own - start * width, -math.inf)
        if hidden is not None:
            part.index_fill_(1, hidden, -math.inf)
        values[start:stop], ids[start:stop] = _settled(part, k) if settle else _grouped(part, k, group)
    return values, ids


def _group(n_items: int, k: int) -> int:
    """How many items share a maximum in `_grouped`: near √(n/k), where its two selections cost alike; 1 if small."""
    balanced = math.isqrt(n_items // k)
    return 1 if balanced < 8 else 1 << (balanced.bit_length() - 1)


def _grouped(scores: Tensor, k: int, group: int) -> tuple[Tensor, Tensor]:
    """Exact top k through the maxima of groups: the k best items lie in the k groups with the best maxima."""
    if group == 1:
        best = scores.topk(k)
        return best.values, best.indices
    rows, width = scores.shape
    groups = width // group  # group c holds the items c, c + groups, c + 2·groups, …, so the maxima run along the rows
    heads = scores.view(rows, group, groups).amax(1).topk(k, sorted=False).indices  # [rows, k]
    members = torch.arange(0, width, groups, device=scores.device)
    candidates = (members[:, None] + heads[:, None, :]).view(rows, group * k)
    best = scores.gather(1, candidates).topk(k)
    return best.values, candidates.gather(1, best.indices)


def _settled(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Top k with equal scores ordered by the lowest id: of those that tie for the last places, the first ones."""
    last = scores.topk(k).values[:, -1:]
    width = scores.shape[1]
    falling = torch.arange(width - 1, -1, -1, dtype=torch.int32, device=scores.device)
    order = torch.where(scores > last, width, torch.where(scores == last, falling, -1))
    ids = order.topk(k, sorted=False).indices.sort(1).values
    values, by_score = scores.gather(1, ids).sort(dim=1, descending=True, stable=True)
    return values, ids.gather(1, by_score)
