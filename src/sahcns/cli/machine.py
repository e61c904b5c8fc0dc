"""How the process of a command, and those that it starts, treat the machine that they run on."""

import os
import sys

# What a process reads at its start, the number by which a running one is told, and the value in bytes.
KEPT = (
    ("MALLOC_MMAP_THRESHOLD_", -3, 1 << 30),
    ("MALLOC_TRIM_THRESHOLD_", -1, (1 << 31) - 1),
    ("MALLOC_TOP_PAD_", -2, 1 << 26),
)


def wait_asleep() -> None:
    """Torch's threads wait for each other by spinning, which on a busy machine makes training several times slower.

    Call before torch is imported; a policy in the environment is left as it is.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def keep_memory() -> bool:
    """Let freed memory be used again at once; whether that could be had.

    glibc hands large blocks back to the system, which clears them anew for each step of training, for about a tenth of an
    epoch of RNS on a CPU. A process that trains needs them again; one that reads data would only hold more. What the
    environment says of it is left as it is, and so are other C libraries.
    """
    if any(name in os.environ for name, _, _ in KEPT):
        return False
    import ctypes  # only by commands that train, so that the others start no slower

    tell = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if tell is None:
        return False
    for name, _, value in KEPT:
        os.environ[name] = str(value)
    return all(tell(number, value) == 1 for _, number, value in KEPT)
