"""The device that training runs on: which one, and whether it still answers."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from sahcns.errors import DeviceError, SettingError


def pick_device(device: str) -> torch.device:
    """ "auto" is the GPU when there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise SettingError(f"device={device!r} is not a device; use auto, cpu, cuda or cuda:1") from None
    if chosen.type not in ("cpu", "cuda"):
        raise SettingError(f"device={device!r} is not one that training runs on; use auto, cpu, cuda or cuda:1")
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        seen = torch.cuda.device_count() or "no"
        raise SettingError(f"device={device!r}: torch sees {seen} GPU here; use device='cpu' or 'auto'")
    return chosen


@contextmanager
def answering(device: torch.device) -> Iterator[None]:
    """An error in the block after which the device does not answer any more is a `DeviceError`; others stay as they are."""
    try:
        yield
    except DeviceError:
        raise
    except Exception as error:
        fault = fault_of(device)
        if fault is None:
            raise
        raise DeviceError(
            f"the GPU does not answer ({fault}); what was finished is kept: run it again in a new process, and if this "
            "comes back, device='cpu' shows where it begins"
        ) from error


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
