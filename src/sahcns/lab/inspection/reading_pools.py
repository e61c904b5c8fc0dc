"""Read the pools of a model in every way that the paper leaves open: one pass over all training pairs."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.lab.inspection.diagnostics import relative_change
from sahcns.lab.inspection.pool_gaps import FAR, NEAR, discrepancy_gaps, normalised_gap
from sahcns.lab.inspection.pool_readings import Chosen, PoolReadings, Shares
from sahcns.lab.inspection.rebuilt import Rebuilt
from sahcns.lab.inspection.tally import Sum
from sahcns.lab.inspection.walk import Walk
from sahcns.samplers import DNS, Matching
from sahcns.samplers.calibration import final_gap
from sahcns.samplers.selection import EPSILON, StructureAware, discrepancy

LARGEST = "the largest gap of all pools"


def by_both(match: Matching) -> Tensor:
    """[B]: (y⁺ - m) / (|y⁺| + |m| + ε), with m = max_n s."""
    return final_gap(match) / (match.positive_score.abs() + match.scores.amax(1).abs() + EPSILON)


def by_range(match: Matching) -> Tensor:
    """[B]: (y⁺ - m) over the distance between the largest and the smallest score of the pair's own items."""
    every = torch.cat([match.positive_score[:, None], match.scores], 1)
    return final_gap(match) / (every.amax(1) - every.amin(1) + EPSILON)


def of_cosines(match: Matching) -> Tensor:
    """[B]: cos(u, i) - max_n cos(u, n), of the final embeddings."""
    user, items = normalize(match.user_vectors, dim=1), normalize(match.item_vectors, dim=1)
    own = (user * items[match.positives]).sum(1)
    return own - (items[match.candidates] @ user[:, :, None])[..., 0].amax(1)


def of_probabilities(match: Matching) -> Tensor:
    """[B]: sigmoid(y⁺) - sigmoid(m)."""
    return torch.sigmoid(match.positive_score) - torch.sigmoid(match.scores.amax(1))


NORMALISERS: Mapping[str, Callable[[Matching], Tensor]] = {
    "the positive's score": normalised_gap,
    "both scores": by_both,
    "the range of scores": by_range,
    LARGEST: final_gap,  # divided at the end
    "none, of cosines": of_cosines,
    "none, of probabilities": of_probabilities,
}
"""What a gap is divided by; the first is our reading."""


def read_pools(model: Rebuilt, alphas: Sequence[float], pool: int, seed: int = 0) -> PoolReadings:
    """Pools of `pool` candidates for every training pair; nothing is trained."""
    device = model.graph.device
    gaps: dict[str, list[Tensor]] = {name: [] for name in NORMALISERS}
    over, profile = Sum(device, 2), {alpha: Sum(device, 2) for alpha in (0.0, *alphas)}
    for negatives in Walk(model, DNS(pool=pool), seed):
        match = negatives.match
        for name, gap in NORMALISERS.items():
            gaps[name].append(gap(match))
        for found in discrepancy_gaps(match):
            over.add(torch.stack([found > 0.20, found > 0.50], 1))
        rows, sigma = torch.arange(len(match.users), device=device), discrepancy(match.a)
        mu = match.a.mean(-1)
        for alpha, means in profile.items():
            place = StructureAware(alpha)(match)
            means.add(torch.stack([sigma[rows, place], mu[rows, place]], 1))
    whole = {name: torch.cat(found) for name, found in gaps.items()}
    whole[LARGEST] = whole[LARGEST] / whole[LARGEST].max().clamp(min=EPSILON)
    usual = profile[0.0].means
    return PoolReadings(
        len(model.graph.pair_users),
        {name: Shares(_share(gap < NEAR), _share(gap > FAR)) for name, gap in whole.items()},
        over.count,
        over.means[0] if over.count else None,
        over.means[1] if over.count else None,
        {f"{alpha:g}": Chosen(*map(relative_change, profile[alpha].means, usual)) for alpha in alphas},
    )


def _share(true: Tensor) -> float:
    return float(true.double().mean())
