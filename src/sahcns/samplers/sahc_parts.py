"""The two halves of SAHC-NS and of its ablations: which candidate, and how much of the positive to mix in.

A selection maps a matching to positions [B] in the pool; a calibration to λ [B, T], the share of the positive at each
layer, or to None for no mixing at all.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import relu

from sahcns.rng import Rng
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
        return selection_score(match.a, self.alpha).argmax(1)


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


class Calibration(Protocol):
    def __call__(self, match: Matching, rng: Rng) -> Tensor | None: ...


@dataclass(frozen=True)
class NoCalibration:
    """The chosen item as it is."""

    def __call__(self, match: Matching, rng: Rng) -> None:
        return None


@dataclass(frozen=True)
class LayerGap:
    """HC: the easier the pool at a layer, the stronger the mix there (Eqs. 11–13).

    m_l = max_n a[n, l],   g_l = p_l - m_l,   ρ_l = exp(-max(g_l, 0)),   λ_l = λmax (1 - ρ_l)
    """

    lambda_max: float

    def __call__(self, match: Matching, rng: Rng) -> Tensor:
        return self.lambda_max * (1.0 - hardness(layer_gaps(match)))


@dataclass(frozen=True)
class GlobalGap:
    """SAHC-Global: one λ a pair from the final scores, g = y⁺ - max_n s, used at every layer."""

    lambda_max: float

    def __call__(self, match: Matching, rng: Rng) -> Tensor:
        lam = self.lambda_max * (1.0 - hardness(final_gap(match)))  # [B]
        return lam[:, None].expand_as(match.p)


@dataclass(frozen=True)
class FixedUniform:
    """SAHC-Fixed: λ ~ U(0, high), whatever the pool."""

    high: float

    def __call__(self, match: Matching, rng: Rng) -> Tensor:
        return rng.uniform(*match.p.shape, dtype=match.p.dtype) * self.high


def layer_gaps(match: Matching) -> Tensor:
    """g [B, T] = p_l - max_n a[n, l]: how far the pool's best stays behind the positive at each layer (Eq. 11)."""
    return match.p - match.a.amax(1)


def final_gap(match: Matching) -> Tensor:
    """[B]: the same of the final scores, y⁺ - max_n s."""
    return match.positive_score - match.scores.amax(1)


def hardness(gap: Tensor) -> Tensor:
    """ρ = exp(-max(g, 0)): 1 for a pool that reaches the positive, near 0 for an easy one (Eq. 12)."""
    return torch.exp(-relu(gap))
