"""SAHC-NS: structure-aware selection, then hardness calibration by the pool.

Wu, Wu, Li, Qin, Li, Wang. SAHC-NS: Structure-Aware and Hardness-Calibrated Negative Sampling for Implicit Collaborative
Filtering.

    j* = argmax_j z(μ_j) + α z(σ_j)                                   which candidate          (SA, Eqs. 5–10)
    λ_l = λmax (1 - exp(-max(p_l - max_j a_{j,l}, 0)))                how much of the positive (HC, Eqs. 11–13)
    negative_l = λ_l e_{i,l} + (1 - λ_l) e_{j*,l}                     at each layer            (Eq. 14)

λ carries no gradient; the positive and j* do. The paper's ablations are other pairs of the same two parts.
"""

from dataclasses import dataclass
from typing import ClassVar

from sahcns.errors import TrainingError
from sahcns.rng import Rng
from sahcns.samplers.base import Sampler
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.samplers.sahc_parts import (
    Calibration,
    DiscrepancyOnly,
    FixedUniform,
    GlobalGap,
    Hardest,
    LayerGap,
    NoCalibration,
    Selection,
    StructureAware,
)
from sahcns.settings import setting

ALPHA = "weight α of the cross-layer discrepancy (Eq. 9)"
LAMBDA = "largest share λmax of the positive (Eq. 13)"
GRID = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # the paper's, for α and for λmax


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
