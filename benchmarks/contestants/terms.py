"""What each contestant of `peers.py` is told, and the one line of JSON it answers with.

A contestant runs in whatever environment its library needs, so this file uses numpy and the standard library only.
"""

import hashlib
import json
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
LEARNING_RATE, L2 = 1e-3, 1e-4  # of every contestant


@dataclass(frozen=True)
class Terms:
    """The same for all but `variant`, which names the negatives or the path within a contestant's file."""

    variant: str
    folder: str  # a prepared set
    n_users: int
    n_items: int
    batch: int
    dim: int
    layers: int
    pool: int  # candidates of a hard negative
    epochs: int  # timed ones; one more runs before them
    threads: int
    device: str

    @classmethod
    def read(cls) -> "Terms":
        """From the command line, which is then cleared: a library may read it too."""
        text = sys.argv[1]
        del sys.argv[1:]
        return cls(**json.loads(text))

    def part(self, name: str) -> tuple[Int64, Int64]:
        """Users and items of "train", "valid" or "test"."""
        users, items = (np.load(Path(self.folder) / f"{name}.{side}.npy") for side in ("users", "items"))
        return users.astype(np.int64), items.astype(np.int64)


def digest(users: Int64, items: Int64, n_items: int) -> str:
    """Equal for equal pairs in any order."""
    return hashlib.sha256(np.sort(users * n_items + items).tobytes()).hexdigest()


def answer(seconds: list[float], losses: list[float], pairs: int, fingerprint: str, libraries: list[str]) -> None:
    """`seconds` and `losses` of each epoch with the warm-up first, `pairs` counted over one epoch."""
    import torch

    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024
    told = {
        "seconds": seconds,
        "losses": losses,
        "pairs": pairs,
        "digest": fingerprint,
        "threads": torch.get_num_threads(),
        "peak_mib": peak,
        "gpu_peak_mib": torch.cuda.max_memory_allocated() >> 20 if torch.cuda.is_available() else 0,
        "versions": {"python": sys.version.split()[0], **{name: version(name) for name in ("torch", *libraries)}},
    }
    print(json.dumps(told))
