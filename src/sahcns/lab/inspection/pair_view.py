"""One training pair under a sampler, as plain numbers with the paper's letters; `pairs.py` computes them."""

from dataclasses import dataclass
from typing import Any

from sahcns.data.ids import Id
from sahcns.lab.plain import Plain


@dataclass(frozen=True)
class Candidate(Plain):
    """One of the pool."""

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
    """A user, a positive, a pool, and what became of it."""

    sampler: dict[str, Any]
    user: Id
    item: Id
    title: str | None
    first_layer: int
    positive: tuple[float, ...]  # p_l
    positive_score: float  # y⁺
    pool: tuple[Candidate, ...]
    hardest: tuple[float, ...]  # m_l, the most of the pool at each layer
    gaps: tuple[float, ...]  # g_l = p_l - m_l (Eq. 11)
    rho: tuple[float, ...]  # ρ_l, the hardness of the pool (Eq. 12)
    negatives: tuple[Negative, ...]
    notes: tuple[str, ...] = ()

    @property
    def layers(self) -> list[str]:
        return [f"layer {self.first_layer + t}" for t in range(len(self.positive))]

    @property
    def chosen(self) -> list[Candidate]:
        """The candidates that the negatives are made of, the largest share first; one that was drawn twice once."""
        found = {one.item: one for one in reversed(self.pool) if one.share > 0}
        return sorted(found.values(), key=lambda one: -one.share)

    @property
    def dns(self) -> Candidate:
        return next(one for one in self.pool if one.dns)
