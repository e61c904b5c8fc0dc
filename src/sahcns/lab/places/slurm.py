"""Slurm: each task is a job of its own, which submitit hands in and follows.

submitit itself needs a folder that the nodes see: it is in the folder of the results, so both are on the shared disk, and so
are the prepared sets and the user's own files. Only the process that started the tasks holds locks. A job whose starter was
killed ends at its next epoch, once another has cleared its folder.
"""

import contextlib
import json
import os
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from sahcns.errors import SahcnsError, SettingError
from sahcns.lab.grid.locks import lock
from sahcns.lab.places.place import Fault, Hear, Place, Report, Task, attempt

POLL = 1.0  # seconds between looks at the files of the jobs
DAY = 24 * 60  # minutes that a job may take, unless `timeout_min` says otherwise


class Slurm(Place):
    """At most `workers` jobs at once, waiting or running, otherwise all; one whose node was lost is handed in again."""

    tries = 3

    def __init__(self, parameters: str, folder: Path, workers: int | None, device: str, count: int) -> None:
        try:
            import submitit
        except ImportError:
            raise SahcnsError(
                "on='slurm' needs submitit, which is not installed; pip install 'sahcns[slurm]'"
            ) from None
        given = {"cluster": "slurm", "name": "sahcns", "timeout_min": DAY, **_read(parameters)}
        cluster = given.pop("cluster")
        self.device, self.most, self._folder = device, min(workers or count, count), folder
        self.running: dict[str, tuple[Any, Task, int]] = {}  # with how much of its reports is read
        self._held = contextlib.ExitStack()
        call = f"slurm-{secrets.token_hex(8)}"
        for left in folder.glob("slurm-*"):
            with lock(folder.parent, left.name) as dead:
                if dead:
                    shutil.rmtree(left, ignore_errors=True)
        self._held.enter_context(lock(folder.parent, call))
        self._own = folder.absolute() / call
        try:
            self._executor = submitit.AutoExecutor(self._own, cluster=cluster)
            self._executor.update_parameters(**given)
        except Exception as error:  # of several kinds
            self.close()
            raise SettingError(f"on='slurm:{parameters}': {' '.join(str(error).split())}") from error

    def start(self, task: Task, checkpoint: Path) -> None:
        reports = self._own / f"{task.key}-{secrets.token_hex(4)}.reports"
        reports.touch()
        self.running[str(reports)] = self._executor.submit(work, task, self.device, reports), task, 0

    def wait(self, hear: Hear) -> None:
        time.sleep(POLL)
        for name, (job, task, read) in list(self.running.items()):
            ended = job.done()  # before its reports are read, so that none comes later
            lines = Path(name).read_text().splitlines(keepends=True)[read:]
            whole = [line for line in lines if line.endswith("\n")]
            self.running[name] = job, task, read + len(whole)
            for line in whole:
                hear(Report(task.key, **json.loads(line)))
            if ended:
                del self.running[name]
                hear(self._end(job, task))

    def close(self) -> None:
        for job, _, _ in self.running.values():
            job.cancel(check=False)
        self.running = {}
        shutil.rmtree(self._own, ignore_errors=True)
        with contextlib.suppress(OSError):  # another call has its folder there
            self._folder.rmdir()
        self._held.close()

    def _end(self, job: Any, task: Task) -> Report:
        from submitit.core.utils import FailedJobError, UncompletedJobError

        try:
            report: Report = job.result()
        except UncompletedJobError as error:
            how = f"job {job.job_id} of Slurm ended without a result ({job.state})"
            return Report(task.key, "lost", Fault(how, str(error)))
        except FailedJobError as error:  # before the task itself, as it was read
            *_, last = str(error).strip().splitlines()
            return Report(task.key, "failed", Fault(f"job {job.job_id} of Slurm failed: {last}", str(error)))
        return report


def work(task: Task, device: str, reports: Path) -> Report:
    """In a job of Slurm: the last report; those before it are lines of a file."""
    ends = []

    def hear(report: Report) -> None:
        if report.kind in ("done", "failed"):
            ends.append(report)
            return
        with open(reports, "r+") as file:  # an error where the folder is gone: nobody waits for us any more
            file.seek(0, os.SEEK_END)
            file.write(json.dumps({"kind": report.kind, "value": report.value}) + "\n")

    attempt(task, device, {}, None, hear)
    return ends[0]


def _read(parameters: str) -> dict[str, Any]:
    """`slurm_partition=gpu,timeout_min=600`: submitit's own names, and `cluster=local`, which needs no Slurm."""
    given: dict[str, Any] = {}
    for text in filter(None, parameters.split(",")):
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingError(f"on='slurm:{parameters}': {text!r} must be NAME=VALUE, such as slurm_partition=gpu")
        try:
            given[name.strip()] = json.loads(value)
        except ValueError:
            given[name.strip()] = value.strip()
    return given
