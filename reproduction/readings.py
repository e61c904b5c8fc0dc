"""Figs 1 and 5(a) in one model under every reading that the paper leaves open, by a sampler that notes its pools."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

import sahcns
from sahcns import lab

if TYPE_CHECKING:
    from torch import Tensor

EPSILON = 1e-8
LARGEST = "the largest gap of all pools"


class PoolReadings(TypedDict):
    """What Figs 1 and 5(a) are in one model."""

    pairs: int
    # by what a gap is divided by: shares of pools `near`, under 0.10, and `far`, over 0.20
    gaps: dict[str, dict[str, float]]
    similar: int  # pairs of candidates with |Δs| < 0.01
    over_020: float | None  # share of them with |Δσ| > 0.20
    over_050: float | None
    # by α: relative changes of the mean `sigma` and `mu` from DNS's choice to SA's
    choices: dict[str, dict[str, float | None]]


def read_pools(model: "lab.TrainedModel", alphas: Sequence[float], pool: int, seed: int = 0) -> PoolReadings:
    """Pools of `pool` candidates for every training pair, read in every way; nothing is trained."""
    import torch

    batches: dict[str, list[Tensor]] = defaultdict(list)

    class Reader(sahcns.DNS):
        """DNS, which notes the gaps of its pools."""

        name = ""

        def choose(self, match: sahcns.Matching, rng: sahcns.Rng) -> sahcns.Mixture:
            for reading, gap in gap_readings(match).items():
                batches[reading].append(gap)
            return super().choose(match, rng)

    def chosen_by(alpha: float) -> "lab.Diagnostics":
        own = lab.by_name(sahcns.Sampler, "sa-only", {"pool": pool, "alpha": alpha})
        return lab.diagnose(model, sampler=own, seed=seed) if alpha else dns

    dns = lab.diagnose(model, sampler=Reader(pool=pool), seed=seed)
    gaps = {reading: torch.cat(own) for reading, own in batches.items()}
    gaps[LARGEST] = gaps[LARGEST] / gaps[LARGEST].max().clamp(min=EPSILON)
    choices = {f"{alpha:g}": chosen_by(alpha).selection for alpha in alphas}
    return {
        "pairs": dns.pairs,
        "gaps": {name: {"near": _share(gap < 0.10), "far": _share(gap > 0.20)} for name, gap in gaps.items()},
        "similar": dns.pools.similar,
        "over_020": dns.pools.over_020,
        "over_050": dns.pools.over_050,
        "choices": {alpha: {"sigma": own.sigma_change, "mu": own.mu_change} for alpha, own in choices.items()},
    }


def gap_readings(match: "sahcns.Matching") -> "dict[str, Tensor]":
    """[B] each, by what the gap y⁺ - max_n s is divided by; the first is our reading."""
    import torch
    from torch.nn.functional import normalize

    positive, hardest = match.positive_score, match.scores.amax(1)
    gap, every = positive - hardest, torch.cat([positive[:, None], match.scores], 1)
    user, items = normalize(match.user_vectors, dim=1), normalize(match.item_vectors, dim=1)
    cosines = (items[match.candidates] @ user[:, :, None])[..., 0]  # [B, N]
    return {
        "the positive's score": gap / (positive.abs() + EPSILON),
        "both scores": gap / (positive.abs() + hardest.abs() + EPSILON),
        "the range of scores": gap / (every.amax(1) - every.amin(1) + EPSILON),
        LARGEST: gap,  # divided when all pools are read
        "none, of cosines": (user * items[match.positives]).sum(1) - cosines.amax(1),
        "none, of probabilities": torch.sigmoid(positive) - torch.sigmoid(hardest),
    }


def _share(true: "Tensor") -> float:
    return float(true.double().mean())
