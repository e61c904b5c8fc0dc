"""Progress of a grid: what is done, what runs, how long it will take; live on a terminal, line by line elsewhere."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from sahcns.cli.console import tell
from sahcns.cli.live import clock, live_view

if TYPE_CHECKING:
    from sahcns.lab.grid.job import Job
    from sahcns.lab.grid.run import Event


@dataclass
class GridProgress:
    """The state of each job after the events so far; `show` is called after each event."""

    workers: int = 1
    show: "Callable[[GridProgress, Event], None] | None" = None
    jobs: Sequence["Job"] = ()
    done: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    running: dict[str, str] = field(default_factory=dict)  # key → how far it is, in words
    best: dict[str, tuple[float, int]] = field(default_factory=dict)  # key → the monitored metric, and its epoch
    seconds: dict[tuple[str, ...], list[float]] = field(default_factory=lambda: defaultdict(list))  # of runs of a row

    def begin(self, jobs: Sequence["Job"]) -> None:
        self.jobs = jobs

    def update(self, event: "Event") -> None:
        key, job = event.job.key, event.job
        if event.kind == "started":
            self.running[key] = _name(job)
        elif event.kind == "epoch" and event.entry is not None and key in self.running:
            epoch, monitor = event.entry["epoch"], job.protocol["monitor"]
            value = event.entry.get("valid", {}).get(monitor)
            if value is not None and value >= self.best.get(key, (value, 0))[0]:
                self.best[key] = value, epoch
            best = " · best {} {:.2%} at epoch {}".format(monitor, *self.best[key]) if key in self.best else ""
            self.running[key] = f"{_name(job)} · epoch {epoch}{best}"
        elif event.kind in ("skipped", "finished", "failed"):
            self.running.pop(key, None)
            self.done.add(key)
            if event.kind == "failed":
                self.failed.add(key)
            elif event.result is not None:
                self.seconds[_row(job)].append(event.result.seconds["total"])
        self.elsewhere = (self.elsewhere | {key}) if event.kind == "elsewhere" else self.elsewhere - {key}
        if self.show is not None:
            self.show(self, event)

    def seconds_left(self) -> float | None:
        """By the mean of the runs of the same row, or of all where there is none yet."""
        every = [seconds for own in self.seconds.values() for seconds in own]
        left = [job for job in self.jobs if job.key not in self.done]
        if not every or not left:
            return None
        return sum(fmean(self.seconds.get(_row(job)) or every) for job in left) / min(self.workers, len(left))

    def __str__(self) -> str:
        """`12 of 60 runs, 1 failed, 9:30 left`."""
        parts = [f"{len(self.done)} of {len(self.jobs)} runs"]
        parts += [f"{len(self.failed)} failed"] if self.failed else []
        parts += [f"{len(self.elsewhere)} in other processes"] if self.elsewhere else []
        left = self.seconds_left()
        return ", ".join([*parts, *([f"{clock(left)} left"] if left is not None else [])])


@contextmanager
def grid_progress(workers: int = 1, quiet: bool = False) -> Iterator[GridProgress]:
    """A live view on a terminal, a line for each finished run elsewhere; its `begin` and `update` are for `compare`."""
    if quiet:
        yield GridProgress(workers)
        return
    with live_view() as show:

        def report(progress: GridProgress, event: "Event") -> None:
            if show is not None:
                failure = [_ending(event)] if event.kind == "failed" else []
                show(len(progress.done), len(progress.jobs), str(progress), *progress.running.values(), above=failure)
            elif event.kind in ("finished", "failed"):
                tell(f"{_ending(event)}; {progress}")

        yield GridProgress(workers, report)


def _ending(event: "Event") -> str:
    """`films lightgcn sahc seed 2020: recall@20 12.30% on validation at epoch 35, 12.1 s`."""
    if event.result is None:
        return f"{_name(event.job)} failed: {event.error}"
    monitor, result = event.job.protocol["monitor"], event.result
    value, seconds = result.metric(monitor, part="valid"), result.seconds["total"]
    return f"{_name(event.job)}: {monitor} {value:.2%} on validation at epoch {result.best_epoch}, {seconds:.1f} s"


def _name(job: "Job") -> str:
    return f"{job.data_name} {job.backbone['name']} {job.label} seed {job.seed}"


def _row(job: "Job") -> tuple[str, ...]:
    return job.fingerprint, job.backbone["name"], job.label
