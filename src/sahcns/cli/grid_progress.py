"""Where a grid stands: what is done, what runs, how long it will take; live on a terminal, line by line elsewhere."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from sahcns.cli.console import err, tell
from sahcns.cli.train_progress import clock

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sahcns.lab.grid.job import Job
    from sahcns.lab.grid.run import Event


@dataclass
class Running:
    """A job in progress."""

    job: "Job"
    began: float
    epoch: int = -1
    best: float | None = None  # of the monitored metric on validation
    best_epoch: int = -1

    def __str__(self) -> str:
        told = "" if self.epoch < 0 else f" · epoch {self.epoch}"
        if self.best is not None:
            told += f" · best {self.job.protocol['monitor']} {self.best:.2%} at epoch {self.best_epoch}"
        return _name(self.job) + told


@dataclass
class GridStanding:
    """What is known after each event, and when all will be done by the runs so far."""

    jobs: Sequence["Job"]
    workers: int = 1
    ended: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    running: dict[str, Running] = field(default_factory=dict)
    took: dict[tuple[str, ...], list[float]] = field(default_factory=lambda: defaultdict(list))

    def update(self, event: "Event", now: float) -> None:
        key, job = event.job.key, event.job
        if event.kind == "started":
            self.running[key] = Running(job, now)
            self.elsewhere.discard(key)
        elif event.kind == "elsewhere":
            self.elsewhere.add(key)
        elif event.kind == "epoch" and event.entry is not None and key in self.running:
            run = self.running[key]
            run.epoch = event.entry["epoch"]
            value = event.entry.get("valid", {}).get(job.protocol["monitor"])
            if value is not None and (run.best is None or value >= run.best):
                run.best, run.best_epoch = value, run.epoch
        elif event.kind in ("skipped", "finished", "failed"):
            self.running.pop(key, None)
            self.elsewhere.discard(key)
            self.ended.add(key)
            if event.kind == "failed":
                self.failed.add(key)
            elif event.result is not None:
                for alike in _alike(job):
                    self.took[alike].append(event.result.seconds["total"])

    def seconds(self, job: "Job") -> float | None:
        """What such a job takes: the mean of the same row, else of the same backbone and set, else of all."""
        return next((fmean(found) for alike in _alike(job) if (found := self.took.get(alike))), None)

    def left(self, now: float) -> float | None:
        """Seconds until all is done."""
        if not self.took:
            return None
        total = 0.0
        for job in self.jobs:
            if job.key not in self.ended:
                gone = now - self.running[job.key].began if job.key in self.running else 0.0
                total += max((self.seconds(job) or 0.0) - gone, 0.0)
        return total / max(1, min(self.workers, len(self.jobs) - len(self.ended)))

    def line(self, now: float) -> str:
        """`12 of 60 runs, 1 failed, 9:30 left`."""
        parts = [f"{len(self.ended)} of {len(self.jobs)} runs"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if self.elsewhere:
            parts.append(f"{len(self.elsewhere)} in other processes")
        left = self.left(now)
        if left is not None and len(self.ended) < len(self.jobs):
            parts.append(f"{clock(left)} left")
        return ", ".join(parts)


@contextmanager
def grid_progress(
    jobs: Sequence["Job"], workers: int = 1, quiet: bool = False
) -> Iterator["Callable[[Event], None] | None"]:
    """A function for `run_grid(on_event=…)`: a live view on a terminal, a line for each finished run elsewhere."""
    standing, console = GridStanding(jobs, workers), err()
    if quiet:
        yield None
        return
    if not console.is_terminal:

        def said(event: "Event") -> None:
            now = time.monotonic()
            standing.update(event, now)
            if event.kind in ("finished", "failed"):
                tell(f"{_ended(event)}; {standing.line(now)}")

        yield said
        return
    from rich.live import Live

    with Live(console=console, transient=True, refresh_per_second=5) as live:

        def seen(event: "Event") -> None:
            now = time.monotonic()
            standing.update(event, now)
            if event.kind == "failed":
                live.console.print(_ended(event), markup=False, highlight=False)
            live.update(_view(standing, now))

        yield seen


def _view(standing: GridStanding, now: float) -> "RenderableType":
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    first = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=len(standing.jobs), completed=len(standing.ended), width=24)
    first.add_row(bar, Text(standing.line(now)))
    runs = [Text(str(run), no_wrap=True, overflow="ellipsis") for run in standing.running.values()]
    return Group(first, *runs)


def _ended(event: "Event") -> str:
    """`films lightgcn sahc seed 2020: recall@20 12.30% on validation at epoch 35, 12.1 s`."""
    if event.result is None:
        return f"{_name(event.job)} failed: {event.error}"
    monitor, result = event.job.protocol["monitor"], event.result
    value = result.metric(monitor, part="valid")
    told = f"{monitor} {value:.2%} on validation at epoch {result.best_epoch}, {result.seconds['total']:.1f} s"
    return f"{_name(event.job)}: {told}"


def _name(job: "Job") -> str:
    return f"{job.data_name} {job.backbone['name']} {job.label} seed {job.seed}"


def _alike(job: "Job") -> list[tuple[str, ...]]:
    return [(job.fingerprint, job.backbone["name"], job.label), (job.fingerprint, job.backbone["name"]), ()]
