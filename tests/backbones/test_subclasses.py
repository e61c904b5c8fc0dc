"""A backbone changed in one place by a subclass is changed on every path: no kernel may answer for the old one."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from sahcns.backbones import NGCF, Backbone, SimGCL
from sahcns.backbones.base import Parameters
from sahcns.graph import Graph
from sahcns.kernels import verbs_for
from sahcns.rng import Rng
from tests.splits import random_split

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Slower(SimGCL):
    """Half of each step is standing still."""

    def layers(self, parameters: Parameters, graph: Graph) -> tuple[Tensor, ...]:
        found = [parameters["ego"]]
        for _ in range(self.depth):
            found.append(0.5 * found[-1] + 0.5 * graph.propagate(found[-1]))
        return tuple(found[1:])


@dataclass(frozen=True)
class Quiet(SimGCL):
    """Passes without noise, in which every node agrees with itself."""

    def _noisy(self, ego: Tensor, graph: Graph, rng: Rng) -> Tensor:
        return ego


@dataclass(frozen=True)
class SelfLoop(NGCF):
    def _neighbours(self, graph: Graph, e: Tensor) -> Tensor:
        return graph.propagate(e) + e


def plain_and_fused() -> tuple[Graph, Graph]:
    graph = Graph.of(random_split(9, 14, each=4), DEVICE, path="reference")
    return graph, replace(graph, verbs=verbs_for(torch.device(DEVICE), "triton"))


def contrast(backbone: SimGCL, graph: Graph) -> float:
    ego = 5 * backbone.initial(graph, Rng(0, "start", DEVICE))["ego"]
    users, positives = (torch.tensor(ids, device=DEVICE) for ids in ([4, 1, 8], [2, 0, 13]))
    layers = backbone.training_layers({"ego": ego}, graph, Rng(1, "noise", DEVICE))
    loss = backbone.extra_loss({"ego": ego}, graph, users, positives, Rng(2, "noise", DEVICE), layers)
    assert loss is not None
    return loss.item()


@pytest.mark.parametrize("kind", [Slower, Quiet])
def test_the_contrast_of_a_changed_simgcl(kind: type[SimGCL]) -> None:
    expected, found = (contrast(kind(dim=8, depth=2, noise=0.3), graph) for graph in plain_and_fused())
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_neighbours_of_a_changed_ngcf() -> None:
    def last(backbone: Backbone, graph: Graph) -> Tensor:
        return backbone.layers(backbone.initial(graph, Rng(0, "start", DEVICE)), graph)[-1]

    plain, fused = plain_and_fused()
    torch.testing.assert_close(last(SelfLoop(dim=8), fused), last(SelfLoop(dim=8), plain))
    assert not torch.allclose(last(SelfLoop(dim=8), fused), last(NGCF(dim=8), fused))


def test_and_the_published_ones_have_their_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    _, fused = plain_and_fused()
    asked: list[str] = []
    for verb in ("contrast", "ngcf_layers"):
        monkeypatch.setattr(type(fused.verbs), verb, lambda *_, verb=verb: asked.append(verb))  # and answers None
    contrast(SimGCL(dim=8, depth=2), fused)
    NGCF(dim=8).layers(NGCF(dim=8).initial(fused, Rng(0, "start", DEVICE)), fused)
    assert asked == ["contrast", "ngcf_layers"]
