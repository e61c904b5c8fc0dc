"""Measure what a sampler does over one epoch on a trained model."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from sahcns.data.split import Split
from sahcns.errors import TrainingError
from sahcns.lab.inspection.diagnostics import (
    Diagnostics,
    FalseNegatives,
    Group,
    Hardness,
    Mixing,
    Pools,
    Selection,
    Spread,
    Variety,
)
from sahcns.lab.inspection.gradient_size import gradients_of
from sahcns.lab.inspection.held_out import HeldOut
from sahcns.lab.inspection.pool_gaps import FAR, NEAR, discrepancy_gaps, normalised_gap
from sahcns.lab.inspection.rebuilt import Model, Rebuilt
from sahcns.lab.inspection.scales import Scales
from sahcns.lab.inspection.tally import Bins, Ranked, Spreading, Sum
from sahcns.lab.inspection.walk import BATCH, Negatives, Walk
from sahcns.samplers import Sampler
from sahcns.samplers.calibration import layer_gaps
from sahcns.samplers.selection import Hardest, discrepancy
from sahcns.training.record import described
from sahcns.training.surroundings import as_torch_starts

OnBatch = Callable[[int, int], None]
FIFTH = 0.2  # easy and hard pools are the outer fifths
UNIT = Bins(0.0, 0.05, 20)  # of shares between 0 and 1


@as_torch_starts()
def diagnose(
    model: Model | Rebuilt,
    split: Split | None = None,
    sampler: Sampler | None = None,
    seed: int = 0,
    *,
    device: str = "auto",
    kernels: str = "auto",
    batch: int = BATCH,
    on_batch: OnBatch | None = None,
) -> Diagnostics:
    """All training pairs once through `sampler` (the run's own unless told), on the model as it was stored.

    Nothing is trained. The same seed gives every sampler the same pools and every histogram the same bins, so that
    samplers can stand side by side. Memory does not grow with the data. `on_batch` hears (batches done, of how many).
    """
    rebuilt = model if isinstance(model, Rebuilt) else Rebuilt.of(model, split, device=device, kernels=kernels)
    walk = Walk(rebuilt, rebuilt.sampler if sampler is None else sampler, seed, batch)
    tally = _Tally(walk, Scales.of(rebuilt, seed))
    for done, negatives in enumerate(walk, 1):
        tally.add(negatives)
        if on_batch is not None:
            on_batch(done, len(walk))
    return tally.result(seed)


class _Tally:
    """All that is summed up over the batches."""

    def __init__(self, walk: Walk, scales: Scales) -> None:
        graph, layers = walk.model.graph, len(walk.model.layers)
        device = graph.device
        self.walk, self.held = walk, HeldOut.of(walk.model.split, device)
        self.score, self.margin = Spreading(device, scales.score), Spreading(device, scales.margin)
        self.push, self.gradient = Spreading(device, UNIT), Spreading(device, scales.gradient)
        self.above, self.loss = Sum(device), Sum(device)
        self.gap = Spreading(device, Bins(-1.0, 0.05, 60))
        self.near, self.far = Sum(device), Sum(device)
        self.alike = Spreading(device, Bins(0.0, 0.05, 20 * math.ceil(math.sqrt(max(layers - 1, 1)))))  # σ ≤ √(T - 1)
        self.over_020, self.over_050 = Sum(device), Sum(device)
        self.compared = Sum(device, 4)  # μ, σ of the chosen and of DNS's
        self.agreement = Sum(device)
        self.lam, self.layers = Spreading(device, UNIT), Sum(device, 2 * layers)
        self.ranked = Ranked(device, 3 + layers)
        self.false = Sum(device, 3)  # chosen, pool, DNS's
        self.popularity = Sum(device, 4)  # of the chosen and of the pool, then the shares that have none
        self.used = torch.zeros(graph.n_items, dtype=torch.bool, device=device)

    def add(self, negatives: Negatives) -> None:
        match = negatives.match
        gaps = layer_gaps(match)  # [B, T]
        margin = match.positive_score[:, None] - negatives.scores  # [B, K]
        self._hardness(negatives, margin)
        self._pools(negatives)
        self._chosen(negatives)
        before = match.positive_score[:, None] - negatives.scores_before
        strength = negatives.strength.mean(1)  # [B, T]
        self.lam.add(negatives.strength)
        self.layers.add(torch.cat([strength, gaps], 1))
        overall = gaps.mean(1)
        rows = torch.stack([overall, before.mean(1), margin.mean(1)], 1)
        self.ranked.add(overall, torch.cat([rows, strength.to(rows.dtype)], 1))

    def _hardness(self, negatives: Negatives, margin: Tensor) -> None:
        push, gradient, loss = gradients_of(negatives)
        self.score.add(negatives.scores)
        self.margin.add(margin)
        self.above.add((margin < 0).flatten())
        self.push.add(push)
        self.gradient.add(gradient)
        self.loss.add(loss.expand(len(push)))

    def _pools(self, negatives: Negatives) -> None:
        gap = normalised_gap(negatives.match)
        self.gap.add(gap)
        self.near.add(gap < NEAR)
        self.far.add(gap > FAR)
        for found in discrepancy_gaps(negatives.match):
            self.alike.add(found)
            self.over_020.add(found > 0.20)
            self.over_050.add(found > 0.50)

    def _chosen(self, negatives: Negatives) -> None:
        """What the chosen items are beside the pool and beside DNS's choice from it."""
        match, shares = negatives.match, negatives.shares
        place = Hardest()(match)  # [B]
        hardest, hardest_profile = (
            match.chosen(place),
            match.a[torch.arange(len(place), device=place.device), place],
        )  # [B], [B, T]
        profile = negatives.profile_before  # [B, K, T]
        mine = torch.stack([profile.mean(-1).mean(1), discrepancy(profile).mean(1)], 1)
        dns = torch.stack([hardest_profile.mean(-1), discrepancy(hardest_profile)], 1)
        self.compared.add(torch.cat([mine, dns], 1))

        def share(of: Tensor) -> Tensor:
            """[B, K, M, T] → [B]: the mean over what was chosen, an item by its share at each layer."""
            return (shares * of.to(shares.dtype)).sum(2).mean(-1).mean(1)

        items = negatives.items
        self.agreement.add(share(items == hardest[:, None, None, None]))
        popularity = match.popularity.to(shares.dtype)
        chosen, pool = popularity[items], popularity[match.candidates]
        cold = [share(chosen == 0), (pool == 0).to(pool.dtype).mean(1)]
        self.popularity.add(torch.stack([share(chosen), pool.mean(1), *cold], 1))
        self.used[items[shares > 0]] = True
        if self.held:
            held = self.held.has(match.users, match.candidates).to(shares.dtype).mean(1)
            found = share(self.held.has(match.users, items))
            self.false.add(torch.stack([found, held, self.held.has(match.users, hardest).to(held.dtype)], 1))

    def result(self, seed: int) -> Diagnostics:
        model, walk = self.walk.model, self.walk
        depth = len(model.layers)
        by_layer, false = self.layers.means, self.false.means if self.held else (None, None, None)
        return Diagnostics(
            sampler=described(walk.sampler),
            model=model.about,
            seed=seed,
            pairs=self.near.count,
            negatives=self.score.count,
            first_layer=model.first_layer,
            hardness=Hardness(
                self._solid(self.score),
                self._solid(self.margin),
                self.above.mean,
                self._solid(self.push),
                self._solid(self.gradient),
                self.loss.mean,
            ),
            pools=Pools(
                walk.sampler.pool,
                self._solid(self.gap),
                self.near.mean,
                self.far.mean,
                self.alike.count,
                self.alike.spread,
                self.over_020.mean if self.alike.count else None,
                self.over_050.mean if self.alike.count else None,
            ),
            selection=Selection(*_order(self.compared.means), self.agreement.mean),
            mixing=Mixing(
                by_layer[:depth],
                by_layer[depth:],
                self._solid(self.lam),
                tuple(self._group(tenth / 10, (tenth + 1) / 10) for tenth in range(10)),
                self._group(0.0, FIFTH),
                self._group(1.0 - FIFTH, 1.0),
            ),
            false_negatives=FalseNegatives(*false),
            variety=Variety(int(self.used.sum()), model.graph.n_items, *self.popularity.means),
            notes=tuple(walk.notes),
        )

    def _group(self, first: float, last: float) -> Group:
        gap, before, after, *strength = self.ranked.means(first, last)
        return Group(gap, tuple(strength), before, after)

    def _solid(self, spreading: Spreading) -> Spread:
        found = spreading.spread
        if found is None or not math.isfinite(found.mean):
            name = type(self.walk.sampler).__name__
            raise TrainingError(f"{name} made negatives whose score is not a number; check its weights")
        return found


def _order(means: tuple[float, ...]) -> tuple[float, float, float, float]:
    mu, sigma, mu_dns, sigma_dns = means
    return mu, mu_dns, sigma, sigma_dns
