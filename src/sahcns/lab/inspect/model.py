"""A trained model back on its layers, and a sampler at work on it: all training pairs, as in an epoch, without training."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.backbones import Backbone
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.model import Recommender, Run
from sahcns.samplers import Matching, Mixture, Sampler
from sahcns.samplers.contract import candidate_tables, check_choice, initial_state
from sahcns.settings import Configured, by_name, named
from sahcns.training.device import pick_device
from sahcns.training.record import described
from sahcns.training.step import SAMPLER, Streams

Part = TypeVar("Part", bound=Configured)
TOLERANCE = 0.01  # of the largest entry: rounding differs between devices, half precision included
BATCH = 2048  # pairs looked at together: what a training step takes, whatever the size of the data
HELD_OUT = (None, "valid", "test")  # what the codes of `TrainedModel.held_out` stand for

RECORDED = ("backbone", "sampler", "seed", "best_epoch", "data", "machine")  # what an inspection keeps of the run


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """The stored parameters, the graph of the training pairs, and the layers that both give, without gradient."""

    split: Split
    graph: Graph
    backbone: Backbone
    layers: tuple[Tensor, ...]  # T tables [n, d], without noise and dropout
    sampler_parameters: dict[str, Tensor]  # the trained parts of the run's own sampler (DENS)
    record: dict[str, Any]

    @classmethod
    def of(
        cls, model: "Model", split: Split | None = None, *, device: str = "auto", kernels: str = "auto"
    ) -> "TrainedModel":
        """From a run, a recommender or a model folder; without `split`, on the pairs kept with the model."""
        if isinstance(model, TrainedModel):
            return model
        if isinstance(model, Run):
            model = model.recommender
        recommender = model if isinstance(model, Recommender) else Recommender.load(model)
        record = recommender.record
        if missing := [name for name in RECORDED if name not in record]:
            raise DataError(f"the model's record has no {missing[0]!r}; train it again")
        if split is not None and split.fingerprint != record["data"]["fingerprint"]:
            raise DataError(
                f"this is other data (fingerprint {split.fingerprint[:12]}…) than the model was trained on "
                f"({record['data']['fingerprint'][:12]}…); give the run's own data"
            )
        split = recommender.split() if split is None else split
        backbone = _recorded(Backbone, record, "--import FILE.py")
        graph = build_graph(split, pick_device(device), path=kernels)
        weights = {name: value.to(graph.device) for name, value in recommender.weights.items()}
        own = {name.removeprefix(SAMPLER): value for name, value in weights.items() if name.startswith(SAMPLER)}
        try:
            with torch.no_grad():
                layers = tuple(layer.detach() for layer in backbone.layers(weights, graph))
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, LookupError) as error:
            raise DataError(f"the model's weights do not fit {backbone!r} ({error}); train it again") from error
        final = backbone.aggregation.pool_layers(layers).cpu()
        _check_vectors(normalize(final, dim=1) if recommender.ranks_by_cosine else final, recommender)
        return cls(split, graph, backbone, layers, own, record)

    @property
    def sampler(self) -> Sampler:
        """The one that the model was trained with."""
        return _recorded(Sampler, self.record, "--import FILE.py, or name another sampler")

    @property
    def first_layer(self) -> int:
        """The paper's number of the first of `layers`."""
        return 0 if self.backbone.has_ego_layer else 1

    @property
    def about(self) -> dict[str, Any]:
        """The part of the run's record that an inspection keeps."""
        return {name: self.record[name] for name in RECORDED}

    def held_out(self, users: Tensor, items: Tensor) -> Tensor:
        """users [B], items [B, …] → 1 where the item is in the user's validation part, else 2 in the test part, else 0.

        For counting false negatives only: no sampler ever sees it.
        """
        keys, codes = self._held_out
        wanted = (users.view(-1, *(1,) * (items.dim() - 1)) * self.split.n_items + items).contiguous()
        at = torch.searchsorted(keys, wanted).clamp(max=max(len(keys) - 1, 0))
        return codes[at].masked_fill(keys[at] != wanted, 0) if len(keys) else torch.zeros_like(wanted)

    @cached_property
    def _held_out(self) -> tuple[Tensor, Tensor]:
        """Sorted keys user · n_items + item of the validation and of the test pairs, and the code of each."""
        parts = (self.split.valid, self.split.test)
        each = np.concatenate([np.asarray(one.users, np.int64) * self.split.n_items + one.items for one in parts])
        keys, first = np.unique(each, return_index=True)
        codes = np.where(first < len(parts[0]), 1, 2)
        return torch.from_numpy(keys).to(self.graph.device), torch.from_numpy(codes).to(self.graph.device)


Model = TrainedModel | Recommender | Run | str | os.PathLike[str]


def _recorded(base: type[Part], record: dict[str, Any], remedy: str) -> Part:
    """The run's backbone or sampler, from its record; one of the user's own must have been imported."""
    what = base.__name__.lower()
    settings = dict(record[what])
    name = settings.pop("name")
    if name not in named(base):
        files = " ".join(f"--import {path}" for path in record.get("imports", ()))
        hint = remedy.replace("--import FILE.py", files) if files else remedy
        raise SettingError(f"the model was trained with the {what} {name!r}, which is not known here; give {hint}")
    return by_name(base, name, settings)


def _check_vectors(final: Tensor, recommender: Recommender) -> None:
    """The layers must pool to the vectors that the model ranks with."""
    stored = torch.cat([recommender.user_vectors, recommender.item_vectors])
    if not bool(torch.isfinite(final).all()):
        raise DataError("the model holds numbers that are not finite; train it again")
    largest = float(stored.abs().max())
    if final.shape != stored.shape or float((final - stored).abs().max()) > TOLERANCE * max(largest, 1e-30):
        raise DataError(
            "the model's weights do not give its vectors with this version's backbone; train it again with this version"
        )


class Negatives:
    """A sampler's mixtures for a batch: B pairs, K negatives each, of M items at T layers."""

    def __init__(self, match: Matching, mixture: Mixture) -> None:
        items, kind = mixture.items, match.p.dtype
        self.match = match
        self.items = items = items.expand(*items.shape[:3], len(match.layers))  # [B, K, M, T]
        weights = torch.ones_like(items, dtype=kind) if mixture.weights is None else mixture.weights.to(kind)
        self.weights = weights if weights.dim() == 4 else weights.mean(4)  # [B, K, M, T], over dimensions
        positive = items == match.positives[:, None, None, None]
        self.strength = self.weights.masked_fill(~positive, 0.0).sum(2)  # λ [B, K, T], the share of the positive
        self.shares = _shares(self.weights, positive)  # [B, K, M, T], of what is left without the positive
        self.layers = self._mix(weights) + (0.0 if mixture.shift is None else mixture.shift)  # [B, K, T, d]
        self.profile = self._profile(self.layers)  # [B, K, T], the layer-wise scores
        self.profile_before = self._profile(self._mix(self.shares))  # [B, K, T], without the positive
        self.scores = match.aggregation.score(self.profile)  # y⁻ [B, K]
        self.scores_before = match.aggregation.score(self.profile_before)  # [B, K]

    def _mix(self, weights: Tensor) -> Tensor:
        """[B, K, T, d], by weights [B, K, M, T] or [B, K, M, T, d]."""
        rows, weights = self.items + self.match.graph.n_users, weights if weights.dim() == 5 else weights[..., None]
        mixed = [(weights[..., t, :] * layer[rows[..., t]]).sum(2) for t, layer in enumerate(self.match.layers)]
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
        return -(-self.model.graph.n_pairs // self.batch)

    def __iter__(self) -> Iterator[Negatives]:
        return (self.at(step) for step in range(len(self)))

    def at(self, step: int) -> Negatives:
        """Batch `step`, in any order: pair b lies in batch b // batch."""
        with torch.no_grad():
            return Negatives(*self._sample(step, step))

    def _sample(self, step: int, counter: int) -> tuple[Matching, Mixture]:
        model, graph = self.model, self.model.graph
        first = step * self.batch
        pairs = torch.arange(first, min(first + self.batch, graph.n_pairs), device=graph.device)
        self.streams.pools.seek(counter)  # the streams share one counter
        self.streams.choice.call = 0
        users, positives = graph.pairs_at(pairs)
        match = Matching(
            users,
            positives,
            graph.draw(users, self.sampler.pool, self.streams.pools, self.unseen),
            pairs,
            model.layers,
            graph,
            model.backbone.aggregation,
            self.epoch,
            self.parameters,
            self.state,
        )
        mixture = check_choice(self.sampler, match, self.streams.choice)
        if mixture.shared:
            raise SettingError(
                f"{described(self.sampler)['name']} gives all pairs of a batch the same negatives, so no pair has a pool to "
                "look into; name another sampler to see what it would choose on this model"
            )
        return match, mixture

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
