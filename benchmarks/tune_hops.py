"""Time the sparse product on a GPU over tile shapes: how `kernels/gpu/hops.py` got its sizes.

python benchmarks/tune_hops.py PREPARED [PREPARED …]
"""

import itertools
import sys

import torch
import triton

from sahcns.data import load_split
from sahcns.kernels import build_graph
from sahcns.kernels.gpu.hops import Plan, Shape, product

SHAPES = [
    Shape(long, long_tile, rows, short_tile, warps)
    for long, long_tile, (rows, short_tile), warps in itertools.product(
        (64, 128), (64, 128, 256), ((4, 16), (8, 8), (8, 16), (16, 8)), (2, 4)
    )
    # registers: at most 128 floats a thread in either tile, and no tile so small that warps repeat each other's loads
    if 32 <= long_tile * 64 // (32 * warps) <= 128 and 16 <= rows * short_tile * 64 // (32 * warps) <= 128
]


def microseconds(plan: Plan, x: torch.Tensor, out: torch.Tensor) -> float:
    """Median of many products inside one CUDA graph, so that launching does not count."""
    graph = torch.cuda.CUDAGraph()
    product(plan, x, out)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(20):
            product(plan, x, out)
    return float(triton.testing.do_bench(graph.replay, warmup=2, rep=8, return_mode="median")) * 1000 / 20


def main() -> None:
    for folder in sys.argv[1:]:
        graph = build_graph(load_split(folder), "cuda")
        x = torch.randn(graph.n, 64, device="cuda")
        out = torch.empty_like(x)
        plain = torch.sparse_csr_tensor(
            graph.adjacency.offsets, graph.adjacency.columns, graph.adjacency.values, (graph.n, graph.n)
        )
        library = float(triton.testing.do_bench(lambda a=plain, b=x: a @ b, return_mode="median")) * 1000
        print(f"{folder}: {graph.n} rows, {len(graph.adjacency.columns)} edges; cuSPARSE {library:.1f} us")
        for source in (x, x.half()):
            timed = [(microseconds(Plan.of(graph.adjacency, shape), source, out), shape) for shape in SHAPES]
            timed.sort(key=lambda row: row[0])
            for time, shape in [*timed[:5], timed[-1]]:
                print(f"  {source.dtype} {time:6.1f} us  {shape}")


if __name__ == "__main__":
    main()
