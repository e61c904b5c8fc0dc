"""A grid over several processes: each takes what nobody has claimed, and tells its parent what it does."""

import contextlib
import json
import queue
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sahcns.errors import TrainingError
from sahcns.lab.grid.child import end_children, start_child
from sahcns.lab.grid.claims import claim
from sahcns.lab.grid.failure import Failure
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.running import Call, Event, OnEvent, finished, late

Told = queue.Queue[tuple["Worker", dict[str, Any] | None]]


@dataclass(eq=False)
class Worker:
    """A process, the key of the job that it has begun and not ended, and whether it has begun any."""

    process: subprocess.Popen[str]
    reader: threading.Thread = field(init=False)
    at: str | None = None
    begun: bool = False

    @classmethod
    def start(cls, order: dict[str, Any], told: Told) -> "Worker":
        made = cls(start_child("sahcns.lab.grid.worker", order, subprocess.PIPE))
        made.reader = threading.Thread(target=made._read, args=(told,), daemon=True)
        made.reader.start()
        return made

    def _read(self, told: Told) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):  # else it was killed in the middle of a word
                told.put((self, json.loads(line)))
        self.process.wait()
        told.put((self, None))

    def close(self) -> None:
        """After its end."""
        self.reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def spread(jobs: Sequence[Job], call: Call, tell: OnEvent) -> None:
    """Run the jobs in processes of their own; one that dies costs the job it was at, and is replaced.

    Not one that died before it had begun a job, or there would be no end to it: each replacement has cost a job.
    """
    import torch

    order = {
        "jobs": [job.to_dict() for job in jobs],
        "call": call.to_plain(),
        "threads": max(1, torch.get_num_threads() // call.processes),
    }
    by_key, told, open_keys = {job.key: job for job in jobs}, Told(), {job.key for job in jobs}
    running: set[Worker] = set()
    try:
        for _ in range(call.processes):
            running.add(Worker.start(order, told))
        while running:
            worker, said = told.get()
            if said is not None:
                event = _event(worker, said, by_key[said["key"]], open_keys, call.folder)
                ours = any(other.at == said["key"] for other in running)
                if event is not None and not (event.kind == "elsewhere" and ours):
                    tell(event)
                continue
            running.discard(worker)
            worker.close()
            code = worker.process.returncode
            if code and worker.at is not None:
                _lost(by_key[worker.at], code, call)
            if code and worker.begun and open_keys:
                running.add(Worker.start(order, told))
    finally:
        end_children([worker.process for worker in running])
        for worker in running:
            worker.close()
    if open_keys and not late(call.until):
        raise TrainingError(f"the worker processes ended with {len(open_keys)} jobs left; what they said stands above")


def _event(worker: Worker, said: dict[str, Any], job: Job, open_keys: set[str], folder: Path) -> Event | None:
    """What a worker said, as an event; None where it was told before, since two workers may see the end of a job."""
    key, kind = said["key"], said["kind"]
    ended = kind in ("finished", "failed")
    if kind == "started":
        worker.at, worker.begun = key, True
    elif ended and worker.at == key:
        worker.at = None
    if ended and key not in open_keys:
        return None
    if ended:
        open_keys.discard(key)
    result = finished(job, folder) if kind == "finished" else None
    return Event(kind, job, result, said["entry"], said["error"])


def _lost(job: Job, code: int, call: Call) -> None:
    """Leave a failure for a job whose process died, so that it is not tried again in this call."""
    how = (
        f"signal {-code} ({signal.strsignal(-code)}); perhaps memory ran out: use fewer workers"
        if code < 0
        else f"code {code}; what it said stands above"
    )
    with claim(call.folder, job.key) as mine:
        if mine and finished(job, call.folder) is None:
            error = f"the process that trained it ended with {how}"
            Failure(job.key, job.label, error, call=call.name).save(call.folder)
