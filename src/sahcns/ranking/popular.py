"""The most popular items that each user may be shown: what a model is held against, without a score for every pair."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sahcns.ranking.truth import Truth


def most_popular(truth: Truth, k: int) -> Tensor:
    """[E, k] like `rank`: the items with most training pairs, equals by lowest id, -1 where items run out.

    All users share one order, and differ in what is masked. A masked item at place p, the t-th of its row from 0, has
    p - t places before it that are free; so free place j stands at j + t', where t' counts those with p - t ≤ j.
    """
    n, masked = truth.n_items, truth.masked
    order = truth.popularity.argsort(descending=True, stable=True)  # [I], item at each place
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(n, device=order.device))
    taken = (masked.rows * n + place[masked.items]).sort().values  # row · n + p, ascending
    before = taken - (torch.arange(len(taken), device=taken.device) - masked.starts[masked.rows])  # row · n + p - t
    free = torch.arange(min(k, n), device=order.device)  # j
    rows = torch.arange(len(truth), device=order.device)[:, None]
    at = free + torch.searchsorted(before, rows * n + free, right=True) - masked.starts[:-1, None]  # [E, ≤ k]
    items = torch.where(at < n, order[at.clamp(max=n - 1)], -1)
    return pad(items, (0, k - len(free)), value=-1)
