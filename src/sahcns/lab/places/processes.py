"""Several processes of this machine, each with tasks one after the other.

They are subprocesses with a pipe, and no library's pool. Those of concurrent.futures and of loky break when one process is
killed, which would cost every run that is under way, and both leave processes behind when their parent is killed; a child of
multiprocessing runs the user's script again, unless that is written for it. Here one that dies costs its own task, and a
child ends at once when its pipe does, which the system closes however the parent dies.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.errors import DeviceError
from sahcns.lab.places.place import PATIENCE, Fault, Hear, Place, Report, Task, attempt

if TYPE_CHECKING:
    from sahcns.data.split import Split

LEAVE = 30.0  # seconds for a child to keep its run and end, before it is killed


class Processes(Place):
    """As many as are wanted, each begun with its first task; one that dies or loses its GPU is replaced."""

    def __init__(self, count: int, device: str) -> None:
        self.device, self.together, self.most = device, count, count
        self._idle: list[Child] = []
        self.running: dict[Connection[Any, Any], tuple[Child, Task]] = {}

    def start(self, task: Task, checkpoint: Path) -> None:
        self._idle = [child for child in self._idle if child.process.poll() is None]
        child = self._idle.pop() if self._idle else Child(self.device, self.together)
        self.running[child.pipe] = child, task
        child.send((task, checkpoint))

    def wait(self, hear: Hear) -> None:
        for pipe in wait([*self.running], PATIENCE):
            assert isinstance(pipe, Connection)
            child, task = self.running[pipe]
            try:
                report: Report = pipe.recv()
            except (EOFError, OSError):
                report = Report(task.key, "lost", Fault(f"the process that trained it ended with {child.end()}"))
            if report.kind in ("done", "failed", "lost"):
                del self.running[pipe]
                if report.kind == "failed" and report.value.of_device:
                    child.end()
                elif report.kind != "lost":
                    self._idle.append(child)
            hear(report)

    def close(self) -> None:
        """Signal all before waiting for any: on a GPU that they share, the end of one can break the work of the others."""
        children = [*self._idle, *(child for child, _ in self.running.values())]
        self._idle, self.running = [], {}
        for child in children:
            child.process.terminate()
        for child in children:
            child.end()


class Child:
    """A process of `work`, and our end of its pipe."""

    def __init__(self, device: str, together: int) -> None:
        import torch

        self.pipe, theirs = Pipe()
        # It imports from where this process does. Without -P the current folder would come before all else, and a
        # random.py in it would hide Python's.
        places = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a sampler prints
            env={**os.environ, "PYTHONPATH": places},
            pass_fds=[theirs.fileno()],
            process_group=0,  # Ctrl-C is for the parent, which ends its children
        )
        theirs.close()
        self.send((device, max(1, torch.get_num_threads() // together)))

    def send(self, order: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died at once, which its end of the pipe tells
            self.pipe.send(order)

    def end(self) -> str:
        """Wait for it, but not for ever; how it ended, in words."""
        try:
            code = self.process.wait(LEAVE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.pipe.close()
        if code < 0:
            return f"signal {-code} ({signal.strsignal(-code)}); perhaps memory ran out: use fewer workers"
        return f"code {code}; its error stands above"


def work(pipe: "Connection[Any, Any]") -> None:
    """In the child: a device and a number of threads, then tasks, until the GPU or the parent dies."""
    import torch

    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, orders), daemon=True).start()
    device, threads = orders.get()
    torch.set_num_threads(threads)
    splits: dict[str, Split] = {}

    def hear(report: Report) -> None:
        try:
            pipe.send(report)
        except OSError:  # the parent is dead: no failure of the task
            os._exit(1)

    error: Exception | None = None
    while not isinstance(error, DeviceError):
        task, checkpoint = orders.get()
        error = attempt(task, device, splits, checkpoint, hear)


def _listen(pipe: "Connection[Any, Any]", orders: "queue.SimpleQueue[Any]") -> None:
    """Pass on what comes; the end of the pipe is that of this process, whatever it is at."""
    try:
        while True:
            orders.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(1)


if __name__ == "__main__":
    try:
        work(Connection(int(sys.argv[1])))
    except KeyboardInterrupt:  # a SIGTERM, after which half a run is no result
        sys.exit(130)
