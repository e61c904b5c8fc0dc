"""Full-ranking evaluation: every metric at every cut-off from one pass over the users."""

from collections.abc import Mapping, Sequence
from typing import Literal, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sahcns.errors import SettingError
from sahcns.ranking.metrics import METRICS, Lists, chosen
from sahcns.ranking.retrieval import rank
from sahcns.ranking.truth import Truth

PerUser = dict[str, npt.NDArray[np.float64]]


@overload
def evaluate(
    user_vectors: Tensor,
    item_vectors: Tensor,
    truth: Truth,
    ks: Sequence[int] = ...,
    metrics: Sequence[str] = ...,
    per_user: Literal[False] = ...,
    block: int | None = ...,
) -> dict[str, float]: ...


@overload
def evaluate(
    user_vectors: Tensor,
    item_vectors: Tensor,
    truth: Truth,
    ks: Sequence[int] = ...,
    metrics: Sequence[str] = ...,
    *,
    per_user: Literal[True],
    block: int | None = ...,
) -> tuple[dict[str, float], PerUser]: ...


def evaluate(
    user_vectors: Tensor,
    item_vectors: Tensor,
    truth: Truth,
    ks: Sequence[int] = (10, 20),
    metrics: Sequence[str] = ("recall", "ndcg"),
    per_user: bool = False,
    block: int | None = None,
) -> dict[str, float] | tuple[dict[str, float], PerUser]:
    """Means as `{"recall@10": …, "ndcg@20": …}`; with per_user also every user's own values, [E] like truth.users.

    user_vectors [n_users, D], item_vectors [n_items, D]; the names are those of `METRICS`. Metrics over all lists at
    once (coverage, popularity, bias, gini) have no value a user and are left out of the second dictionary.
    """
    _check(ks, metrics)
    values = measure(rank(user_vectors, item_vectors, truth, max(ks), block), truth, ks, metrics)
    summary = means(values, ks)
    if not per_user:
        return summary
    own = {name: table.cpu().numpy() for name, table in values.items() if METRICS[name].per_user}
    return summary, {f"{name}@{k}": table[:, j] for name, table in own.items() for j, k in enumerate(ks)}


def measure(
    top: Tensor, truth: Truth, ks: Sequence[int] = (10, 20), metrics: Sequence[str] = ("recall", "ndcg")
) -> dict[str, Tensor]:
    """Metrics of any top lists, from this library or elsewhere: {name: [E, J] by user, or [J] for all lists together}.

    top [E, K] item ids for truth.users, best first, without repeats, -1 in empty places; J = len(ks), all at most K.
    """
    _check(ks, metrics)
    if top.shape != (len(truth), max(max(ks), top.shape[-1])):
        raise SettingError(f"top has shape {tuple(top.shape)}; this truth needs ({len(truth)}, {max(ks)} or more)")
    # Whether an item is held out: binary search of its (row, item) key among those of all held-out pairs.
    wanted = truth.held.flat(truth.n_items)
    keys = torch.arange(len(top), device=top.device)[:, None] * truth.n_items + top
    at = torch.searchsorted(wanted, keys).clamp(max=len(wanted) - 1)
    # An empty place, -1, has the key of the last item in the row above, hence the second condition.
    hits = (wanted[at] == keys) & (top >= 0)
    lists = Lists(top, hits, truth.held.lengths, truth.popularity, tuple(ks))
    return {metric.name: metric.compute(lists) for metric in chosen(metrics)}


def means(values: Mapping[str, Tensor], ks: Sequence[int]) -> dict[str, float]:
    """What `measure` found, over all users: `{"recall@10": …}`."""
    tables = [table.mean(0) if METRICS[name].per_user else table for name, table in values.items()]
    names = [f"{name}@{k}" for name in values for k in ks]
    return dict(zip(names, torch.cat(tables).tolist(), strict=True))  # all metrics in one copy to the host


def _check(ks: Sequence[int], metrics: Sequence[str]) -> None:
    if not len(ks) or min(ks) < 1:
        raise SettingError(f"ks={tuple(ks)} must hold at least one cut-off, each 1 or more")
    if not chosen(metrics):
        raise SettingError(f"metrics is empty; there are: {', '.join(METRICS)}")
