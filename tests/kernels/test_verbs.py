"""Which path a device gets."""

import pytest
import torch

from sahcns.errors import SettingError
from sahcns.kernels import Verbs, verbs_for
from sahcns.kernels.cpu import CpuVerbs
from sahcns.kernels.fused import Fused
from sahcns.kernels.gpu import GpuVerbs
from sahcns.kernels.reference import ReferenceVerbs

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


@pytest.mark.parametrize(
    ("version", "enough"), [("3.2.0", False), ("2.3.1", False), ("3.3.0", True), ("4.0.0+git", True)]
)
def test_a_gpu_with_an_old_triton_gets_plain_torch(monkeypatch: pytest.MonkeyPatch, version: str, enough: bool) -> None:
    monkeypatch.setattr("triton.__version__", version)
    assert verbs_for(torch.device("cuda")).name == ("triton" if enough else "reference")
    if not enough:
        sentence = f"needs Triton 3.3 or newer, which comes with torch 2.7, and this is {version}; use kernels='auto'"
        with pytest.raises(SettingError, match=f"^kernels='triton-half' {sentence}$"):
            verbs_for(torch.device("cuda"), "triton-half")


def test_the_cpu_path_needs_a_cpu() -> None:
    with pytest.raises(SettingError, match="kernels='cpu' runs on a CPU, and the device is cuda; use kernels='auto'"):
        verbs_for(torch.device("cuda"), "cpu")


def verbs_of(path: type) -> set[str]:
    return {name for name, value in vars(path).items() if callable(value) and not name.startswith("_")}


@pytest.mark.parametrize("path", [ReferenceVerbs, CpuVerbs, GpuVerbs])
def test_a_path_has_no_verb_that_nobody_would_ask_for(path: type) -> None:
    assert verbs_of(path) <= verbs_of(Verbs) | verbs_of(Fused)
    assert "hops" in verbs_of(path)


def test_every_fused_verb_is_there_on_a_gpu_and_none_in_the_reference() -> None:
    assert verbs_of(Fused) <= verbs_of(GpuVerbs)
    assert not verbs_of(Fused) & verbs_of(ReferenceVerbs)
    assert "calibrated" in verbs_of(Fused)
