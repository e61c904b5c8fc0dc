"""The generators of torch, numpy and Python, which no code of ours reads, but a user's own sampler or backbone may.

`torch.multinomial`, dropout and the start of `nn.Linear` draw from them. Left as they are, a run would depend on what was
run before it in the same process, and its seed would say nothing.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from sahcns.counter import stream_key


@contextmanager
def seeded_generators(seed: int, device: torch.device) -> Iterator[None]:
    """Within the block they follow from the seed; after it they stand where they stood before."""
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
