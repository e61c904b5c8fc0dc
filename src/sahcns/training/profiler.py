"""Where the time goes, part by part, without stopping the device for it."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import torch


class Profiler:
    """Seconds spent in named parts. On a GPU the parts are marked with events and read once an epoch."""

    def __init__(self, device: torch.device, enabled: bool = True) -> None:
        self.cuda = device.type == "cuda"
        self.enabled = enabled
        self.seconds: dict[str, float] = defaultdict(float)
        self._marks: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        if not self.enabled:
            yield
            return
        if self.cuda:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            start.record()
            yield
            end.record()
            self._marks.append((part, start, end))
            return
        began = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - began

    def forget(self, parts: Collection[str]) -> None:
        """As if these had never been measured."""
        self._marks = [mark for mark in self._marks if mark[0] not in parts]
        for part in parts:
            self.seconds.pop(part, None)

    def settle(self) -> None:
        """Read the events of a GPU; waits for the device."""
        if self._marks:
            torch.cuda.synchronize()
            for part, start, end in self._marks:
                self.seconds[part] += start.elapsed_time(end) / 1000.0
            self._marks.clear()
