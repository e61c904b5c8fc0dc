"""Measure what a sampler does over one epoch on a trained model, batch by batch, in memory that hardly grows."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sahcns.data.split import Split
from sahcns.lab.inspect.model import BATCH, Model, Negatives, SampledEpoch, TrainedModel
from sahcns.lab.inspect.results import Diagnostics
from sahcns.samplers import DNS, RNS, Matching, Sampler
from sahcns.samplers.sahc import EPSILON, Hardest, discrepancy, final_gap, layer_gaps
from sahcns.training.device import default_torch_state
from sahcns.training.record import described

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
    graph = epoch.model.graph
    means, used = Means(), torch.zeros(graph.n_items, dtype=torch.bool, device=graph.device)
    spreads = {name: RunningSpread(graph.device, bins) for name, bins in _bins(epoch.model, seed).items()}
    rows: list[Tensor] = []  # [B, 3 + T] each: gap, margin before and after mixing, λ of each layer
    for negatives in epoch:
        match, lam = negatives.match, negatives.strength.mean(1)  # [B, T]
        hardness, gap, gaps = hardness_of(negatives), normalised_gap(match), layer_gaps(match)
        loss, margin = hardness.pop("loss"), hardness["margin"]
        for name, values in {**hardness, "gap": gap, "lam": negatives.strength}.items():
            spreads[name].add(values)
        means.add("hardness", loss=loss, above_positive=(margin < 0).flatten())
        means.add("pools", near=gap < NEAR, far=gap > FAR)
        for difference in discrepancies_of_similar(match):
            spreads["discrepancy_gap"].add(difference)
            means.add("pools", over_020=difference > 0.20, over_050=difference > 0.50)
        means.add("mixing", strength=lam, gap=gaps)
        _add_chosen(means, negatives, epoch.model)
        used[negatives.items[negatives.shares > 0]] = True
        before = match.positive_score - negatives.scores_before.mean(1)
        rows.append(torch.cat([torch.stack([gaps.mean(1), before, margin.mean(1)], 1), lam], 1))
    of = {name: running.spread() for name, running in spreads.items()}
    every = torch.cat(rows)
    every = every[every[:, 0].argsort()]  # the hardest pools first
    tenths = [_group(every, tenth / 10, (tenth + 1) / 10) for tenth in range(10)]
    groups = {"tenths": tenths, "hard": _group(every, 0.0, 0.2), "easy": _group(every, 0.8, 1.0)}
    similar, false = of["discrepancy_gap"], means.of("false_negatives")
    if not len(epoch.model.split.valid) + len(epoch.model.split.test):
        false = dict.fromkeys(false)
    pools = {"size": epoch.sampler.pool, "gap": of["gap"], "over_020": None, "over_050": None, **means.of("pools")}
    pools |= {"similar": similar["count"], "discrepancy_gap": similar if similar["count"] else None}
    return Diagnostics.from_dict(
        {
            "sampler": described(epoch.sampler),
            "model": epoch.model.about,
            "seed": seed,
            "pairs": len(every),
            "negatives": of["score"]["count"],
            "first_layer": epoch.model.first_layer,
            "hardness": {**means.of("hardness"), **{name: of[name] for name in hardness}},
            "pools": pools,
            "selection": means.of("selection"),
            "mixing": {**means.of("mixing"), "lam": of["lam"], **groups},
            "false_negatives": false,
            "variety": {"distinct": int(used.sum()), "items": graph.n_items, **means.of("variety")},
            "notes": epoch.notes,
        }
    )


def _add_chosen(means: "Means", negatives: Negatives, model: TrainedModel) -> None:
    """The chosen items beside the pool and beside DNS's choice from it."""
    match, shares, items = negatives.match, negatives.shares, negatives.items
    place = Hardest()(match)  # [B]
    hardest = match.chosen(place)  # [B]
    dns = match.a[torch.arange(len(place), device=place.device), place]  # [B, T]
    profile = negatives.profile_before  # [B, K, T]

    def share(of: Tensor) -> Tensor:
        """[B, K, M, T] → [B]: the mean over what was chosen, an item by its share at each layer."""
        return (shares * of.to(shares.dtype)).sum(2).mean((1, 2))

    agreement = share(items == hardest[:, None, None, None])
    means.add("selection", mu=profile.mean((1, 2)), sigma=discrepancy(profile).mean(1), agreement=agreement)
    means.add("selection", mu_dns=dns.mean(1), sigma_dns=discrepancy(dns))
    chosen, pool = match.popularity[items].double(), match.popularity[match.candidates].double()
    means.add("variety", popularity=share(chosen), pool_popularity=pool.mean(1))
    means.add("variety", cold=share(chosen == 0), pool_cold=(pool == 0).double().mean(1))
    false, of_pool = (model.held_out(match.users, one) > 0 for one in (items, match.candidates))
    of_dns = model.held_out(match.users, hardest) > 0
    means.add("false_negatives", chosen=share(false), pool=of_pool.double().mean(1), dns=of_dns)


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


def _group(rows: Tensor, first: float, last: float) -> dict[str, Any]:
    """Of sorted rows, those between two shares of all; of too few rows the one next to it."""
    begin = min(round(first * len(rows)), len(rows) - 1)
    group = rows[begin : max(round(last * len(rows)), begin + 1)]
    gap, before, after, *strength = group.double().mean(0).tolist()
    return {"gap": gap, "strength": strength, "before": before, "after": after}


class Means:
    """Means by section and name, in double precision."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, tuple[Tensor, int]]] = defaultdict(dict)

    def add(self, section: str, **values: Tensor) -> None:
        """Each [n] or [n, columns]."""
        part = self._parts[section]
        for name, value in values.items():
            total, count = part.get(name, (0.0, 0))
            part[name] = total + value.double().sum(0), count + len(value)

    def of(self, section: str) -> dict[str, Any]:
        return {name: (total / count).tolist() for name, (total, count) in self._parts[section].items() if count}


@dataclass(frozen=True)
class Bins:
    """Equal bins: `count` of width `step` from `low` on."""

    low: float
    step: float
    count: int

    @classmethod
    def over(cls, least: float, most: float, about: int = 40) -> "Bins":
        """About so many bins over a range, with edges that are round numbers."""
        span = most - least
        if not span > 0:
            return cls(math.floor(least), 1.0, 1)
        power = 10.0 ** math.floor(math.log10(span / about))
        step = min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda width: abs(math.log(span / width / about)))
        first = math.floor(least / step)
        return cls(first * step, step, max(1, math.ceil(most / step) - first))


def _bins(model: TrainedModel, seed: int) -> dict[str, Bins]:
    """By model and seed alone, so that all samplers get the same bins.

    What has no natural range gets one from random and from the hardest candidates of some pairs.
    """
    epochs = [SampledEpoch(model, sampler, seed) for sampler in (RNS(), DNS())]
    steps = range(0, len(epochs[0]), max(1, len(epochs[0]) // 8))
    samples = [hardness_of(epoch.at(step)) for step in steps for epoch in epochs]
    ends = {}
    for name in ("score", "margin", "user_gradient"):  # all but one value in five hundred lie between
        values = torch.cat([sample[name].flatten() for sample in samples]).double()
        ends[name] = torch.quantile(values, values.new_tensor([0.001, 0.999])).tolist()
    shares, widest = Bins(0.0, 0.05, 20), math.ceil(math.sqrt(max(len(model.layers) - 1, 1)))  # σ ≤ √(T - 1)
    return {
        "score": Bins.over(*ends["score"]),
        "margin": Bins.over(*ends["margin"]),
        "push": shares,
        "user_gradient": Bins.over(0.0, ends["user_gradient"][1], about=30),
        "gap": Bins(-1.0, 0.05, 60),
        "discrepancy_gap": Bins(0.0, 0.05, 20 * widest),
        "lam": shares,
    }


class RunningSpread:
    """Moments, extremes and a histogram of numbers that arrive in parts, on the device until the end."""

    def __init__(self, device: torch.device, bins: Bins) -> None:
        self.bins, self.count = bins, 0
        self.sums = torch.zeros(2, dtype=torch.float64, device=device)  # Σ (x - low), Σ (x - low)²
        self.ends = torch.tensor([math.inf, -math.inf], dtype=torch.float64, device=device)
        self.counts = torch.zeros(bins.count + 2, dtype=torch.int64, device=device)

    def add(self, values: Tensor) -> None:
        """Of any shape."""
        if not values.numel():
            return
        x = values.double().flatten()
        off = x - self.bins.low
        self.sums += torch.stack([off.sum(), (off * off).sum()])
        self.ends = torch.stack([torch.minimum(self.ends[0], x.min()), torch.maximum(self.ends[1], x.max())])
        at = torch.floor(off / self.bins.step).nan_to_num(-1.0).clamp(-1, self.bins.count).long() + 1
        self.counts += torch.bincount(at, minlength=len(self.counts))
        self.count += len(x)

    def spread(self) -> dict[str, Any]:
        """As `Spread` holds it."""
        first, second = (self.sums / max(self.count, 1)).tolist()
        least, most = self.ends.tolist()
        below, *counts, above = self.counts.tolist()
        deviation, mean = math.sqrt(max(second - first * first, 0.0)), self.bins.low + first
        bins = {"low": self.bins.low, "step": self.bins.step, "counts": counts, "below": below, "above": above}
        return {"count": self.count, "mean": mean, "std": deviation, "least": least, "most": most, "histogram": bins}
