"""SimGCL: which layers count, what the noise is, and InfoNCE against explicit loops."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sahcns.backbones import SimGCL
from sahcns.backbones.simgcl import info_nce
from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.rng import Rng
from tests.splits import normalised, random_split, splits


def start(backbone: SimGCL, graph: Graph) -> dict[str, Tensor]:
    return backbone.initial(graph, Rng(0, "start"), torch.float64)


def info_nce_by_loops(first: Tensor, second: Tensor, nodes: list[int], temperature: float) -> float:
    """-1/n Σ_k log( exp(cos(k, k)/τ) / Σ_m exp(cos(k, m)/τ) ) over the distinct nodes."""
    distinct = sorted(set(nodes))

    def similarity(k: int, m: int) -> float:
        a, b = first[k].tolist(), second[m].tolist()
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return float(dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b)) / temperature)

    total = 0.0
    for k in distinct:
        total -= similarity(k, k) - math.log(sum(math.exp(similarity(k, m)) for m in distinct))
    return total / len(distinct)


@pytest.mark.parametrize("include_layer0", [False, True])
@given(split=splits(), depth=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_the_embedding_is_the_mean_of_the_layers_shown(include_layer0: bool, split: Split, depth: int) -> None:
    graph = Graph.of(split, dtype=torch.float64)
    backbone = SimGCL(dim=3, depth=depth, include_layer0=include_layer0)
    parameters = start(backbone, graph)
    first = 0 if include_layer0 else 1
    powers = [
        np.linalg.matrix_power(normalised(split), power) @ parameters["ego"].numpy()
        for power in range(first, depth + 1)
    ]
    layers = backbone.layers(parameters, graph)
    assert len(layers) == len(powers) == depth + include_layer0
    for layer, power in zip(layers, powers, strict=True):
        np.testing.assert_allclose(layer.numpy(), power, rtol=0, atol=1e-14)
    vectors = torch.cat(backbone.vectors(parameters, graph))
    np.testing.assert_allclose(vectors.numpy(), sum(powers) / len(powers), rtol=0, atol=1e-14)
    assert backbone.has_ego_layer == include_layer0


def test_neither_ranking_nor_the_main_pass_has_noise() -> None:
    graph, backbone, rng = Graph.of(random_split(6, 8, each=3)), SimGCL(dim=4, noise=0.5), Rng(0, "noise")
    parameters = backbone.initial(graph, Rng(0, "start"))
    quiet = SimGCL(dim=4, noise=0.0)
    for noisy, plain in zip(
        backbone.training_layers(parameters, graph, rng), quiet.layers(parameters, graph), strict=True
    ):
        assert torch.equal(noisy, plain)
    for noisy, plain in zip(backbone.vectors(parameters, graph), quiet.vectors(parameters, graph), strict=True):
        assert torch.equal(noisy, plain)
    assert rng.call == 0


@pytest.mark.parametrize("noise", [0.1, 0.7])
def test_noise_has_length_epsilon_and_points_the_way_of_the_embedding(noise: float) -> None:
    graph, backbone = Graph.of(random_split(30, 20, each=4), dtype=torch.float64), SimGCL(dim=6, depth=1, noise=noise)
    parameters = start(backbone, graph)
    clean = graph.propagate(parameters["ego"])
    perturbation = backbone._noisy(parameters["ego"], graph, Rng(0, "noise")) - clean
    joined = graph.adjacency.degrees > 0
    torch.testing.assert_close(
        perturbation[joined].norm(dim=1), torch.full((int(joined.sum()),), noise, dtype=torch.float64)
    )
    assert (perturbation * clean >= 0).all()
    assert (perturbation[joined].abs() > 0).float().mean() > 0.99  # every entry moves
    other = backbone._noisy(parameters["ego"], graph, Rng(1, "noise")) - clean
    assert not torch.allclose(other, perturbation)


def noisy_pass(backbone: SimGCL, ego: Tensor, split: Split, rng: Rng) -> Tensor:
    """One perturbed pass with dense matrices: noise is added before the next propagation."""
    matrix, e = torch.from_numpy(normalised(split)), ego
    kept = [e] if backbone.include_layer0 else []
    for _ in range(backbone.depth):
        e = matrix @ e
        direction = rng.uniform(*e.shape, dtype=torch.float64)
        e = e + backbone.noise * e.sign() * direction / direction.norm(dim=1, keepdim=True)
        kept.append(e)
    return torch.stack(kept).mean(0)


@pytest.mark.parametrize("include_layer0", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
def test_the_whole_contrastive_loss(include_layer0: bool, depth: int) -> None:
    split = random_split(7, 9, each=3, seed=5)
    graph = Graph.of(split, dtype=torch.float64)
    backbone = SimGCL(dim=4, depth=depth, include_layer0=include_layer0, noise=0.3, temperature=0.25, cl_weight=0.6)
    parameters = start(backbone, graph)
    users, positives = torch.tensor([4, 1, 4, 0, 6, 1]), torch.tensor([2, 2, 8, 0, 2, 5])
    twin = Rng(9, "noise")
    first, second = (noisy_pass(backbone, parameters["ego"], split, twin) for _ in range(2))
    assert not torch.allclose(first, second)  # two independent passes
    expected = info_nce_by_loops(first, second, users.tolist(), 0.25)
    expected += info_nce_by_loops(first, second, (positives + 7).tolist(), 0.25)
    loss = backbone.extra_loss(parameters, graph, users, positives, Rng(9, "noise"))
    assert loss is not None
    assert loss.item() == pytest.approx(0.6 * expected, rel=1e-10)


def test_without_weight_there_is_no_contrastive_loss_and_no_noise_is_drawn() -> None:
    graph, rng = Graph.of(random_split(6, 8, each=3)), Rng(0, "noise")
    backbone = SimGCL(dim=4, cl_weight=0.0)
    parameters = backbone.initial(graph, Rng(0, "start"))
    assert backbone.extra_loss(parameters, graph, torch.tensor([0]), torch.tensor([1]), rng) is None
    assert rng.call == 0


@given(st.lists(st.integers(0, 7), min_size=1, max_size=12), st.sampled_from([0.1, 0.2, 1.0]), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_info_nce_runs_over_distinct_nodes(nodes: list[int], temperature: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    first, second = (torch.randn(8, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    found = info_nce(first, second, torch.tensor(nodes), temperature)
    assert found.item() == pytest.approx(info_nce_by_loops(first, second, nodes, temperature), rel=1e-10, abs=1e-12)
    order = torch.tensor(sorted(nodes, reverse=True))
    assert info_nce(first, second, order, temperature).item() == pytest.approx(found.item(), rel=1e-10, abs=1e-12)


def test_info_nce_is_one_way_and_its_gradient_ignores_repeats() -> None:
    generator = torch.Generator().manual_seed(1)
    first, second = (torch.randn(5, 3, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(2))
    distinct, repeated = torch.tensor([3, 0, 4]), torch.tensor([3, 0, 3, 4, 4, 3])
    assert torch.autograd.gradcheck(lambda a, b: info_nce(a, b, repeated, 0.5), (first, second))
    once = torch.autograd.grad(info_nce(first, second, distinct, 0.5), (first, second))
    often = torch.autograd.grad(info_nce(first, second, repeated, 0.5), (first, second))
    for a, b in zip(once, often, strict=True):
        torch.testing.assert_close(a, b)
        assert (a[[1, 2]] == 0).all()  # nodes outside the batch are left alone
    forwards = info_nce(first, second, distinct, 0.5).item()
    assert forwards != pytest.approx(info_nce(second, first, distinct, 0.5).item(), abs=1e-6)


def test_alike_passes_have_the_lower_loss() -> None:
    first = torch.eye(4, dtype=torch.float64)
    nodes = torch.arange(4)
    alike, shuffled = info_nce(first, first, nodes, 0.2), info_nce(first, first.roll(1, 0), nodes, 0.2)
    assert alike.item() == pytest.approx(math.log(1 + 3 * math.exp(-5)))
    assert shuffled.item() == pytest.approx(5 + math.log(1 + 3 * math.exp(-5)))
