"""The lean graph's operations as Triton kernels."""

from functools import cached_property

import torch
from torch import Tensor

from sahcns.graph import Batch, Unseen
from sahcns.kernels.gpu.hops import Plan, Shape, product
from sahcns.kernels.gpu.match import match
from sahcns.kernels.gpu.random import draw
from sahcns.kernels.lean import LeanGraph
from sahcns.rng import Rng


class GpuLeanGraph(LeanGraph):
    """Ã from the degrees, users and items each in a launch of their own; draws and scores as on the other paths."""

    @cached_property
    def plans(self) -> tuple[Plan, Plan]:
        """How users gather items, and items users."""
        cut = [self.n_users, self.n_items]
        (of_users, of_items), sides = self.scale.split(cut), self.degrees.split(cut)
        shape = Shape.of(2 * self.n_pairs / self.n, half=False)
        order = [torch.argsort(side, descending=True, stable=True).int() for side in sides]
        long = [int((side > shape.long).sum()) for side in sides]
        return (
            Plan(order[0], self.seen_offsets, self.seen_items, of_items, long[0], shape, of_users),
            Plan(order[1], self.item_offsets, self.item_users, of_users, long[1], shape, of_items),
        )

    def product(self, x: Tensor, out: Tensor) -> None:
        x, first = x.contiguous(), self.n_users
        for plan, read, to in zip(self.plans, (x[first:], x[:first]), (out[:first], out[first:]), strict=True):
            product(plan, read, to)

    def draw(self, users: Tensor, count: int, rng: Rng, unseen: Unseen | None = None) -> Tensor:
        if count == 0:
            return super().draw(users, count, rng, unseen)
        return draw(self.unseen, users, count, rng, self.most.bit_length())

    def match(self, batch: Batch, candidates: Tensor) -> tuple[Tensor, Tensor]:
        if batch.aggregation.weights is not None:  # which the kernel does not know
            return super().match(batch, candidates)
        p, a = match(batch, self.n_users, candidates)
        return self.columns.sum(p), self.columns.sum(a)
