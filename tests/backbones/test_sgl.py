"""SGL: which edges a view lacks, how it is normalised, and the contrast of two views, by dense matrices."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from sahcns.backbones import SGL, LightGCN
from sahcns.backbones.sgl import thinned
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.rng import Rng
from tests.backbones.test_simgcl import info_nce_by_loops
from tests.splits import dense, normalised, random_split, splits, training_matrix

SPLIT = random_split(7, 9, each=3, seed=5)
USERS, POSITIVES = torch.tensor([4, 1, 4, 0, 6, 1]), torch.tensor([2, 2, 8, 0, 2, 5])


def kept(split: Split, keep: Tensor) -> Split:
    """The split of those of its distinct pairs, sorted by user, then item, that are kept."""
    a = training_matrix(split)[: split.n_users, split.n_users :]
    pairs = np.argwhere(a > 0)[keep.numpy()]
    return Split.from_pairs(pairs, n_users=split.n_users, n_items=split.n_items)


@given(split=splits())
@settings(max_examples=60, deadline=None)
def test_a_view_is_the_graph_of_the_pairs_that_are_left(split: Split) -> None:
    graph = Graph.of(split, dtype=torch.float64)
    keep = Rng(len(graph.seen_items), "keep").uniform(len(graph.seen_items)) >= 0.4
    view = thinned(graph, keep)
    np.testing.assert_allclose(dense(view.adjacency), normalised(kept(split, keep)), rtol=0, atol=1e-15)


@pytest.mark.parametrize("path", ["reference", "cpu"])
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_the_whole_contrastive_loss(path: str, depth: int) -> None:
    graph = build_graph(SPLIT, dtype=torch.float64, path=path)
    backbone = SGL(dim=4, depth=depth, edge_dropout=0.3, temperature=0.25, cl_weight=0.6)
    parameters = backbone.initial(graph, Rng(0, "start"), torch.float64)
    twin, views = Rng(9, "noise"), []
    for _ in range(2):
        matrix = normalised(kept(SPLIT, twin.uniform(21) >= 0.3))
        powers = [np.linalg.matrix_power(matrix, power) for power in range(depth + 1)]
        views.append(torch.from_numpy(sum(powers) @ parameters["ego"].numpy() / (depth + 1)))
    assert torch.equal(*views) == (depth == 0)  # two graphs
    expected = info_nce_by_loops(views[0], views[1], USERS.tolist(), 0.25)
    expected += info_nce_by_loops(views[0], views[1], (POSITIVES + 7).tolist(), 0.25)
    loss = backbone.extra_loss(parameters, graph, USERS, POSITIVES, Rng(9, "noise"))
    assert loss is not None
    assert loss.item() == pytest.approx(0.6 * expected, rel=1e-10)


def test_the_share_that_is_dropped_and_a_new_view_at_each_step() -> None:
    graph = Graph.of(random_split(200, 300, each=20))
    rng, views = Rng(3, "noise"), []
    for _ in range(2):
        views += [rng.uniform(4000) >= 0.25 for _ in range(2)]
        rng.advance()
    edges = [thinned(graph, keep).adjacency.values > 0 for keep in views]
    for one in edges:
        assert float(one.double().mean()) == pytest.approx(0.75, abs=5 * math.sqrt(0.75 * 0.25 / 4000))
    assert len({tuple(one.tolist()) for one in edges}) == 4


@pytest.mark.parametrize("path", ["reference", "cpu"])
def test_its_gradient(path: str) -> None:
    graph = build_graph(SPLIT, dtype=torch.float64, path=path)
    backbone = SGL(dim=3, depth=2, edge_dropout=0.3, temperature=0.5, cl_weight=1.0)
    ego = backbone.initial(graph, Rng(0, "start"), torch.float64)["ego"].requires_grad_()

    def loss(table: Tensor) -> Tensor:
        found = backbone.extra_loss({"ego": table}, graph, USERS, POSITIVES, Rng(3, "noise"))
        assert found is not None
        return found

    assert torch.autograd.gradcheck(loss, ego)


def test_nothing_dropped_is_the_graph_itself_and_all_else_is_lightgcn() -> None:
    graph, backbone = build_graph(SPLIT), SGL(dim=4, depth=2)
    whole = thinned(graph, torch.ones(21, dtype=torch.bool))
    torch.testing.assert_close(whole.adjacency.values, graph.adjacency.values)
    parameters, rng = backbone.initial(graph, Rng(0, "start")), Rng(0, "noise")
    for seen, plain in zip(
        backbone.training_layers(parameters, graph, rng),
        LightGCN(dim=4, depth=2).layers(parameters, graph),
        strict=True,
    ):
        assert torch.equal(seen, plain)
    assert SGL(cl_weight=0.0).extra_loss(parameters, graph, USERS, POSITIVES, rng) is None
    assert rng.call == 0
