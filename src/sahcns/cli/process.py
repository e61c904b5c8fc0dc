"""How the process of a command that trains, and those that it starts, treat memory and threads."""

import os
import sys

# What a process reads at its start, the number by which a running one is told, and the value in bytes.
MALLOC = (
    ("MALLOC_MMAP_THRESHOLD_", -3, 1 << 30),
    ("MALLOC_TRIM_THRESHOLD_", -1, (1 << 31) - 1),
    ("MALLOC_TOP_PAD_", -2, 1 << 26),
)


def let_threads_sleep() -> None:
    """Let torch's threads wait asleep: spinning, its default, is several times slower on a busy machine.

    Call before torch is imported; a policy in the environment is left as it is.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def tune_malloc() -> bool:
    """Let glibc keep freed memory for the next step of training; whether it does.

    By default it hands large blocks back to the system, which clears them anew at each step: about a tenth of an epoch of
    RNS on a CPU. What the environment says of it is left as it is, and so are other C libraries.
    """
    if any(name in os.environ for name, _, _ in MALLOC):
        return False
    import ctypes  # only by commands that train, so that the others start no slower

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return False
    for name, _, value in MALLOC:
        os.environ[name] = str(value)
    return all(mallopt(number, value) == 1 for _, number, value in MALLOC)
