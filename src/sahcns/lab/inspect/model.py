"""A trained model back on its layers: what a sampler would see if training went on from here."""

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from sahcns.backbones import Backbone
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.model import Recommender, Run
from sahcns.samplers import Sampler
from sahcns.settings import Configured, by_name, named
from sahcns.training.device import pick_device
from sahcns.training.step import SAMPLER

Part = TypeVar("Part", bound=Configured)
TOLERANCE = 0.01  # of the largest entry: rounding differs between devices, half precision included
HELD_OUT = (None, "valid", "test")  # what the codes of `TrainedModel.held_out` stand for


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
        with torch.no_grad():
            layers = tuple(layer.detach() for layer in backbone.layers(weights, graph))
        _check_vectors(backbone.aggregation.pool_layers(layers).cpu(), recommender)
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
        return {name: self.record[name] for name in ("backbone", "sampler", "seed", "best_epoch", "data", "machine")}

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
