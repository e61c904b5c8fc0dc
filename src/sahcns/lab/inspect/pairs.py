"""Single training pairs in full: the pool, every number of the selection and of the calibration, and the negative."""

from typing import Any

import torch
from torch import Tensor

from sahcns.data.ids import Id
from sahcns.data.split import Split
from sahcns.errors import DataError
from sahcns.lab.inspect.model import BATCH, HELD_OUT, Model, Negatives, SampledEpoch, TrainedModel
from sahcns.lab.inspect.results import PairView
from sahcns.rng import Rng
from sahcns.samplers import Sampler, sahc
from sahcns.training.device import default_torch_state
from sahcns.training.record import described


@default_torch_state()
def inspect_pairs(
    model: Model,
    split: Split | None = None,
    sampler: Sampler | None = None,
    seed: int = 0,
    *,
    count: int = 3,
    user: Id | None = None,
    item: Id | None = None,
    device: str = "auto",
    kernels: str = "auto",
    batch: int = BATCH,
) -> list[PairView]:
    """`count` training pairs, drawn by the seed, or those of a user, or the one of a user and an item.

    Their pools are those that `diagnose` sees with the same seed.
    """
    epoch = SampledEpoch(TrainedModel.of(model, split, device=device, kernels=kernels), sampler, seed, batch)
    places = find_pairs(epoch.model, count, user, item, seed)
    return [_view(epoch, epoch.at(place // batch), place % batch) for place in places]


def find_pairs(model: TrainedModel, count: int, user: Id | None, item: Id | None, seed: int) -> list[int]:
    """Positions among the training pairs, in order."""
    graph, split, first, last = model.graph, model.split, 0, model.graph.n_pairs
    if user is not None:
        row = int(split.user_ids.encode([user], what="user")[0])
        counts = graph.pair_counts()[: row + 1]
        last = int(counts.sum())
        first = last - int(counts[row])
        if first == last:
            why = "no training pair, so there is nothing to choose negatives for"
            if int(graph.unseen.room[row]) == 0:
                why = "every item, so there is nothing to choose negatives from, and training leaves their pairs out"
            raise DataError(f"user {user!r} has {why}")
    if item is None:
        order = Rng(seed, "inspect").permutation(last - first)
        return sorted((first + order[:count]).tolist())
    items = graph.pairs_at(torch.arange(first, last, device=graph.device))[1].tolist()
    wanted = int(split.item_ids.encode([item], what="item")[0])
    if wanted not in items:
        some = ", ".join(str(split.item_ids[one]) for one in items[:5]) + (" …" if len(items) > 5 else "")
        raise DataError(f"item {item!r} is not a training item of user {user!r}, who has {some}")
    return [first + items.index(wanted)]


def selection_scores(sampler: Sampler, a: Tensor) -> Tensor | None:
    """q [B, N], for samplers that select by one (Eq. 9)."""
    selection = sampler.parts()[0] if isinstance(sampler, sahc.SelectThenCalibrate) else None
    if isinstance(selection, sahc.StructureAware):
        return sahc.selection_score(a, selection.alpha)
    return sahc.standardised(sahc.discrepancy(a)) if isinstance(selection, sahc.DiscrepancyOnly) else None


def _view(epoch: SampledEpoch, negatives: Negatives, at: int) -> PairView:
    """Pair `at` of the batch."""
    match, split = negatives.match, epoch.model.split
    gaps, a = sahc.layer_gaps(match), match.a
    mu, sigma, q = a.mean(-1), sahc.discrepancy(a), selection_scores(epoch.sampler, a)
    ids = match.candidates[at]
    same = negatives.items[at, ..., None] == ids  # [K, M, T, N]
    columns = {
        "profile": a[at],
        "score": match.scores[at],
        "mu": mu[at],
        "sigma": sigma[at],
        "z_mu": sahc.standardised(mu)[at],
        "z_sigma": sahc.standardised(sigma)[at],
        "q": ids.new_zeros(0) if q is None else q[at],
        "share": (negatives.shares[at, ..., None] * same).sum(1).mean((0, 1)),
        "dns": torch.arange(len(ids), device=ids.device) == sahc.Hardest()(match)[at],
        "popularity": match.popularity[ids],
    }
    rows = {name: values.tolist() for name, values in columns.items()}
    held_out: list[int] = epoch.model.held_out(match.users[at : at + 1], ids[None])[0].tolist()

    def named(item: int) -> dict[str, Any]:
        title = (split.titles[item] or None) if split.titles is not None else None
        return {"item": split.item_ids[item], "title": title}

    def candidate(n: int, item: int) -> dict[str, Any]:
        own = {name: values[n] if values else None for name, values in rows.items()}
        return {**own, **named(item), "held_out": HELD_OUT[held_out[n]]}

    def ingredient(k: int, item: int) -> dict[str, Any]:
        weights = (negatives.weights[at, k] * (negatives.items[at, k] == item)).sum(0).tolist()
        return {**named(item), "positive": item == int(match.positives[at]), "weights": weights}

    def negative(k: int) -> dict[str, Any]:
        items = dict.fromkeys(negatives.items[at, k].flatten().tolist())  # each once, in the order of the mixture
        tables = {name: getattr(negatives, name) for name in ("strength", "profile_before", "profile")}
        tables |= {"score_before": negatives.scores_before, "score": negatives.scores}
        return {
            "ingredients": [ingredient(k, item) for item in items],
            **{name: table[at, k].tolist() for name, table in tables.items()},
        }

    return PairView.from_dict(
        {
            "sampler": described(epoch.sampler),
            "user": split.user_ids[int(match.users[at])],
            **named(int(match.positives[at])),
            "first_layer": epoch.model.first_layer,
            "positive": match.p[at].tolist(),
            "positive_score": float(match.positive_score[at]),
            "pool": [candidate(n, item) for n, item in enumerate(ids.tolist())],
            "hardest": a[at].amax(0).tolist(),
            "gaps": gaps[at].tolist(),
            "rho": sahc.hardness(gaps)[at].tolist(),
            "negatives": [negative(k) for k in range(negatives.items.shape[1])],
            "notes": epoch.notes,
        }
    )
