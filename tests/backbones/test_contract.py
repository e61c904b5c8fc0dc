"""A backbone of one's own that breaks its contract is told so before anything is read with wrong indices."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from sahcns.backbones import Backbone, LightGCN
from sahcns.backbones.base import Parameters, xavier
from sahcns.errors import SettingError, TrainingError
from sahcns.graph import Graph
from sahcns.model import Run, fit
from sahcns.rng import Rng
from sahcns.samplers import DNS
from sahcns.training import Protocol
from tests.splits import random_split

SPLIT = random_split(10, 20, each=5, seed=1)


def train(backbone: Backbone, **values: object) -> Run:
    rules = Protocol.from_dict({"batch": 16, "epochs": 1, **values})
    return fit(SPLIT, backbone, DNS(pool=4), protocol=rules, device="cpu")


def test_a_backbone_without_layers_says_so() -> None:
    with pytest.raises(
        TrainingError, match=r"Backbone does not define layers\(self, parameters, graph\), which returns"
    ):
        train(Backbone())


@dataclass(frozen=True)
class ItemsOnly(Backbone):
    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return (parameters["ego"][graph.n_users :],)


@dataclass(frozen=True)
class OneTable(Backbone):
    """The table where a tuple of tables is meant."""

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return parameters["ego"]  # type: ignore[return-value]


@dataclass(frozen=True)
class Tapered(Backbone):
    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        whole = graph.propagate(parameters["ego"])
        return parameters["ego"], whole[:, :3]


@dataclass(frozen=True)
class Nothing(Backbone):
    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return ()


@dataclass(frozen=True)
class Forgetful(Backbone):
    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return None  # type: ignore[return-value]


@dataclass(frozen=True)
class OneByOne(Backbone):
    """A generator, which is empty once it has been read."""

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return (layer for layer in graph.hops(parameters["ego"], 2))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Forgetful, r"Forgetful.layers\(\) must return a tuple of tables \[n, d\]; it returned NoneType"),
        (OneByOne, r"OneByOne.layers\(\) must return a tuple .* generator"),
        (ItemsOnly, r"ItemsOnly returned layers of shapes \[\[20, 8\]\]; .*with n=30 rows: users, then items"),
        (OneTable, r"OneTable returned layers of shapes \[\[8\], \[8\]"),
        (Tapered, r"shapes \[\[30, 8\], \[30, 3\]\]; .*all of one width"),
        (Nothing, r"shapes \[\]"),
    ],
)
def test_layers_of_a_wrong_shape(kind: type[Backbone], says: str) -> None:
    with pytest.raises(TrainingError, match=says):
        train(kind(dim=8))


@dataclass(frozen=True)
class TwoTables(Backbone):
    """No parameter of it is called ego."""

    has_ego_layer: ClassVar[bool] = False

    def initial(self, graph: Graph, rng: Rng, dtype: torch.dtype = torch.float32) -> Parameters:
        return {"people": xavier(rng, graph.n_users, self.dim), "things": xavier(rng, graph.n_items, self.dim)}

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return graph.hops(torch.cat([parameters["people"], parameters["things"]]), self.depth)[1:]


@dataclass(frozen=True)
class TwoShown(TwoTables):
    has_ego_layer: ClassVar[bool] = True

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        return graph.hops(torch.cat([parameters["people"], parameters["things"]]), self.depth)


def test_l2_needs_a_table_that_it_knows() -> None:
    with pytest.raises(SettingError, match=r"TwoTables: L2 looks for the trainable table .*'ego', .*people, things"):
        train(TwoTables(dim=8))
    with pytest.raises(SettingError, match=r"TwoShown: L2 looks for"):
        train(TwoShown(dim=8), l2_on="real")
    for run in (train(TwoTables(dim=8), l2=0), train(TwoShown(dim=8))):
        assert set(run.recommender.weights) == {"people", "things"}


@dataclass(frozen=True)
class LossOfEach(LightGCN):
    def extra_loss(
        self,
        parameters: Parameters,
        graph: Graph,
        users: Tensor,
        positives: Tensor,
        rng: Rng,
        layers: tuple[Tensor, ...] | None = None,
    ) -> Tensor | None:
        return parameters["ego"][users].square().sum(1)


def test_a_loss_of_its_own_is_one_number() -> None:
    with pytest.raises(TrainingError, match=r"LossOfEach.extra_loss\(\) returned a loss of shape \[16\]; .*one number"):
        train(LossOfEach(dim=8))
