"""A family with SAHC-NS at one end and MixGCF at the other, to be searched. An experiment of this library's, not published.

    q[n, l] = (1 - c) z(a[n, l]) + c z(μ_n) + α z(σ_n),   n*(l) = argmax_n q[n, l]                      which candidate
    g_l = p_l - max_n a[n, l],   ḡ_l = mean_b |g_l|
    λ_l = β₀ + (λmax - β₀)(1 - exp(-max(g_l, 0) / ḡ_l))                                        how much of the positive
    negative_l = λ_l V[i, l] + (1 - λ_l) V[C[n*(l)], l]

μ, σ and z as in SAHC-NS (`sahc.py`); c = γ / (1 + γ), so that the choice goes by z(a) + γ z(μ), and α is not scaled. A gap
counts by its size in the batch, ḡ_l, and not by the model's scale of scores.

| c | β₀ | scale | is |
|---|---|---|---|
| 1 | 0 | none | SAHC-NS |
| 1 | 0 | batch | SAHC-NS that does not depend on the scale of scores |
| 0 (and α = 0) | λmax | any | MixGCF with the constant share λmax |

Beyond both: `softness` τ > 0 takes the pool by softmax_n(q / τ) instead of its argmax; `sides=two` mixes in the mean of
the pool where it beats the positive, g_l < 0, with the share κ_l = (λmax - β₀)(1 - exp(-max(-g_l, 0) / ḡ_l)).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sahcns.errors import SettingError
from sahcns.rng import Rng
from sahcns.samplers.matching import Matching
from sahcns.samplers.mixture import Mixture
from sahcns.samplers.sahc import (
    EPSILON,
    Calibration,
    Selection,
    SelectThenCalibrate,
    StructureAware,
    discrepancy,
    hardness,
    layer_gaps,
    standardised,
)
from sahcns.settings import setting

SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class LayersAndMean:
    """n* [B, T], by each layer's score, the mean over layers, and the discrepancy."""

    common: float
    alpha: float

    def __call__(self, match: Matching) -> Tensor:
        if self.common == 1:
            return StructureAware(self.alpha)(match)  # [B], one candidate for all layers
        if self.common == self.alpha == 0:
            return match.a.argmax(1)  # z is monotone, so only rounding could tell q from the score
        return self.scores(match.a).argmax(1)

    def scores(self, a: Tensor) -> Tensor:
        """q [B, N, T]."""
        whole = self.common * standardised(a.mean(-1)) + self.alpha * standardised(discrepancy(a))  # [B, N]
        return (1 - self.common) * standardised(a) + whole[..., None]


@dataclass(frozen=True)
class ScaledGap:
    """λ [B, T] between two ends, by the gap in units of the batch."""

    floor: float
    lambda_max: float
    scale: str

    def __call__(self, match: Matching, rng: Rng) -> Tensor:
        return self.floor + self.share(self.gaps(match))

    def gaps(self, match: Matching) -> Tensor:
        """g / ḡ [B, T]."""
        gaps = layer_gaps(match)
        return gaps if self.scale == "none" else gaps / (gaps.abs().mean(0) + EPSILON)

    def share(self, gaps: Tensor) -> Tensor:
        """(λmax - β₀)(1 - exp(-max(g, 0)))."""
        return (self.lambda_max - self.floor) * (1.0 - hardness(gaps))


@dataclass(frozen=True)
class SAHCFamily(SelectThenCalibrate):
    """From one candidate for all layers to one for each, and from calibrated to constant mixing."""

    name: ClassVar[str] = "sahc-family"

    common: float = setting(
        0.5,
        "weight c of the mean over layers in the choice: 0 another item at each layer, 1 one for all",
        low=0,
        high=1,
        search=(0.0, 0.25, 0.5, 0.75, 1.0),
    )
    alpha: float = setting(
        0.0,
        "weight α of the cross-layer discrepancy; below 0 it is avoided",
        low=-1,
        high=1,
        search=(-0.5, -0.25, 0.0, 0.25, 0.5),
    )
    floor: float = setting(0.1, "share β₀ of the positive that is always mixed in", low=0, high=1, search=SHARES)
    lambda_max: float = setting(0.5, "largest share λmax of the positive, β₀ or more", low=0, high=1, search=SHARES)
    scale: str = setting(
        "batch", "gaps in units of their mean size in the batch, or as they are", choices=("batch", "none"), search=()
    )
    softness: float = setting(
        0.0,
        "temperature τ of a softmax over q in the place of its argmax; 0 is the argmax",
        low=0,
        search=(0.0, 0.1, 0.3, 1.0),
    )
    sides: str = setting(
        "one",
        "two: where the pool beats the positive, the pool's mean is mixed in",
        choices=("one", "two"),
        search=("one", "two"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.floor > self.lambda_max:
            raise SettingError(
                f"SAHCFamily: floor={self.floor} must not be above lambda_max={self.lambda_max}; swap them"
            )

    def parts(self) -> tuple[Selection, Calibration]:
        return self.selection, self.calibration

    @property
    def selection(self) -> LayersAndMean:
        return LayersAndMean(self.common, self.alpha)

    @property
    def calibration(self) -> ScaledGap:
        return ScaledGap(self.floor, self.lambda_max, self.scale)

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        if self.softness == 0 and self.sides == "one":
            return super().choose(match, rng)
        lam, pool = self.calibration(match, rng)[:, None], self.chances(match)  # [B, 1, T], [B, N, T]
        kappa = self.calibration.share(-self.calibration.gaps(match))[:, None] if self.sides == "two" else 0.0
        pool = (1 - lam - kappa) * pool + kappa / pool.shape[1]
        items = torch.cat([match.positives[:, None], match.candidates], dim=1)  # [B, 1 + N]
        return Mixture(items[:, :, None], torch.cat([lam, pool], dim=1))

    def chances(self, match: Matching) -> Tensor:
        """[B, N, T]: how much of each candidate there is in what is mixed with the positive."""
        if self.softness > 0:
            return torch.softmax(self.selection.scores(match.a) / self.softness, dim=1)
        chosen = self.selection(match)
        chosen = chosen if chosen.dim() == 2 else chosen[:, None].expand_as(match.p)
        return torch.zeros_like(match.a).scatter_(1, chosen[:, None], 1.0)
