"""Time the sparse product with its full corner on tensor cores, over sizes: how `kernels/gpu/blocks.py` got its own.

python benchmarks/tune_blocks.py PREPARED [PREPARED …]
"""

import itertools
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import torch
import triton

from sahcns.data import load_split
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.kernels.gpu import hops
from sahcns.kernels.gpu.blocks import Blocks, cut, multiply, product
from sahcns.kernels.gpu.corner import Tile
from sahcns.kernels.gpu.hops import Plan, Shape

TILES = [
    Tile(rows, 64, warps=warps, stages=stages)
    for (rows, warps), stages in itertools.product(((64, 4), (128, 4), (128, 8), (256, 8)), (2, 3))
]
STRETCHES = (4, 6, 8, 12, 13, 14)
SHARES = (0.02, 0.03, 0.04)
SHAPES = [
    Shape(64, 64, 8, 8, 2),
    Shape(32, 64, 4, 8, 2),
    Shape(32, 32, 4, 8, 1),
    Shape(128, 64, 4, 16, 2),
]


def microseconds(act: Callable[[], object]) -> float:
    """Median of many inside one CUDA graph, so that launching does not count."""
    graph = torch.cuda.CUDAGraph()
    act()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(20):
            act()
    return float(triton.testing.do_bench(graph.replay, warmup=2, rep=8, return_mode="median")) * 1000 / 20


def compile_one(tile: Tile) -> None:
    """Into Triton's cache, in a process of its own beside others."""
    x = torch.zeros(256, 3, 64, device="cuda", dtype=torch.bfloat16)
    stretches = torch.tensor([[0, 0, 1, 256]], dtype=torch.int32, device="cuda")
    cells = torch.zeros(1, tile.rows, tile.columns, dtype=x.dtype, device="cuda")
    rest = Plan(x, x, x, x, 0, SHAPES[0])
    multiply(Blocks(cells, stretches, x, x, x, rest, tile, 256, True), x)


def made(graph: Graph, tile: Tile, shape: Shape | None = None) -> Blocks:
    blocks = Blocks.of(graph.adjacency, tile, shape)
    assert blocks is not None
    return blocks


def show(title: str, rows: list[tuple[float, str]], most: int = 6) -> None:
    print(title, flush=True)
    rows.sort()
    for time, what in rows[:most]:
        print(f"  {time:6.2f} us  {what}", flush=True)


def study(folder: str) -> None:
    graph = build_graph(load_split(folder), "cuda")
    x = torch.randn(graph.n, 64, device="cuda")
    out = torch.empty_like(x)
    plain = Plan.of(graph.adjacency, Shape.of(len(graph.adjacency.columns) / graph.n, half=False))
    gathered = microseconds(lambda: hops.product(plain, x, out))
    print(f"{folder}: {graph.n} rows, {len(graph.adjacency.columns)} edges; gathering alone {gathered:.2f} us")
    timed = []
    for tile in TILES:
        blocks = made(graph, tile)
        parts = cut(blocks, x)
        for stretch in STRETCHES:
            blocks = made(graph, replace(tile, stretch=stretch))
            timed.append((microseconds(partial(multiply, blocks, parts)), blocks.tile))
    timed.sort(key=lambda row: row[0])
    show(
        "tiles alone, share 0.03, the best stretch of each:",
        [min((t, str(other)) for t, other in timed if replace(other, stretch=tile.stretch) == tile) for tile in TILES],
    )
    whole = []
    for tile, share, shape in itertools.product([tile for _, tile in timed[:2]], SHARES, SHAPES):
        blocks = made(graph, replace(tile, share=share), shape)
        parts = cut(blocks, x)
        time = microseconds(partial(product, blocks, x, parts, out, x, False))
        whole.append((time, blocks.tile, shape))
    whole.sort(key=lambda row: row[0])
    show("tiles and the rest, as inside a step:", [(time, f"{tile} {shape}") for time, tile, shape in whole], 10)
    best = made(graph, *whole[0][1:])
    parts = cut(best, x)
    for what, act in (
        ("the best of them without overlap", partial(product, replace(best, overlap=False), x, parts, out, x, False)),
        ("its cutting alone", partial(cut, best, x)),
        ("its tiles alone", partial(multiply, best, parts)),
    ):
        print(f"  {microseconds(act):6.2f} us  {what}")
    a = graph.adjacency
    exact = (
        torch.sparse_csr_tensor(a.offsets.long(), a.columns.long(), a.values.double(), (graph.n, graph.n)) @ x.double()
    )
    product(best, x, parts, out, None, True)
    print(
        f"  largest error {(out - exact).abs().max().item():.1e}, of the norm {(out - exact).norm() / exact.norm():.1e}",
        end="",
    )
    hops.product(plain, x, out)
    print(f"; gathering {(out - exact).abs().max().item():.1e}, {(out - exact).norm() / exact.norm():.1e}")


def main() -> None:
    with ProcessPoolExecutor(10, get_context("spawn")) as pool:
        list(pool.map(compile_one, TILES))
    for folder in sys.argv[1:]:
        study(folder)


if __name__ == "__main__":
    main()
