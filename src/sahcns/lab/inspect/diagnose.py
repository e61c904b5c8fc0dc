"""Measure what a sampler does over one epoch on a trained model."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from sahcns.data.split import Split
from sahcns.lab.inspect.epoch import BATCH, Negatives, SampledEpoch
from sahcns.lab.inspect.model import Model, TrainedModel
from sahcns.lab.inspect.results import (
    Diagnostics,
    FalseNegatives,
    Group,
    Hardness,
    Mixing,
    Pools,
    Selection,
    Variety,
)
from sahcns.lab.inspect.running import Bins, RunningMeans, RunningSpread
from sahcns.samplers import DNS, RNS, Matching, Sampler
from sahcns.samplers.sahc import EPSILON, Hardest, discrepancy, final_gap, layer_gaps
from sahcns.training.device import default_torch_state
from sahcns.training.record import described

UNIT = Bins(0.0, 0.05, 20)  # of shares between 0 and 1
NEAR, FAR = 0.10, 0.20  # the paper's marks for hard and for easy pools
SIMILAR = 0.01  # two candidates whose scores differ by less are score-similar
COMPARED = 32  # candidates of a pool whose pairs are compared: all of a usual pool, and enough of a large one
CHUNK = 1 << 22  # pairs of candidates held at once


@default_torch_state()
def diagnose(
    model: Model,
    split: Split | None = None,
    sampler: Sampler | None = None,
    seed: int = 0,
    *,
    device: str = "auto",
    kernels: str = "auto",
    batch: int = BATCH,
) -> Diagnostics:
    """All training pairs once through `sampler` (by default the run's own), on the model as it was stored.

    Nothing is trained. The same seed gives every sampler the same pools and every histogram the same bins, so that
    samplers can stand side by side.
    """
    epoch = SampledEpoch(TrainedModel.of(model, split, device=device, kernels=kernels), sampler, seed, batch)
    totals = _Totals(epoch, seed)
    for negatives in epoch:
        totals.add(negatives)
    return totals.diagnostics(seed)


def hardness_of(negatives: Negatives) -> dict[str, Tensor]:
    """Scores and margins [B, K]; push, length of the user's gradient and BPR loss of each pair [B].

    loss = log(1 + Σ_k exp(y⁻_k - y⁺)),   push_k = ∂ loss / ∂ y⁻_k,   ∂ loss / ∂ ē_u = Σ_k push_k (ē_neg_k - ē_i)
    """
    match, pool = negatives.match, negatives.match.aggregation.pool
    margin = match.positive_score[:, None] - negatives.scores
    logits = torch.cat([torch.zeros_like(margin[:, :1]), -margin], 1)  # [B, 1 + K]
    push = logits.softmax(1)[:, 1:]
    towards = pool(negatives.layers) - pool(match.positive_layers)[:, None]  # [B, K, D]
    gradient = (push[..., None] * towards).sum(1).norm(dim=1)
    loss = logits.logsumexp(1)
    return {"score": negatives.scores, "margin": margin, "push": push.sum(1), "user_gradient": gradient, "loss": loss}


def normalised_gap(match: Matching) -> Tensor:
    """[B]: (y⁺ - m) / (|y⁺| + ε), with m = max_n s. The paper does not say what it divides by; this is our reading."""
    return final_gap(match) / (match.positive_score.abs() + EPSILON)


def discrepancies_of_similar(match: Matching) -> Iterator[Tensor]:
    """|σ_n - σ_k| [S] of all pairs of different items in one pool with |s_n - s_k| < 0.01, in pieces.

    An item drawn twice is compared with the others twice, and never with itself. Of a pool of more than 32 the first 32 are
    compared, which are as random as any.
    """
    scores, sigma, ids = match.scores, discrepancy(match.a[:, :COMPARED]), match.candidates[:, :COMPARED]
    count = ids.shape[1]
    first, second = torch.triu_indices(count, count, 1, device=ids.device)
    size = max(1, CHUNK // max(1, len(first)))
    for begin in range(0, len(ids), size):
        s, z, j = (table[begin : begin + size] for table in (scores, sigma, ids))
        similar = ((s[:, first] - s[:, second]).abs() < SIMILAR) & (j[:, first] != j[:, second])
        yield (z[:, first] - z[:, second]).abs()[similar]


def _bins(model: TrainedModel, seed: int) -> dict[str, Bins]:
    """By model and seed alone, so that all samplers get the same bins.

    What has no natural range gets one from random and from the hardest candidates of some pairs.
    """
    epochs = [SampledEpoch(model, sampler, seed) for sampler in (RNS(), DNS())]
    steps = range(0, len(epochs[0]), max(1, len(epochs[0]) // 8))
    samples = [hardness_of(epoch.at(step)) for step in steps for epoch in epochs]

    def ends(name: str) -> tuple[float, float]:
        """All but one value in five hundred lie between."""
        values = torch.cat([sample[name].flatten() for sample in samples]).double()
        low, high = torch.quantile(values, values.new_tensor([0.001, 0.999])).tolist()
        return low, high

    layers = len(model.layers)
    return {
        "score": Bins.over(*ends("score")),
        "margin": Bins.over(*ends("margin")),
        "push": UNIT,
        "user_gradient": Bins.over(0.0, ends("user_gradient")[1], about=30),
        "gap": Bins(-1.0, 0.05, 60),
        "discrepancy_gap": Bins(0.0, 0.05, 20 * math.ceil(math.sqrt(max(layers - 1, 1)))),  # σ ≤ √(T - 1)
        "lam": UNIT,
    }


class _Totals:
    """All that is summed up over the batches."""

    def __init__(self, epoch: SampledEpoch, seed: int) -> None:
        graph, device = epoch.model.graph, epoch.model.graph.device
        self.epoch, self.means = epoch, RunningMeans()
        self.spreads = {name: RunningSpread(device, bins) for name, bins in _bins(epoch.model, seed).items()}
        self.rows: list[Tensor] = []  # [B, 3 + T] each: gap, margin before and after mixing, λ of each layer
        self.used = torch.zeros(graph.n_items, dtype=torch.bool, device=device)

    def add(self, negatives: Negatives) -> None:
        match = negatives.match
        hardness = hardness_of(negatives)
        loss, margin = hardness.pop("loss"), hardness["margin"]
        gap, gaps, strength = normalised_gap(match), layer_gaps(match), negatives.strength.mean(1)
        for name, values in {**hardness, "gap": gap, "lam": negatives.strength}.items():
            self.spreads[name].add(values)
        self.means.add(loss=loss, above=(margin < 0).flatten(), near=gap < NEAR, far=gap > FAR)
        for difference in discrepancies_of_similar(match):
            self.spreads["discrepancy_gap"].add(difference)
            self.means.add(over_020=difference > 0.20, over_050=difference > 0.50)
        self._add_chosen(negatives)
        self.means.add(strength=strength, layer_gap=gaps)
        before = match.positive_score - negatives.scores_before.mean(1)
        self.rows.append(torch.cat([torch.stack([gaps.mean(1), before, margin.mean(1)], 1), strength], 1))

    def _add_chosen(self, negatives: Negatives) -> None:
        """The chosen items beside the pool and beside DNS's choice from it."""
        match, shares, items = negatives.match, negatives.shares, negatives.items
        place = Hardest()(match)  # [B]
        hardest = match.chosen(place)  # [B]
        dns = match.a[torch.arange(len(place), device=place.device), place]  # [B, T]
        profile = negatives.profile_before  # [B, K, T]

        def share(of: Tensor) -> Tensor:
            """[B, K, M, T] → [B]: the mean over what was chosen, an item by its share at each layer."""
            return (shares * of.to(shares.dtype)).sum(2).mean((1, 2))

        self.means.add(mu=profile.mean((1, 2)), sigma=discrepancy(profile).mean(1))
        self.means.add(mu_dns=dns.mean(1), sigma_dns=discrepancy(dns))
        self.means.add(agreement=share(items == hardest[:, None, None, None]))
        chosen, pool = match.popularity[items].double(), match.popularity[match.candidates].double()
        self.means.add(popularity=share(chosen), pool_popularity=pool.mean(1))
        self.means.add(cold=share(chosen == 0), pool_cold=(pool == 0).double().mean(1))
        self.used[items[shares > 0]] = True
        held_out = self.epoch.model.held_out
        self.means.add(false=share(held_out(match.users, items) > 0))
        self.means.add(false_pool=(held_out(match.users, match.candidates) > 0).double().mean(1))
        self.means.add(false_dns=held_out(match.users, hardest) > 0)

    def diagnostics(self, seed: int) -> Diagnostics:
        epoch, model, means = self.epoch, self.epoch.model, self.means
        differences = self.spreads.pop("discrepancy_gap")  # the only ones that there may be none of
        spreads = {name: running.spread for name, running in self.spreads.items()}
        score, margin, push, gradient = (spreads[name] for name in ("score", "margin", "push", "user_gradient"))
        rows = torch.cat(self.rows)
        rows = rows[rows[:, 0].argsort()]  # the hardest pools first
        tenths = tuple(_group(rows, tenth / 10, (tenth + 1) / 10) for tenth in range(10))
        held_out = len(model.split.valid) + len(model.split.test) > 0
        false = (means[name] if held_out else None for name in ("false", "false_pool", "false_dns"))
        variety = map(means.__getitem__, ("popularity", "pool_popularity", "cold", "pool_cold"))
        return Diagnostics(
            sampler=described(epoch.sampler),
            model=model.about,
            seed=seed,
            pairs=means.count("loss"),
            negatives=score.count,
            first_layer=model.first_layer,
            hardness=Hardness(score, margin, means["above"], push, gradient, means["loss"]),
            pools=Pools(
                size=epoch.sampler.pool,
                gap=spreads["gap"],
                near=means["near"],
                far=means["far"],
                similar=differences.count,
                discrepancy_gap=differences.spread if differences.count else None,
                over_020=means.get("over_020"),
                over_050=means.get("over_050"),
            ),
            selection=Selection(*map(means.__getitem__, ("mu", "mu_dns", "sigma", "sigma_dns", "agreement"))),
            mixing=Mixing(
                strength=means.row("strength"),
                gap=means.row("layer_gap"),
                lam=spreads["lam"],
                tenths=tenths,
                hard=_group(rows, 0.0, 0.2),
                easy=_group(rows, 0.8, 1.0),
            ),
            false_negatives=FalseNegatives(*false),
            variety=Variety(int(self.used.sum()), model.graph.n_items, *variety),
            notes=tuple(epoch.notes),
        )


def _group(rows: Tensor, first: float, last: float) -> Group:
    """Of sorted rows, those between two shares of all; of too few rows the one next to it."""
    begin = min(round(first * len(rows)), len(rows) - 1)
    group = rows[begin : max(round(last * len(rows)), begin + 1)]
    gap, before, after, *strength = group.double().mean(0).tolist()
    return Group(gap, tuple(strength), before, after)
