"""What a sampler does over one epoch on one model, as plain numbers; `diagnosing.py` measures them.

μ, σ, λ and the gaps are the paper's. A *negative* is what the sampler returned, a *chosen* item is what it is made of
besides the pair's own positive: j* of SAHC-NS, one item at each layer for MixGCF, two items for DivNS.
"""

from dataclasses import dataclass
from typing import Any

from sahcns.lab.plain import Plain


@dataclass(frozen=True)
class Histogram(Plain):
    """Counts over equal bins: bin k holds low + k·step ≤ x < low + (k+1)·step."""

    low: float
    step: float
    counts: tuple[int, ...]
    below: int = 0  # left of the first bin
    above: int = 0  # right of the last

    @property
    def edges(self) -> list[float]:
        """The left edge of each bin, and the right one of the last."""
        return [self.low + k * self.step for k in range(len(self.counts) + 1)]

    @property
    def shares(self) -> list[float]:
        """The share of all that was counted in each bin."""
        total = sum(self.counts) + self.below + self.above
        return [count / total if total else 0.0 for count in self.counts]


@dataclass(frozen=True)
class Spread(Plain):
    """How a number is distributed: moments (population), extremes and a histogram."""

    count: int
    mean: float
    std: float
    least: float
    most: float
    histogram: Histogram


@dataclass(frozen=True)
class Hardness(Plain):
    """How hard the negatives are, and how much they push."""

    score: Spread  # y⁻
    margin: Spread  # y⁺ - y⁻
    above_positive: float  # share of negatives with y⁻ > y⁺
    push: Spread  # |∂ loss / ∂ y⁻|, for one negative 1 - sigmoid(y⁺ - y⁻); summed over several
    user_gradient: Spread  # ‖∂ loss / ∂ ē_u‖
    loss: float  # mean BPR loss


@dataclass(frozen=True)
class Pools(Plain):
    """What the sampler had to choose from."""

    size: int
    gap: Spread  # (y⁺ - max_n s) / (|y⁺| + ε): Fig. 1(a)
    near: float  # share of pools with a gap under 0.10
    far: float  # share of pools with a gap over 0.20
    similar: int  # pairs of different candidates of one pool with |Δs| < 0.01
    discrepancy_gap: Spread | None  # |Δσ| of those: Fig. 1(b); None where there are none
    over_020: float | None  # share of them with |Δσ| > 0.20
    over_050: float | None


@dataclass(frozen=True)
class Selection(Plain):
    """The chosen items beside what DNS would choose from the same pools: Fig. 5(a)."""

    mu: float  # mean of μ over the pairs
    mu_dns: float
    sigma: float
    sigma_dns: float
    agreement: float  # share of chosen items that are DNS's

    @property
    def mu_change(self) -> float | None:
        """(μ - μ of DNS) / |μ of DNS|, of the means."""
        return relative_change(self.mu, self.mu_dns)

    @property
    def sigma_change(self) -> float | None:
        return relative_change(self.sigma, self.sigma_dns)


@dataclass(frozen=True)
class Group(Plain):
    """Pools of like hardness."""

    gap: float  # mean over pools and layers of p_l - m_l
    strength: tuple[float, ...]  # mean λ of each layer
    before: float  # mean y⁺ - y⁻ without the positive mixed in
    after: float  # and with it

    @property
    def reduction(self) -> float:
        return self.before - self.after


@dataclass(frozen=True)
class Mixing(Plain):
    """How much of the positive is mixed in, at which layer and in which pools: Fig. 5(b)."""

    strength: tuple[float, ...]  # mean λ of each layer
    gap: tuple[float, ...]  # mean p_l - m_l of each layer
    lam: Spread  # λ over negatives and layers
    tenths: tuple[Group, ...]  # a tenth of the pools each, the hardest first
    hard: Group  # the fifth with the smallest gap
    easy: Group  # the fifth with the largest

    @property
    def mixes(self) -> bool:
        return self.lam.most > 0


@dataclass(frozen=True)
class FalseNegatives(Plain):
    """Shares that are held-out items of the user. For looking only: nothing was chosen by it; None without held-out."""

    chosen: float | None
    pool: float | None
    dns: float | None


@dataclass(frozen=True)
class Variety(Plain):
    """Which items serve as negatives."""

    distinct: int  # items chosen at least once
    items: int  # of so many
    popularity: float  # mean training pairs of a chosen item
    pool_popularity: float  # and of a candidate
    cold: float  # share of chosen items without any training pair
    pool_cold: float  # and of candidates


@dataclass(frozen=True)
class Diagnostics(Plain):
    """One sampler over all training pairs of one model, nothing trained meanwhile."""

    sampler: dict[str, Any]
    model: dict[str, Any]  # backbone, sampler, seed, best_epoch, data of the run that made it
    seed: int  # of the pools and of the sampler's own draws
    pairs: int
    negatives: int  # several a pair where the sampler returns several
    first_layer: int  # 0, or 1 where layer 0 is no part of the model's layers
    hardness: Hardness
    pools: Pools
    selection: Selection
    mixing: Mixing
    false_negatives: FalseNegatives
    variety: Variety
    notes: tuple[str, ...] = ()  # what to know before trusting the numbers

    @property
    def name(self) -> str:
        return str(self.sampler["name"])

    @property
    def layers(self) -> list[str]:
        return [f"layer {self.first_layer + t}" for t in range(len(self.mixing.strength))]


def relative_change(value: float, base: float) -> float | None:
    """None where there is nothing to relate it to."""
    return (value - base) / abs(base) if base else None
