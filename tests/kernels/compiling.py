"""Compile the Triton kernels for a GPU that need not be there: `python -m tests.kernels.compiling 90`.

A stand-in driver names the target, a launch ends when its kernel is compiled, and whole training steps are taken on the CPU.
So what is compiled is what that GPU would be asked for: the types, the sizes of tiles, the branches. Triton's interpreter
must be off, hence a process of its own. Prints one JSON object, of kernels called "module.function":

    compiled  [[kernel, bytes of shared memory], …]    kernels  {kernel: [kernels it calls], …}    refused  an error message
"""

import importlib
import json
import pkgutil
import sys
from dataclasses import replace
from typing import Any

import torch
import triton
from torch.utils._python_dispatch import TorchDispatchMode
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from sahcns.aggregation import Aggregation
from sahcns.backbones import NGCF, Backbone, LightGCN, SimGCL
from sahcns.graph import Batch, Graph
from sahcns.kernels import gpu
from sahcns.kernels.gpu.bns import outscored
from sahcns.kernels.gpu.divns import diversify
from sahcns.kernels.gpu.graph import GpuGraph
from sahcns.kernels.gpu.match import table
from sahcns.kernels.gpu.random import GpuRng
from sahcns.kernels.gpu.simgcl import extra_loss
from sahcns.objectives import BSL, Objective, SampledSoftmax
from sahcns.rng import Rng
from sahcns.samplers import AHNS, BNS, DENS, DNS, DNSMN, SAHC, DivNS, InBatch, MixGCF, Sampler, Shared
from sahcns.samplers.sahc import HCOnly, SAHCFixed, SAHCGlobal, SAOnly, WithoutMean
from tests.samplers.stepping import batch, step_of
from tests.splits import random_split


class StandIn:
    """What Triton asks of a driver before it compiles."""

    def __init__(self, capability: int) -> None:
        self.target = GPUTarget("cuda", capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


class Zeros(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What no kernel has written is 0: an item that exists, and a finite number."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        return made.zero_() if func.overloadpacket.__name__ in ("empty", "empty_like", "new_empty") else made


def name_of(kernel: Any) -> str:
    return f"{kernel.fn.__module__.rpartition('.')[2]}.{kernel.fn.__name__}"


def compile_only(compiled: dict[str, tuple[str, int]]) -> None:
    """From here on a launch compiles, and is noted by the hash of what came out."""
    run = JITFunction.run

    def instead(kernel: Any, *args: Any, grid: Any, warmup: bool, **sizes: Any) -> Any:
        made = run(kernel, *args, grid=grid, warmup=True, **sizes)
        compiled[made.hash] = name_of(kernel), made.metadata.shared
        return made

    JITFunction.run = instead


def kernels() -> dict[str, list[str]]:
    """Every function below @triton.jit, and which others it calls."""
    found = {}
    for module in pkgutil.iter_modules(gpu.__path__, f"{gpu.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, JITFunction) and value.fn.__module__ == module.name:
                inside = (value.fn.__globals__.get(name) for name in value.fn.__code__.co_names)
                found[name_of(value)] = [name_of(other) for other in inside if isinstance(other, JITFunction)]
    return found


def take(
    backbone: Backbone,
    sampler: Sampler,
    half: bool = False,
    dtype: torch.dtype = torch.float32,
    objective: Objective | None = None,
) -> None:
    """One training step, and the layers as a ranking sees them."""
    step = step_of(backbone, sampler, graph=graph_of(half, dtype), dtype=dtype, objective=objective)
    step.checked = False  # no item was really chosen
    step(*batch(step, torch.arange(192)))
    step.vectors(step.parameters)


def graph_of(half: bool = False, dtype: torch.dtype = torch.float32) -> Graph:
    """So many items that Adam's kernel takes the table."""
    graph = GpuGraph.of(random_split(40, 5000, each=5), dtype=dtype)
    return replace(graph, path="triton-half") if half else graph


def steps() -> None:
    """Every branch of every kernel, each as seldom as may be, and each at the width of the paper, d = 64, at least once."""
    take(LightGCN(depth=2), SAHC())
    for variant in (SAOnly(), HCOnly(), WithoutMean(), SAHCFixed(), SAHCGlobal()):
        take(LightGCN(depth=2), variant)
    take(LightGCN(depth=2), MixGCF())
    take(LightGCN(depth=2), DNSMN())
    take(LightGCN(depth=2), DENS())
    take(LightGCN(depth=2), DivNS())
    take(LightGCN(depth=2), DNS())
    take(LightGCN(depth=2), AHNS())
    take(LightGCN(depth=2), BNS())
    take(NGCF(depth=2, pool="sum"), SAHC())
    take(NGCF(depth=2, dim=16), DENS(schedule="warmup"), half=True)
    take(SimGCL(depth=3), BNS(pool=200))
    take(SimGCL(depth=1, dim=16), SAHC(), dtype=torch.float64)
    take(LightGCN(depth=1), InBatch(), objective=BSL())
    take(NGCF(depth=3), InBatch(pool=12, correct=True), objective=SampledSoftmax())  # as wide as tiles hold
    take(SimGCL(depth=2), Shared(pool=2), objective=BSL(similarity="dot"))


def parts() -> None:
    """Branches that no step above went through."""
    graph, ids = graph_of(), torch.arange(192)
    tables = tuple(torch.zeros(3, graph.n, 64))
    pools, joined = ids[:, None].expand(-1, 10).contiguous(), Aggregation("concat")
    graph.match(Batch(ids, ids, tables, joined), pools)
    outscored(table(tables), "concat", graph.n_users, ids % graph.n_users, pools)
    one_hop = SimGCL(depth=1, include_layer0=True)
    extra_loss(one_hop, {"ego": tables[0]}, graph, ids % graph.n_users, ids, Rng(0, "noise"), tables[:2])
    layers = graph_of(half=True).hops(torch.zeros(graph.n, 16, requires_grad=True), 2)
    torch.stack(layers).sum().backward()  # type: ignore[no-untyped-call]
    GpuRng(0, "choice").bits(100)
    dense = GpuGraph.of(random_split(100, 100, each=70))
    for width in (64, 128):
        layers = dense.hops(torch.zeros(dense.n, width, requires_grad=True), 2)
        torch.stack(layers).sum().backward()  # type: ignore[no-untyped-call]


def deal(longest: int, dim: int) -> None:
    """The end of DivNS's epoch for users with up to `longest` pairs."""
    hard, cache, queue = (torch.zeros(*shape, dtype=torch.int64) for shape in ((640,), (640, 4), (640,)))
    group = torch.zeros(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64), longest
    assert diversify(torch.zeros(50, dim), *group, hard, cache, queue, 512, Rng(0, "choice"))


@triton.jit
def _wrong(out, n):  # type: ignore[no-untyped-def]
    """Right for the interpreter, wrong for a compiler: a whole number becomes a fraction on the way."""
    total = 0
    for _ in range(n):
        total = total + 0.5  # type: ignore[assignment]
    triton.language.store(out, total)


def refused() -> str:
    try:
        _wrong[(1,)](torch.zeros(1), 3)
    except triton.CompilationError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    compiled: dict[str, tuple[str, int]] = {}
    driver.set_active(StandIn(int(sys.argv[1])))
    compile_only(compiled)
    with Zeros():  # type: ignore[no-untyped-call]
        steps()
        parts()
        deal(longest=128, dim=64)  # more cached items than dimensions
        deal(longest=3, dim=16)  # and not
    print(json.dumps({"compiled": list(compiled.values()), "kernels": kernels(), "refused": refused()}))
