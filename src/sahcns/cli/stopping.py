"""How a command is told to end."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sahcns.cli.console import tell


@contextmanager
def stopped_like_ctrl_c() -> Iterator[None]:
    """SIGTERM, by which schedulers and containers end a process, is Ctrl-C meanwhile: what is half-written is cleared."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@contextmanager
def nothing_lost(folder: Path, quiet: bool = False) -> Iterator[None]:
    """Whoever stops what may be run again is told that it then goes on."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            tell(f"what is finished is kept in {folder}; the same command goes on from there")
        raise
