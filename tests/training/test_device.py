"""Whether a GPU still answers after an error, and where memory ran out: training says so in a sentence."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

from sahcns.backbones import MF
from sahcns.errors import DeviceError, TrainingError
from sahcns.model import fit
from sahcns.samplers import Matching, Mixture
from sahcns.training import Protocol, device
from sahcns.training.device import answering, fault_of
from tests.splits import random_split
from tests.training.spying import Answering

SAYS = "CUDA error: device-side assert triggered"
SENTENCE = (
    f"the GPU does not answer ({SAYS}); what was finished is kept: run it again in a new process, and if this comes back, "
    "device='cpu' shows where it begins"
)
GPU, CPU = torch.device("cuda:1"), torch.device("cpu")


def says(*words: str) -> Callable[[torch.device], None]:
    """What asking a GPU comes to."""

    def synchronize(device: torch.device) -> None:
        assert device == GPU
        if words:
            raise RuntimeError(*words)

    return synchronize


def test_a_gpu_is_asked_and_a_cpu_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", says(f"{SAYS}\nCompile with `TORCH_USE_CUDA_DSA`"))
    assert fault_of(GPU) == SAYS
    assert fault_of(CPU) is None
    monkeypatch.setattr(torch.cuda, "synchronize", says())
    assert fault_of(GPU) is None


def test_an_error_that_leaves_a_dead_gpu_behind_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", says(SAYS))
    with pytest.raises(DeviceError) as told, answering(GPU):
        raise IndexError("row 7")
    assert str(told.value) == SENTENCE
    assert isinstance(told.value.__cause__, IndexError)
    with pytest.raises(DeviceError) as again, answering(GPU):
        raise told.value
    assert again.value is told.value
    with pytest.raises(KeyboardInterrupt), answering(GPU):
        raise KeyboardInterrupt


def test_any_other_error_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", says())
    with pytest.raises(RuntimeError, match=r"^mat1 and mat2"), answering(GPU):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")


LESS = "a smaller batch, dim or pool needs less, and so do fewer workers"


@pytest.mark.parametrize(
    ("where", "error", "sentence"),
    [
        (
            GPU,
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of …"),
            f"the GPU has not enough memory: 20.00 GiB more were asked for; {LESS}",
        ),
        (
            CPU,
            RuntimeError(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate 5368709120 bytes. Error code 12"
            ),
            f"this machine has not enough memory: 5.00 GiB more were asked for; {LESS}",
        ),
        (
            CPU,
            MemoryError("Unable to allocate 2.98 GiB for an array with shape (20000, 20000)"),
            f"this machine has not enough memory: 2.98 GiB more were asked for; {LESS}",
        ),
        (CPU, MemoryError(), f"this machine has not enough memory; {LESS}"),
    ],
)
def test_memory_that_ran_out(
    monkeypatch: pytest.MonkeyPatch, where: torch.device, error: Exception, sentence: str
) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", says())
    with pytest.raises(TrainingError) as told, answering(where):
        raise error
    assert str(told.value) == sentence
    assert told.value.__cause__ is error


@pytest.mark.parametrize(("fault", "kind", "sentence"), [(SAYS, DeviceError, SENTENCE), (None, RuntimeError, "broken")])
def test_training_says_it(
    monkeypatch: pytest.MonkeyPatch, fault: str | None, kind: type[Exception], sentence: str
) -> None:
    def broken(match: Matching) -> Mixture:
        raise RuntimeError("broken")

    monkeypatch.setattr(device, "fault_of", lambda device: fault)
    with pytest.raises(kind, match=f"^{re.escape(sentence)}$"):
        fit(random_split(10, 20, each=5), MF(dim=4), Answering(4, broken), protocol=Protocol(epochs=1), device="cpu")


# In a process of its own, which is of no use afterwards.
KILLING = """
import torch
from sahcns.backbones import LightGCN
from sahcns.errors import DeviceError
from sahcns.model import fit
from sahcns.training import Protocol
from sahcns.training.device import fault_of
from tests.splits import random_split
from tests.training.spying import Answering

gpu, split, looks = torch.device("cuda"), random_split(60, 80, each=9), []
try:
    torch.empty(1 << 50, device=gpu)
except torch.OutOfMemoryError:
    print("out of memory:", fault_of(gpu))

def beyond(match):
    at = (match.epoch == 1).long() << 20  # known to the device alone, so that replayed steps have it too
    return match.pick(match.candidates.new_zeros(1 << 10)[at.expand(len(match.users))])

try:
    protocol = Protocol(epochs=5, batch=32, evaluate_every=1)
    fit(split, LightGCN(dim=8), Answering(4, beyond), protocol=protocol, device="cuda", on_epoch=looks.append)
except DeviceError as error:
    print(len(looks), "epoch:", error)
print("now:", fault_of(gpu))
"""

if torch.cuda.is_available():

    @pytest.mark.gpu
    def test_a_gpu_that_really_died() -> None:
        """An index beyond a tensor's end ends the context for good; memory that ran out does not."""
        done = subprocess.run([sys.executable, "-u", "-c", KILLING], capture_output=True, text=True, check=False)
        assert done.stdout.splitlines() == ["out of memory: None", f"1 epoch: {SENTENCE}", f"now: {SAYS}"], done.stderr
