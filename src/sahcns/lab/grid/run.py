"""A grid of runs in a folder: each job once, wherever it runs, however often it is killed.

FOLDER/runs/KEY.json      finished; such a job is never run again
FOLDER/users/KEY.npz      test metrics of each user of that run
FOLDER/failed/KEY.json    failed; tried again by the next call
FOLDER/claims/KEY         its lock: some call of `run_grid` has it
FOLDER/unfinished/KEY     checkpoints of its training, from which the next call goes on
"""

import contextlib
import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sahcns.lab.grid.job import Job
from sahcns.lab.grid.locks import lock, sweep
from sahcns.lab.grid.result import UNFINISHED, Failure, Result, failure_path, result_path
from sahcns.lab.places import HERE, place_named
from sahcns.lab.places.place import Place, Report, sigterm_as_ctrl_c

Kind = Literal["skipped", "started", "epoch", "finished", "failed", "elsewhere"]


@dataclass(frozen=True)
class Event:
    """What happened to a job. `elsewhere`: another process has it; its end is reported as if it were ours."""

    kind: Kind
    job: Job
    result: Result | None = None  # when skipped or finished
    entry: dict[str, Any] | None = None  # of the epoch: loss, seconds, validation if there was one
    error: str = ""  # when failed


OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class Outcome:
    """The results and the failures of a grid, both in the order of the jobs."""

    folder: Path
    results: list[Result] = field(repr=False)
    failures: list[Failure]


def run_grid(
    jobs: Iterable[Job],
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    device: str = "auto",
    on: str = HERE,
    on_event: OnEvent | None = None,
    until: float | None = None,
) -> Outcome:
    """Run what is missing of `jobs` in `folder`; return when each has its result or its failure.

    One worker runs in this process, where compiled kernels are used again from job to job: the fastest way on a GPU.
    More are processes of their own, which share the cores, or one GPU; `on` names another place, as `place_named` has it.
    Any number of calls, in any number of processes, may work on one folder at the same time. A job that fails does not
    stop the rest, unless it leaves a GPU that does not answer any more: then one worker ends with a `DeviceError`, and of
    several that one is replaced. A job whose process is lost is a failure; on a cluster, once it was lost several times.
    Ctrl-C and SIGTERM leave the folder in order. What failed in an earlier call comes last, so that one that is deadly
    does not bar the way for good. After `until`, in seconds as `time.time()` counts them, no job is begun, and the rest
    are left for another call.
    """
    home, tell = Path(folder), on_event or (lambda event: None)
    wanted = list({job.key: job for job in jobs}.values())
    sweep(home)
    done = {job.key: result for job in wanted if (result := stored_result(job, home)) is not None}
    missing = [job for job in wanted if job.key not in done]
    missing.sort(key=lambda job: failure_path(home, job.key).exists())
    with place_named(on, home, workers, device, len(missing)) as place:
        for kernels in {job.kernels for job in wanted}:
            place.check(kernels)  # refused before anything runs
        for job in wanted:
            if job.key in done:
                tell(Event("skipped", job, done[job.key]))
        try:
            _Grid(home, place, tell, until, deque(missing)).run()
        finally:
            sweep(home)
    results = [result for job in wanted if (result := stored_result(job, home)) is not None]
    left = {job.key for job in wanted} - {result.key for result in results}
    failures = (Failure.load(home, job.key) for job in wanted if job.key in left)
    return Outcome(home, results, [failure for failure in failures if failure is not None])


def stored_result(job: Job, folder: Path) -> Result | None:
    """The job's result under the job's label, if it is there."""
    path = result_path(folder, job.key)
    return replace(Result.load(path), label=job.label) if path.exists() else None


@dataclass
class _Grid:
    """A call at work: it locks each job as it is started, and writes what comes of it."""

    folder: Path
    place: Place
    tell: OnEvent
    until: float | None
    waiting: deque[Job]
    running: dict[str, tuple[Job, contextlib.ExitStack]] = field(default_factory=dict)  # with its lock
    elsewhere: set[str] = field(default_factory=set)  # told already
    lost: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        try:
            with sigterm_as_ctrl_c():
                while self.running or (self.waiting and not self.late):
                    job = self._next() if self.place.room else None
                    if job is not None:
                        self.place.start(job, self.folder / UNFINISHED / job.key)
                    elif self.running or self.waiting:
                        self.place.wait(self._hear)
        finally:
            self.place.close()  # before the locks are let go: what is at work writes checkpoints
            for _, locked in self.running.values():
                locked.close()

    @property
    def late(self) -> bool:
        return self.until is not None and time.time() >= self.until

    def _next(self) -> Job | None:
        """One that nobody has locked, locked now; those that others have are looked at again later."""
        for _ in range(0 if self.late else len(self.waiting)):
            job, locked = self.waiting.popleft(), contextlib.ExitStack()
            mine = locked.enter_context(lock(self.folder, job.key))
            result = stored_result(job, self.folder)
            if result is None and mine:
                self.running[job.key] = job, locked
                return job
            locked.close()
            if result is not None:
                self.tell(Event("finished", job, result))
                continue
            self.waiting.append(job)
            if job.key not in self.elsewhere:
                self.elsewhere.add(job.key)
                self.tell(Event("elsewhere", job))
        return None

    def _hear(self, report: Report) -> None:
        job, locked = self.running[report.key]
        if report.kind in ("started", "epoch"):
            self.tell(Event("started" if report.kind == "started" else "epoch", job, entry=report.value))
            return
        with locked:
            del self.running[job.key]
            if report.kind == "lost":
                self.lost[job.key] += 1
                if self.lost[job.key] < self.place.tries:
                    self.waiting.append(job)
                    return
            if report.kind == "done":
                result = report.value.shared_by(self.place.together).save(self.folder)
                failure_path(self.folder, job.key).unlink(missing_ok=True)
                event = Event("finished", job, result)
            else:
                fault = report.value
                Failure(job.key, job.label, fault.sentence, fault.traceback).save(self.folder)
                event = Event("failed", job, error=fault.sentence)
            if report.kind != "lost":  # which the next call goes on with
                shutil.rmtree(self.folder / UNFINISHED / job.key, ignore_errors=True)
            self.tell(event)
