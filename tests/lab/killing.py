"""Processes of the tests' own, to be waited for and to be killed."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

PATIENCE = 600  # seconds: on however busy a machine, only what hangs takes as long


def forked(preload: Sequence[str], target: Callable[..., None], *arguments: object) -> BaseProcess:
    """A process, forked from one that has imported the modules `preload`, so that it begins at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*preload, "sahcns.training", "torch._dynamo"])
    process = context.Process(target=target, args=arguments)
    process.start()
    return process


def ended(process: BaseProcess) -> int | None:
    """The exit code, when it has come to its end."""
    process.join(PATIENCE)
    return process.exitcode


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def children(parent: int | None, words: str = "") -> list[int]:
    """Processes that a process has started and that still run, those with `words` in their command line."""
    found = []
    for home in Path("/proc").glob("[0-9]*"):
        try:
            status, line = (home / "stat").read_text(), (home / "cmdline").read_bytes().decode()
        except OSError:
            continue
        if int(status.rpartition(")")[2].split()[1]) == parent and words in line:
            found.append(int(home.name))
    return found


def die_at_write(at: int) -> None:
    """Have this process killed as it brings its `at`-th piece of writing to the disk."""
    real, calls = os.fsync, list[Any]()

    def deadly(fd: Any) -> None:
        calls.append(fd)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        real(fd)

    os.fsync = deadly  # this process has nothing else to do
