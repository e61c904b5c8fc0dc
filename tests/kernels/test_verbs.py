"""Which path a device gets."""

import pytest
import torch

from sahcns.errors import SettingError
from sahcns.kernels import verbs_for

CPU = torch.device("cpu")


def test_a_cpu_gets_the_cpu_path_and_any_path_can_be_named() -> None:
    assert verbs_for(CPU).name == "cpu"
    assert verbs_for(CPU, "cpu").name == "cpu"
    assert verbs_for(CPU, "reference").name == "reference"


def test_an_unknown_path_gets_the_nearest_one() -> None:
    with pytest.raises(SettingError, match="kernels='refrence' is not a path; did you mean 'reference'"):
        verbs_for(CPU, "refrence")


def test_a_gpu_path_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(SettingError, match="kernels='triton' runs on a GPU, and the device is cpu"):
        verbs_for(CPU, "triton")


def test_the_cpu_path_needs_a_cpu() -> None:
    with pytest.raises(SettingError, match="kernels='cpu' runs on a CPU, and the device is cuda; use kernels='auto'"):
        verbs_for(torch.device("cuda"), "cpu")
