"""What a caller has set for torch that would change or break a run: a notebook's `no_grad`, its default device.

Our code says of each tensor where it lies, unless on the CPU, and whether gradients are wanted only where they are not.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch


@contextmanager
def as_torch_starts() -> Iterator[None]:
    """Within the block gradients are recorded and new tensors are made on the CPU, whatever holds around it."""
    elsewhere = torch.get_default_device().type != "cpu"
    with torch.inference_mode(False), torch.enable_grad(), torch.device("cpu") if elsewhere else nullcontext():
        yield
