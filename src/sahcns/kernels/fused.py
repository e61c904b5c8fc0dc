"""What a path may also have in one go. The plain form stands where it is used; None sends the caller there.

Shapes are those of `Matching` and `Mixture`: users and positives [B], candidates [B, N], a [B, N, T], p [B, T].
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.rng import Rng

if TYPE_CHECKING:
    from sahcns.graph import Adjacency


HalfName = Literal["aware", "hardest", "uneven", "layers", "final"]  # three ways to choose, two to calibrate


@dataclass(frozen=True)
class Half:
    """One of the two parts of SAHC-NS and its variants, as a kernel knows it."""

    name: HalfName
    strength: float = 0.0  # α of "aware", λmax of the last two


class Fused(Protocol):
    """Nothing is here until a path overrides it; it may still answer None to what it does not know."""

    def pair_loss(
        self,
        layers: tuple[Tensor, ...],
        agg: Aggregation,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        items: Tensor,
        weights: Tensor | None,
        strength: float,
    ) -> Tensor | None:
        """BPR and L2 of a batch, one negative a pair: items [B, M, T or 1], weights [B, M, T] or None for M = 1."""
        return None

    def pair_loss_and_rows(
        self,
        layers: tuple[Tensor, ...],
        agg: Aggregation,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        items: Tensor,
        weights: Tensor | None,
        strength: float,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
        """The same, and the layers of users, positives and negatives, [B, T, d] each, for a loss of the sampler's own."""
        return None

    def ridge(
        self,
        ego: Tensor,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        items: Tensor,
        weights: Tensor | None,
        strength: float,
    ) -> Tensor | None:
        """L2 of `pair_loss` where the trainable table is none of the layers."""
        return None

    def ngcf_layers(
        self, adjacency: "Adjacency", ego: Tensor, weights: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...] | None:
        """All layers of NGCF; `weights` are W₁, b₁, W₂, b₂ of each layer in turn."""
        return None

    def contrast(
        self,
        adjacency: "Adjacency",
        layers: tuple[Tensor, ...],
        has_ego: bool,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        length: float,
        temperature: float,
        weight: float,
        rng: Rng,
    ) -> Tensor | None:
        """SimGCL's contrastive loss, from the clean layers."""
        return None

    def ranked(self, a: Tensor, mean: bool, candidates: Tensor, place: Tensor | None) -> Tensor | None:
        """The item at a place [B] of its pool by falling score, [B]; `mean` or the sum of a is the score. See `Matching`."""
        return None

    def nearest(self, a: Tensor, mean: bool, candidates: Tensor, target: Tensor) -> Tensor | None:
        """The item of its pool whose score is nearest to a target [B], [B]. See `Matching`."""
        return None

    def mixgcf(self, a: Tensor, candidates: Tensor, positives: Tensor, beta: Tensor) -> tuple[Tensor, Tensor] | None:
        """MixGCF's mixture; beta [B, T]."""
        return None

    def outscored(
        self, layers: tuple[Tensor, ...], agg: Aggregation, n_users: int, users: Tensor, candidates: Tensor
    ) -> Tensor | None:
        """How many of all items score no higher with users [B] than each of their candidates [B, N] does."""
        return None

    def least_risk(
        self,
        p: Tensor,
        a: Tensor,
        mean: bool,
        candidates: Tensor,
        popularity: Tensor,
        pairs: int,
        below: Tensor,
        size: int,
        lam: float,
    ) -> Tensor | None:
        """The item of BNS's choice, [B]: P_fn = popularity / pairs, and F = below / size by how many each outscores."""
        return None

    def structure_aware(self, a: Tensor, alpha: float, epsilon: float) -> Tensor | None:
        """SA's position in the pool, [B]."""
        return None

    halves: frozenset[str] = frozenset()  # names of those that `calibrated` knows

    def calibrated(
        self,
        p: Tensor,
        a: Tensor,
        mean: bool,
        candidates: Tensor,
        positives: Tensor,
        which: Half | Tensor,
        share: Half | Tensor,
        epsilon: float,
    ) -> tuple[Tensor, Tensor] | None:
        """The mixture of SAHC-NS and of its variants: the candidate at positions [B] or by a half, and the share of the
        positive, λ [B, T] or by a half; one of them at least is a half. `mean` or the sum of a is the score."""
        return None

    def dens_choice(
        self,
        layers: tuple[Tensor, ...],
        n_users: int,
        users: Tensor,
        positives: Tensor,
        candidates: Tensor,
        gates: dict[str, Tensor],
        alpha: Tensor | float,
    ) -> Tensor | None:
        """The item that DENS chooses at each layer, [B, T]."""
        return None

    def gate_loss(
        self, gates: dict[str, Tensor], u: Tensor, i: Tensor, n: Tensor, agg: Aggregation, gamma: float
    ) -> Tensor | None:
        """DENS's loss of one negative a pair, u, i, n [B, T, d]."""
        return None

    def divns(
        self,
        a: Tensor,
        mean: bool,
        candidates: Tensor,
        pairs: Tensor,
        hard: Tensor,
        cache: Tensor,
        queue: Tensor,
        lam: float,
    ) -> tuple[Tensor, Tensor] | None:
        """DivNS's mixture; the pairs' hard negatives and caches are filed on the way."""
        return None

    def diversify(
        self,
        unit: Tensor,
        starts: Tensor,
        counts: Tensor,
        longest: int,
        hard: Tensor,
        cache: Tensor,
        queue: Tensor,
        cap: int,
        rng: Rng,
    ) -> bool:
        """Fill a group's queues for DivNS's next epoch, by k-DPP; False if that was not done."""
        return False
