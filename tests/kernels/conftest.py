"""Every path on every device this machine has: a new one is tested by adding its name here."""

import os
from dataclasses import dataclass

import pytest
import torch

from sahcns.data.split import Split
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from tests.splits import random_split, without_repeats

INTERPRETED = (
    ("triton", "triton-ordered", "triton-lean") if os.environ.get("TRITON_INTERPRET") == "1" else ()
)  # else they need a GPU
ON_CPU = ("reference", "cpu", "lean", *INTERPRETED)
ON_GPU = ("reference", "triton", "triton-ordered", "triton-lean")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Path:
    """One implementation on one device."""

    name: str
    device: str

    def graph(self, split: Split | None = None, dtype: torch.dtype = torch.float32) -> Graph:
        split = split or random_split(4, 6, each=2)
        return build_graph(without_repeats(split) if self.lean else split, self.device, dtype, self.name)

    @property
    def lean(self) -> bool:
        """Whether it knows a pair once, and draws uniformly."""
        return "lean" in self.name


PATHS = [pytest.param(Path(name, "cpu"), id=name) for name in ON_CPU]
if torch.cuda.is_available():
    PATHS += [pytest.param(Path(name, "cuda"), id=f"{name}-cuda", marks=pytest.mark.gpu) for name in ON_GPU]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Path:
    found = request.param
    assert isinstance(found, Path)
    return found
