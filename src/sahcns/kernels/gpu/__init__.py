"""The verbs as Triton kernels."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, get_args
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.kernels.cpu import Mix
from sahcns.kernels.fused import Half, HalfName
from sahcns.kernels.gpu.adam import Adam
from sahcns.kernels.gpu.blocks import BlockHops, Blocks
from sahcns.kernels.gpu.blocks import fits as fits_blocks
from sahcns.kernels.gpu.calibrate import calibrated, structure_aware
from sahcns.kernels.gpu.dens import PARTS, GateLoss, dens_choice
from sahcns.kernels.gpu.divns import diversify, divns
from sahcns.kernels.gpu.draw import draw
from sahcns.kernels.gpu.hops import DENSE, Hops, Plan, Shape
from sahcns.kernels.gpu.least_risk import least_risk
from sahcns.kernels.gpu.match import match
from sahcns.kernels.gpu.ngcf_layer import NgcfLayers, fits
from sahcns.kernels.gpu.outscored import MOST, outscored
from sahcns.kernels.gpu.pair_loss import PairLoss
from sahcns.kernels.gpu.perturb import Perturb
from sahcns.kernels.gpu.pools import mixgcf, nearest, ranked
from sahcns.kernels.gpu.ridge import Ridge
from sahcns.kernels.gpu.simgcl import Contrast
from sahcns.kernels.gpu.standing import standing
from sahcns.kernels.gpu.tables import table
from sahcns.kernels.reference import ReferenceVerbs
from sahcns.kernels.verbs import Read
from sahcns.rng import Rng

if TYPE_CHECKING:
    from sahcns.graph import Adjacency, Unseen


class GpuVerbs(ReferenceVerbs):
    """Triton for what a step is made of; plain torch on the device for the rest."""

    name = "triton"
    halves = frozenset(get_args(HalfName))

    def __init__(self, half: bool = False, ordered: bool = False) -> None:
        """`half` gathers in 16 bits while training; `ordered` gives the same bits every time (no atomic adds)."""
        self.half, self.ordered = half, ordered
        self.name = "triton-half" if half else "triton-ordered" if ordered else "triton"
        self._plans: WeakKeyDictionary[Adjacency, Plan] = WeakKeyDictionary()
        self._blocks: WeakKeyDictionary[Adjacency, Blocks | None] = WeakKeyDictionary()
        self._rounds: WeakKeyDictionary[Unseen, int] = WeakKeyDictionary()

    def hops(self, adjacency: "Adjacency", x: Tensor, count: int) -> tuple[Tensor, ...]:
        layers: tuple[Tensor, ...]
        blocks = self._dense_part(adjacency) if fits_blocks(x) else None
        if blocks is not None:  # faster than gathering, even in 16 bits
            layers = BlockHops.apply(blocks, x, count)
            return layers
        half = self.half and x.requires_grad and torch.is_grad_enabled()  # rankings are always in full precision
        layers = Hops.apply(self._plan(adjacency), x, count, half)
        return layers

    def _plan(self, adjacency: "Adjacency") -> Plan:
        if adjacency not in self._plans:
            shape = Shape.of(len(adjacency.columns) / adjacency.n, self.half)
            self._plans[adjacency] = Plan.of(adjacency, shape)
        return self._plans[adjacency]

    def _dense_part(self, adjacency: "Adjacency") -> Blocks | None:
        if adjacency not in self._blocks:
            dense = len(adjacency.columns) > DENSE * adjacency.n
            self._blocks[adjacency] = Blocks.of(adjacency) if dense else None
        return self._blocks[adjacency]

    def draw(self, unseen: "Unseen", users: Tensor, count: int, rng: Rng) -> Tensor:
        if unseen.cumulative is not None:
            return super().draw(unseen, users, count, rng)
        if unseen not in self._rounds:
            self._rounds[unseen] = int(unseen.offsets.diff().max()).bit_length()
        return draw(unseen, users, count, rng, self._rounds[unseen])

    def match(
        self,
        layers: tuple[Tensor, ...],
        agg: Aggregation,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        candidates: Tensor,
    ) -> tuple[Tensor, Tensor]:
        return match(table(layers), agg.kind, n_users, users, positives, candidates)

    def mix(self, layers: tuple[Tensor, ...], *reads: Read) -> tuple[Tensor, ...]:
        mixed: tuple[Tensor, ...] = Mix.apply(reads, self.ordered, *layers)
        return mixed

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
        if self.ordered:  # its backward adds by atomics, in whatever order they come
            return None
        loss: Tensor = PairLoss.apply(False, agg.kind, n_users, strength, users, positives, items, weights, *layers)
        return loss

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
        if self.ordered:
            return None
        found: tuple[Tensor, Tensor, Tensor, Tensor] = PairLoss.apply(
            True, agg.kind, n_users, strength, users, positives, items, weights, *layers
        )
        return found

    def ngcf_layers(
        self, adjacency: "Adjacency", ego: Tensor, weights: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...] | None:
        if not fits(ego):
            return None
        half = self.half and ego.requires_grad and torch.is_grad_enabled()
        layers: tuple[Tensor, ...] = NgcfLayers.apply(self._plan(adjacency), half, ego, *weights)
        return layers

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
        if not fits(layers[0]):
            return None
        return dens_choice(table(layers), n_users, users, positives, candidates, gates, alpha)

    def gate_loss(
        self, gates: dict[str, Tensor], u: Tensor, i: Tensor, n: Tensor, agg: Aggregation, gamma: float
    ) -> Tensor | None:
        if not fits(u):
            return None
        loss: Tensor = GateLoss.apply(agg.kind, gamma, u, i, n, *(gates[part] for part in PARTS))
        return loss

    def ranked(self, a: Tensor, mean: bool, candidates: Tensor, place: Tensor | None) -> Tensor:
        return ranked(a, mean, candidates, place)

    def nearest(self, a: Tensor, mean: bool, candidates: Tensor, target: Tensor) -> Tensor:
        return nearest(a, mean, candidates, target)

    def mixgcf(self, a: Tensor, candidates: Tensor, positives: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        return mixgcf(a, candidates, positives, beta)

    def outscored(
        self, layers: tuple[Tensor, ...], agg: Aggregation, n_users: int, users: Tensor, candidates: Tensor
    ) -> Tensor | None:
        if layers[0].dtype != torch.float32 or candidates.shape[1] > MOST:
            return None
        return outscored(table(layers), agg.kind, n_users, users, candidates)

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
    ) -> Tensor:
        return least_risk(p, a, mean, candidates, popularity, pairs, below, size, lam)

    def structure_aware(self, a: Tensor, alpha: float, epsilon: float) -> Tensor:
        return structure_aware(a, alpha, epsilon)

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
    ) -> tuple[Tensor, Tensor]:
        return calibrated(p, a, mean, candidates, positives, which, share, epsilon)

    def standing(self, scores: Tensor, own: Tensor) -> Tensor:
        return standing(scores, own)

    def adam(self, parameters: Iterable[Tensor], lr: float, step: Tensor) -> Adam:
        return Adam(parameters, lr, step)

    def perturb(self, e: Tensor, length: float, rng: Rng) -> Tensor:
        noisy: Tensor = Perturb.apply(e, length, rng)
        return noisy

    def ridge(
        self,
        ego: Tensor,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        items: Tensor,
        weights: Tensor | None,
        strength: float,
    ) -> Tensor:
        loss: Tensor = Ridge.apply(strength, users, positives, items, weights, n_users, ego)
        return loss

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
        if layers[-1].dtype != torch.float32:  # which the matrix products are in
            return None
        loss: Tensor = Contrast.apply(
            self._plan(adjacency), n_users, users, positives, length, temperature, weight, rng, has_ego, *layers
        )
        return loss

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
    ) -> tuple[Tensor, Tensor]:
        return divns(a, mean, candidates, pairs, hard, cache, queue, lam)

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
        return diversify(unit, starts, counts, longest, hard, cache, queue, cap, rng)
