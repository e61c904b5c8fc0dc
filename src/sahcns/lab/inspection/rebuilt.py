"""A trained model back on its layers: what a sampler would see if training went on from here."""

import os
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from sahcns.backbones import Backbone
from sahcns.data.split import Split
from sahcns.errors import DataError, SettingError
from sahcns.graph import Graph
from sahcns.model import Recommender
from sahcns.samplers import Sampler
from sahcns.settings import Configured, by_name, named
from sahcns.training import Run
from sahcns.training.device import pick_device
from sahcns.training.step import SAMPLER

Part = TypeVar("Part", bound=Configured)
Model = Recommender | Run | str | os.PathLike[str]
AGREEMENT = 0.01  # of the largest entry: rounding differs between devices, half precision included


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """The stored parameters, the graph of the training pairs, and the layers that both give, without gradient."""

    split: Split
    graph: Graph
    backbone: Backbone
    layers: tuple[Tensor, ...]  # T tables [n, d], without noise and dropout
    sampler_parameters: dict[str, Tensor]  # what the run's own sampler had learnt (DENS)
    record: dict[str, Any]

    @classmethod
    def of(cls, model: Model, split: Split | None = None, *, device: str = "auto", kernels: str = "auto") -> "Rebuilt":
        """From a run, a recommender or a model folder; without `split`, on the pairs kept with the model."""
        recommender = _recommender(model)
        record = recommender.record
        if split is not None and split.fingerprint != record["data"]["fingerprint"]:
            raise DataError(
                f"this is other data (fingerprint {split.fingerprint[:12]}…) than the model was trained on "
                f"({record['data']['fingerprint'][:12]}…), so nothing could be said about it; give the run's own data"
            )
        split = recommender.split() if split is None else split
        backbone = _described(Backbone, record, "--import FILE.py")
        graph = Graph.of(split, pick_device(device), path=kernels)
        weights = {name: value.to(graph.device) for name, value in recommender.weights.items()}
        own = {name.removeprefix(SAMPLER): value for name, value in weights.items() if name.startswith(SAMPLER)}
        with torch.no_grad():
            layers = tuple(layer.detach() for layer in backbone.layers(weights, graph))
        _agree(backbone.aggregation.pool_layers(layers).cpu(), recommender)
        return cls(split, graph, backbone, layers, own, record)

    @property
    def sampler(self) -> Sampler:
        """The one that the model was trained with."""
        return _described(Sampler, self.record, "--import FILE.py, or name another sampler")

    @property
    def first_layer(self) -> int:
        """The paper's number of the first of `layers`."""
        return 0 if self.backbone.has_ego_layer else 1

    @property
    def about(self) -> dict[str, Any]:
        """What the run that made the model says about itself, in short."""
        kept = ("backbone", "sampler", "seed", "best_epoch", "data", "machine")
        return {name: self.record[name] for name in kept}


def _recommender(model: Model) -> Recommender:
    if isinstance(model, Run):
        return model.recommender
    return model if isinstance(model, Recommender) else Recommender.load(model)


def _described(base: type[Part], record: dict[str, Any], remedy: str) -> Part:
    """The run's backbone or sampler, from its description; one of the user's own must have been imported."""
    what = base.__name__.lower()
    described = dict(record[what])
    name = described.pop("name")
    if name not in named(base):
        files = " ".join(f"--import {path}" for path in record.get("imports", ()))
        hint = remedy.replace("--import FILE.py", files) if files else remedy
        raise SettingError(f"the model was trained with the {what} {name!r}, which is not known here; give {hint}")
    return by_name(base, name, described)


def _agree(final: Tensor, recommender: Recommender) -> None:
    """The layers must pool to the vectors that the model ranks with."""
    stored = torch.cat([recommender.user_vectors, recommender.item_vectors])
    if not bool(torch.isfinite(final).all()):
        raise DataError("the model holds numbers that are not finite, so there is nothing to see in it; train it again")
    largest = float(stored.abs().max())
    if final.shape != stored.shape or float((final - stored).abs().max()) > AGREEMENT * max(largest, 1e-30):
        raise DataError(
            "the model's weights do not give its vectors with this version's backbone; train it again with this version"
        )
