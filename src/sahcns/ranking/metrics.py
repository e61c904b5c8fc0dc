"""Every metric with its definition, all computed from one table of hits.

Means are over the users with at least one held-out item, in float64. There are no sampled metrics: ranking the held-out
item among a handful of random ones orders models differently from the full ranking, and no average over users or
repeats repairs that (Krichene & Rendle, On Sampled Metrics for Item Recommendation, KDD 2020).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from sahcns.errors import SettingError, nearest


@dataclass(frozen=True, eq=False)
class Lists:
    """The top lists of E users, K long, and what all metrics share.

    top [E, K] item ids or -1; hits [E, K] bool; held [E], the number of held-out items; popularity [n_items];
    ks: J cut-offs, each at most K.
    """

    top: Tensor
    hits: Tensor
    held: Tensor
    popularity: Tensor
    ks: tuple[int, ...]

    @cached_property
    def cut(self) -> Tensor:
        """[J] float64, the cut-offs."""
        return torch.tensor(self.ks, dtype=torch.float64, device=self.top.device)

    @cached_property
    def place(self) -> Tensor:
        """[K] float64: 1, 2, … K."""
        return torch.arange(1, self.top.shape[1] + 1, dtype=torch.float64, device=self.top.device)

    @cached_property
    def within(self) -> Tensor:
        """[K, J] float64, 1 where place ≤ k: a product with it sums the first k places for every k at once."""
        return (self.place[:, None] <= self.cut).double()

    @cached_property
    def n_hits(self) -> Tensor:
        """[E, J], held-out items among the first k."""
        return self.hits.double() @ self.within

    @cached_property
    def first(self) -> Tensor:
        """[E, 1], place of the first hit, K + 1 where there is none."""
        return 1.0 + (self.hits.cumsum(1) == 0).sum(1, keepdim=True)

    @cached_property
    def times_listed(self) -> Tensor:
        """[J, n_items] float64, in how many lists of length k each item stands."""
        n_items = len(self.popularity)
        counts = torch.zeros((len(self.ks), n_items + 1), dtype=torch.int64, device=self.top.device)
        slots = torch.where(self.top < 0, n_items, self.top)  # -1 is counted in a column of its own, then dropped
        for j, k in enumerate(self.ks):
            places = slots[:, :k].flatten()
            counts[j].index_add_(0, places, torch.ones_like(places))
        return counts[:, :n_items].double()


def recall(lists: Lists) -> Tensor:
    return lists.n_hits / lists.held[:, None]


def ndcg(lists: Lists) -> Tensor:
    discounted = lists.within / torch.log2(lists.place + 1)[:, None]  # [K, J]
    upto = (lists.place <= lists.place[:, None]).double()  # [K, K]
    ideal = upto @ discounted  # [K, J], row m - 1 for m held-out items, truncated at min(k, m)
    return (lists.hits.double() @ discounted) / ideal[lists.held.clamp(max=len(ideal)) - 1]


def precision(lists: Lists) -> Tensor:
    return lists.n_hits / lists.cut


def hit(lists: Lists) -> Tensor:
    return (lists.first <= lists.cut).double()


def mrr(lists: Lists) -> Tensor:
    return (lists.first <= lists.cut).double() / lists.first


def average_precision(lists: Lists) -> Tensor:
    at_hits = lists.hits * lists.hits.cumsum(1) / lists.place  # [E, K], precision at each place that is a hit
    return (at_hits @ lists.within) / lists.held[:, None]


def coverage(lists: Lists) -> Tensor:
    return (lists.times_listed > 0).double().mean(1)


def popularity(lists: Lists) -> Tensor:
    return (lists.times_listed * lists.popularity).sum(1) / lists.times_listed.sum(1).clamp(min=1)


def bias(lists: Lists) -> Tensor:
    pairs = lists.popularity.double()
    return popularity(lists) * pairs.sum() / pairs.square().sum()


def gini(lists: Lists) -> Tensor:
    times = lists.times_listed.sort(1).values  # ascending
    n = times.shape[1]
    weight = torch.arange(1 - n, n, 2, dtype=torch.float64, device=times.device)  # 2i - n - 1 for i = 1 … n
    return (times * weight).sum(1) / (n * times.sum(1).clamp(min=1))


@dataclass(frozen=True)
class Metric:
    """A name, its one-line definition, and its value at every cut-off: [E, J] by user, or [J] for all lists."""

    name: str
    definition: str
    compute: Callable[[Lists], Tensor]
    per_user: bool = True


METRICS = {
    metric.name: metric
    for metric in (
        Metric("recall", "share of the user's held-out items among the first k", recall),
        Metric("ndcg", "Σ 1/log2(place+1) over hits, divided by the best possible with min(k, held-out) hits", ndcg),
        Metric("precision", "share of the first k places that are held-out items", precision),
        Metric("hit", "1 if any held-out item is among the first k, else 0", hit),
        Metric("mrr", "1/place of the first hit, 0 if none is among the first k", mrr),
        Metric("map", "precision at each hit's place, summed and divided by held-out items", average_precision),
        Metric("coverage", "share of all items that stand in someone's first k", coverage, per_user=False),
        Metric("popularity", "mean number of training pairs of the recommended items", popularity, per_user=False),
        Metric("bias", "popularity divided by its mean over training pairs; 1 is no bias", bias, per_user=False),
        Metric("gini", "inequality of how often items are shown: 0 all alike, near 1 only a few", gini, per_user=False),
    )
}


def chosen(names: Sequence[str]) -> list[Metric]:
    """The metrics of these names; a misspelt one gets the nearest right one."""
    for name in names:
        if name not in METRICS:
            raise SettingError(f"metric {name!r} is not known; {nearest(name, METRICS)}")
    return [METRICS[name] for name in names]
