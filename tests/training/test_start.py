"""Where training starts: in tensors of its own, whatever a backbone or a sampler hands over."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.backbones import MF
from sahcns.backbones.base import Parameters
from sahcns.errors import TrainingError
from sahcns.graph import Graph
from sahcns.model import Run, fit
from sahcns.rng import Rng
from sahcns.samplers import DNS
from sahcns.training import Protocol
from tests.splits import random_split

SPLIT = random_split(10, 20, each=5, seed=1)
TRAINED_BEFORE = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))


def train(backbone: MF | None = None, sampler: DNS | None = None) -> Run:
    rules = Protocol(batch=16, epochs=2, learning_rate=0.1, evaluate_every=1)
    return fit(SPLIT, backbone or MF(dim=4), sampler or DNS(pool=4), protocol=rules, device="cpu")


@dataclass(frozen=True)
class Continued(MF):
    """Starts from vectors that are there already."""

    def initial(self, graph: Graph, rng: Rng, dtype: torch.dtype = torch.float32) -> Parameters:
        return {"ego": TRAINED_BEFORE}


def test_vectors_handed_over_stay_as_they_are() -> None:
    before = TRAINED_BEFORE.clone()
    first, again = train(Continued(dim=4)), train(Continued(dim=4))
    assert torch.equal(TRAINED_BEFORE, before)
    assert torch.equal(first.recommender.weights["ego"], again.recommender.weights["ego"])
    assert not torch.equal(first.recommender.weights["ego"], before)


@dataclass(frozen=True)
class Computed(MF):
    """A table with a past, as of `torch.randn(…, requires_grad=True) * 0.1`."""

    def initial(self, graph: Graph, rng: Rng, dtype: torch.dtype = torch.float32) -> Parameters:
        return {"ego": TRAINED_BEFORE.clone().requires_grad_() * 0.1}


@pytest.mark.filterwarnings("error")
def test_a_table_that_was_computed_is_trained() -> None:
    assert not torch.equal(train(Computed(dim=4)).recommender.weights["ego"], TRAINED_BEFORE * 0.1)


@dataclass(frozen=True)
class Given(MF):
    what: Any = None

    def initial(self, graph: Graph, rng: Rng, dtype: torch.dtype = torch.float32) -> Parameters:
        found: Parameters = self.what
        return found


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (None, r"Given.initial\(\) must return a dict of float tensors by name; it returned NoneType"),
        ({"ego": np.zeros((30, 4))}, r"Given.initial\(\) must return float tensors, .*'ego' is ndarray"),
        ({"ego": torch.zeros(30, 4, dtype=torch.int64)}, r"'ego' is torch.int64"),
    ],
)
def test_a_start_that_is_none(what: object, says: str) -> None:
    with pytest.raises(TrainingError, match=says):
        train(Given(dim=4, what=what))


@dataclass(frozen=True)
class Forgetful(DNS):
    def trainable(self, dim: int, rng: Rng, dtype: torch.dtype) -> dict[str, Tensor]:
        return None  # type: ignore[return-value]


def test_a_sampler_s_parameters_likewise() -> None:
    with pytest.raises(TrainingError, match=r"Forgetful.trainable\(\) must return a dict .* it returned NoneType"):
        train(sampler=Forgetful(pool=4))


@dataclass(frozen=True)
class Untaught(DNS):
    """Has parameters and no loss: one who takes BPR for what trains them would never see that it does not."""

    def trainable(self, dim: int, rng: Rng, dtype: torch.dtype) -> dict[str, Tensor]:
        return {"gate": torch.zeros(dim, dtype=dtype)}


@dataclass(frozen=True)
class Taught(Untaught):
    def extra_loss(
        self, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
    ) -> Tensor | None:
        return (parameters["gate"] - 1).square().mean()


def test_parameters_that_nothing_trains_are_refused() -> None:
    with pytest.raises(TrainingError, match=r"nothing would train what Untaught.trainable\(\) returned"):
        train(sampler=Untaught(pool=4))
    assert (train(sampler=Taught(pool=4)).recommender.weights["sampler.gate"] > 0).all()
