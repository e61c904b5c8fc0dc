"""What an inspection measures, as plain numbers that become JSON and come back. Needs no torch, nor does the report.

μ, σ, q, ρ, λ and the gaps are the paper's. A *negative* is what the sampler returned. A *chosen* item is what the negative
is made of besides the pair's own positive: j* of SAHC-NS, one item at each layer for MixGCF, two items for DivNS.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sahcns.data.ids import Id
from sahcns.lab.plain import Plain


@dataclass(frozen=True)
class Candidate(Plain):
    """One item of a pool."""

    item: Id
    title: str | None
    profile: tuple[float, ...]  # a_l, the score at each layer (Eq. 5)
    score: float  # s, the model's own
    mu: float  # Eq. 6
    sigma: float  # Eq. 7
    z_mu: float  # Eq. 8
    z_sigma: float
    q: float | None  # Eq. 9; None where the sampler does not select by it
    share: float  # of the negative, without the positive in it: 1 for the chosen one of SAHC-NS
    dns: bool  # DNS would choose it
    held_out: str | None  # "valid" or "test" for a held-out item of the user; nothing is chosen by it
    popularity: int  # training pairs


@dataclass(frozen=True)
class Ingredient(Plain):
    """One item of a negative."""

    item: Id
    title: str | None
    positive: bool  # the pair's own positive
    weights: tuple[float, ...]  # its share at each layer


@dataclass(frozen=True)
class Negative(Plain):
    """What the sampler returned."""

    ingredients: tuple[Ingredient, ...]
    strength: tuple[float, ...]  # λ_l, the share of the positive at each layer (Eq. 13)
    profile_before: tuple[float, ...]  # the score at each layer without the positive in it
    profile: tuple[float, ...]  # and with it
    score_before: float
    score: float  # y⁻


@dataclass(frozen=True)
class PairView(Plain):
    """One training pair under a sampler: a user, a positive, a pool, and the negatives made of them."""

    sampler: dict[str, Any]
    user: Id
    item: Id
    title: str | None
    first_layer: int
    positive: tuple[float, ...]  # p_l
    positive_score: float  # y⁺
    pool: tuple[Candidate, ...]
    hardest: tuple[float, ...]  # m_l, the largest score of the pool at each layer
    gaps: tuple[float, ...]  # g_l = p_l - m_l (Eq. 11)
    rho: tuple[float, ...]  # ρ_l, the hardness of the pool (Eq. 12)
    negatives: tuple[Negative, ...]
    notes: tuple[str, ...] = ()

    @property
    def layers(self) -> list[str]:
        return layer_names(self.first_layer, self.positive)

    @property
    def chosen(self) -> list[Candidate]:
        """The candidates that the negatives are made of, the largest share first, each once."""
        candidates = {one.item: one for one in reversed(self.pool) if one.share > 0}
        return sorted(candidates.values(), key=lambda one: -one.share)

    @property
    def dns(self) -> Candidate:
        return next(one for one in self.pool if one.dns)


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
        """The left edge of each bin, and the right edge of the last."""
        return [self.low + k * self.step for k in range(len(self.counts) + 1)]

    @property
    def shares(self) -> list[float]:
        """Of all values, those outside the bins included."""
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
    """How hard the negatives are, and how large a gradient they cause."""

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
    agreement: float  # share of chosen items that DNS would choose

    @property
    def mu_change(self) -> float | None:
        return relative_change(self.mu, self.mu_dns)

    @property
    def sigma_change(self) -> float | None:
        return relative_change(self.sigma, self.sigma_dns)


@dataclass(frozen=True)
class Group(Plain):
    """Pools of similar hardness."""

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
    easy: Group  # the fifth with the largest gap

    @property
    def mixes(self) -> bool:
        return self.lam.most > 0


@dataclass(frozen=True)
class FalseNegatives(Plain):
    """Shares that are held-out items of the user, None without held-out pairs. For looking only; nothing is chosen by it."""

    chosen: float | None
    pool: float | None
    dns: float | None


@dataclass(frozen=True)
class Variety(Plain):
    """Which items serve as negatives."""

    distinct: int  # items chosen at least once
    items: int  # in the data
    popularity: float  # mean training pairs of a chosen item
    pool_popularity: float  # and of a candidate
    cold: float  # share of chosen items without any training pair
    pool_cold: float  # and of candidates


@dataclass(frozen=True)
class Diagnostics(Plain):
    """One sampler over all training pairs of one model; nothing is trained."""

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
        return layer_names(self.first_layer, self.mixing.strength)


@dataclass(frozen=True)
class Cost(Plain):
    """A sampler's share of an epoch, in seconds."""

    sampler: dict[str, Any]
    match: float  # the layer-wise scores of the pool
    choose: float  # the sampler itself
    mix: float  # the negative put together, and the loss of it
    epoch: float  # a whole epoch of training, the median of the rounds
    extra: float  # match + choose + mix beyond those of the first sampler measured
    device: str
    kernels: str
    steps: str  # captured or eager
    rounds: tuple[float, ...]  # a whole epoch, each time that all samplers were measured in turn

    @property
    def name(self) -> str:
        return str(self.sampler["name"])

    @property
    def forward(self) -> float:
        """The sampler's forward pass, as the paper calls it."""
        return self.match + self.choose + self.mix

    @property
    def extra_share(self) -> float:
        """Of this sampler's own epoch."""
        return self.extra / self.epoch if self.epoch else 0.0

    @property
    def variation(self) -> float:
        """By which share the slowest of its whole epochs is longer than the quickest."""
        return max(self.rounds) / min(self.rounds) - 1.0

    def longer_than(self, other: "Cost") -> list[float]:
        """By which share of its own whole epochs are longer than another's, round by round."""
        return [(own - its) / own for own, its in zip(self.rounds, other.rounds, strict=True)]


@dataclass(frozen=True)
class Inspection(Plain):
    """All that was measured on one model; the report is made from it alone."""

    model: dict[str, Any]  # backbone, sampler, seed, best_epoch, data, machine of the run
    seed: int
    pairs: tuple[PairView, ...] = ()
    diagnostics: dict[str, Diagnostics] = field(default_factory=dict)  # by label
    costs: tuple[Cost, ...] = ()


def layer_names(first: int, values: Sequence[float]) -> list[str]:
    return [f"layer {first + t}" for t in range(len(values))]


def relative_change(value: float, base: float) -> float | None:
    """(value - base) / |base|, None where the base is 0."""
    return (value - base) / abs(base) if base else None
