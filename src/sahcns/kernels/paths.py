"""Which implementation a device gets.

| path | device | |
|---|---|---|
| reference | any | plain torch: `Graph` itself, the specification |
| cpu | CPU | `kernels/cpu.py` |
| triton | GPU | `kernels/gpu`, 32 bits |
| triton-half | GPU | gathers in 16 bits while training |
| triton-ordered | GPU | the same bits every time: no atomic adds |
| lean | any | plain torch on 8 bytes a pair: `kernels/lean.py` |
| triton-lean | GPU | the same with kernels: for sets that would not fit |
"""

import os
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Protocol

import torch
from torch import Tensor

from sahcns.data.split import Split
from sahcns.errors import SettingError, nearest
from sahcns.graph import Graph
from sahcns.kernels.lean import LeanGraph
from sahcns.rng import Rng

GPU_PATHS = ("triton", "triton-half", "triton-ordered", "triton-lean")
ORDINARY = 240  # bytes a pair, with tables of 64 columns (docs/how-far.md)


class Optimiser(Protocol):
    """What a training step asks of one."""

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    def step(self) -> object: ...

    def state(self) -> dict[str, Tensor]:
        """Everything that it keeps from step to step, as the live tensors."""
        ...


def build_graph(
    split: Split, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32, path: str = "auto"
) -> Graph:
    """A split's training graph on a device, with the operations of `path`; "auto" is the fastest that there is room for."""
    where, wanted = torch.device(device), path
    path = resolve_path(where, wanted)
    if wanted == "auto" and where.type == "cuda":
        room = torch.cuda.get_device_properties(where).total_memory
        if ORDINARY * len(split.train) > 0.9 * room:
            path = "triton-lean" if path == "triton" else "lean"
    if path in ("lean", "triton-lean"):
        return _lean_class(path).of(split, device, dtype, path)
    return replace(_graph_class(path).of(split, device, dtype), path=path)


def with_path(graph: Graph, path: str) -> Graph:
    """The same graph with the operations of another path."""
    path = resolve_path(graph.device, path)
    own = {entry.name: getattr(graph, entry.name) for entry in fields(Graph)}
    return _graph_class(path)(**{**own, "path": path})


def make_adam(graph: Graph, parameters: Iterable[Tensor], lr: float, step: Tensor) -> Optimiser:
    """Adam with its usual constants, for the graph's path; `step` is the trainer's own counter of steps taken."""
    if graph.path in GPU_PATHS:
        from sahcns.kernels.gpu.adam import Adam

        return Adam(parameters, lr, step)
    from sahcns.kernels.cpu import PlainAdam

    return PlainAdam(parameters, lr)


def make_rng(seed: int, stream: str, device: torch.device, step: Tensor | None = None) -> Rng:
    """A stream whose bits, the same on every device, take one launch on a GPU with Triton."""
    if device.type == "cuda" and not _missing_triton():
        from sahcns.kernels.gpu.random import GpuRng

        return GpuRng(seed, stream, device, step)
    return Rng(seed, stream, device, step)


def resolve_path(device: torch.device, path: str = "auto") -> str:
    """The path by its own name; one that the device cannot run is a `SettingError`."""
    if path == "auto":
        if device.type == "cuda":
            return "reference" if _missing_triton() else "triton"
        return "cpu" if device.type == "cpu" else "reference"
    if path in GPU_PATHS:
        if device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
            raise SettingError(f"kernels={path!r} runs on a GPU, and the device is {device.type}; use kernels='auto'")
        if missing := _missing_triton():
            raise SettingError(f"kernels={path!r} needs {missing}; use kernels='auto'")
    elif path == "cpu":
        if device.type != "cpu":
            raise SettingError(f"kernels='cpu' runs on a CPU, and the device is {device.type}; use kernels='auto'")
    elif path not in ("reference", "lean"):
        known = ["auto", "reference", "cpu", "lean", *GPU_PATHS]
        raise SettingError(f"kernels={path!r} is not a path; {nearest(path, known)}")
    return path


def _graph_class(path: str) -> type[Graph]:
    if path in GPU_PATHS:
        from sahcns.kernels.gpu import GpuGraph

        return GpuGraph
    from sahcns.kernels.cpu import CpuGraph

    return CpuGraph if path == "cpu" else Graph


def _lean_class(path: str) -> type[LeanGraph]:
    if path in GPU_PATHS:
        from sahcns.kernels.gpu.lean import GpuLeanGraph

        return GpuLeanGraph
    return LeanGraph


def _missing_triton() -> str:
    """What of Triton is lacking here, or nothing."""
    try:
        import triton
    except ImportError:
        return "Triton, which is not installed"
    version = triton.__version__
    if tuple(map(int, version.split(".")[:2])) < (3, 3):  # the first with all that the kernels use
        return f"Triton 3.3 or newer, which comes with torch 2.7, and this is {version}"
    return ""
