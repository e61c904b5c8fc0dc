"""Which candidate: the first half of SAHC-NS and of its ablations. Each maps a matching to positions [B] in the pool."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from sahcns.samplers.matching import Matching

EPSILON = 1e-8  # the paper's "small constant"; scores at the start are near 1e-4, so it must be far below that


class Selection(Protocol):
    def __call__(self, match: Matching) -> Tensor: ...


@dataclass(frozen=True)
class Hardest:
    """argmax_n s[b, n]: DNS's choice."""

    def __call__(self, match: Matching) -> Tensor:
        return match.scores.argmax(1)


@dataclass(frozen=True)
class StructureAware:
    """SA: hard on average and uneven across layers (Eqs. 6–10).

    μ = mean_l a,   σ = std_l a / (mean_l |a| + ε),   q = z(μ) + α z(σ),   n* = argmax_n q
    """

    alpha: float

    def __call__(self, match: Matching) -> Tensor:
        if self.alpha == 0:
            return Hardest()(match)  # z is monotone, so only rounding could tell q from the score
        chosen = match.graph.verbs.structure_aware(match.a, self.alpha, EPSILON)
        return selection_score(match.a, self.alpha).argmax(1) if chosen is None else chosen


@dataclass(frozen=True)
class DiscrepancyOnly:
    """SAHC without the mean: argmax_n z(σ), which is argmax_n σ."""

    def __call__(self, match: Matching) -> Tensor:
        return discrepancy(match.a).argmax(1)


def discrepancy(a: Tensor) -> Tensor:
    """σ [B, N] of profiles a [B, N, T]: population std over layers, relative to the mean magnitude (Eq. 7)."""
    mu = a.mean(-1, keepdim=True)
    spread = torch.sqrt(((a - mu) ** 2).mean(-1))
    return spread / (a.abs().mean(-1) + EPSILON)


def standardised(x: Tensor) -> Tensor:
    """z-scores within each pool, [B, N]: population std, so that a pool of one gives 0 and not NaN (Eq. 8)."""
    centred = x - x.mean(1, keepdim=True)
    return centred / (torch.sqrt((centred**2).mean(1, keepdim=True)) + EPSILON)


def selection_score(a: Tensor, alpha: float) -> Tensor:
    """q [B, N] = z(μ) + α z(σ)  (Eq. 9)."""
    return standardised(a.mean(-1)) + alpha * standardised(discrepancy(a))
