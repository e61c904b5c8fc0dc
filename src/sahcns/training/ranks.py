"""One model on several processes: each holds d/P columns of every table, and the whole graph.

    (Ã E)[:, own] = Ã (E[:, own])                         a hop exchanges nothing
    <ē_u, V_j> = Σ_processes <ē_u[own], V_j[own]>         scores are summed, and so is L2: a number for each candidate
    ∂<ē_u, V_j> / ∂V_j[own] = ē_u[own]                    which each process has; the loss is the same in all of them

Random numbers come from counters, so every process draws the same order, pools and choices, and Adam goes entry by entry.
Where whole rows are asked for (DENS, BNS, cosines), the columns of those rows are gathered. The first process alone judges,
writes and is told to stop; it says to the others what came of it.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from sahcns.backbones.base import Backbone
from sahcns.counter import GOLDEN
from sahcns.errors import SettingError, TrainingError
from sahcns.graph import Columns
from sahcns.rng import CALL, Rng, mix, signed
from sahcns.training.checkpoint import Checkpoints
from sahcns.training.device import pick_device

Made = TypeVar("Made")
PARENT = "SAHCNS_PARENT"  # the process that `--nproc` has started this one from, which does not outlive it
ROWS = 1 << 16  # of a table, gathered at once
PATIENCE = timedelta(days=1)  # with the first process, while it ranks; one that is lost is noticed by its connection


class Alone(Columns):
    """What a run asks of the processes it is cut over, where it is not cut."""

    rank: int = 0
    told: bool = False  # to stop, by a signal that it noted

    def rng(self, start: Rng) -> Rng:
        """The stream that tables are drawn from: it gives the own columns of what it would give."""
        return start

    def whole(self, table: Tensor, wanted: bool = True) -> Tensor:
        """A table of own columns with all columns, on the CPU; empty in a process that does not want it."""
        return table

    def first(self, make: Callable[[], Made]) -> Made:
        """What `make` makes, or raises, in the first process."""
        return make()

    def checkpoints(
        self, folder: str | os.PathLike[str], every: float, identity: dict[str, Any], cuda: bool
    ) -> Checkpoints:
        return Checkpoints(folder, every, identity, cuda)

    def agree(self, told: dict[str, Any]) -> None:
        """Refuse a process that was told something else than the first."""

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within, a signal to the first process is noted, and another one ends it; the others hear none."""
        yield


class Ranks(Alone):
    """This process among those of torch's default group."""

    def __init__(self, dim: int) -> None:
        self.rank, self.count = dist.get_rank(), dist.get_world_size()
        self.dim, self.width = dim, dim // self.count
        self.columns = slice(self.rank * self.width, (self.rank + 1) * self.width)

    def sum(self, x: Tensor) -> Tensor:
        total: Tensor = _Sum.apply(x)  # type: ignore[no-untyped-call]
        return total

    def gather(self, x: Tensor) -> Tensor:
        whole: Tensor = _Gather.apply(x, self)  # type: ignore[no-untyped-call]
        return whole

    def rng(self, start: Rng) -> Rng:
        return _OwnColumns(start, self)

    def own(self, table: Tensor) -> Tensor:
        if table.shape[-1] == self.width:
            return table
        own: Tensor = _Own.apply(table, self)  # type: ignore[no-untyped-call]
        return own

    def whole(self, table: Tensor, wanted: bool = True) -> Tensor:
        blocks = (self.gather(rows) for rows in torch.split(table.detach(), ROWS))
        return torch.cat([(block if wanted else block[:0]).cpu() for block in blocks])

    def first(self, make: Callable[[], Made]) -> Made:
        said: list[Any] = [None, None]
        if self.rank == 0:
            try:
                said[0] = make()
            except (Exception, KeyboardInterrupt) as error:
                said[1] = error
        with _connected():
            dist.broadcast_object_list(said)
        if said[1] is not None:
            raise said[1]
        made: Made = said[0]
        return made

    def checkpoints(
        self, folder: str | os.PathLike[str], every: float, identity: dict[str, Any], cuda: bool
    ) -> Checkpoints:
        return _Shared(folder, every, identity, cuda, self)

    def agree(self, told: dict[str, Any]) -> None:
        meant = self.first(lambda: told)
        for name, value in meant.items():
            if told[name] != value:
                raise SettingError(
                    f"process {self.rank} of {self.count} has {name}={told[name]!r}, and the first one {value!r}; start all "
                    "with the same settings and seed, on the same data, and with one folder of checkpoints that all can read"
                )

    @contextmanager
    def listening(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # signals are the main thread's
            return

        def note(number: int, frame: FrameType | None) -> None:
            if self.told:
                signal.signal(number, signal.SIG_DFL)
                signal.raise_signal(number)
            self.told = True

        numbers = (signal.SIGINT, signal.SIGTERM)
        former = [signal.signal(one, signal.SIG_IGN if self.rank else note) for one in numbers]
        try:
            yield
        finally:
            for one, handler in zip(numbers, former, strict=True):
                signal.signal(one, handler)


class _Sum(torch.autograd.Function):
    """Σ over processes; each has a loss of its own of the sum, the same in all, so the gradient is handed on as it is."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.detach().clone(memory_format=torch.contiguous_format)
        with _connected():
            dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


class _Gather(torch.autograd.Function):
    """[…, k·own columns] → […, k·d]; backward keeps the own columns."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        blocks = _blocks(x.detach(), ranks.width).contiguous()
        parts = [torch.empty_like(blocks) for _ in range(ranks.count)]
        with _connected():
            dist.all_gather(parts, blocks)
        return torch.cat(parts, dim=-1).flatten(-2)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _blocks(grad, ctx.ranks.dim)[..., ctx.ranks.columns].flatten(-2), None


class _Own(torch.autograd.Function):
    """The own columns of what all processes hold alike; each has the gradient of its own, so backward gathers them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        return x.detach()[..., ranks.columns].clone(memory_format=torch.contiguous_format)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.ranks.gather(grad), None


def _blocks(x: Tensor, width: int) -> Tensor:
    """[…, k·width] → […, k, width]."""
    return x.reshape(*x.shape[:-1], -1, width)


class _OwnColumns(Rng):
    """Of a table [rows, d] it draws the own columns alone, as they stand in the whole one."""

    def __init__(self, whole: Rng, ranks: Ranks) -> None:
        super().__init__(whole.seed, whole.stream, whole.device, whole.step)
        self.dim = ranks.dim
        self.columns = torch.arange(ranks.columns.start, ranks.columns.stop, device=whole.device)

    def bits(self, *shape: int) -> Tensor:
        if len(shape) != 2 or shape[1] != self.dim:
            return super().bits(*shape)
        k = torch.arange(shape[0], device=self.device)[:, None] * self.dim + self.columns + self.call * CALL + 1
        self.call += 1
        return mix(self.base() + k * signed(GOLDEN))


class _Shared(Checkpoints):
    """The first process says when, about once a second, so that all keep the run at the same step; it alone writes."""

    def __init__(
        self, folder: str | os.PathLike[str], every: float, identity: dict[str, Any], cuda: bool, ranks: Ranks
    ) -> None:
        super().__init__(folder, every, identity, cuda)
        self.ranks = ranks
        self.left = self.stretch = 1  # steps until it is asked, and from the last time to that
        self.asked = time.monotonic()

    def due(self) -> bool:
        self.left -= 1
        if self.left > 0 and not self.stop:
            return False
        due, self.stop, self.left = self.ranks.first(self._decide)
        return due

    def _decide(self) -> tuple[bool, bool, int]:
        now = time.monotonic()
        wanted = int(self.stretch * min(1.0, self.every) / max(now - self.asked, 1e-9))
        self.stretch, self.asked = max(1, min(wanted, 2 * self.stretch)), now
        self.stop = self.ranks.told
        return super().due(), self.stop, self.stretch

    def write(self, tensors: dict[str, Tensor], values: dict[str, Any], wait: bool = False) -> None:
        if self.ranks.rank == 0:
            super().write(tensors, values, wait)


@contextmanager
def _connected() -> Iterator[None]:
    """An exchange with processes that may be gone by then."""
    try:
        yield
    except RuntimeError as error:
        said = re.split(r"\n|\. ", str(error))[0]
        reason = re.sub(r"^\[\S+\] ", "", said)  # without the place in gloo's own code
        raise TrainingError(
            f"this process has lost the others of its run ({reason}); what is kept is there for the same command"
        ) from error


def meet(backbone: Backbone, where: torch.device) -> tuple[Alone, torch.device]:
    """The processes that the run is cut over, those of torch's default group if there is one, and the own device."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return Alone(), where
    check(backbone, dist.get_world_size())
    return Ranks(backbone.dim), _take_device(where, dist.get_rank())


def check(backbone: Backbone, processes: int, device: str | None = None) -> None:
    """Refuse what cannot be cut over so many processes, all of them on this machine where `device` is given."""
    name = type(backbone).__name__
    if not vars(type(backbone)).get("by_columns"):
        raise SettingError(
            f"{name} cannot be cut over {processes} processes, each with some columns of its tables: its class does not say "
            "by_columns = True, as LightGCN and MF do; take one of these, or train it in one process"
        )
    if backbone.dim % processes:
        raise SettingError(
            f"{name}: dim={backbone.dim} cannot be cut into {processes} equal parts; choose a multiple of {processes}, such as "
            f"{-(-backbone.dim // processes) * processes}, or another number of processes"
        )
    if device is not None:
        _own_device(pick_device(device), processes - 1)


def _own_device(where: torch.device, rank: int) -> torch.device:
    """The GPU of the process that has this rank on its machine."""
    if where.type != "cuda":
        return where
    if where.index is not None:
        raise SettingError(f"device='{where}' is one GPU, and each process needs its own; use device='cuda'")
    if rank >= (seen := torch.cuda.device_count()):
        raise SettingError(
            f"there are {rank + 1} processes here and torch sees {seen} GPU; start no more than that, or use device='cpu'"
        )
    return torch.device("cuda", rank)


def _take_device(where: torch.device, rank: int) -> torch.device:
    """The own device, which torch's exchanges are to use too; on several machines the launcher says which GPU that is."""
    own = _own_device(where, int(os.environ.get("LOCAL_RANK", rank)))
    if own.type == "cuda":
        torch.cuda.set_device(own)
    return own


def launched() -> int:
    """How many processes torchrun, or `--nproc`, has started of which this is one; 0 where nobody has."""
    return int(os.environ.get("WORLD_SIZE", 0)) if "RANK" in os.environ else 0


@contextmanager
def joined(device: str) -> Iterator[int]:
    """Within, this process and those that were started with it train one model; the rank of this one, 0 alone."""
    if launched() < 2:
        yield 0
        return
    if parent := os.environ.get(PARENT):
        threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    where = _take_device(pick_device(device), int(os.environ["RANK"]))
    with _connected():
        dist.init_process_group("nccl" if where.type == "cuda" else "gloo", timeout=PATIENCE)
    rank = dist.get_rank()
    try:
        yield rank
    except KeyboardInterrupt:
        if rank == 0:
            raise
        raise SystemExit(130) from None  # the first says so for all
    finally:
        dist.destroy_process_group()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
