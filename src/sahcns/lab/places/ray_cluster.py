"""A Ray cluster: each task is one of Ray's, on whichever node has room.

A split and the user's own files travel once each, by `ray.put`; reports come back in a stream, the result as its last. So
the nodes share no disk: they need sahcns in the version that is here, and nothing else. A task that is cut short begins anew.
"""

import logging
import math
import os
import queue
import secrets
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sahcns.errors import SahcnsError, SettingError, TrainingError
from sahcns.importing import Packed, import_packed, pack
from sahcns.lab.places.place import PATIENCE, Fault, Hear, Place, Report, Task, attempt
from sahcns.version import __version__

if TYPE_CHECKING:
    from sahcns.data.split import Split

DIGITS = 10_000  # of a share of a GPU, as Ray counts it


class RayCluster(Place):
    """`workers` tasks at once, which share the GPUs, or the cores where there are none; a task that was lost is retried."""

    tries = 3

    def __init__(self, address: str, workers: int | None, device: str, count: int) -> None:
        self.running: dict[Any, Task] = {}
        self._ray, self._ours = connect(address)
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        has = ("cpu", "cuda") if any(map(_gpus, nodes)) else ("cpu",)
        self.device = has[-1] if device == "auto" else device
        if self.device not in has:
            self.close()
            raise SettingError(f"device={device!r} is not one of this Ray cluster; use auto, {' or '.join(has)}")
        workers = workers and min(workers, count)
        ask, self.together = share(nodes, workers, self.device == "cuda")
        self.most = workers or min(math.floor(_capacity(nodes, ask)) or 1, count)
        # Processes of an earlier call, which may have run an earlier version of the user's files, have other variables.
        fresh = {"env_vars": {"SAHCNS_CALL": secrets.token_hex(8)}}
        self._work = self._ray.remote(work).options(
            **ask, max_retries=0, num_returns="streaming", scheduling_strategy="SPREAD", runtime_env=fresh
        )
        self._threads = max(1, int(ask["num_cpus"]))
        self._sent: dict[Any, Any] = {}  # what is in Ray's store already
        self._unsent: list[Report] = []

    def start(self, task: Task, checkpoint: Path) -> None:
        try:
            for key, make in ((task.imports, lambda: pack(task.imports)), (task.data, task.load)):
                if key not in self._sent:
                    self._sent[key] = self._ray.put(make())
        except SahcnsError as error:  # of this task's data or files; others have their own
            self._unsent.append(Report(task.key, "failed", Fault.of(error)))
            return
        packed, split = self._sent[task.imports], self._sent[task.data]
        self.running[self._work.remote(__version__, packed, split, task, self.device, self._threads)] = task

    def wait(self, hear: Hear) -> None:
        if self._unsent:
            hear(self._unsent.pop())
            return
        if not self.running:
            time.sleep(PATIENCE)
            return
        ready, _ = self._ray.wait([*self.running], timeout=PATIENCE)
        for stream in ready:
            report = self._report(stream, self.running[stream])
            if report.kind in ("done", "failed", "lost"):
                del self.running[stream]
            hear(report)

    def close(self) -> None:
        for stream in self.running:
            self._ray.cancel(stream, force=True)
        self.running = {}
        if self._ours:
            self._ray.shutdown()

    def _report(self, stream: Any, task: Task) -> Report:
        errors = self._ray.exceptions
        try:
            report: Report = self._ray.get(next(stream))
        except errors.RayTaskError as error:  # before the task itself, as it was prepared
            cause = error.cause if isinstance(error.cause, Exception) else TrainingError(str(error))
            return Report(task.key, "failed", replace(Fault.of(cause), traceback=str(error)))
        except (errors.RayError, StopIteration) as error:
            how = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            return Report(task.key, "lost", Fault(f"the process of Ray that trained it was lost ({how})", str(error)))
        return report


def connect(address: str) -> tuple[ModuleType, bool]:
    """Ray, and whether the connection is ours to end; without an address the cluster of this machine, or a new one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # of a cluster that is begun here
    try:
        import ray
    except ImportError:
        raise SahcnsError("on='ray' needs Ray, which is not installed; pip install 'sahcns[ray]'") from None
    if "//" in address + os.environ.get("RAY_ADDRESS", "") or ray.util.client.ray.is_connected():  # type: ignore[no-untyped-call]
        raise SettingError(
            "through a Ray client (ray://…) nobody hears of epochs as they pass; run this on a node of the cluster, with "
            "on='ray'"
        )
    if ray.is_initialized():
        return ray, False
    if address:
        _refuse_deaf(address)
    former = signal.getsignal(signal.SIGTERM)
    try:
        # What tasks print stays in Ray's logs: it would go to standard output, which may be a command's JSON.
        ray.init(address or None, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        words = " ".join(str(error).split())
        raise SettingError(f"on='ray:{address}': {words}; run this on a node of a cluster that is up") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, former)  # Ray's own would end this process without a word
    return ray, True


def _refuse_deaf(address: str) -> None:
    """Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 5).close()
    except (OSError, ValueError):
        raise SettingError(
            f"on='ray:{address}': no Ray cluster answers there; HOST:PORT is what `ray start --head` said, such as "
            "ray:10.0.0.1:6379"
        ) from None


def share(nodes: Sequence[Mapping[str, float]], workers: int | None, gpu: bool) -> tuple[dict[str, float], int]:
    """What each of `workers` tasks asks for, so that all fit at once, and how many share a GPU or, without one, a node.

    Without a number, a GPU each, or a core.
    """
    gpus = sum(map(_gpus, nodes))
    on_one = math.ceil((workers or gpus) / gpus) if gpu else 0
    asks = {"num_gpus": math.floor(DIGITS / on_one) / DIGITS} if gpu else {}
    wanted = workers or (gpus if gpu else math.inf)
    most = max(int(node.get("CPU", 0)) for node in nodes)
    cores = (one for one in range(most, 0, -1) if _capacity(nodes, {"num_cpus": one, **asks}) >= wanted)
    asks["num_cpus"] = next(cores, 1)
    return asks, on_one or min(workers or most, most // int(asks["num_cpus"])) or 1


def _capacity(nodes: Sequence[Mapping[str, float]], asks: Mapping[str, float]) -> float:
    """How many tasks that ask for so much there is room for at once."""
    rooms = []
    for node in nodes:
        room = float(node.get("CPU", 0) // asks["num_cpus"])
        rooms.append(min(room, _gpus(node) * math.floor(1 / asks["num_gpus"])) if "num_gpus" in asks else room)
    return sum(rooms)


def _gpus(node: Mapping[str, float]) -> float:
    return node.get("GPU", 0.0)


def work(version: str, packed: Packed, split: "Split", task: Task, device: str, threads: int) -> Iterator[Report]:
    """In a process of Ray: the reports of one task."""
    import torch

    if version != __version__:
        raise SettingError(f"this node has sahcns {__version__}, and the comparison {version}; install one everywhere")
    import_packed(packed)
    reports: queue.SimpleQueue[Report | None] = queue.SimpleQueue()

    def train() -> None:
        try:
            torch.set_num_threads(threads)
            attempt(task, device, {task.data: split}, None, reports.put)
        finally:
            reports.put(None)

    threading.Thread(target=train, daemon=True).start()  # what it hears of cannot be yielded from within
    yield from (report for report in iter(reports.get, None))  # Ray calls `send`, which an iterator has not
