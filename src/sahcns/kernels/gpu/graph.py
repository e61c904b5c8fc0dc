"""The graph's four operations as Triton kernels."""

from dataclasses import dataclass, fields
from functools import cached_property

import torch
from torch import Tensor

from sahcns.graph import Adjacency, Batch, Graph, Read, Unseen
from sahcns.kernels.cpu import CpuGraph, Mix
from sahcns.kernels.gpu.blocks import BlockHops, Blocks, fits
from sahcns.kernels.gpu.hops import DENSE, Hops, Plan, Shape
from sahcns.kernels.gpu.match import match
from sahcns.kernels.gpu.random import draw
from sahcns.rng import Rng


@dataclass(frozen=True, eq=False)
class GpuGraph(Graph):
    """Triton for what a step is made of; plain torch on the device for the rest."""

    path: str = "triton"

    @property
    def half(self) -> bool:
        """Gather in 16 bits while training."""
        return self.path == "triton-half"

    @cached_property
    def plan(self) -> Plan:
        """The adjacency laid out for gathering."""
        return Plan.of(self.adjacency, Shape.of(len(self.adjacency.columns) / self.adjacency.n, self.half))

    @cached_property
    def blocks(self) -> Blocks | None:
        """The adjacency laid out for tensor cores, where it is dense enough."""
        dense = len(self.adjacency.columns) > DENSE * self.adjacency.n
        return Blocks.of(self.adjacency) if dense else None

    @cached_property
    def _rounds(self) -> int:
        """Steps of a binary search over the longest list of seen items."""
        return int(self.seen_offsets.diff().max()).bit_length()

    def over(self, adjacency: Adjacency) -> Graph:
        """Laid out for the kernels, edges of one step would take longer than their products do."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(Graph)}
        return CpuGraph(**{**own, "adjacency": adjacency})

    def draw(self, users: Tensor, count: int, rng: Rng, unseen: Unseen | None = None) -> Tensor:
        unseen = unseen or self.unseen
        if count == 0:
            return users.new_empty(len(users), 0)  # for which plain torch would launch kernels all the same
        if unseen.cumulative is not None:
            return super().draw(users, count, rng, unseen)
        return draw(unseen, users, count, rng, self._rounds)

    def match(self, batch: Batch, candidates: Tensor) -> tuple[Tensor, Tensor]:
        if batch.aggregation.weights is not None:  # which the kernel does not know
            return super().match(batch, candidates)
        p, a = match(batch, self.n_users, candidates)
        return self.columns.sum(p), self.columns.sum(a)

    def mix(self, layers: tuple[Tensor, ...], *reads: Read) -> tuple[Tensor, ...]:
        mixed: tuple[Tensor, ...] = Mix.apply(reads, self.path == "triton-ordered", *layers)
        return mixed

    def _hops(self, x: Tensor, count: int) -> tuple[Tensor, ...]:
        layers: tuple[Tensor, ...]
        if fits(x) and self.blocks is not None:  # faster than gathering, even in 16 bits
            layers = BlockHops.apply(self.blocks, x, count)
            return layers
        half = self.half and x.requires_grad and torch.is_grad_enabled()  # rankings are always in full precision
        layers = Hops.apply(self.plan, x, count, half)
        return layers
