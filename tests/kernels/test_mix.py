"""mix: weighted sums of table rows, and gradients that go back to exactly those rows."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from sahcns.graph import Read
from tests.kernels.conftest import Path

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-13}
ROWS = 5


@st.composite
def reads(draw: st.DrawFn, layers: int, dim: int) -> Read:
    """R mixtures of M rows, R may be 0; few rows in the table, so that they repeat within and between mixtures."""
    seed, count, mixed = draw(st.integers(0, 999)), draw(st.integers(0, 5)), draw(st.sampled_from([1, 1, 2, 3]))
    per_layer = draw(st.booleans())
    rng = np.random.default_rng(seed)
    rows = torch.from_numpy(rng.integers(ROWS, size=(count, mixed, layers if per_layer else 1)))
    if mixed == 1 and draw(st.booleans()):
        return Read(rows, None)
    weights = rng.random((count, mixed, layers, dim) if draw(st.booleans()) else (count, mixed, layers))
    return Read(rows, torch.from_numpy(weights / weights.sum(1, keepdims=True)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Tensor], list[Read]]:
    depth, dim, seed = draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 8])), draw(st.integers(0, 999))
    tables = torch.randn(depth, ROWS, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return list(tables), draw(st.lists(reads(depth, dim), min_size=1, max_size=3))


def place(path: Path, dtype: torch.dtype, tables: list[Tensor], asked: list[Read]) -> tuple[list[Tensor], list[Read]]:
    layers = [table.to(path.device, dtype, copy=True).requires_grad_() for table in tables]
    moved = [
        Read(rows.to(path.device), None if weights is None else weights.to(path.device, dtype))
        for rows, weights in asked
    ]
    return layers, moved


def by_loops(tables: list[Tensor], read: Read) -> Tensor:
    """Σ_m weights[r, m, t] ⊙ layers[t][rows[r, m, t]], written out."""
    (count, mixed, width), depth = read.rows.shape, len(tables)
    out = torch.zeros(count, depth, tables[0].shape[1], dtype=torch.float64)
    for r in range(count):
        for t in range(depth):
            for m in range(mixed):
                share = 1.0 if read.weights is None else read.weights[r, m, t]  # a number, or one for each dimension
                out[r, t] += share * tables[t][int(read.rows[r, m, t if width > 1 else 0])]
    return out


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@given(case=cases())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_forward_is_the_weighted_sum(path: Path, dtype: torch.dtype, case: tuple[list[Tensor], list[Read]]) -> None:
    layers, asked = place(path, dtype, *case)
    mixed = path.graph().mix(tuple(layers), *asked)
    assert len(mixed) == len(asked)
    for found, read in zip(mixed, case[1], strict=True):
        assert found.dtype == dtype
        expected = by_loops(case[0], read)
        assert found.shape == expected.shape
        torch.testing.assert_close(found.detach().cpu().double(), expected, rtol=0, atol=TOLERANCE[dtype])


@given(case=cases())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_backward_gives_each_row_its_share_as_often_as_it_was_read(
    path: Path, case: tuple[list[Tensor], list[Read]]
) -> None:
    tables, plan = case
    layers, asked = place(path, torch.float64, tables, plan)
    mixed = path.graph().mix(tuple(layers), *asked)
    gradients = [torch.randn(m.shape, generator=torch.Generator().manual_seed(7), dtype=m.dtype) for m in mixed]
    torch.autograd.backward(mixed, [g.to(path.device) for g in gradients])
    expected = [torch.zeros_like(table) for table in tables]
    for (rows, weights), gradient in zip(plan, gradients, strict=True):
        for r in range(rows.shape[0]):
            for m in range(rows.shape[1]):
                for t in range(len(tables)):
                    share = 1.0 if weights is None else weights[r, m, t]
                    row = int(rows[r, m, t if rows.shape[2] > 1 else 0])
                    expected[t][row] += share * gradient[r, t]
    for layer, wanted in zip(layers, expected, strict=True):
        assert layer.grad is not None
        torch.testing.assert_close(layer.grad.cpu(), wanted, rtol=0, atol=1e-13)


@given(case=cases())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_gradcheck(path: Path, case: tuple[list[Tensor], list[Read]]) -> None:
    layers, asked = place(path, torch.float64, *case)
    assert torch.autograd.gradcheck(lambda *tables: path.graph().mix(tables, *asked), tuple(layers), fast_mode=True)


def test_a_read_that_the_loss_does_not_use_gives_nothing(path: Path) -> None:
    table = torch.ones(3, 2, dtype=torch.float64, device=path.device, requires_grad=True)
    used, unused = (Read(torch.tensor([[[row]]], device=path.device), None) for row in (0, 2))
    path.graph().mix((table, table), used, unused)[0][:, 1].sum().backward()  # type: ignore[no-untyped-call]
    assert table.grad is not None
    assert table.grad.tolist() == [[1, 1], [0, 0], [0, 0]]
