"""What an inspection measures, as plain numbers that become JSON and come back. Needs no torch, nor does the report.

A number that is a line of the table says so where it is declared: what the line is called, what it means, how it is shown.
μ, σ, q, ρ, λ and the gaps are the paper's. A *negative* is what the sampler returned. A *chosen* item is what the negative
is made of besides the pair's own positive: j* of SAHC-NS, one item at each layer for MixGCF, two items for DivNS.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, TypedDict

from sahcns.data.ids import Id
from sahcns.described import About, Machine, Named
from sahcns.errors import DataError
from sahcns.plain import Plain

NONE = "–"


@dataclass(frozen=True)
class Row:
    """A line of the table of numbers."""

    name: str
    hint: str
    show: Callable[[Any], str]  # the number, or a property of its section
    of: str = ""  # that property
    choice: bool = False  # says nothing about a pool of one item, where there is no choice


def row(name: str, hint: str, show: Callable[[Any], str], **more: Any) -> Any:
    """A field that is a line of the table."""
    return field(metadata={"row": Row(name, hint, show, **more)})


def percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.2f} %"


def _signed(value: float | None) -> str:
    return NONE if value is None else f"{100 * value + 0.0:+.2f} %".replace("-0.00", "+0.00")


def _margins(group: "Group") -> str:
    return f"{group.before:.3f}" if group.before == group.after else f"{group.before:.3f} → {group.after:.3f}"


class Model(TypedDict):
    """Of the run that made a model."""

    backbone: Named
    sampler: Named
    seed: int
    best_epoch: int
    data: About
    machine: Machine


def refuse_uneven(what: str, *columns: Sequence[object]) -> None:
    """An error unless they are equally long, and not empty."""
    lengths = {len(column) for column in columns}
    if len(lengths) != 1 or 0 in lengths:
        raise DataError(f"{what} has columns of {' and '.join(map(str, sorted(lengths)))} values")


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

    sampler: Annotated[dict[str, Any], Named]
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

    def __post_init__(self) -> None:
        each = [column for one in self.negatives for column in (one.strength, one.profile_before, one.profile)]
        each += [part.weights for one in self.negatives for part in one.ingredients]
        each += [one.profile for one in self.pool]
        refuse_uneven(f"the pair of {self.user!r}", self.positive, self.hardest, self.gaps, self.rho, *each)
        if not self.negatives or not any(one.dns for one in self.pool):
            raise DataError(f"the pair of {self.user!r} has no negative, or none that DNS would choose")

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

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and 0 < self.step < math.inf):
            raise DataError(f"a histogram begins at {self.low} with bins of {self.step}")

    @property
    def edges(self) -> list[float]:
        """The left edge of each bin, and the right edge of the last."""
        return [self.low + k * self.step for k in range(len(self.counts) + 1)]

    @property
    def shares(self) -> list[float]:
        """Of all values, those outside the bins included."""
        total = max(sum(self.counts) + self.below + self.above, 1)
        return [count / total for count in self.counts]


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

    score: Spread = row("score y⁻", "mean score of the negatives", "{.mean:.3f}".format)
    margin: Spread = row("margin y⁺ - y⁻", "mean over the negatives", "{.mean:.3f}".format)
    above_positive: float = row("above the positive", "share of negatives with y⁻ > y⁺", percent)
    push: Spread = row("push 1 - sigmoid(y⁺ - y⁻)", "mean |∂ loss / ∂ y⁻|, summed over several", "{.mean:.4f}".format)
    user_gradient: Spread = row("gradient of the user", "mean ‖∂ loss / ∂ ē_u‖", "{.mean:.4f}".format)
    loss: float = row("BPR loss", "mean over the pairs", "{:.4f}".format)


@dataclass(frozen=True)
class Pools(Plain):
    """What the sampler had to choose from. σ is compared in pairs of different candidates of one pool with |Δs| < 0.01."""

    gap: Spread  # (y⁺ - max_n s) / (|y⁺| + ε): Fig. 1(a)
    discrepancy_gap: Spread | None  # |Δσ| of score-similar pairs: Fig. 1(b); None where there are none
    size: int = row("pool N", "candidates drawn for each pair", str)
    near: float = row("pools with a gap < 0.10", "Fig. 1(a): (y⁺ - the pool's highest score) / |y⁺|", percent)
    far: float = row("pools with a gap > 0.20", "Fig. 1(a) of the paper", percent)
    similar: int = row("score-similar pairs", "pairs of candidates of one pool with |Δs| < 0.01", "{:,}".format)
    over_020: float | None = row("… with |Δσ| > 0.20", "Fig. 1(b) of the paper", percent)
    over_050: float | None = row("… with |Δσ| > 0.50", "Fig. 1(b) of the paper", percent)


@dataclass(frozen=True)
class Selection(Plain):
    """The chosen items beside what DNS would choose from the same pools: Fig. 5(a). Means over the pairs."""

    mu_dns: float
    sigma_dns: float
    agreement: float = row("chosen as DNS", "share of chosen items that DNS would choose", percent, choice=True)
    sigma: float = row(
        "discrepancy σ, to DNS", "Fig. 5(a): change of the mean", _signed, of="sigma_change", choice=True
    )
    mu: float = row("mean hardness μ, to DNS", "Fig. 5(a): change of the mean", _signed, of="mu_change", choice=True)

    @property
    def mu_change(self) -> float | None:
        """(μ - that of DNS) / |that of DNS|, None where that is 0."""
        return (self.mu - self.mu_dns) / abs(self.mu_dns) if self.mu_dns else None

    @property
    def sigma_change(self) -> float | None:
        return (self.sigma - self.sigma_dns) / abs(self.sigma_dns) if self.sigma_dns else None


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

    tenths: tuple[Group, ...]  # a tenth of the pools each, the hardest first
    strength: tuple[float, ...]  # mean λ of each layer
    gap: tuple[float, ...]  # mean p_l - m_l of each layer
    lam: Spread = row(  # over negatives and layers
        "strength λ", "mean share of the positive in the negative", lambda lam: f"{lam.mean:.3f}" if lam.most else NONE
    )
    easy: Group = row("margin, easy pools", "Fig. 5(b): the fifth with the largest gap, before → after", _margins)
    hard: Group = row("margin, hard pools", "Fig. 5(b): the fifth with the smallest gap, before → after", _margins)

    def __post_init__(self) -> None:
        groups = (*self.tenths, self.easy, self.hard)
        refuse_uneven("mixing", self.strength, self.gap, *(group.strength for group in groups))

    @property
    def mixes(self) -> bool:
        return self.lam.most > 0


@dataclass(frozen=True)
class FalseNegatives(Plain):
    """Shares that are held-out items of the user, None without held-out pairs. For looking only; nothing is chosen by it."""

    chosen: float | None = row("false negatives", "chosen items that are held out of the user", percent)
    dns: float | None = row("… of DNS's choices", "from the same pools", percent, choice=True)
    pool: float | None = row("… of the pool", "share of candidates", percent)


@dataclass(frozen=True)
class Variety(Plain):
    """Which items serve as negatives."""

    items: int  # in the data
    distinct: int = row("distinct items", "items chosen at least once", str, of="used")
    popularity: float = row("popularity", "mean training pairs of a chosen item", "{:.1f}".format)
    pool_popularity: float = row("… of the pool", "mean training pairs of a candidate", "{:.1f}".format)
    cold: float = row("without training pairs", "chosen items that nothing was learnt about", percent)
    pool_cold: float = row("… of the pool", "share of candidates", percent)

    @property
    def used(self) -> str:
        return f"{self.distinct:,} of {self.items:,}"


@dataclass(frozen=True)
class Diagnostics(Plain):
    """One sampler over all training pairs of one model; nothing is trained."""

    sampler: Annotated[dict[str, Any], Named]
    model: Annotated[dict[str, Any], Model]  # backbone, sampler, seed, best_epoch, data of the run that made it
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

    def rows(self) -> list[tuple[Row, str]]:
        """The lines of the table, each with what it shows."""
        lines = []
        for section in (self.hardness, self.pools, self.selection, self.mixing, self.false_negatives, self.variety):
            for entry in fields(section):
                if one := entry.metadata.get("row"):
                    shown = one.show(getattr(section, one.of or entry.name))
                    lines.append((one, NONE if one.choice and self.pools.size == 1 else shown))
        return lines


@dataclass(frozen=True)
class Cost(Plain):
    """A sampler's share of an epoch, in seconds."""

    sampler: Annotated[dict[str, Any], Named]
    match: float  # the layer-wise scores of the pool
    choose: float  # the sampler itself
    mix: float  # the negative put together, and the loss of it
    epoch: float  # a whole epoch of training, the median of the rounds
    extra: float  # match + choose + mix beyond those of the first sampler measured
    device: str
    kernels: str
    steps: str  # captured or eager
    rounds: tuple[float, ...]  # a whole epoch, each time that all samplers were measured in turn

    def __post_init__(self) -> None:
        refuse_uneven("a cost", self.rounds)

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

    model: Annotated[dict[str, Any], Model]  # backbone, sampler, seed, best_epoch, data, machine of the run
    seed: int
    pairs: tuple[PairView, ...] = ()
    diagnostics: dict[str, Diagnostics] = field(default_factory=dict)  # by label
    costs: tuple[Cost, ...] = ()


def layer_names(first: int, values: Sequence[float]) -> list[str]:
    return [f"layer {first + t}" for t in range(len(values))]
