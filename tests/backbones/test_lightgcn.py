"""LightGCN against dense matrix powers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.backbones import MF, LightGCN
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.rng import Rng
from tests.splits import normalised, random_split, splits


@given(split=splits(), depth=st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_layers_are_powers_and_the_embedding_is_their_mean(split: Split, depth: int) -> None:
    graph, backbone = Graph.of(split, dtype=torch.float64), LightGCN(dim=3, depth=depth)
    parameters = backbone.initial(graph, Rng(0, "start"), torch.float64)
    ego, matrix = parameters["ego"].numpy(), normalised(split)
    powers = [np.linalg.matrix_power(matrix, power) @ ego for power in range(depth + 1)]
    layers = backbone.layers(parameters, graph)
    assert len(layers) == depth + 1
    for layer, power in zip(layers, powers, strict=True):
        np.testing.assert_allclose(layer.numpy(), power, rtol=0, atol=1e-14)
    users, items = backbone.vectors(parameters, graph)
    mean = sum(powers) / (depth + 1)
    np.testing.assert_allclose(users.numpy(), mean[: split.n_users], rtol=0, atol=1e-14)
    np.testing.assert_allclose(items.numpy(), mean[split.n_users :], rtol=0, atol=1e-14)


def test_without_layers_it_is_matrix_factorisation() -> None:
    graph = Graph.of(random_split(6, 9, each=3))
    flat, mf = LightGCN(dim=4, depth=0), MF(dim=4)
    parameters = flat.initial(graph, Rng(3, "start"))
    assert torch.equal(parameters["ego"], mf.initial(graph, Rng(3, "start"))["ego"])
    assert len(mf.layers(parameters, graph)) == len(flat.layers(parameters, graph)) == 1
    for ours, plain in zip(flat.vectors(parameters, graph), mf.vectors(parameters, graph), strict=True):
        assert torch.equal(ours, plain)
    users, items = mf.vectors(parameters, graph)
    assert torch.equal(torch.cat([users, items]), parameters["ego"])


def test_training_sees_the_same_layers_and_draws_nothing() -> None:
    graph, backbone, rng = Graph.of(random_split(6, 9, each=3)), LightGCN(dim=4), Rng(0, "noise")
    parameters = backbone.initial(graph, Rng(0, "start"))
    for seen, plain in zip(
        backbone.training_layers(parameters, graph, rng), backbone.layers(parameters, graph), strict=True
    ):
        assert torch.equal(seen, plain)
    assert rng.call == 0
    assert backbone.extra_loss(parameters, graph, torch.tensor([0]), torch.tensor([0]), rng) is None


@pytest.mark.parametrize("depth", [1, 3])
def test_an_item_without_pairs_keeps_only_its_own_layer(depth: int) -> None:
    graph = Graph.of(Split.from_pairs([[0, 0], [1, 1]], n_items=3))
    parameters = {"ego": torch.ones(5, 2)}
    assert LightGCN(dim=2, depth=depth).vectors(parameters, graph)[1][2].tolist() == pytest.approx(
        [1 / (depth + 1)] * 2
    )
