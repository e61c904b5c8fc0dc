"""A sampler at work on a trained model, batch by batch over all training pairs, as in an epoch but without training."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from sahcns.lab.inspect.model import TrainedModel
from sahcns.samplers import Matching, Mixture, Sampler
from sahcns.samplers.contract import candidate_tables, check_choice, initial_state
from sahcns.training.record import described
from sahcns.training.step import Streams

BATCH = 2048  # pairs looked at together: what a training step takes, whatever the size of the data


class Negatives:
    """A sampler's mixtures for a batch: B pairs, K negatives each, of M items at T layers."""

    def __init__(self, match: Matching, mixture: Mixture) -> None:
        items, kind = mixture.items, match.p.dtype
        self.match = match
        self.items = items = items.expand(*items.shape[:3], len(match.layers))  # [B, K, M, T]
        self.weights = torch.ones_like(items, dtype=kind) if mixture.weights is None else mixture.weights.to(kind)
        positive = items == match.positives[:, None, None, None]
        self.strength = self.weights.masked_fill(~positive, 0.0).sum(2)  # λ [B, K, T], the share of the positive
        self.shares = _shares(self.weights, positive)  # [B, K, M, T], of what is left without the positive
        self.layers = self._mix(self.weights)  # [B, K, T, d]
        self.profile = self._profile(self.layers)  # [B, K, T], the layer-wise scores
        self.profile_before = self._profile(self._mix(self.shares))  # [B, K, T], without the positive
        self.scores = match.aggregation.score(self.profile)  # y⁻ [B, K]
        self.scores_before = match.aggregation.score(self.profile_before)  # [B, K]

    def _mix(self, weights: Tensor) -> Tensor:
        """[B, K, T, d]."""
        rows = self.items + self.match.graph.n_users
        mixed = [(weights[..., t, None] * layer[rows[..., t]]).sum(2) for t, layer in enumerate(self.match.layers)]
        return torch.stack(mixed, 2)

    def _profile(self, layers: Tensor) -> Tensor:
        anchor = self.match.aggregation.anchor(self.match.user_layers)  # [B, T, d]
        return (anchor[:, None] * layers).sum(-1)


def _shares(weights: Tensor, positive: Tensor) -> Tensor:
    """[B, K, M, T] that sum to 1 at each layer over the items that are not the positive; even where it is all of it."""
    others = (~positive).to(weights.dtype)
    even = others / others.sum(2, keepdim=True).clamp(min=1.0)
    weights = weights * others
    total = weights.sum(2, keepdim=True)
    return torch.where(total == 0, even, weights / total)


class SampledEpoch:
    """All training pairs in their order, `batch` at a time, under a sampler, by default the run's own.

    The same seed gives every sampler the same pools. Schedules stand at the model's epoch. A sampler that keeps a state
    between epochs (DivNS) has seen one whole epoch, with other pools, before the first batch.
    """

    def __init__(self, model: TrainedModel, sampler: Sampler | None = None, seed: int = 0, batch: int = BATCH) -> None:
        graph, sampler = model.graph, sampler or model.sampler
        self.model, self.sampler, self.batch = model, sampler, batch
        self.streams = Streams.of(seed, graph.device)
        self.notes: list[str] = []
        self.parameters = self._parameters()
        self.unseen = candidate_tables(sampler, graph)
        self.epoch = torch.tensor(float(max(model.record["best_epoch"], 0)), device=graph.device)
        self.state: Any = initial_state(sampler, graph)
        if self.state is not None:
            self._fill_state()

    def __len__(self) -> int:
        """Batches."""
        return -(-len(self.model.graph.pair_users) // self.batch)

    def __iter__(self) -> Iterator[Negatives]:
        return (self.at(step) for step in range(len(self)))

    def at(self, step: int) -> Negatives:
        """Batch `step`, in any order: pair b lies in batch b // batch."""
        with torch.no_grad():
            return Negatives(*self._sample(step, step))

    def _sample(self, step: int, counter: int) -> tuple[Matching, Mixture]:
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
        return match, check_choice(self.sampler, match, self.streams.choice)

    @torch.no_grad()
    def _fill_state(self) -> None:
        graph = self.model.graph
        for step in range(len(self)):
            self._sample(step, step + len(self))  # pools that the epoch itself does not see
        vectors = self.model.backbone.aggregation.pool_layers(
            tuple(layer[graph.n_users :] for layer in self.model.layers)
        )
        self.sampler.end_epoch(self.state, vectors, graph, self.streams.choice)
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
