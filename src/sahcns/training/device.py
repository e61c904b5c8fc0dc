"""What surrounds a run: its device, torch's global state, and the global generators of torch, numpy and Python."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import torch

from sahcns.counter import stream_key
from sahcns.errors import DeviceError, SettingError, TrainingError


def pick_device(device: str) -> torch.device:
    """ "auto" is the GPU when there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError):
        raise SettingError(f"device={device!r} is not a device; use auto, cpu, cuda or cuda:1") from None
    if chosen.type not in ("cpu", "cuda"):
        raise SettingError(f"device={device!r} is not one that training runs on; use auto, cpu, cuda or cuda:1")
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        seen = torch.cuda.device_count() or "no"
        raise SettingError(f"device={device!r}: torch sees {seen} GPU here; use device='cpu' or 'auto'")
    return chosen


@contextmanager
def answering(device: torch.device) -> Iterator[None]:
    """Name an error of the device: a `DeviceError` where it does not respond any more.

    Where its memory ran out it is a `TrainingError` that says what needs less; others stay as they are.
    """
    try:
        yield
    except DeviceError:
        raise
    except Exception as error:
        fault, wanted = fault_of(device), _wanted(error)
        if fault is not None:
            raise DeviceError(
                f"the GPU does not answer ({fault}); what was finished is kept: run it again in a new process, and if this "
                "comes back, device='cpu' shows where it begins"
            ) from error
        if wanted is not None:
            whose = "the GPU" if device.type == "cuda" else "this machine"
            raise TrainingError(
                f"{whose} has not enough memory{wanted}; a smaller batch, dim or pool needs less, and so do fewer workers"
            ) from error
        raise


def fault_of(device: torch.device) -> str | None:
    """What a GPU says that is dead to this process, as it would to every later call; None where it answers.

    One that is out of memory answers.
    """
    if device.type != "cuda":
        return None
    try:
        torch.cuda.synchronize(device)
    except Exception as error:
        return str(error).partition("\n")[0]  # the rest is advice on debugging kernels
    return None


def _wanted(error: Exception) -> str | None:
    """`: 20.00 GiB more were asked for`, as far as the error tells; None where it is of something else than memory."""
    said = str(error)
    if not isinstance(error, torch.OutOfMemoryError | MemoryError) and "can't allocate memory" not in said:
        return None
    amount = re.search(r"allocate ([\d.]+) ?([KMGT]iB|bytes)", said)
    if amount is None:
        return ""
    size = f"{float(amount[1]) / 2**30:.2f} GiB" if amount[2] == "bytes" else f"{amount[1]} {amount[2]}"
    return f": {size} more were asked for"


@contextmanager
def default_torch_state() -> Iterator[None]:
    """Within the block gradients are recorded and new tensors are made on the CPU, as torch starts.

    A caller's `no_grad` or default device, in a notebook say, would change or break a run.
    """
    elsewhere = torch.get_default_device().type != "cpu"
    with torch.inference_mode(False), torch.enable_grad(), torch.device("cpu") if elsewhere else nullcontext():
        yield


@contextmanager
def seeded_generators(seed: int, device: torch.device) -> Iterator[None]:
    """Within the block torch's, numpy's and Python's generators follow from the seed; after it they are as before.

    No code of ours reads them, but a user's own sampler or backbone may (`torch.multinomial`, dropout, `nn.Linear`), and
    a run must depend on its seed alone.
    """
    key = stream_key(seed, "global")
    cuda = device.type == "cuda"
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 (numpy's global one is what is meant)
    with torch.random.fork_rng(devices=[device] if cuda else []):
        torch.default_generator.manual_seed(key)
        if cuda:
            with torch.cuda.device(device):  # others are none of this run's business
                torch.cuda.manual_seed(key)
        random.seed(key)
        np.random.seed(key % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002
