"""Fast paths: methods of a part that a device does in one kernel, each registered under the exact type it replaces.

    @register("triton", "choose", DNS)
    def choose(sampler, match, rng): ...

A fast path is called as the method that it replaces, the part first, and gives what that gives. `find` goes by the exact
type and never by inheritance: a subclass, which may mean something else, has no fast path and runs as it is written.
SAHC-NS and its ablations go by the exact types of their two parts. A run that is cut over processes has the fast paths that say
`cut=True`: they add up over `graph.columns` what they find, or see whole rows.

| part | method | replaces |
|---|---|---|
| sampler | choose, extra_loss, end_epoch | the method of that name |
| backbone | layers, training_layers, extra_loss | the method of that name |
| objective | loss, shared_loss | the objective and the protocol's L2 together: `PairLoss` |
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from sahcns.backbones.base import Backbone
from sahcns.graph import Graph
from sahcns.objectives.base import Comparison, Objective
from sahcns.samplers.base import Sampler
from sahcns.samplers.sahc import SelectThenCalibrate

Key = tuple[type, ...]
Method = TypeVar("Method", bound=Callable[..., Any])


class PairLoss(Protocol):
    """The fast path of an objective: its loss and L2 of strength `l2`, for one negative a pair, or as `shared_loss` for
    negatives that all pairs share, of which `pairs.same` says that a pair's own item is none.

    `table` is the trainable table that L2 is on where it is none of the layers, else None.
    """

    def __call__(self, pairs: Comparison, l2: float, table: Tensor | None) -> Tensor: ...


@dataclass(frozen=True)
class Setup:
    """What is known of a run before its first step: a fast path decides by it whether it supports the run."""

    graph: Graph
    backbone: Backbone
    sampler: Sampler
    objective: Objective
    l2_on: str = "mixed"

    @property
    def single_precision(self) -> bool:
        """Whether all tables are float32, in which tensor cores multiply."""
        return self.graph.dtype == torch.float32


@dataclass(frozen=True)
class FastPath:
    """One method of one part, for one family of paths: "cpu" or "triton"."""

    family: str
    method: str
    replaces: Key
    run: Callable[..., Any]
    supports: Callable[[Setup], bool]
    cut: bool  # whether it does the same where a process holds but some of the columns, and scores are sums


_REGISTRY: list[FastPath] = []


def register(
    family: str,
    method: str,
    *replaces: type,
    supports: Callable[[Setup], bool] = lambda setup: True,
    cut: bool = False,
) -> Callable[[Method], Method]:
    """Register the function below under an exact type, or under the exact pair of a selection and a calibration."""

    def note(run: Method) -> Method:
        _REGISTRY.append(FastPath(family, method, replaces, run, supports, cut))
        return run

    return note


def find(part: Backbone | Sampler | Objective, method: str, setup: Setup) -> Callable[..., Any] | None:
    """The part's method as the graph's path does it in one kernel, or None: then the part's own is to be used."""
    if setup.backbone.aggregation.weights is not None:  # no kernel knows layer weights
        return None
    if setup.graph.lean and not isinstance(part, Sampler):  # whose gradient is of whole tables
        return None
    family, key, cut = setup.graph.path.partition("-")[0], _key(part), setup.graph.columns.count > 1
    for one in _REGISTRY:
        known = (one.family, one.method, one.replaces) == (family, method, key) and (one.cut or not cut)
        if known and one.supports(setup):
            return partial(one.run, part)
    return None


def fast_paths(family: str) -> list[FastPath]:
    """All that are registered for a family whose module has been imported."""
    return [one for one in _REGISTRY if one.family == family]


def _key(part: Backbone | Sampler | Objective) -> Key:
    if isinstance(part, SelectThenCalibrate) and type(part).choose is SelectThenCalibrate.choose:
        return tuple(type(half) for half in part.parts())
    return (type(part),)
