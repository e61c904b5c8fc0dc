"""A grid of runs in a folder: each job once, whoever runs it, however often it is killed.

FOLDER/runs/KEY.json      finished; such a job is never run again
FOLDER/users/KEY.npz      test metrics of each user of that run
FOLDER/failed/KEY.json    failed; tried again by the next call
FOLDER/claims/KEY         somebody is at it
"""

import os
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sahcns.data.split import Split
from sahcns.errors import DeviceError, SettingError
from sahcns.lab.grid.claims import claim, sweep
from sahcns.lab.grid.failure import Failure, failure_path
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.result import Result, result_path

PATIENCE = 0.2  # seconds between looks at a job that another process has

Kind = Literal["skipped", "started", "epoch", "finished", "failed", "elsewhere"]


@dataclass(frozen=True)
class Event:
    """What happened to a job. `elsewhere`: another process is at it; its end will be told as if it were ours."""

    kind: Kind
    job: Job
    result: Result | None = None  # when skipped or finished
    entry: dict[str, Any] | None = None  # of the epoch: loss, seconds, validation if it looked
    error: str = ""  # when failed


OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class Call:
    """One call of `run_grid`, as all its workers know it."""

    folder: Path
    device: str
    name: str  # what failed in this call is not tried again in it
    until: float | None  # no job is begun later
    processes: int  # that work side by side; noted in each result, whose times are those of a machine that was shared

    def to_plain(self) -> dict[str, Any]:
        return {**self.__dict__, "folder": str(self.folder)}

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> "Call":
        return cls(**{**values, "folder": Path(values["folder"])})


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a grid came to: its results and its failures, both in the order of the jobs."""

    folder: Path
    results: list[Result]
    failures: list[Failure]

    def __repr__(self) -> str:
        return f"Outcome({str(self.folder)!r}, {len(self.results)} results, {len(self.failures)} failures)"


def run_grid(
    jobs: Iterable[Job],
    folder: str | os.PathLike[str],
    *,
    workers: int = 1,
    device: str = "auto",
    on_event: OnEvent | None = None,
    until: float | None = None,
) -> Outcome:
    """Run what is missing of `jobs` in `folder`; return when each has its result or its failure.

    One worker runs in this process, where compiled kernels are used again from job to job: the fastest way on a GPU.
    More are processes of their own, which share the cores, or one GPU. Any number of calls, in any number of processes,
    may work on one folder at the same time. A job that fails does not stop the rest, unless it leaves a GPU that does not
    answer any more: then one worker ends with a `DeviceError`, and of several that one is replaced. Ctrl-C leaves the
    folder in order. What failed in an earlier call comes last, so that one that is deadly does not bar the way for good.
    After `until`, in seconds as `time.time()` counts them, no job is begun, and the rest are left for another call.
    """
    from sahcns.kernels.verbs import verbs_for
    from sahcns.training.device import pick_device

    if workers < 1:
        raise SettingError(f"workers={workers} must be 1 or more")
    home = Path(folder)
    wanted = list({job.key: job for job in jobs}.values())
    where = pick_device(device)  # what no job could be run with is refused now
    for path in {job.kernels for job in wanted}:
        verbs_for(where, path)
    tell = on_event or (lambda event: None)
    sweep(home)
    missing = []
    for job in wanted:
        result = finished(job, home)
        if result is None:
            missing.append(job)
        else:
            tell(Event("skipped", job, result))
    missing.sort(key=lambda job: failure_path(home, job.key).exists())
    call = Call(home, device, secrets.token_hex(8), until, processes=max(1, min(workers, len(missing))))
    try:
        if call.processes == 1:
            work_off(missing, call, tell)
        else:
            from sahcns.lab.grid.processes import spread

            spread(missing, call, tell)
    finally:
        sweep(home)
    results = [found for job in wanted if (found := finished(job, home)) is not None]
    done = {result.key for result in results}
    failures = [Failure.load(home, job.key) for job in wanted if job.key not in done]
    return Outcome(home, results, [failure for failure in failures if failure is not None])


def work_off(jobs: Sequence[Job], call: Call, tell: OnEvent) -> None:
    """Take one job after the other; those that others are at are looked at again, until all are done or time is up."""
    splits: dict[str, Split] = {}
    told: set[str] = set()  # of jobs that are elsewhere
    waiting = list(jobs)
    while waiting:
        left = []
        for job in waiting:
            if late(call.until):
                return
            if not _settled(job, call, tell, splits, told):
                left.append(job)
        if len(left) == len(waiting):
            time.sleep(PATIENCE)
        waiting = left


def late(until: float | None) -> bool:
    return until is not None and time.time() >= until


def finished(job: Job, folder: Path) -> Result | None:
    """The job's result under the job's label, if it is there."""
    path = result_path(folder, job.key)
    return replace(Result.load(path), label=job.label) if path.exists() else None


def _settled(job: Job, call: Call, tell: OnEvent, splits: dict[str, Split], told: set[str]) -> bool:
    """Whether the job has come to its end, here or elsewhere; if nobody is at it, it is run."""
    with claim(call.folder, job.key) as mine:
        result = finished(job, call.folder)
        if result is not None:
            tell(Event("finished", job, result))
            return True
        if not mine:
            if job.key not in told:
                told.add(job.key)
                tell(Event("elsewhere", job))
            return False
        before = Failure.load(call.folder, job.key)
        if before is not None and before.call == call.name:  # another worker of this call tried it
            tell(Event("failed", job, error=before.error))
            return True
        tell(Event("started", job))
        try:
            if job.data not in splits:
                splits[job.data] = job.load()
            result = job.run(call.device, lambda entry: tell(Event("epoch", job, entry=entry)), splits[job.data])
        except Exception as error:  # whatever a sampler does: the others go on
            failure = Failure.of(job, error, call.name)
            failure.save(call.folder)
            tell(Event("failed", job, error=failure.error))
            if isinstance(error, DeviceError):  # every other would fail here too
                raise
        else:
            result = result.shared_by(call.processes).save(call.folder)
            failure_path(call.folder, job.key).unlink(missing_ok=True)
            tell(Event("finished", job, result))
    return True
