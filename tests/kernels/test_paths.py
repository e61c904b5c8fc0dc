"""Which path a device gets."""

import pytest
import torch

from sahcns.errors import SettingError
from sahcns.kernels import build_graph, make_rng, resolve_path, with_path
from sahcns.rng import Rng
from tests.kernels.conftest import DEVICE
from tests.splits import random_split

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def test_a_cpu_gets_the_cpu_path_and_any_path_can_be_named() -> None:
    assert [resolve_path(CPU, path) for path in ("auto", "cpu", "reference")] == ["cpu", "cpu", "reference"]
    graph = build_graph(random_split(4, 6, each=2))
    assert (graph.path, type(graph).__name__) == ("cpu", "CpuGraph")
    assert (with_path(graph, "reference").path, with_path(graph, "reference").unseen) == ("reference", graph.unseen)


@pytest.mark.parametrize(
    ("device", "path", "named"), [(CPU, "refrence", "'reference'"), (CPU, "triton", "cpu"), (GPU, "cpu", "cuda")]
)
def test_a_path_that_cannot_be(device: torch.device, path: str, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(SettingError, match=f"kernels='{path}'.*{named}"):
        resolve_path(device, path)


@pytest.mark.parametrize(
    ("version", "enough"), [("3.2.0", False), ("2.3.1", False), ("3.3.0", True), ("4.0.0+git", True)]
)
def test_a_gpu_with_an_old_triton_gets_plain_torch(monkeypatch: pytest.MonkeyPatch, version: str, enough: bool) -> None:
    monkeypatch.setattr("triton.__version__", version)
    assert resolve_path(GPU) == ("triton" if enough else "reference")
    if not enough:
        with pytest.raises(SettingError, match=rf"triton-half.*{version}"):
            resolve_path(GPU, "triton-half")


def test_bits_in_one_launch_are_the_bits_of_every_stream() -> None:
    from sahcns.kernels.gpu.random import GpuRng

    ours, plain = GpuRng(5, "pools", DEVICE), Rng(5, "pools", "cpu")
    for _ in range(2):
        for shape in ((3,), (1100, 2), (0,)):
            assert torch.equal(ours.bits(*shape).cpu(), plain.bits(*shape))
        ours.advance()
        plain.advance()
    assert type(make_rng(5, "pools", CPU)) is Rng
