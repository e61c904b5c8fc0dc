"""Figs 1 and 5(a) in one model under every reading that the paper leaves open, by a sampler that notes its pools."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from sahcns import Matching, Mixture, Rng
    from sahcns.lab import TrainedModel

EPSILON = 1e-8
LARGEST = "the largest gap of all pools"


class Shares(NamedTuple):
    """Of pools, by the paper's marks."""

    near: float  # with a gap under 0.10
    far: float  # with a gap over 0.20


class Change(NamedTuple):
    """From DNS's choice to SA's from the same pools: relative changes of the means."""

    sigma: float | None
    mu: float | None


class PoolReadings(NamedTuple):
    """What Figs 1 and 5(a) are in one model."""

    pairs: int
    gaps: dict[str, Shares]  # by what a gap is divided by
    similar: int  # pairs of candidates with |Δs| < 0.01
    over_020: float | None  # share of them with |Δσ| > 0.20
    over_050: float | None
    choices: dict[str, Change]  # by α

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "PoolReadings":
        gaps = {name: Shares(**one) for name, one in values["gaps"].items()}
        choices = {alpha: Change(**one) for alpha, one in values["choices"].items()}
        return cls(**{**values, "gaps": gaps, "choices": choices})

    def to_dict(self) -> dict[str, Any]:
        inner = {
            part: {name: one._asdict() for name, one in getattr(self, part).items()} for part in ("gaps", "choices")
        }
        return self._asdict() | inner


def read_pools(model: "TrainedModel", alphas: Sequence[float], pool: int, seed: int = 0) -> PoolReadings:
    """Pools of `pool` candidates for every training pair, read in every way; nothing is trained."""
    import torch

    from sahcns import DNS, Sampler
    from sahcns.lab import by_name, diagnose

    batches: dict[str, list[Tensor]] = defaultdict(list)

    class Reader(DNS):
        """DNS, which notes the gaps of its pools."""

        name = ""

        def choose(self, match: "Matching", rng: "Rng") -> "Mixture":
            for reading, gap in gap_readings(match).items():
                batches[reading].append(gap)
            return super().choose(match, rng)

    dns = diagnose(model, sampler=Reader(pool=pool), seed=seed)
    gaps = {reading: torch.cat(own) for reading, own in batches.items()}
    gaps[LARGEST] = gaps[LARGEST] / gaps[LARGEST].max().clamp(min=EPSILON)
    choices = {"0": Change(0.0, 0.0)}  # which is DNS
    for alpha in filter(None, alphas):
        own = diagnose(model, sampler=by_name(Sampler, "sa-only", {"pool": pool, "alpha": alpha}), seed=seed).selection
        choices[f"{alpha:g}"] = Change(own.sigma_change, own.mu_change)
    return PoolReadings(
        dns.pairs,
        {reading: Shares(_share(gap < 0.10), _share(gap > 0.20)) for reading, gap in gaps.items()},
        dns.pools.similar,
        dns.pools.over_020,
        dns.pools.over_050,
        {f"{alpha:g}": choices[f"{alpha:g}"] for alpha in alphas},
    )


def gap_readings(match: "Matching") -> "dict[str, Tensor]":
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
