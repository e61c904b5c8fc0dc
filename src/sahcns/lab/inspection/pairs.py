"""Look at single training pairs: the pool, every number of the selection and of the calibration, and what came of it."""

import torch
from torch import Tensor

from sahcns.data.ids import Id
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.lab.inspection.held_out import HeldOut
from sahcns.lab.inspection.pair_view import Candidate, Ingredient, Negative, PairView
from sahcns.lab.inspection.rebuilt import Model, Rebuilt
from sahcns.lab.inspection.walk import BATCH, Negatives, Walk
from sahcns.rng import Rng
from sahcns.samplers import Sampler
from sahcns.samplers.calibration import hardness, layer_gaps
from sahcns.samplers.sahc import SelectThenCalibrate
from sahcns.samplers.selection import (
    DiscrepancyOnly,
    Hardest,
    StructureAware,
    discrepancy,
    selection_score,
    standardised,
)
from sahcns.training.record import described
from sahcns.training.surroundings import as_torch_starts


@as_torch_starts()
def inspect_pairs(
    model: Model | Rebuilt,
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
    rebuilt = model if isinstance(model, Rebuilt) else Rebuilt.of(model, split, device=device, kernels=kernels)
    walk = Walk(rebuilt, rebuilt.sampler if sampler is None else sampler, seed, batch)
    held = HeldOut.of(rebuilt.split, rebuilt.graph.device)
    found = []
    for pair in find_pairs(rebuilt, count, user, item, seed):
        negatives = walk.at(pair // walk.batch)
        found.append(_view(walk, negatives, pair % walk.batch, held))
    return found


def find_pairs(model: Rebuilt, count: int, user: Id | None, item: Id | None, seed: int) -> list[int]:
    """Positions among the training pairs, in order."""
    if count < 1:
        raise SettingError(f"count={count} must be 1 or more")
    graph, split = model.graph, model.split
    if user is None:
        if item is not None:
            raise SettingError(f"item={item!r} needs a user: a pair is a user and one of their training items")
        order = Rng(seed, "inspect").permutation(len(graph.pair_users))
        return sorted(order[:count].tolist())
    who = int(split.user_ids.encode([user], what="user")[0])
    first, last = torch.searchsorted(graph.pair_users.cpu(), torch.tensor([who, who + 1])).tolist()
    items = graph.pair_items[first:last].tolist()
    if not items:
        why = "no training pair, so there is nothing to choose negatives for"
        if int(graph.unseen.room[who]) == 0:
            why = "every item, so there is nothing to choose negatives from, and training leaves their pairs out"
        raise DataError(f"user {user!r} has {why}")
    if item is None:
        order = Rng(seed, "inspect").permutation(len(items))
        return sorted(first + place for place in order[:count].tolist())
    what = int(split.item_ids.encode([item], what="item")[0])
    if what not in items:
        some = ", ".join(str(split.item_ids[one]) for one in items[:5])
        raise DataError(
            f"item {item!r} is not a training item of user {user!r}, who has {some}" + (" …" if len(items) > 5 else "")
        )
    return [first + items.index(what)]


def selection_scores(sampler: Sampler, a: Tensor) -> Tensor | None:
    """q [B, N], for samplers that select by one (Eq. 9)."""
    if not isinstance(sampler, SelectThenCalibrate):
        return None
    selection, _ = sampler.parts()
    if isinstance(selection, StructureAware):
        return selection_score(a, selection.alpha)
    return standardised(discrepancy(a)) if isinstance(selection, DiscrepancyOnly) else None


def _view(walk: Walk, negatives: Negatives, at: int, held: HeldOut) -> PairView:
    model, match, split = walk.model, negatives.match, walk.model.split
    user, positive = int(match.users[at]), int(match.positives[at])
    gaps = layer_gaps(match)
    return PairView(
        sampler=described(walk.sampler),
        user=split.user_ids[user],
        item=split.item_ids[positive],
        title=_title(split, positive),
        first_layer=model.first_layer,
        positive=_row(match.p, at),
        positive_score=float(match.positive_score[at]),
        pool=tuple(_pool(walk, negatives, at, held)),
        hardest=_row(match.a.amax(1), at),
        gaps=_row(gaps, at),
        rho=_row(hardness(gaps), at),
        negatives=tuple(_negative(split, negatives, at, k) for k in range(negatives.items.shape[1])),
        notes=tuple(walk.notes),
    )


def _pool(walk: Walk, negatives: Negatives, at: int, held: HeldOut) -> list[Candidate]:
    match, split = negatives.match, walk.model.split
    mu, sigma = match.a.mean(-1), discrepancy(match.a)
    columns = [match.scores, mu, sigma, standardised(mu), standardised(sigma)]
    q = selection_scores(walk.sampler, match.a)
    hardest = int(Hardest()(match)[at])
    ids = match.candidates[at]
    chosen = negatives.items[at, ..., None] == ids  # [K, M, T, N]
    share = (negatives.shares[at, ..., None] * chosen).sum(1).mean(1).mean(0)  # [N]
    in_valid, in_test = (held.among(part, match.users[at : at + 1], ids[None])[0] for part in (held.valid, held.test))
    found = []
    for n, item in enumerate(ids.tolist()):
        score, mean, spread, z_mu, z_sigma = (float(column[at, n]) for column in columns)
        found.append(
            Candidate(
                split.item_ids[item],
                _title(split, item),
                tuple(match.a[at, n].tolist()),
                score,
                mean,
                spread,
                z_mu,
                z_sigma,
                q=None if q is None else float(q[at, n]),
                share=float(share[n]),
                dns=n == hardest,
                held_out="valid" if bool(in_valid[n]) else "test" if bool(in_test[n]) else None,
                popularity=int(match.popularity[item]),
            )
        )
    return found


def _negative(split: Split, negatives: Negatives, at: int, k: int) -> Negative:
    items = negatives.items[at, k]  # [M, T]
    weights = negatives.mixture.weights
    given = torch.ones_like(items, dtype=negatives.match.p.dtype) if weights is None else weights[at, k]
    positive = int(negatives.match.positives[at])
    ingredients = []
    for item in dict.fromkeys(items.flatten().tolist()):  # each once, in the order of the mixture
        mine = (given * (items == item)).sum(0)
        own = item == positive
        ingredients.append(Ingredient(split.item_ids[item], _title(split, item), own, tuple(mine.tolist())))
    return Negative(
        tuple(ingredients),
        _row(negatives.strength[:, k], at),
        _row(negatives.profile_before[:, k], at),
        _row(negatives.profile[:, k], at),
        float(negatives.scores_before[at, k]),
        float(negatives.scores[at, k]),
    )


def _row(table: Tensor, at: int) -> tuple[float, ...]:
    return tuple(table[at].tolist())


def _title(split: Split, item: int) -> str | None:
    return (split.titles[item] or None) if split.titles is not None else None
