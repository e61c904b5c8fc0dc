"""LightGCN against dense matrix powers."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.aggregation import Aggregation
from sahcns.backbones import MF, LightGCN
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.model import fit
from sahcns.rng import Rng
from sahcns.samplers import SAHC
from sahcns.settings import setting
from sahcns.training import Protocol
from tests.samplers.stepping import loss_of, step_of
from tests.splits import normalised, random_split, splits, training_matrix


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


@pytest.mark.parametrize("depth", [1, 3])
def test_an_item_without_pairs_keeps_only_its_own_layer(depth: int) -> None:
    graph = Graph.of(Split.from_pairs([[0, 0], [1, 1]], n_items=3))
    parameters = {"ego": torch.ones(5, 2)}
    assert LightGCN(dim=2, depth=depth).vectors(parameters, graph)[1][2].tolist() == pytest.approx(
        [1 / (depth + 1)] * 2
    )


@dataclass(frozen=True)
class LightGCNPlus(LightGCN):
    """Another normalisation and weights of the layers, as in LightGCN++ (Lee et al., RecSys 2024)."""

    left: float = setting(0.6, "exponent of a node's own degree", low=0)
    right: float = setting(0.2, "exponent of its neighbours' degrees", low=0)
    gamma: float = setting(0.3, "weight of layer 0", low=0, high=1)

    @property
    def normalisation(self) -> tuple[float, float]:
        return self.left, self.right

    @property
    def aggregation(self) -> Aggregation:
        return Aggregation("sum", (self.gamma, *[(1 - self.gamma) / self.depth] * self.depth))


def test_another_normalisation_and_weights_are_a_few_lines() -> None:
    """Against the dense matrix, and in a run: the sampler sees the weighted scores, and no kernel of the mean is used."""
    split = random_split(7, 9, each=3)
    graph, backbone = build_graph(split, dtype=torch.float64), LightGCNPlus(dim=3, depth=2)
    parameters = backbone.initial(graph, Rng(0, "start"), torch.float64)
    a = training_matrix(split)
    degrees = np.maximum(a.sum(1), 1.0)
    matrix, ego = np.diag(degrees**-0.6) @ a @ np.diag(degrees**-0.2), parameters["ego"].numpy()
    expected = 0.3 * ego + 0.35 * (matrix @ ego) + 0.35 * (matrix @ matrix @ ego)
    np.testing.assert_allclose(torch.cat(backbone.vectors(parameters, graph)).numpy(), expected, rtol=0, atol=1e-13)
    step = step_of(backbone, SAHC(pool=4), graph=graph)
    assert step.fast_loss is None
    assert torch.autograd.gradcheck(
        lambda ego: backbone.layers({"ego": ego}, graph), parameters["ego"].requires_grad_()
    )
    assert loss_of(step).isfinite()
    run = fit(split, backbone, SAHC(pool=4), protocol=Protocol(epochs=2, batch=8), device="cpu")
    assert run.record.backbone["gamma"] == 0.3
