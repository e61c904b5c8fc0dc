"""How the process of a command, and those that it starts, treat the machine: memory, threads, signals."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sahcns.cli.console import tell

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


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Within, SIGTERM (of schedulers and containers) is treated as Ctrl-C, so that half-written files are cleared."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@contextmanager
def say_it_resumes(folder: Path, quiet: bool = False) -> Iterator[None]:
    """Ctrl-C within is answered by a sentence: run again, the command goes on from what is in `folder`."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            tell(f"what is finished is kept in {folder}; the same command goes on from there")
        raise
