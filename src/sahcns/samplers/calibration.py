"""How much of the positive to mix in: the second half of SAHC-NS and of its ablations.

Each maps a matching to λ [B, T], the share of the positive at each layer, or to None for no mixing at all.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import relu

from sahcns.rng import Rng
from sahcns.samplers.matching import Matching


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
