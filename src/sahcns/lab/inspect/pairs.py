"""Single training pairs in full: the pool, every number of the selection and of the calibration, and the negative."""

import torch
from torch import Tensor

from sahcns.data.ids import Id
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.lab.inspect.epoch import BATCH, Negatives, SampledEpoch
from sahcns.lab.inspect.model import HELD_OUT, Model, TrainedModel
from sahcns.lab.inspect.results import Candidate, Ingredient, Negative, PairView
from sahcns.rng import Rng
from sahcns.samplers import Sampler
from sahcns.samplers.sahc import (
    DiscrepancyOnly,
    Hardest,
    SelectThenCalibrate,
    StructureAware,
    discrepancy,
    hardness,
    layer_gaps,
    selection_score,
    standardised,
)
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
    if count < 1:
        raise SettingError(f"count={count} must be 1 or more")
    graph, split = model.graph, model.split
    if user is None:
        if item is not None:
            raise SettingError(f"item={item!r} needs a user: a pair is a user and one of their training items")
        order = Rng(seed, "inspect").permutation(len(graph.pair_users))
        return sorted(order[:count].tolist())
    row = int(split.user_ids.encode([user], what="user")[0])
    first, last = torch.searchsorted(graph.pair_users.cpu(), torch.tensor([row, row + 1])).tolist()
    items = graph.pair_items[first:last].tolist()
    if not items:
        why = "no training pair, so there is nothing to choose negatives for"
        if int(graph.unseen.room[row]) == 0:
            why = "every item, so there is nothing to choose negatives from, and training leaves their pairs out"
        raise DataError(f"user {user!r} has {why}")
    if item is None:
        order = Rng(seed, "inspect").permutation(len(items))
        return sorted(first + place for place in order[:count].tolist())
    wanted = int(split.item_ids.encode([item], what="item")[0])
    if wanted not in items:
        some = ", ".join(str(split.item_ids[one]) for one in items[:5]) + (" …" if len(items) > 5 else "")
        raise DataError(f"item {item!r} is not a training item of user {user!r}, who has {some}")
    return [first + items.index(wanted)]


def selection_scores(sampler: Sampler, a: Tensor) -> Tensor | None:
    """q [B, N], for samplers that select by one (Eq. 9)."""
    if not isinstance(sampler, SelectThenCalibrate):
        return None
    selection, _ = sampler.parts()
    if isinstance(selection, StructureAware):
        return selection_score(a, selection.alpha)
    return standardised(discrepancy(a)) if isinstance(selection, DiscrepancyOnly) else None


def _view(epoch: SampledEpoch, negatives: Negatives, at: int) -> PairView:
    """Pair `at` of the batch."""
    match, split = negatives.match, epoch.model.split
    user, positive = int(match.users[at]), int(match.positives[at])
    gaps = layer_gaps(match)
    return PairView(
        sampler=described(epoch.sampler),
        user=split.user_ids[user],
        item=split.item_ids[positive],
        title=_title(split, positive),
        first_layer=epoch.model.first_layer,
        positive=_floats(match.p[at]),
        positive_score=float(match.positive_score[at]),
        pool=tuple(_candidates(epoch, negatives, at)),
        hardest=_floats(match.a[at].amax(0)),
        gaps=_floats(gaps[at]),
        rho=_floats(hardness(gaps)[at]),
        negatives=tuple(_negative(split, negatives, at, k) for k in range(negatives.items.shape[1])),
        notes=tuple(epoch.notes),
    )


def _candidates(epoch: SampledEpoch, negatives: Negatives, at: int) -> list[Candidate]:
    match, split = negatives.match, epoch.model.split
    mu, sigma = match.a.mean(-1), discrepancy(match.a)
    columns = torch.stack([match.scores, mu, sigma, standardised(mu), standardised(sigma)], 2)[at]  # [N, 5]
    q = selection_scores(epoch.sampler, match.a)
    hardest = int(Hardest()(match)[at])
    ids = match.candidates[at]
    same = negatives.items[at, ..., None] == ids  # [K, M, T, N]
    share = (negatives.shares[at, ..., None] * same).sum(1).mean((0, 1))  # [N]
    held_out = epoch.model.held_out(match.users[at : at + 1], ids[None])[0]
    return [
        Candidate(
            split.item_ids[item],
            _title(split, item),
            _floats(match.a[at, n]),
            *(score, mean, spread, z_mu, z_sigma),
            q=None if q is None else float(q[at, n]),
            share=float(share[n]),
            dns=n == hardest,
            held_out=HELD_OUT[int(held_out[n])],
            popularity=int(match.popularity[item]),
        )
        for n, (item, (score, mean, spread, z_mu, z_sigma)) in enumerate(
            zip(ids.tolist(), columns.tolist(), strict=True)
        )
    ]


def _negative(split: Split, negatives: Negatives, at: int, k: int) -> Negative:
    items, weights = negatives.items[at, k], negatives.weights[at, k]  # [M, T]
    positive = int(negatives.match.positives[at])
    return Negative(
        tuple(
            Ingredient(
                split.item_ids[item], _title(split, item), item == positive, _floats((weights * (items == item)).sum(0))
            )
            for item in dict.fromkeys(items.flatten().tolist())  # each once, in the order of the mixture
        ),
        _floats(negatives.strength[at, k]),
        _floats(negatives.profile_before[at, k]),
        _floats(negatives.profile[at, k]),
        float(negatives.scores_before[at, k]),
        float(negatives.scores[at, k]),
    )


def _floats(row: Tensor) -> tuple[float, ...]:
    return tuple(row.tolist())


def _title(split: Split, item: int) -> str | None:
    return (split.titles[item] or None) if split.titles is not None else None
