"""NGCF against a second implementation, in numpy, of both of its forms."""

import math

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.backbones import NGCF, Parameters
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.rng import Rng
from tests.splits import normalised, random_split, splits, training_matrix

Table = npt.NDArray[np.float64]


def leaky(x: Table) -> Table:
    return np.where(x > 0, x, 0.2 * x)


def unit_rows(x: Table) -> Table:
    length = np.sqrt((x**2).sum(1, keepdims=True))
    return np.asarray(np.divide(x, length, out=np.zeros_like(x), where=length > 0))


def written_out(
    backbone: NGCF, parameters: Parameters, split: Split, masks: list[Table] | None = None
) -> tuple[list[Table], list[Table]]:
    """The layers as stored, and as fed to the next layer; `masks` are 1 where a message entry is kept."""
    p = {name: value.detach().numpy() for name, value in parameters.items()}
    if backbone.variant == "original":
        looped = training_matrix(split) + np.eye(split.n_users + split.n_items)
        matrix = looped / looped.sum(1, keepdims=True)  # D^-1 (A + I): every row sums to 1
    else:
        matrix = normalised(split)
    e, stored, fed = p["ego"], [p["ego"]], [p["ego"]]
    for layer in range(backbone.depth):
        side = matrix @ e
        own = side @ p[f"W1.{layer}"] + p[f"b1.{layer}"]
        affinity = (side * e) @ p[f"W2.{layer}"] + p[f"b2.{layer}"]
        e = leaky(own) + leaky(affinity) if backbone.variant == "original" else leaky(own + affinity)
        if masks is not None:
            e = e * masks[layer] / (1 - backbone.dropout)
        stored.append(unit_rows(e))
        fed.append(e)
    return stored, fed


def start(backbone: NGCF, graph: Graph, seed: int = 0) -> Parameters:
    return backbone.initial(graph, Rng(seed, "start"), torch.float64)


@pytest.mark.parametrize("pool", ["concat", "mean", "sum"])
@pytest.mark.parametrize("variant", ["mixgcf", "original"])
@given(split=splits(), depth=st.integers(0, 3), seed=st.integers(0, 9))
@settings(max_examples=15, deadline=None)
def test_both_forms_and_all_pools(pool: str, variant: str, split: Split, depth: int, seed: int) -> None:
    graph = Graph.of(split, dtype=torch.float64)
    backbone = NGCF.from_dict({"dim": 3, "depth": depth, "pool": pool, "variant": variant})
    parameters = start(backbone, graph, seed)
    stored, _ = written_out(backbone, parameters, split)
    layers = backbone.layers(parameters, graph)
    assert len(layers) == depth + 1
    for found, expected in zip(layers, stored, strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)
    if pool == "concat":
        final = np.concatenate(stored, axis=1)
    else:
        final = np.sum(stored, axis=0) / (depth + 1 if pool == "mean" else 1)
    vectors = torch.cat(backbone.vectors(parameters, graph))
    np.testing.assert_allclose(vectors.numpy(), final, rtol=0, atol=1e-12)


def test_the_two_forms_differ() -> None:
    split = random_split(6, 8, each=3)
    graph = Graph.of(split, dtype=torch.float64)
    parameters = start(NGCF(dim=4), graph)
    first, second = (NGCF(dim=4, variant=variant).layers(parameters, graph) for variant in ("mixgcf", "original"))
    assert torch.equal(first[0], second[0])
    assert not torch.allclose(first[1], second[1], atol=0.05)


@pytest.mark.parametrize("variant", ["mixgcf", "original"])
def test_layer_0_is_stored_raw_and_later_layers_with_length_one(variant: str) -> None:
    split = random_split(6, 8, each=3)
    graph, backbone = Graph.of(split, dtype=torch.float64), NGCF(dim=4, depth=3, variant=variant)
    parameters = start(backbone, graph)
    layers = backbone.layers(parameters, graph)
    assert torch.equal(layers[0], parameters["ego"])
    assert (layers[0].norm(dim=1) - 1).abs().min() > 1e-3
    for layer in layers[1:]:
        torch.testing.assert_close(layer.norm(dim=1), torch.ones(14, dtype=torch.float64))
    # What feeds layer 2 is not what is stored as layer 1: with the stored one it would come out differently.
    _, fed = written_out(backbone, parameters, split)
    assert (np.abs(np.linalg.norm(fed[1], axis=1) - 1) > 1e-3).all()


def test_short_rows_are_stored_with_length_one_too_and_empty_ones_stay_empty() -> None:
    """What normalising adds to a length against 0/0 is far below any row; a node without pairs and biases has none."""
    graph = Graph.of(Split.from_pairs([[0, 0], [0, 1], [1, 1]], n_items=3), dtype=torch.float64)
    backbone = NGCF(dim=4, depth=2)
    parameters = {name: value * (name[0] != "b") for name, value in start(backbone, graph).items()}
    parameters["ego"] = parameters["ego"] * 1e-6
    for layer in backbone.layers(parameters, graph)[1:]:
        torch.testing.assert_close(layer.norm(dim=1), torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0], dtype=torch.float64))


def test_weights_and_biases_start_with_xaviers_bounds() -> None:
    graph, backbone = Graph.of(random_split(6, 8, each=3)), NGCF(dim=64, depth=2)
    parameters = backbone.initial(graph, Rng(0, "start"))
    names = {f"{kind}{which}.{layer}" for kind in "Wb" for which in "12" for layer in range(2)}
    assert set(parameters) == names | {"ego"}
    for name in names:
        rows = 64 if name.startswith("W") else 1
        bound = math.sqrt(6 / (rows + 64))
        assert parameters[name].shape == (rows, 64)
        assert 0.9 * bound < parameters[name].abs().max() <= bound


@pytest.mark.parametrize("variant", ["mixgcf", "original"])
def test_dropout_is_in_training_only_and_rescales(variant: str) -> None:
    split = random_split(6, 8, each=3)
    graph = Graph.of(split, dtype=torch.float64)
    backbone = NGCF(dim=5, depth=2, dropout=0.4, variant=variant)
    parameters = start(backbone, graph)
    plain = NGCF(dim=5, depth=2, variant=variant)
    for ranked, without in zip(backbone.layers(parameters, graph), plain.layers(parameters, graph), strict=True):
        assert torch.equal(ranked, without)
    for ranked, without in zip(backbone.vectors(parameters, graph), plain.vectors(parameters, graph), strict=True):
        assert torch.equal(ranked, without)
    twin = Rng(7, "noise")
    masks = [(twin.uniform(14, 5, dtype=torch.float64) >= 0.4).double().numpy() for _ in range(2)]
    stored, _ = written_out(backbone, parameters, split, masks)
    layers = backbone.training_layers(parameters, graph, Rng(7, "noise"))
    for found, expected in zip(layers, stored, strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)
    assert torch.equal(layers[0], parameters["ego"])  # the table itself is never dropped


def test_the_share_that_is_dropped() -> None:
    graph, backbone = Graph.of(random_split(60, 80, each=5)), NGCF(dim=32, depth=2, dropout=0.3)
    parameters, rng = backbone.initial(graph, Rng(0, "start")), Rng(1, "noise")
    first = backbone.training_layers(parameters, graph, rng)
    for layer in first[1:]:
        assert (layer == 0).float().mean().item() == pytest.approx(0.3, abs=0.03)
    rng.advance()
    second = backbone.training_layers(parameters, graph, rng)
    assert ((first[1] == 0) != (second[1] == 0)).any()  # new masks at each step
    assert ((first[1] == 0) != (first[2] == 0)).any()  # and at each layer
