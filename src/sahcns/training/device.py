"""The device that training runs on: which one, whether it still answers, and what to do where its memory ran out."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

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
    """An error in the block after which the device does not answer any more is a `DeviceError`.

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
