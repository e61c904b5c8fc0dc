"""A sampler at work on a trained model, batch by batch over all training pairs, as in an epoch but without training."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from sahcns.graph import Graph
from sahcns.kernels import Read
from sahcns.lab.inspection.rebuilt import Rebuilt
from sahcns.samplers import Matching, Mixture, Sampler
from sahcns.samplers.contract import answer, begun, drawn_from, ended
from sahcns.training.record import described
from sahcns.training.step import Streams

BATCH = 2048  # pairs looked at together: what a training step takes, whatever the size of the data


@dataclass(eq=False)
class Negatives:
    """A sampler's answer for a batch, taken apart: B pairs, K negatives each, of M items at T layers."""

    match: Matching
    mixture: Mixture  # in its full form

    @cached_property
    def items(self) -> Tensor:
        """[B, K, M, T]."""
        items = self.mixture.items
        return items.expand(*items.shape[:3], len(self.match.layers))

    @cached_property
    def _own(self) -> Tensor:
        """[B, K, M, T], true where the item is the pair's own positive."""
        return self.items == self.match.positives[:, None, None, None]

    @cached_property
    def strength(self) -> Tensor:
        """λ [B, K, T]: the share of the pair's own positive."""
        weights = self.mixture.weights
        if weights is None:
            return self._own[:, :, 0].to(self.match.p.dtype)
        return weights.masked_fill(~self._own, 0.0).sum(2)

    @cached_property
    def shares(self) -> Tensor:
        """[B, K, M, T]: the rest of the negative, in shares that sum to 1 at each layer; evenly where nothing is left."""
        others = (~self._own).to(self.match.p.dtype)
        even = others / others.sum(2, keepdim=True).clamp(min=1.0)
        if self.mixture.weights is None:
            return even
        weights = self.mixture.weights.masked_fill(self._own, 0.0)
        total = weights.sum(2, keepdim=True)
        return torch.where(total == 0, even, weights / total)

    @cached_property
    def layers(self) -> Tensor:
        """[B, K, T, d]: the negatives themselves."""
        return self._mixed(self.mixture.weights)

    @cached_property
    def profile(self) -> Tensor:
        """[B, K, T]: their layer-wise scores."""
        return self._scored(self.layers)

    @cached_property
    def profile_before(self) -> Tensor:
        """[B, K, T]: the same without the positive in them."""
        return self.profile if self.mixture.weights is None else self._scored(self._mixed(self.shares))

    @property
    def scores(self) -> Tensor:
        """y⁻ [B, K]."""
        return self.match.aggregation.score(self.profile)

    @property
    def scores_before(self) -> Tensor:
        """[B, K]."""
        return self.match.aggregation.score(self.profile_before)

    def _mixed(self, weights: Tensor | None) -> Tensor:
        items, graph = self.mixture.items, self.match.graph
        rows = items.flatten(0, 1) + graph.n_users  # [B·K, M, T or 1]
        (mixed,) = graph.verbs.mix(self.match.layers, Read(rows, None if weights is None else weights.flatten(0, 1)))
        return mixed.view(*items.shape[:2], *mixed.shape[1:])

    def _scored(self, layers: Tensor) -> Tensor:
        anchor = self.match.aggregation.anchor(self.match.user_layers)  # [B, T, d]
        return (anchor[:, None] * layers).sum(-1)


class Walk:
    """All training pairs in their order, `batch` at a time; the same seed gives every sampler the same pools.

    A sampler that keeps something between epochs (DivNS) has seen one whole epoch, with other pools, before the first
    batch is given. Schedules stand at the model's epoch.
    """

    def __init__(self, model: Rebuilt, sampler: Sampler, seed: int = 0, batch: int = BATCH) -> None:
        graph = model.graph
        self.model, self.sampler, self.batch = model, sampler, batch
        self.streams = Streams.of(seed, graph.device)
        self.notes: list[str] = []
        self.parameters = self._parameters()
        self.unseen = drawn_from(sampler, graph)
        self.epoch = torch.tensor(float(max(model.record["best_epoch"], 0)), device=graph.device)
        self.state: Any = begun(sampler, graph)
        if self.state is not None:
            self._first_epoch(graph)

    def __len__(self) -> int:
        """Batches."""
        return -(-len(self.model.graph.pair_users) // self.batch)

    def __iter__(self) -> Iterator[Negatives]:
        return (self.at(step) for step in range(len(self)))

    def at(self, step: int) -> Negatives:
        """Batch `step`, in any order: pair b lies in batch b // batch."""
        return self._answer(step, step)

    @torch.no_grad()
    def _answer(self, step: int, counter: int) -> Negatives:
        model, graph = self.model, self.model.graph
        first = step * self.batch
        pairs = torch.arange(first, min(first + self.batch, len(graph.pair_users)), device=graph.device)
        self.streams.pools.seek(counter)  # the streams share one counter
        self.streams.choice.call = 0
        users = graph.pair_users[pairs]
        match = Matching(
            users,
            graph.pair_items[pairs],
            graph.draw(users, self.sampler.pool, self.streams.pools, self.unseen),
            pairs,
            model.layers,
            graph,
            model.backbone.aggregation,
            self.epoch,
            self.parameters,
            self.state,
        )
        return Negatives(match, answer(self.sampler, match, self.streams.choice))

    def _first_epoch(self, graph: Graph) -> None:
        for step in range(len(self)):
            self._answer(step, step + len(self))  # pools that the epoch itself does not see
        items = tuple(layer[graph.n_users :] for layer in self.model.layers)
        with torch.no_grad():
            vectors = self.model.backbone.aggregation.pool_layers(items)
            ended(self.sampler, self.state, vectors, graph, self.streams.choice)
        self.notes.append("what it keeps between epochs was filled by one epoch on this model")

    def _parameters(self) -> dict[str, Tensor]:
        """The sampler's own trained parts, or fresh ones on a model that another sampler made."""
        model, rng = self.model, self.streams.choice
        fresh = self.sampler.trainable(model.backbone.dim, rng, model.layers[0].dtype)
        rng.call = 0
        shapes = {name: value.shape for name, value in model.sampler_parameters.items()}
        own = model.record["sampler"]["name"] == described(self.sampler)["name"]
        if own and {name: value.shape for name, value in fresh.items()} == shapes:
            return model.sampler_parameters
        if fresh:
            self.notes.append("its trainable parts are untrained: the model was made with another sampler")
        return fresh
