"""What is shown of a grid and of a search in progress: a bar on a terminal, a line for each end elsewhere."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sahcns.cli.console import tell

if TYPE_CHECKING:
    from sahcns.lab.grid.job import Job
    from sahcns.lab.grid.run import Event
    from sahcns.lab.tune.tune import SearchProgress
    from sahcns.training.progress import Bar

ENDED = ("skipped", "finished", "failed")


@dataclass
class GridProgress:
    """The state of each job after the events so far; without a bar it is only kept."""

    bar: "Bar | None" = None
    jobs: Sequence["Job"] = ()
    state: dict[str, str] = field(default_factory=dict)  # key → the last kind of event
    running: dict[str, str] = field(default_factory=dict)  # key → how far it is, in words
    best: dict[str, tuple[float, int]] = field(default_factory=dict)  # key → the monitored metric, and its epoch

    def begin(self, jobs: Sequence["Job"]) -> None:
        self.jobs = jobs

    def update(self, event: "Event") -> None:
        job, entry = event.job, event.entry
        if event.kind == "epoch" and entry is not None:
            epoch, monitor = entry["epoch"], job.protocol["monitor"]
            if monitor in entry.get("valid", {}):
                self.best[job.key] = max(self.best.get(job.key, (0.0, 0)), (entry["valid"][monitor], epoch))
            best = " · best {} {:.2%} at epoch {}".format(monitor, *self.best[job.key]) if job.key in self.best else ""
            self.running[job.key] = f"{_name(job)} · epoch {epoch}{best}"
        elif event.kind == "started":
            self.running[job.key] = _name(job)
        else:
            self.running.pop(job.key, None)
        self.state[job.key] = event.kind
        if self.bar is None:
            return
        states = [*self.state.values()]
        ran, skipped = states.count("finished") + states.count("failed"), states.count("skipped")
        self.bar.show(ran, len(self.jobs) - skipped, str(self), *self.running.values())
        if event.kind == "failed" or (event.kind == "finished" and not self.bar.console.is_terminal):
            self.bar.say(f"{_ending(event)}; {self}{self.bar.left}")

    def __str__(self) -> str:
        """`12 of 60 runs, 1 failed`."""
        states = [*self.state.values()]
        others = (("failed", "failed"), ("elsewhere", "in other processes"))
        counts = [f"{states.count(kind)} {words}" for kind, words in others if kind in states]
        return ", ".join([f"{sum(map(states.count, ENDED))} of {len(self.jobs)} runs", *counts])


@contextmanager
def grid_progress(quiet: bool = False) -> Iterator[GridProgress]:
    """Its `begin` and `update` are for `compare`."""
    if quiet:
        yield GridProgress()
        return
    from sahcns.training.progress import bar

    with bar() as shown:
        yield GridProgress(shown)


def _ending(event: "Event") -> str:
    """`films lightgcn sahc seed 2020: recall@20 12.30% on validation at epoch 35, 12.1 s`."""
    if event.result is None:
        return f"{_name(event.job)} failed: {event.error}"
    monitor, result = event.job.protocol["monitor"], event.result
    value, seconds = result.metric(monitor, part="valid"), result.seconds["total"]
    return f"{_name(event.job)}: {monitor} {value:.2%} on validation at epoch {result.best_epoch}, {seconds:.1f} s"


def _name(job: "Job") -> str:
    return f"{job.data_name} {job.backbone['name']} {job.label} seed {job.seed}"


@contextmanager
def tune_progress(lines: Sequence[str], quiet: bool = False) -> "Iterator[Callable[[SearchProgress], None] | None]":
    """A function for `tune(watch=…)`, which says `lines` when the search begins; None if quiet."""
    if quiet:
        yield None
        return
    from sahcns.training.progress import bar

    unsaid = [*lines]
    with bar() as shown:

        def watch(progress: "SearchProgress") -> None:
            while unsaid:
                shown.say(unsaid.pop(0))
            search = progress.search
            done, total = (sum(map(count, search.samplers)) for count in (search.count_ended, search.wanted))
            words = search_words(progress)
            shown.show(done, total, f"{done} of {total} trials", *words)
            if progress.trial is not None and not shown.console.is_terminal:
                shown.say("; ".join([*words, f"{done} of {total} trials"]) + shown.left)

        yield watch


def search_words(progress: "SearchProgress") -> list[str]:
    """How far the sampler is and what its trial came to, or what is being tried; its best."""
    from sahcns.lab.tune.space import short

    search, trial, name = progress.search, progress.trial, progress.sampler or progress.search.samplers[0]
    ended, wanted, best = search.count_ended(name), search.wanted(name), search.best(name)
    if trial is not None:
        result = f"failed: {trial.error}" if trial.error else trial.state
        if trial.value is not None:
            cut = ", then cut off" if trial.state == "pruned" else ""
            result = f"{search.monitor} {trial.value:.2%} at epoch {trial.epoch}{cut}"
        words = [f"{name} {ended} of {wanted}{f': {trial.label}' if trial.point else ''}: {result}"]
    else:
        now = ", ".join(f"{key}={short(value)}" for key, value in progress.point.items()) or "defaults"
        at = "" if progress.entry is None else f" · epoch {progress.entry['epoch']}"
        words = [f"{name} {min(ended + 1, wanted)} of {wanted}: {now}{at}"]
    return [*words, *([f"best {best.value:.2%} with {best.label}"] if best is not None and best.point else [])]


@contextmanager
def say_it_resumes(folder: Path) -> Iterator[None]:
    """Ctrl-C within is answered by a sentence: run again, the command goes on from what is in `folder`.

    What samplers print meanwhile, and Ray, goes to stderr: standard output may be JSON.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        if folder.exists():
            tell(f"what is finished is kept in {folder}; the same command goes on from there")
        raise
