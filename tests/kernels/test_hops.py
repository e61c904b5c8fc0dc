"""hops: x, Ãx, … Ã^L x, and the gradient of all of them at once."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from sahcns.data.split import Split
from sahcns.graph import Graph
from tests.kernels.conftest import Path
from tests.splits import normalised, random_split, splits, training_matrix

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-13}


def table(rows: int, columns: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def random_input(path: Path, split: Split, dim: int, seed: int) -> tuple[Graph, Tensor]:
    graph = path.graph(split, torch.float64)
    return graph, table(graph.n, dim, seed).to(path.device).requires_grad_()


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@given(split=splits(), count=st.integers(0, 4), dim=st.sampled_from([1, 3, 8]), seed=st.integers(0, 9))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hops_are_powers_of_the_dense_matrix(
    path: Path, dtype: torch.dtype, split: Split, count: int, dim: int, seed: int
) -> None:
    graph = path.graph(split, dtype)
    x = table(graph.n, dim, seed, dtype).to(path.device)
    layers = graph.hops(x, count)
    assert len(layers) == count + 1
    for power, layer in enumerate(layers):
        expected = np.linalg.matrix_power(normalised(split), power) @ x.double().cpu().numpy()
        assert layer.dtype == dtype
        np.testing.assert_allclose(layer.double().cpu().numpy(), expected, rtol=0, atol=TOLERANCE[dtype])
    if count:  # not to the bit: on a GPU plain torch adds by atomics
        torch.testing.assert_close(graph.propagate(x), layers[1], rtol=0, atol=TOLERANCE[dtype])


@given(split=splits(), count=st.integers(0, 4), seed=st.integers(0, 9))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_gradient_is_the_transposed_sum_of_powers(path: Path, split: Split, count: int, seed: int) -> None:
    graph, x = random_input(path, split, 3, seed)
    weights = [table(graph.n, 3, seed + 1 + power) for power in range(count + 1)]
    layers = graph.hops(x, count)
    torch.autograd.backward(layers, [w.to(path.device) for w in weights])
    powers = [np.linalg.matrix_power(normalised(split), power) for power in range(count + 1)]
    expected = sum(power.T @ w.numpy() for power, w in zip(powers, weights, strict=True))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.cpu().numpy(), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_gradcheck(path: Path, count: int) -> None:
    graph, x = random_input(path, random_split(4, 5, each=2, seed=1), 2, 5)
    hops: Callable[[Tensor], tuple[Tensor, ...]] = lambda x: graph.hops(x, count)  # noqa: E731
    assert torch.autograd.gradcheck(hops, x, fast_mode=True)  # every entry: the dense comparison above


def test_layers_that_the_loss_does_not_use_get_no_gradient(path: Path) -> None:
    """SimGCL leaves layer 0 out; a loss on the last layer alone must not be shifted by the others."""
    split = random_split(5, 6, each=2, seed=2)
    graph, x = random_input(path, split, 3, 0)
    graph.hops(x, 2)[2].sum().backward()  # type: ignore[no-untyped-call]
    expected = np.linalg.matrix_power(normalised(split), 2).T @ np.ones((11, 3))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.cpu().numpy(), expected, rtol=0, atol=1e-14)


def test_a_table_that_is_not_contiguous(path: Path) -> None:
    split = random_split(5, 6, each=3, seed=4)
    graph = path.graph(split, torch.float64)
    matrix = torch.from_numpy(normalised(split)).to(path.device)
    ours, plain = (table(3, graph.n, 0).to(path.device).requires_grad_() for _ in range(2))
    # Read and written transposed: the gradient that reaches hops is not contiguous either.
    found = (graph.hops(ours.T, 2)[2].T @ graph.hops(ours.T, 1)[1]).tanh().sum()
    expected = ((matrix @ matrix @ plain.T).T @ (matrix @ plain.T)).tanh().sum()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-13)
    torch.autograd.backward([found, expected])
    torch.testing.assert_close(ours.grad, plain.grad, rtol=0, atol=1e-13)


def test_the_input_is_left_as_it_was(path: Path) -> None:
    graph = path.graph(random_split(5, 6, each=3), torch.float64)
    x = table(graph.n, 4, 1).to(path.device)
    before = x.clone()
    graph.hops(x, 3)
    assert torch.equal(x, before)


@pytest.mark.parametrize(("left", "right"), [(1.0, 0.0), (0.3, 0.8), (0.5, 0.5)])
def test_another_normalisation(path: Path, left: float, right: float) -> None:
    """D^-left A D^-right, forward and backward, on every path."""
    split = random_split(5, 6, each=3, seed=4)
    matrix = training_matrix(split)
    degrees = np.maximum(matrix.sum(1), 1.0)
    matrix = np.diag(degrees**-left) @ matrix @ np.diag(degrees**-right)
    graph, x = random_input(path, split, 3, 0)
    layers = graph.hops(x, 2, left, right)
    for power, layer in enumerate(layers):
        expected = np.linalg.matrix_power(matrix, power) @ x.detach().cpu().numpy()
        np.testing.assert_allclose(layer.detach().cpu().numpy(), expected, rtol=0, atol=1e-12)
    layers[2].sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.cpu().numpy(), (matrix @ matrix).T @ np.ones((11, 3)), rtol=0, atol=1e-12)
