"""Ã x with the full corner of Ã on tensor cores, against the dense matrix."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from tests.kernels.conftest import PATHS, Path
from tests.splits import normalised, random_split, splits

pytest.importorskip("triton")
from sahcns.kernels.gpu import blocks as gpu_blocks
from sahcns.kernels.gpu.blocks import BlockHops, Blocks, cut
from sahcns.kernels.gpu.corner import Tile
from sahcns.kernels.gpu.hops import Shape

TRITON = [
    path for path in PATHS if str(path.id).startswith("triton") and not {"ordered", "lean"} & {*str(path.id).split("-")}
]
SMALL = [Tile(16, 16, share, stretch) for share, stretch in ((0.0, 1), (0.1, 2), (0.3, 3))] + [Tile(32, 16, 0.2, 1)]
SHAPE = Shape(8, 16, 4, 8, 2)  # rows of both kinds in a small graph
WITHIN = 1e-6  # of float32 sums, which tensor cores round less well than others


@pytest.fixture(params=TRITON)
def device(request: pytest.FixtureRequest) -> str:
    path = request.param
    assert isinstance(path, Path)
    return path.device


def graph_of(split: Split, device: str) -> Graph:
    return build_graph(split, device, path="triton")


def table(rows: int, columns: int, seed: int, device: str) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)).to(device)


def hops(blocks: Blocks, x: Tensor, count: int) -> tuple[Tensor, ...]:
    layers: tuple[Tensor, ...] = BlockHops.apply(blocks, x, count)  # type: ignore[no-untyped-call]
    return layers


def agree(found: Tensor, expected: npt.NDArray[np.float64]) -> None:
    np.testing.assert_allclose(found.detach().double().cpu().numpy(), expected, rtol=0, atol=WITHIN)


@pytest.mark.parametrize("tile", SMALL)
@given(split=splits(), count=st.integers(0, 3), dim=st.sampled_from([9, 16, 20]), seed=st.integers(0, 9))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hops_and_their_gradient(device: str, tile: Tile, split: Split, count: int, dim: int, seed: int) -> None:
    graph = graph_of(split, device)
    blocks = Blocks.of(graph.adjacency, tile, SHAPE)
    if blocks is None:  # nothing is full enough
        return
    x = table(graph.n, dim, seed, device).requires_grad_()
    layers = hops(blocks, x, count)
    weights = [table(graph.n, dim, seed + 1 + power, device) for power in range(count + 1)]
    torch.autograd.backward(layers, weights)
    powers = [np.linalg.matrix_power(normalised(split), power) for power in range(count + 1)]
    for layer, power in zip(layers, powers, strict=True):
        agree(layer, power @ x.detach().double().cpu().numpy())
    assert x.grad is not None
    agree(x.grad, sum((p.T @ w.double().cpu().numpy() for p, w in zip(powers, weights, strict=True)), np.zeros(1)))


@pytest.mark.parametrize("tile", SMALL)
def test_every_edge_is_in_one_place(device: str, tile: Tile) -> None:
    split = random_split(70, 90, each=20, seed=1)
    graph = graph_of(split, device)
    blocks = Blocks.of(graph.adjacency, tile, SHAPE)
    assert blocks is not None
    at = blocks.places.long().cpu()
    assert len(set(at.tolist())) == graph.n
    there = torch.zeros(blocks.height, blocks.height)
    for row, (first, last) in enumerate(zip(blocks.firsts[:-1].tolist(), blocks.firsts[1:].tolist(), strict=True)):
        for begin, column, count, end in blocks.stretches[first:last].tolist():
            assert column < end
            for step in range(count):
                left = column + step * tile.columns
                cells = there[row * tile.rows :, left:][: tile.rows, : tile.columns]
                cells += blocks.cells[begin + step].float().cpu()
    rest = blocks.rest
    rows = torch.arange(graph.n).repeat_interleave(rest.offsets.diff().cpu().long())
    there.index_put_((at[rows], at[rest.columns.cpu().long()]), torch.ones(len(rows)), accumulate=True)
    expected = torch.zeros_like(there)
    expected[at[:, None], at[None, :]] = torch.from_numpy(normalised(split) > 0).float()
    assert torch.equal(there, expected)
    if tile.share == 0:
        assert len(rows) == 0


def test_three_parts_hold_all_of_a_float(device: str) -> None:
    graph = graph_of(random_split(70, 90, each=20, seed=1), device)
    blocks = Blocks.of(graph.adjacency, SMALL[0], SHAPE)
    assert blocks is not None
    x = table(graph.n, 20, 3, device) * torch.logspace(-20, 4, graph.n, device=device)[:, None]
    whole = cut(blocks, x)[blocks.places.long()].double().sum(1)
    expected = (x * blocks.scales[:, None]).double()
    torch.testing.assert_close(whole[:, :20], expected, rtol=2**-23, atol=0)
    assert not whole[:, 20:].any()


def test_a_loss_on_the_last_layer_alone_and_a_table_that_is_not_contiguous(device: str) -> None:
    split = random_split(40, 30, each=12, seed=2)
    graph = graph_of(split, device)
    blocks = Blocks.of(graph.adjacency, SMALL[1], SHAPE)
    assert blocks is not None
    x = table(16, graph.n, 0, device).requires_grad_()
    square = np.linalg.matrix_power(normalised(split), 2)
    last = hops(blocks, x.T, 2)[2]
    agree(last, square @ x.detach().double().cpu().numpy().T)
    last.T.sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    agree(x.grad.T, square.T @ np.ones((graph.n, 16)))


def test_the_same_bits_every_time_and_with_overlap_as_without(device: str) -> None:
    on_gpu = device == "cuda"  # where two streams overlap; the interpreter has one, and is slow
    users, items, each, dim = (300, 200, 90, 64) if on_gpu else (100, 100, 70, 16)
    graph = graph_of(random_split(users, items, each=each, seed=5), device)
    blocks = Blocks.of(graph.adjacency)
    assert blocks is not None
    x = table(graph.n, dim, 0, device)
    first = hops(blocks, x, 3)
    for other in (blocks, replace(blocks, overlap=False)):
        assert all(torch.equal(a, b) for a, b in zip(first, hops(other, x, 3), strict=True))


def test_dense_graphs_take_this_way_and_others_do_not(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []

    def seen(blocks: Blocks, x: Tensor) -> Tensor:
        used.append(x.shape[1])
        return cut(blocks, x)

    monkeypatch.setattr(gpu_blocks, "cut", seen)
    split = random_split(100, 100, each=70, seed=1)
    for dim, dtype, there in ((16, torch.float32, split), (4, torch.float32, split), (16, torch.float64, split)):
        graph = build_graph(there, device, dtype, "triton")
        x = table(graph.n, dim, 0, device).to(dtype)
        agree(graph.propagate(x), normalised(there) @ x.double().cpu().numpy())
    sparse = graph_of(random_split(100, 100, each=10), device)
    sparse.propagate(table(sparse.n, 16, 0, device))
    assert used == [16]


def test_a_graph_that_is_full_nowhere_or_too_large_is_left_to_gathering(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adjacency = graph_of(random_split(100, 100, each=10), device).adjacency
    assert Blocks.of(adjacency, Tile(16, 16, 0.9)) is None
    assert Blocks.of(adjacency, Tile(16, 16, 0.01)) is not None
    monkeypatch.setattr(gpu_blocks, "MOST_EDGES", 1999)
    assert Blocks.of(adjacency, Tile(16, 16, 0.01)) is None


@pytest.mark.parametrize(
    ("room", "dim", "expected"), [(227, 64, 3), (100, 64, 2), (163, 128, 2), (64, 64, 1), (0, 64, 0)]
)
def test_tiles_are_used_where_shared_memory_holds_two(
    monkeypatch: pytest.MonkeyPatch, room: int, dim: int, expected: int
) -> None:
    monkeypatch.setattr(gpu_blocks, "ROOM", room * 1024)
    assert gpu_blocks._stages(Tile(), dim, torch.device("cpu")) == expected
    assert gpu_blocks.fits(torch.zeros(1, dim)) == (expected > 1)
