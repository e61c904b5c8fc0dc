"""SAHC-NS: structure-aware selection, then hardness calibration by the pool.

Wu, Wu, Li, Qin, Li, Wang. SAHC-NS: Structure-Aware and Hardness-Calibrated Negative Sampling for Implicit Collaborative
Filtering.

    j* = argmax_j z(μ_j) + α z(σ_j)                                   which candidate          (SA, Eqs. 5–10)
    λ_l = λmax (1 - exp(-max(p_l - max_j a_{j,l}, 0)))                how much of the positive (HC, Eqs. 11–13)
    negative_l = λ_l e_{i,l} + (1 - λ_l) e_{j*,l}                     at each layer            (Eq. 14)

λ carries no gradient; the positive and j* do. A selection maps a matching to positions [B] in the pool; a calibration to
λ [B, T], or to None for no mixing at all. The paper's ablations are other pairs of these two.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor
from torch.nn.functional import relu

from sahcns.errors import TrainingError
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.settings import setting

EPSILON = 1e-8  # the paper's "small constant"; scores at the start are near 1e-4, so it must be far below that
ALPHA = "weight α of the cross-layer discrepancy (Eq. 9)"
LAMBDA = "largest share λmax of the positive (Eq. 13)"
GRID = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # the paper's, for α and for λmax


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


@dataclass(frozen=True)
class SelectThenCalibrate(Sampler):
    """A selection and a calibration make a sampler."""

    def parts(self) -> tuple[Selection, Calibration]:
        raise TrainingError(f"{type(self).__name__} does not name its two parts")

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        selection, calibration = self.parts()
        n, lam = selection(match), calibration(match, rng)  # [B], [B, T] or None
        return match.pick(n) if lam is None else Mixture.blend(match.positives, match.chosen(n), lam)


@dataclass(frozen=True)
class SAHC(SelectThenCalibrate):
    """A candidate that is hard and uneven over the layers, mixed with the positive where the pool is easy."""

    name: ClassVar[str] = "sahc"

    alpha: float = setting(0.3, ALPHA, low=0, search=GRID)
    lambda_max: float = setting(0.5, LAMBDA, low=0, high=1, search=GRID)

    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(self.alpha), LayerGap(self.lambda_max)


@dataclass(frozen=True)
class SAOnly(SelectThenCalibrate):
    """Structure-aware selection, no mixing."""

    name: ClassVar[str] = "sa-only"

    alpha: float = setting(0.3, ALPHA, low=0, search=GRID)

    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(self.alpha), NoCalibration()


@dataclass(frozen=True)
class HCOnly(SelectThenCalibrate):
    """Calibration of DNS's choice."""

    name: ClassVar[str] = "hc-only"

    lambda_max: float = setting(0.5, LAMBDA, low=0, high=1, search=GRID)

    def parts(self) -> tuple[Selection, Calibration]:
        return Hardest(), LayerGap(self.lambda_max)


@dataclass(frozen=True)
class WithoutDiscrepancy(SelectThenCalibrate):
    """Selection by mean hardness alone: where the mean ranks as the score does, the same algorithm as HC-only."""

    name: ClassVar[str] = "sahc-no-discrepancy"

    lambda_max: float = setting(0.5, LAMBDA, low=0, high=1, search=GRID)

    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(0.0), LayerGap(self.lambda_max)


@dataclass(frozen=True)
class WithoutMean(SelectThenCalibrate):
    """Selection by discrepancy alone."""

    name: ClassVar[str] = "sahc-no-mean"

    lambda_max: float = setting(0.5, LAMBDA, low=0, high=1, search=GRID)

    def parts(self) -> tuple[Selection, Calibration]:
        return DiscrepancyOnly(), LayerGap(self.lambda_max)


@dataclass(frozen=True)
class SAHCFixed(SelectThenCalibrate):
    """λ from a fixed uniform distribution; the paper does not say which: U(0, 0.5) here, U(0, 1) with high=1."""

    name: ClassVar[str] = "sahc-fixed"

    alpha: float = setting(0.3, ALPHA, low=0, search=GRID)
    high: float = setting(0.5, "upper end of the uniform distribution of λ", low=0, high=1, search=GRID)

    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(self.alpha), FixedUniform(self.high)


@dataclass(frozen=True)
class SAHCGlobal(SelectThenCalibrate):
    """One λ for all layers, from the final scores."""

    name: ClassVar[str] = "sahc-global"

    alpha: float = setting(0.3, ALPHA, low=0, search=GRID)
    lambda_max: float = setting(0.5, LAMBDA, low=0, high=1, search=GRID)

    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(self.alpha), GlobalGap(self.lambda_max)
