"""What the paper's Fig. 1 measures on a pool, and the other readings of it that the paper leaves open."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.lab.inspect.epoch import SampledEpoch
from sahcns.lab.inspect.model import TrainedModel
from sahcns.lab.inspect.results import Chosen, PoolReadings, Shares, relative_change
from sahcns.lab.inspect.running import RunningMeans
from sahcns.samplers import DNS, Matching
from sahcns.samplers.sahc import EPSILON, StructureAware, discrepancy, final_gap

NEAR, FAR = 0.10, 0.20  # the paper's marks for hard and for easy pools
SIMILAR = 0.01  # two candidates whose scores differ by less are score-similar
COMPARED = 32  # candidates of a pool whose pairs are compared: all of a usual pool, and enough of a large one
CHUNK = 1 << 22  # pairs of candidates held at once
LARGEST = "the largest gap of all pools"


def normalised_gap(match: Matching) -> Tensor:
    """[B]: (y⁺ - m) / (|y⁺| + ε), with m = max_n s. The paper does not say what it divides by; this is our reading."""
    return final_gap(match) / (match.positive_score.abs() + EPSILON)


def gap_readings(match: Matching) -> dict[str, Tensor]:
    """[B] each, by what the gap y⁺ - m is divided by; the first is our reading."""
    positive, hardest, gap = match.positive_score, match.scores.amax(1), final_gap(match)
    every = torch.cat([positive[:, None], match.scores], 1)
    user, items = normalize(match.user_vectors, dim=1), normalize(match.item_vectors, dim=1)
    cosines = (items[match.candidates] @ user[:, :, None])[..., 0]  # [B, N]
    return {
        "the positive's score": normalised_gap(match),
        "both scores": gap / (positive.abs() + hardest.abs() + EPSILON),
        "the range of scores": gap / (every.amax(1) - every.amin(1) + EPSILON),
        LARGEST: gap,  # divided when all pools are read
        "none, of cosines": (user * items[match.positives]).sum(1) - cosines.amax(1),
        "none, of probabilities": torch.sigmoid(positive) - torch.sigmoid(hardest),
    }


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


def read_pools(model: TrainedModel, alphas: Sequence[float], pool: int, seed: int = 0) -> PoolReadings:
    """Pools of `pool` candidates for every training pair, read in every way; nothing is trained."""
    gaps: list[dict[str, Tensor]] = []
    means = RunningMeans()
    for negatives in SampledEpoch(model, DNS(pool=pool), seed):
        match = negatives.match
        gaps.append(gap_readings(match))
        for difference in discrepancies_of_similar(match):
            means.add(over_020=difference > 0.20, over_050=difference > 0.50)
        profiles = torch.stack([discrepancy(match.a), match.a.mean(-1)], 2)  # [B, N, 2]
        for alpha in {0.0, *alphas}:
            place = StructureAware(alpha)(match)
            means.add(**{f"{alpha:g}": profiles[torch.arange(len(place), device=place.device), place]})
    every = {name: torch.cat([batch[name] for batch in gaps]) for name in gaps[0]}
    every[LARGEST] = every[LARGEST] / every[LARGEST].max().clamp(min=EPSILON)
    return PoolReadings(
        len(model.graph.pair_users),
        {name: Shares(_share(gap < NEAR), _share(gap > FAR)) for name, gap in every.items()},
        means.count("over_020"),
        means.get("over_020"),
        means.get("over_050"),
        {f"{alpha:g}": Chosen(*map(relative_change, means.row(f"{alpha:g}"), means.row("0"))) for alpha in alphas},
    )


def _share(true: Tensor) -> float:
    return float(true.double().mean())
