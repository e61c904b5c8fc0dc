"""Runners in processes of their own, to be killed."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sahcns.studies.grid.job import Job
from sahcns.studies.grid.running import Event, run_grid

STARTED = "started.txt"


def runner(jobs: list[Job], folder: Path, workers: int = 1) -> BaseProcess:
    """A process that runs the grid; forked from one that has imported everything, so that it begins at once."""
    return _forked(_run, jobs, folder, workers)


def dying_runner(jobs: list[Job], folder: Path, at: int) -> BaseProcess:
    """One that is killed as it brings its `at`-th file to the disk."""
    return _forked(_run_and_die, jobs, folder, at)


def started(folder: Path) -> list[str]:
    """Key of every training that was begun, by whomever."""
    path = folder / STARTED
    return path.read_text().split() if path.exists() else []


def _forked(target: Callable[..., None], *arguments: object) -> BaseProcess:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.studies.grid.process", "sahcns.training", "torch._dynamo"])
    process = context.Process(target=target, args=arguments)
    process.start()
    return process


def _run(jobs: list[Job], folder: Path, workers: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / STARTED, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def count(event: Event) -> None:
        if event.kind == "started":
            os.write(handle, f"{event.job.key}\n".encode())

    outcome = run_grid(jobs, folder, workers=workers, device="cpu", on_event=count)
    assert (len(outcome.results), outcome.failures) == (len(jobs), [])


def _run_and_die(jobs: list[Job], folder: Path, at: int) -> None:
    real, calls = os.fsync, list[Any]()

    def deadly(fd: Any) -> None:
        calls.append(fd)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        real(fd)

    os.fsync = deadly  # this process has nothing else to do
    _run(jobs, folder, 1)
