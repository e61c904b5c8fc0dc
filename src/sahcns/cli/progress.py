"""Progress of a training run and of a grid: a live view on a terminal, lines in a log elsewhere."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

from sahcns.cli.console import err, tell

if TYPE_CHECKING:
    from sahcns import training
    from sahcns.lab.grid.job import Job
    from sahcns.lab.grid.run import Event
    from sahcns.training.train import EarlyStopping

WINDOW = 20  # epochs that the rate is taken over
PAUSE = 60  # seconds between two lines of a log

OnEpoch = Callable[[dict[str, Any]], None]


class Show(Protocol):
    """Draws the view: so much is done, of so much, and lines of text; `above` are lines that stay."""

    def __call__(self, done: int, total: int, *lines: str, above: Sequence[str] = ()) -> None: ...


@contextmanager
def live_view(first: str = "") -> Iterator[Show | None]:
    """A function that draws the view, which begins with one line; None where stderr is no terminal."""
    console = err()
    if not console.is_terminal:
        yield None
        return
    from rich.console import Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    with Live(Text(first), console=console, transient=True, refresh_per_second=5) as live:

        def show(done: int, total: int, *lines: str, above: Sequence[str] = ()) -> None:
            for line in above:
                console.print(line, markup=False, highlight=False, soft_wrap=True)
            beside, *below = (Text(line, no_wrap=True, overflow="ellipsis") for line in lines)
            row = Table.grid(padding=(0, 1))
            row.add_row(ProgressBar(total=total, completed=done, width=24), beside)
            live.update(Group(row, *below))

        yield show


def clock(seconds: float) -> str:
    """0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@dataclass
class TrainProgress:
    """What is known after each epoch: the rate, the best validation so far, and when the run will end."""

    protocol: "training.Protocol"
    stopping: "EarlyStopping"
    looks: bool = True  # at a validation part; without one the run has all its epochs
    epoch: int = -1
    loss: float = float("nan")
    last_look: int = -1  # epoch of the last validation
    times: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW + 1))

    def update(self, entry: dict[str, Any], now: float) -> None:
        """Take note of an epoch's history entry, which arrived at `now` seconds."""
        self.epoch, self.loss = entry["epoch"], entry["loss"]
        self.times.append(now)
        if "valid" in entry:
            self.last_look = self.epoch
            self.stopping.update(self.epoch, entry["valid"][self.protocol.monitor], {})

    @property
    def rate(self) -> float | None:
        """Epochs a second over the last few, validation included."""
        if len(self.times) < 2 or self.times[-1] <= self.times[0]:
            return None
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])

    @property
    def end(self) -> int:
        """The epoch at which the run stops if validation does not improve any more."""
        last = self.protocol.epochs - 1
        patience = (self.protocol.patience - self.stopping.since) * self.protocol.evaluate_every
        return min(last, self.last_look + patience) if self.looks else last

    def lines(self) -> tuple[str, str, str]:
        """Rate and loss; the best validation; when it ends. Each fits into 80 columns."""
        rate = "" if self.rate is None else f"{self.rate:.3g} epochs/s · "
        within = "" if self.rate is None else f" in {clock((self.end - self.epoch) / self.rate)}"
        best = "every pair is trained on, nothing is held out to look at"
        if self.looks:
            best = f"best {self.protocol.monitor} {self.stopping.best:.2%} at epoch {self.stopping.best_epoch}"
            best += f" · {self.stopping.since} of {self.protocol.patience} looks since"
        unless = "" if self.end == self.protocol.epochs - 1 else f" unless {self.protocol.monitor} improves"
        return f"{rate}loss {self.loss:.4f}", best, f"ends with epoch {self.end}{within}{unless}"


@contextmanager
def train_progress(protocol: "training.Protocol", quiet: bool = False, looks: bool = True) -> Iterator[OnEpoch | None]:
    """A function for `fit(on_epoch=…)`: a live view on a terminal, elsewhere a line a minute; None where it is `quiet`."""
    if quiet:
        yield None
        return
    from sahcns.training.train import EarlyStopping

    progress, last_line = TrainProgress(protocol, EarlyStopping(protocol.patience), looks), time.perf_counter()
    with live_view("epoch 0 …") as show:  # on a large set the first takes minutes

        def on_epoch(entry: dict[str, Any]) -> None:
            nonlocal last_line
            now = time.perf_counter()
            progress.update(entry, now)
            rate, *lines = progress.lines()
            if show is not None:
                show(progress.epoch + 1, progress.end + 1, f"epoch {progress.epoch} · {rate}", *lines)
            elif now - last_line >= PAUSE:
                last_line = now
                tell(f"epoch {progress.epoch}: {'; '.join(progress.lines())}")

        yield on_epoch


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
