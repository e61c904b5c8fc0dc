"""What is run somewhere, what is heard of it, and the place that is always there: this process."""

import contextlib
import signal
import sysconfig
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from sahcns import errors
from sahcns.errors import DeviceError, SahcnsError

if TYPE_CHECKING:
    from sahcns.data.split import Split

PATIENCE = 0.2  # seconds until somebody who waits for a report looks at other things again
NOT_THE_USERS = (f"{Path(__file__).parents[2]}/", *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))

Kind = Literal["started", "epoch", "done", "failed", "lost"]


class Task(Protocol):
    """Plain data, so that any process can do it; its key tells it from the others of a call."""

    @property
    def key(self) -> str: ...

    @property
    def data(self) -> str:
        """The prepared folder: tasks with the same one share what `load` gives."""
        ...

    @property
    def imports(self) -> tuple[str, ...]:
        """The user's own files."""
        ...

    def load(self) -> "Split":
        """The split to train on."""
        ...

    def run(
        self, device: str, on_epoch: Callable[[dict[str, Any]], None], split: "Split", checkpoint: Path | None
    ) -> Any:
        """What comes of it. Without a checkpoint's folder, a task that is cut short begins anew."""
        ...


@dataclass(frozen=True)
class Fault:
    """An error of another process: one sentence, the way there, and the name of its class where it is one of ours."""

    sentence: str
    traceback: str = ""
    kind: str = ""

    @classmethod
    def of(cls, error: Exception) -> "Fault":
        kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        kind = next(kinds, "")
        return cls(one_sentence(error), "".join(traceback.format_exception(error)), kind)

    @property
    def of_device(self) -> bool:
        """Whether it leaves its process without a GPU that answers."""
        return self.kind == DeviceError.__name__

    def error(self) -> SahcnsError:
        """To be raised here."""
        made: SahcnsError = getattr(errors, self.kind or "TrainingError")(self.sentence)
        return made


@dataclass(frozen=True)
class Report:
    """What is heard of a task: that it has begun, an epoch's entry, its value, or its fault, also where it was lost."""

    key: str
    kind: Kind
    value: Any = None


Hear = Callable[[Report], None]


class Place(ABC):
    """Where tasks run; to be left by `with`, and then nothing of it is at work any more.

    device     as `fit` takes it, where the tasks run
    together   how many of them share a machine, or a GPU
    tries      how often a task is begun whose process or machine is lost
    most       how many tasks are at work at once, and `running` those that are
    """

    device = "auto"
    together = 1
    tries = 1
    most = 1
    running: Sized = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def check(self, kernels: str) -> None:
        """An error for kernels that its device does not run, as far as that is known."""
        if self.device != "auto":
            import torch

            from sahcns.kernels import resolve_path

            resolve_path(torch.device(self.device), kernels)

    @property
    def room(self) -> int:
        """How many more may be started now."""
        return self.most - len(self.running)

    @abstractmethod
    def start(self, task: Task, checkpoint: Path) -> None:
        """Have it begun; `checkpoint` is a folder of this machine."""

    @abstractmethod
    def wait(self, hear: Hear) -> None:
        """Until something has been heard, or `PATIENCE` has passed."""

    def close(self) -> None:
        """End what is still at work."""
        return


class Here(Place):
    """This process, one task after the other: compiled kernels are used again, the fastest way on one GPU."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.running: list[tuple[Task, Path]] = []
        self._splits: dict[str, Split] = {}

    def start(self, task: Task, checkpoint: Path) -> None:
        self.running.append((task, checkpoint))

    def wait(self, hear: Hear) -> None:
        if not self.running:
            time.sleep(PATIENCE)
            return
        task, checkpoint = self.running.pop()
        error = attempt(task, self.device, self._splits, checkpoint, hear)
        if isinstance(error, DeviceError):  # every other would fail here too
            raise error


def attempt(
    task: Task, device: str, splits: "dict[str, Split]", checkpoint: Path | None, hear: Hear
) -> Exception | None:
    """Run a task in this process, whatever its sampler does; its error, if there is one."""
    hear(Report(task.key, "started"))
    try:
        if task.data not in splits:
            splits[task.data] = task.load()
        value = task.run(device, lambda entry: hear(Report(task.key, "epoch", entry)), splits[task.data], checkpoint)
    except Exception as error:
        hear(Report(task.key, "failed", Fault.of(error)))
        return error
    hear(Report(task.key, "done", value))
    return None


def one_sentence(error: BaseException) -> str:
    """Our own errors as they are; any other with its kind, and with the line of the user's file where there is one."""
    words = " ".join(str(error).split())
    if isinstance(error, SahcnsError):
        return words
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(NOT_THE_USERS)]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {words}{place}"


@contextlib.contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Within, SIGTERM (of schedulers and containers) is treated as Ctrl-C, so that half-written files are cleared.

    A handler of somebody's own stays.
    """
    ours = threading.current_thread() is threading.main_thread()  # signals are the main thread's
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
