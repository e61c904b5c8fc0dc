"""Every ranking test runs on the CPU, and on the GPU of a machine that has one."""

import pytest
import torch

DEVICES = [pytest.param("cpu"), *([pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)
