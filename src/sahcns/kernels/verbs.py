"""What a path has to provide, and which path a device gets."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch
from torch import Tensor

from sahcns.aggregation import Aggregation
from sahcns.errors import SettingError, nearest
from sahcns.kernels.fused import Fused
from sahcns.rng import Rng

if TYPE_CHECKING:
    from sahcns.graph import Adjacency, Unseen


GPU_PATHS = ("triton", "triton-half", "triton-ordered")


class Read(NamedTuple):
    """R mixtures of M table rows at each of T layers: Σ_m weights[r, m, t] · layers[t][rows[r, m, t]]."""

    rows: Tensor  # [R, M, T] int64; [R, M, 1] reads the same row at every layer
    weights: Tensor | None  # [R, M, T], no gradient; None stands for M = 1 and weight 1


class Optimiser(Protocol):
    """What a training step asks of one."""

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    def step(self) -> object: ...


class Verbs(Fused, Protocol):
    """One implementation of the four verbs, and of what else differs between devices; a path is a subclass."""

    name: str

    def hops(self, adjacency: "Adjacency", x: Tensor, count: int) -> tuple[Tensor, ...]: ...

    def draw(self, unseen: "Unseen", users: Tensor, count: int, rng: Rng) -> Tensor: ...

    def match(
        self,
        layers: tuple[Tensor, ...],
        agg: Aggregation,
        n_users: int,
        users: Tensor,
        positives: Tensor,
        candidates: Tensor,
    ) -> tuple[Tensor, Tensor]: ...

    def mix(self, layers: tuple[Tensor, ...], *reads: Read) -> tuple[Tensor, ...]: ...

    def standing(self, scores: Tensor, own: Tensor) -> Tensor: ...

    def perturb(self, e: Tensor, length: float, rng: Rng) -> Tensor: ...

    def adam(self, parameters: Iterable[Tensor], lr: float, step: Tensor) -> Optimiser: ...


def verbs_for(device: torch.device, path: str = "auto") -> Verbs:
    """The fastest path for a device, or the one named."""
    from sahcns.kernels.cpu import CpuVerbs
    from sahcns.kernels.reference import ReferenceVerbs

    if path in GPU_PATHS or (path == "auto" and device.type == "cuda"):
        return _gpu_verbs(device, path)
    if path == "reference":
        return ReferenceVerbs()
    if path == "cpu" and device.type != "cpu":
        raise SettingError(f"kernels='cpu' runs on a CPU, and the device is {device.type}; use kernels='auto'")
    if path == "cpu" or (path == "auto" and device.type == "cpu"):
        return CpuVerbs()
    if path == "auto":
        return ReferenceVerbs()
    raise SettingError(f"kernels={path!r} is not a path; {nearest(path, ['auto', 'reference', 'cpu', *GPU_PATHS])}")


def _gpu_verbs(device: torch.device, path: str) -> Verbs:
    """Triton's kernels; plain torch where nobody asked for them by name and Triton is not installed, or too old."""
    if device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        raise SettingError(f"kernels={path!r} runs on a GPU, and the device is {device.type}; use kernels='auto'")
    try:
        import triton

        from sahcns.kernels.gpu import GpuVerbs
    except ImportError:
        lacking = "Triton, which is not installed"
    else:
        version = triton.__version__
        lacking = ""
        if tuple(map(int, version.split(".")[:2])) < (3, 3):  # the first with all that the kernels use
            lacking = f"Triton 3.3 or newer, which comes with torch 2.7, and this is {version}"
    if lacking and path == "auto":
        from sahcns.kernels.reference import ReferenceVerbs

        return ReferenceVerbs()
    if lacking:
        raise SettingError(f"kernels={path!r} needs {lacking}; use kernels='auto'")
    return GpuVerbs(half=path == "triton-half", ordered=path == "triton-ordered")
