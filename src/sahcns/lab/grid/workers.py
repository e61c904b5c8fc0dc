"""Processes that share a grid. Each takes jobs that nobody has locked, and reports to its parent in lines of JSON.

Written by hand, not with multiprocessing: a worker may be killed at any time, and must end when its parent is killed.
A child gets its orders on stdin, which stays open as long as the parent lives; when it closes, the child ends at once.
That is safe because every piece of work is under a lock, which the system frees.
"""

import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from sahcns.errors import DeviceError, SahcnsError, SettingError, TrainingError
from sahcns.kernels import resolve_path
from sahcns.lab.grid.job import Job
from sahcns.lab.grid.locks import lock, sweep
from sahcns.lab.grid.result import Failure, failure_path
from sahcns.lab.grid.run import Call, Event, OnEvent, Outcome, late, run_jobs, stored_result
from sahcns.training.device import pick_device

LEAVE = 30.0  # seconds for a child to keep its run and end, before it is killed


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
    if workers < 1:
        raise SettingError(f"workers={workers} must be 1 or more")
    home, tell = Path(folder), on_event or (lambda event: None)
    wanted = list({job.key: job for job in jobs}.values())
    where = pick_device(device)  # an impossible device or kernel is refused before anything runs
    for path in {job.kernels for job in wanted}:
        resolve_path(where, path)
    sweep(home)
    done = {job.key: result for job in wanted if (result := stored_result(job, home)) is not None}
    for job in wanted:
        if job.key in done:
            tell(Event("skipped", job, done[job.key]))
    missing = [job for job in wanted if job.key not in done]
    missing.sort(key=lambda job: failure_path(home, job.key).exists())
    call = Call(home, device, secrets.token_hex(8), until, processes=max(1, min(workers, len(missing))))
    try:
        (run_jobs if call.processes == 1 else run_in_processes)(missing, call, tell)
    finally:
        sweep(home)
    results = [result for job in wanted if (result := stored_result(job, home)) is not None]
    left = {job.key for job in wanted} - {result.key for result in results}
    failures = (Failure.load(home, job.key) for job in wanted if job.key in left)
    return Outcome(home, results, [failure for failure in failures if failure is not None])


def start_child(module: str, order: Mapping[str, Any], stdout: int) -> "subprocess.Popen[str]":
    """`python -m module`, which gets its order by `order_of_parent`; `stdout` is one of subprocess's constants."""
    # The child imports from where this process does. Without -P the current folder would come before all else, and a
    # random.py in it would hide Python's.
    places = os.pathsep.join(path or os.getcwd() for path in sys.path)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=stdout,
        text=True,
        env={**os.environ, "PYTHONPATH": places},
        process_group=0,  # Ctrl-C is for the parent, which ends its children
    )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it died at once, and said why on stderr
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
    return process


def end_children(processes: "Collection[subprocess.Popen[str]]") -> None:
    """Signal all before waiting for any: on a GPU that they share, the end of one can break the work of the others."""
    for process in processes:
        process.terminate()
    for process in processes:
        close_child(process)


def close_child(process: "subprocess.Popen[str]") -> None:
    """Wait for its end, and then close its pipes: a child ends at once when its stdin closes."""
    try:
        process.wait(LEAVE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(OSError):
            pipe.close()


def order_of_parent() -> dict[str, Any]:
    """In the child: what it is to do; from now on it ends when its parent does."""
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return order


def _end_with_parent() -> None:
    while os.read(0, 4096):  # not through sys.stdin, whose lock would be in the way when this process ends by itself
        pass
    os._exit(1)


@dataclass(eq=False)
class Worker:
    """A process, the job that it is at, whether it has begun any, and what it has said of its next line."""

    process: "subprocess.Popen[str]"
    job: Job | None = None
    has_worked: bool = False
    rest: bytes = b""

    def reports(self) -> list[dict[str, Any]] | None:
        """Those that have come, as soon as there is one; None at its end."""
        assert self.process.stdout is not None
        text = os.read(self.process.stdout.fileno(), 1 << 16)
        *lines, self.rest = (self.rest + text).split(b"\n")
        return [json.loads(line) for line in lines] if text else None


def run_in_processes(jobs: Sequence[Job], call: Call, tell: OnEvent) -> None:
    """Run the jobs in processes of their own; one that dies costs the job it was at, and is replaced.

    A worker that died before it had begun a job is not replaced: every replacement has cost a job, so there is an end.
    """
    order = {
        "jobs": [asdict(job) for job in jobs],
        "call": {**call.__dict__, "folder": str(call.folder)},
        "threads": max(1, torch.get_num_threads() // call.processes),
    }
    open_jobs, running = {job.key: job for job in jobs}, dict[int, Worker]()
    by_key, pipes = dict(open_jobs), selectors.DefaultSelector()

    def start() -> None:
        worker = Worker(start_child("sahcns.lab.grid.workers", order, subprocess.PIPE))
        assert worker.process.stdout is not None
        running[pipes.register(worker.process.stdout, selectors.EVENT_READ).fd] = worker

    def pass_on(worker: Worker, report: dict[str, Any]) -> None:
        kind, job = report["kind"], by_key[report["key"]]
        if kind == "elsewhere" and any(other.job is job for other in running.values()):
            return
        if kind == "started":
            worker.job, worker.has_worked = job, True
        result = None
        if kind in ("finished", "failed"):
            worker.job = None if worker.job is job else worker.job
            if open_jobs.pop(job.key, None) is None:  # two workers may see one end
                return
            result = stored_result(job, call.folder) if kind == "finished" else None
        tell(Event(kind, job, result, report["entry"], report["error"]))

    try:
        for _ in range(call.processes):
            start()
        while running:
            for key, _ in pipes.select():
                worker, reports = running[key.fd], running[key.fd].reports()
                for report in reports or ():
                    pass_on(worker, report)
                if reports is None:
                    del running[pipes.unregister(key.fileobj).fd]
                    close_child(worker.process)
                    code = worker.process.returncode
                    if code and worker.job is not None:
                        _note_loss(worker.job, code, call)
                    if code and worker.has_worked and open_jobs:
                        start()
    finally:
        end_children([worker.process for worker in running.values()])
        pipes.close()
    if open_jobs and not late(call.until):
        raise TrainingError(f"the worker processes ended with {len(open_jobs)} jobs left; their errors stand above")


def _note_loss(job: Job, code: int, call: Call) -> None:
    """Leave a failure for a job whose process died, so that it is not tried again in this call."""
    how = (
        f"signal {-code} ({signal.strsignal(-code)}); perhaps memory ran out: use fewer workers"
        if code < 0
        else f"code {code}; its error stands above"
    )
    with lock(call.folder, job.key) as mine:
        if mine and stored_result(job, call.folder) is None:
            error = f"the process that trained it ended with {how}"
            Failure(job.key, job.label, error, call=call.name).save(call.folder)


def _work() -> None:
    """In the child."""
    order = order_of_parent()
    reports = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a sampler prints goes to stderr

    def tell(event: Event) -> None:
        values = {"kind": event.kind, "key": event.job.key, "entry": event.entry, "error": event.error}
        try:
            reports.write(json.dumps(values) + "\n")
            reports.flush()
        except BrokenPipeError:  # the parent is dead: no failure of the job
            os._exit(1)

    torch.set_num_threads(order["threads"])
    call = Call(**{**order["call"], "folder": Path(order["call"]["folder"])})
    run_jobs([Job(**values) for values in order["jobs"]], call, tell)


if __name__ == "__main__":
    try:
        _work()
    except DeviceError:  # reported with its job; the parent starts another in our place
        sys.exit(1)
    except SahcnsError as error:  # a result that cannot be written, say
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:  # a SIGTERM between two steps
        sys.exit(130)
