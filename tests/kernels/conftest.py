"""Every path of the verbs, on every device this machine has: a new one is tested by adding its name here."""

import os
from dataclasses import dataclass

import pytest
import torch

from sahcns.kernels import Verbs, verbs_for

INTERPRETED = ("triton", "triton-ordered") if os.environ.get("TRITON_INTERPRET") == "1" else ()  # else they need a GPU
ON_CPU = ("reference", "cpu", *INTERPRETED)
ON_GPU = ("reference", "triton", "triton-ordered")


@dataclass(frozen=True)
class Path:
    """One implementation on one device."""

    name: str
    device: str

    @property
    def verbs(self) -> Verbs:
        return verbs_for(torch.device(self.device), self.name)


PATHS = [pytest.param(Path(name, "cpu"), id=name) for name in ON_CPU]
if torch.cuda.is_available():
    PATHS += [pytest.param(Path(name, "cuda"), id=f"{name}-cuda", marks=pytest.mark.gpu) for name in ON_GPU]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Path:
    found = request.param
    assert isinstance(found, Path)
    return found
