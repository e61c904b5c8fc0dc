"""LightGCN++ against dense matrices, and against LightGCN where the two are the same."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.backbones import LightGCN, LightGCNpp
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.rng import Rng
from sahcns.samplers import SAHC
from tests.samplers.stepping import loss_of, step_of
from tests.splits import Dense, random_split, splits, training_matrix


def by_numpy(backbone: LightGCNpp, split: Split, ego: Dense) -> tuple[list[Dense], Dense]:
    """The layers, and γE⁰ + (1 - γ)/L Σ E^l; a node without pairs has degree 1, and nothing reaches it."""
    a = training_matrix(split)
    degrees = np.maximum(a.sum(1), 1.0)
    matrix = np.diag(degrees**-backbone.alpha) @ a @ np.diag(degrees**-backbone.beta)
    layers = [ego]
    for _ in range(backbone.depth):
        lengths = np.linalg.norm(layers[-1], axis=1, keepdims=True)
        layers.append(matrix @ (layers[-1] / np.where(lengths > 0, lengths, 1.0)))
    return layers, backbone.gamma * ego + (1 - backbone.gamma) * np.mean(layers[1:], axis=0)


@pytest.mark.parametrize("path", ["reference", "cpu"])
@given(
    split=splits(),
    depth=st.integers(1, 3),
    exponents=st.sampled_from([(0.6, -0.1), (0.5, 0.5), (1.0, 0.0)]),
    gamma=st.sampled_from([0.0, 0.2, 1.0]),
)
@settings(max_examples=30, deadline=None)
def test_layers_and_embedding(
    path: str, split: Split, depth: int, exponents: tuple[float, float], gamma: float
) -> None:
    graph = build_graph(split, dtype=torch.float64, path=path)
    backbone = LightGCNpp(dim=3, depth=depth, alpha=exponents[0], beta=exponents[1], gamma=gamma)
    parameters = backbone.initial(graph, Rng(0, "start"), torch.float64)
    layers, final = by_numpy(backbone, split, parameters["ego"].numpy())
    for ours, theirs in zip(backbone.layers(parameters, graph), layers, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(torch.cat(backbone.vectors(parameters, graph)).numpy(), final, rtol=0, atol=1e-12)


def test_with_unit_vectors_and_one_layer_it_is_lightgcn() -> None:
    graph = Graph.of(random_split(6, 9, each=3), dtype=torch.float64)
    ego = torch.nn.functional.normalize(LightGCN(dim=4).initial(graph, Rng(0, "start"), torch.float64)["ego"], dim=1)
    same = LightGCNpp(dim=4, depth=1, alpha=0.5, beta=0.5, gamma=0.5)
    plain = LightGCN(dim=4, depth=1)
    torch.testing.assert_close(same.vectors({"ego": ego}, graph), plain.vectors({"ego": ego}, graph))
    swapped = LightGCNpp(dim=4, depth=1, alpha=0.1, beta=0.9, gamma=0.5).vectors({"ego": ego}, graph)
    other = LightGCNpp(dim=4, depth=1, alpha=0.9, beta=0.1, gamma=0.5).vectors({"ego": ego}, graph)
    assert not torch.allclose(swapped[0], other[0])


def test_its_gradient_and_its_step() -> None:
    """The sampler sees the weighted scores, and no kernel of a plain mean is used."""
    graph, backbone = Graph.of(random_split(5, 7, each=3), dtype=torch.float64), LightGCNpp(dim=3)
    ego = backbone.initial(graph, Rng(0, "start"), torch.float64)["ego"].requires_grad_()
    assert torch.autograd.gradcheck(lambda table: backbone.layers({"ego": table}, graph), ego)
    step = step_of(backbone, SAHC(pool=4), graph=graph)
    assert step.fast_loss is None
    assert loss_of(step).isfinite()
