"""Where training starts: a backbone's tables and a sampler's own parameters, in tensors that belong to the run."""

from typing import Any

import torch
from torch import Tensor

from sahcns.backbones.base import Backbone, Parameters
from sahcns.errors import TrainingError
from sahcns.graph import Graph
from sahcns.samplers.base import Sampler
from sahcns.training.step import SAMPLER, Streams


def start(backbone: Backbone, sampler: Sampler, graph: Graph, streams: Streams) -> Parameters:
    """All that is trained, by name, on the graph's device; a sampler's names begin with `SAMPLER`."""
    tables = _owned(backbone.initial(graph, streams.start), f"{type(backbone).__name__}.initial()", graph.device)
    trainable = sampler.trainable(backbone.dim, streams.choice, torch.float32)
    own = _owned(trainable, f"{type(sampler).__name__}.trainable()", graph.device)
    if own and not sampler.has_loss():
        raise TrainingError(
            f"nothing would train what {type(sampler).__name__}.trainable() returned, since choose() runs without gradient: "
            "write extra_loss() too, or keep what is not to be trained in begin()"
        )
    return tables | {SAMPLER + name: value for name, value in own.items()}


def _owned(values: Any, whose: str, device: torch.device) -> Parameters:
    """Copies, since they are changed in place: who hands over vectors trained before has them for the next run too.

    Whatever they were computed from is none of the optimiser's business: only a tensor without a past receives gradient.
    """
    if not isinstance(values, dict):
        raise TrainingError(f"{whose} must return a dict of float tensors by name; it returned {type(values).__name__}")
    for name, value in values.items():
        if not isinstance(value, Tensor) or not value.is_floating_point():
            found = value.dtype if isinstance(value, Tensor) else type(value).__name__
            raise TrainingError(f"{whose} must return float tensors, which can be trained; {name!r} is {found}")
    return {name: value.detach().to(device, copy=True).requires_grad_() for name, value in values.items()}
