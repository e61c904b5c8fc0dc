"""A run kept on the disk while it trains, so that it goes on where it was, to the bit.

Everything that changes from step to step is in a few tensors and numbers: tables, Adam's moments, one counter of steps (all
random streams follow from it), what sampler and objective keep, the best weights so far, and the place in the epoch. They
are copied between two steps and written by a thread beside the training, into one of two folders in turn, each whole or
not at all.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, TypedDict

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from sahcns.errors import DataError, SettingError
from sahcns.files import plain, read_json, unfinished_name
from sahcns.folders import FolderKind, load_folder, write_folder
from sahcns.plain import restored

TURNS = ("a", "b")  # the last two are kept: a damaged one costs the time between them
SHARE = 100  # a checkpoint that took t seconds is followed by as many times t without one: less than 1 % of the run
KIND = FolderKind(
    what="checkpoint",
    description="checkpoint.json",
    format="sahcns-checkpoint",
    version=1,
    make="train with a checkpoint",
    again="begin anew with --fresh (fresh=True)",
)


class Values(TypedDict):
    """What must be right in the plain values."""

    identity: dict[str, Any]
    epoch: int
    at: int
    call: int
    best: list[float]
    history: list[dict[str, Any]]
    sampler: dict[str, Any]
    objective: dict[str, Any]
    seconds: list[float | dict[str, float]]


Saved = tuple[dict[str, Tensor], dict[str, Any]]
"""Tensors by name, and everything else as plain values."""


class Checkpoints:
    """The checkpoints of one run in a folder: `due` between two steps, `write`, `read`."""

    def __init__(self, folder: str | os.PathLike[str], every: float, identity: dict[str, Any], cuda: bool) -> None:
        if every < 0:
            raise SettingError(f"checkpoint_every={every!r} must be 0 or more seconds")
        self.folder, self.every, self.cuda = Path(folder), every, cuda
        self.identity = json.loads(json.dumps(identity, default=plain))  # as it will be read: a tuple is a list there
        self.next = time.monotonic() + every
        self.turn = 0
        self.stop = False  # somebody asked the run to end: it does at the next step
        self._writer: threading.Thread | None = None
        self._failed: Exception | None = None
        self._buffers: dict[str, Tensor] = {}

    def due(self) -> bool:
        return self.stop or (time.monotonic() >= self.next and not (self._writer and self._writer.is_alive()))

    def write(self, tensors: dict[str, Tensor], values: dict[str, Any], wait: bool = False) -> None:
        """Keep what the run is now. It is copied before this returns; the disk is waited for only if asked."""
        began = time.monotonic()
        self._join()
        copies = {name: self._copy(name, value.detach()) for name, value in tensors.items()}
        copied = torch.cuda.Event() if self.cuda else None  # type: ignore[no-untyped-call]
        if copied is not None:
            copied.record()
        text = json.dumps({"identity": self.identity, **values}).encode()
        place, self.turn = self.folder / TURNS[self.turn], 1 - self.turn

        def bring() -> None:
            try:
                if copied is not None:
                    copied.synchronize()
                write_folder(KIND, place, [("state.safetensors", [save(copies)]), ("values.json", [text])], {})
            except Exception as error:  # of another thread; raised at the next checkpoint
                self._failed = error
            self.next = time.monotonic() + max(self.every, SHARE * (time.monotonic() - began))

        self._writer = threading.Thread(target=bring, name="checkpoint", daemon=False)
        self._writer.start()
        if wait:
            self._join()

    def read(self) -> Saved | None:
        """The newest checkpoint that is whole; None where there is none yet."""
        found, broken = [], []
        for turn, name in enumerate(TURNS):
            if (self.folder / name / KIND.description).exists():
                try:
                    found.append((turn, *load_folder(KIND, self.folder / name, lambda home, _: _read(home))))
                except DataError as error:
                    broken.append(error)
        if not found:
            if broken:
                raise broken[0]
            return None
        turn, tensors, values = max(found, key=lambda one: (one[2]["epoch"], one[2]["at"]))
        self.turn = 1 - turn
        refuse_other(self.folder, values["identity"], self.identity)
        return tensors, values

    def _copy(self, name: str, value: Tensor) -> Tensor:
        if not value.is_cuda:
            return value.clone(memory_format=torch.contiguous_format)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.shape != value.shape or buffer.dtype != value.dtype:
            buffer = self._buffers[name] = torch.empty_like(
                value, device="cpu", pin_memory=True, memory_format=torch.contiguous_format
            )
        return buffer.copy_(value, non_blocking=True)

    def _join(self) -> None:
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed

    @contextmanager
    def ending_between_steps(self) -> Iterator[None]:
        """Within, the first Ctrl-C or SIGTERM ends the run between two steps, where it can be kept; another one at once.

        A handler of somebody's own stays.
        """

        def note(number: int, frame: FrameType | None) -> None:
            if self.stop:
                raise KeyboardInterrupt
            self.stop = True

        if threading.current_thread() is not threading.main_thread():
            yield  # signals are the main thread's
            return
        own = (signal.SIG_DFL, signal.default_int_handler)
        former = {one: now for one in (signal.SIGINT, signal.SIGTERM) if (now := signal.getsignal(one)) in own}
        for one in former:
            signal.signal(one, note)
        try:
            yield
        finally:
            for one, handler in former.items():
                signal.signal(one, handler)
            self._join()


def _read(home: Path) -> Saved:
    try:
        values = read_json(home / "values.json", missing="it has no values.json", again=KIND.again)
        return load_file(home / "state.safetensors"), restored(Values, values)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise DataError(f"cannot read the checkpoint {home}: {error}; {KIND.again}") from error


def forget(folder: str | os.PathLike[str]) -> None:
    """Remove the checkpoints of a run; each is there whole or not at all, whenever this is killed."""
    for turn in TURNS:
        place = Path(folder) / turn
        if (place / KIND.description).exists():
            place.rename(place.with_name(unfinished_name(place)))
        for left in place.parent.glob(f".{turn}.*"):  # of killed writers too
            shutil.rmtree(left, ignore_errors=True)
    with suppress(OSError):  # other things are in it
        Path(folder).rmdir()


def refuse_other(folder: Path, kept: dict[str, Any], now: dict[str, Any]) -> None:
    """An error that names the first setting in which a kept run differs from the one that would go on with it."""
    for name in now:
        before, wanted = kept.get(name), now[name]
        if before == wanted:
            continue
        if isinstance(before, dict) and isinstance(wanted, dict):
            inner = next(key for key in {**before, **wanted} if before.get(key) != wanted.get(key))
            name, before, wanted = f"{name}.{inner}", before.get(inner), wanted.get(inner)
        raise SettingError(
            f"{folder} holds a run with {name}={before!r}, and this one has {wanted!r}; go on with the same settings, or "
            "begin anew with --fresh (fresh=True)"
        )


def digest_of(tables: dict[str, Tensor]) -> str:
    """Of tables by name: what tells one start from another."""
    content = (name.encode() + table.detach().cpu().numpy().tobytes() for name, table in sorted(tables.items()))
    return hashlib.sha256(b"".join(content)).hexdigest()[:16]


def generators(device: torch.device) -> dict[str, Tensor]:
    """The global generators of torch, numpy and Python, which a user's own sampler may read."""
    state: Any = np.random.get_state()  # noqa: NPY002 (numpy's global one is what is meant)
    version, numbers, gauss = random.getstate()
    found = {
        "torch": torch.get_rng_state(),
        "numpy": torch.tensor([*map(int, state[1]), state[2], state[3]], dtype=torch.int64, device="cpu"),
        "numpy.gauss": torch.tensor(state[4], dtype=torch.float64, device="cpu"),
        "python": torch.tensor([version, *numbers], dtype=torch.int64, device="cpu"),
        "python.gauss": torch.tensor(float("nan") if gauss is None else gauss, dtype=torch.float64, device="cpu"),
    }
    return found | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def set_generators(kept: dict[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(kept["torch"])
    if "cuda" in kept and device.type == "cuda":
        torch.cuda.set_rng_state(kept["cuda"], device)
    *numbers, place, has_gauss = kept["numpy"].tolist()
    array = np.array(numbers, np.uint32)
    np.random.set_state(("MT19937", array, place, has_gauss, kept["numpy.gauss"].item()))  # noqa: NPY002
    version, *rest = kept["python"].tolist()
    gauss = kept["python.gauss"].item()
    random.setstate((version, tuple(rest), None if gauss != gauss else gauss))


def part_state(state: Any, remade: tuple[str, ...], kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What the `begin` of a part made, as tensors and plain values by name; a `SettingError` where no file can hold it."""
    tensors: dict[str, Tensor] = {}
    values: dict[str, Any] = {}
    for name, value in _entries(state).items():
        if name in remade:
            continue
        if isinstance(value, Tensor):
            tensors[name] = value
        elif value is None or isinstance(value, bool | int | float | str):
            values[name] = value
        else:
            raise SettingError(
                f"{kind}: a checkpoint holds tensors, numbers and texts, and {name!r} of its state is "
                f"{type(value).__name__}; name it in `remade` if it can be made again from the rest"
            )
    return tensors, values


def set_part_state(state: Any, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Put back what was kept, in place: who holds a tensor of the state goes on with it."""
    held = _entries(state)
    for name, value in {**tensors, **values}.items():
        now = held.get(name)
        if isinstance(now, Tensor) and isinstance(value, Tensor) and now.shape == value.shape:
            now.copy_(value)
        elif isinstance(state, dict):
            state[name] = value
        elif isinstance(state, list):
            state[int(name)] = value
        else:
            object.__setattr__(state, name, value)


def _entries(state: Any) -> dict[str, Any]:
    if state is None or isinstance(state, Tensor):
        return {} if state is None else {"": state}
    if isinstance(state, dict):
        return {str(name): value for name, value in state.items()}
    if isinstance(state, list | tuple):
        return {str(at): value for at, value in enumerate(state)}
    return dict(vars(state))
