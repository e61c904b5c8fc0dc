"""A grid of runs in a folder: each job once, whoever runs it, however often it is killed.

FOLDER/runs/KEY.json      finished; such a job is never run again
FOLDER/users/KEY.npz      test metrics of each user of that run
FOLDER/failed/KEY.json    failed; tried again by the next call
FOLDER/claims/KEY         its lock: some process works on it
FOLDER/unfinished/KEY     checkpoints of its training, from which the next call goes on
"""

import shutil
import sysconfig
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sahcns.data.split import Split
from sahcns.errors import DeviceError, SahcnsError
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.locks import lock
from sahcns.lab.grid.result import UNFINISHED, Failure, Result, failure_path, result_path

PATIENCE = 0.2  # seconds between looks at a job that another process has
NOT_THE_USERS = (f"{Path(__file__).parents[2]}/", *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))

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
class Call:
    """One call of `run_grid`, as all its workers know it."""

    folder: Path
    device: str
    name: str  # what failed in this call is not tried again in it
    until: float | None  # no job is begun later
    processes: int  # side by side; noted in each result, whose times are those of a shared machine


@dataclass(frozen=True)
class Outcome:
    """The results and the failures of a grid, both in the order of the jobs."""

    folder: Path
    results: list[Result] = field(repr=False)
    failures: list[Failure]


def run_jobs(jobs: Sequence[Job], call: Call, tell: OnEvent) -> None:
    """One job after the other; those that others have are looked at again, until all are done or time is up."""
    splits: dict[str, Split] = {}
    elsewhere: set[str] = set()
    waiting = list(jobs)
    while waiting:
        left = []
        for job in waiting:
            if late(call.until):
                return
            if not _try_job(job, call, tell, splits, elsewhere):
                left.append(job)
        if len(left) == len(waiting):
            time.sleep(PATIENCE)
        waiting = left


def late(until: float | None) -> bool:
    return until is not None and time.time() >= until


def stored_result(job: Job, folder: Path) -> Result | None:
    """The job's result under the job's label, if it is there."""
    path = result_path(folder, job.key)
    return replace(Result.load(path), label=job.label) if path.exists() else None


def one_sentence(error: BaseException) -> str:
    """Our own errors as they are; any other with its kind, and with the line of the user's file where there is one."""
    words = " ".join(str(error).split())
    if isinstance(error, SahcnsError):
        return words
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(NOT_THE_USERS)]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {words}{place}"


def _try_job(job: Job, call: Call, tell: OnEvent, splits: dict[str, Split], elsewhere: set[str]) -> bool:
    """Run the job if nobody else has it; whether it has come to its end, here or elsewhere."""
    with lock(call.folder, job.key) as mine:
        result = stored_result(job, call.folder)
        if result is not None:
            tell(Event("finished", job, result))
            return True
        if not mine:
            if job.key not in elsewhere:
                elsewhere.add(job.key)
                tell(Event("elsewhere", job))
            return False
        before = Failure.load(call.folder, job.key)
        if before is not None and before.call == call.name:  # another worker of this call tried it
            tell(Event("failed", job, error=before.error))
            return True
        tell(Event("started", job))
        unfinished = call.folder / UNFINISHED / job.key
        try:
            if job.data not in splits:
                splits[job.data] = job.load()
            result = job.run(
                call.device, lambda entry: tell(Event("epoch", job, entry=entry)), splits[job.data], unfinished
            )
        except Exception as error:  # whatever a sampler does: the others go on
            shutil.rmtree(unfinished, ignore_errors=True)
            where = "".join(traceback.format_exception(error))
            Failure(job.key, job.label, one_sentence(error), where, call.name).save(call.folder)
            tell(Event("failed", job, error=one_sentence(error)))
            if isinstance(error, DeviceError):  # every other would fail here too
                raise
        else:
            result = result.shared_by(call.processes).save(call.folder)
            failure_path(call.folder, job.key).unlink(missing_ok=True)
            shutil.rmtree(unfinished, ignore_errors=True)
            tell(Event("finished", job, result))
    return True
