"""Runners in processes of their own, to be killed."""

import os
from multiprocessing.process import BaseProcess
from pathlib import Path

from sahcns.lab.grid.job import Job
from sahcns.lab.grid.run import Event, run_grid
from tests.lab.killing import die_at_write, forked

STARTED, EPOCHS = "started.txt", "epochs.txt"


def runner(jobs: list[Job], folder: Path, workers: int | None = 1, on: str = "here") -> BaseProcess:
    """A process that runs the grid."""
    return forked([__name__], _run, jobs, folder, workers, on)


def dying_runner(jobs: list[Job], folder: Path, at: int) -> BaseProcess:
    """One that is killed as it brings its `at`-th file to the disk."""
    return forked([__name__], _run_and_die, jobs, folder, at)


def started(folder: Path) -> list[str]:
    """Key of every training that was begun, by whomever."""
    path = folder / STARTED
    return path.read_text().split() if path.exists() else []


def epochs(folder: Path) -> int:
    """How many have been trained, by whomever."""
    path = folder / EPOCHS
    return path.stat().st_size if path.exists() else 0


def _run(jobs: list[Job], folder: Path, workers: int | None, on: str = "here") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    begun, passed = (os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT) for name in (STARTED, EPOCHS))

    def count(event: Event) -> None:
        if event.kind == "started":
            os.write(begun, f"{event.job.key}\n".encode())
        elif event.kind == "epoch":
            os.write(passed, b".")

    outcome = run_grid(jobs, folder, workers=workers, device="cpu", on=on, on_event=count)
    assert (len(outcome.results), outcome.failures) == (len(jobs), [])


def _run_and_die(jobs: list[Job], folder: Path, at: int) -> None:
    die_at_write(at)
    _run(jobs, folder, 1)
