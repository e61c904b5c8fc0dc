"""Where a training run stands: a live view on a terminal, and now and then a line in a log."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sahcns.cli.console import tell
from sahcns.cli.live import clock, live_view

if TYPE_CHECKING:
    from sahcns.training import Protocol
    from sahcns.training.fit import EarlyStopping

WINDOW = 20  # epochs that the rate is taken over
PAUSE = 60  # seconds between two lines of a log

OnEpoch = Callable[[dict[str, Any]], None]


@dataclass
class Progress:
    """What is known after each epoch: the rate, the best validation so far, and when the run will end."""

    protocol: "Protocol"
    stopping: "EarlyStopping"
    looks: bool = True  # at a validation part; without one the run has all its epochs
    epoch: int = -1
    loss: float = float("nan")
    last_look: int = -1  # epoch of the last validation
    times: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW + 1))

    def update(self, entry: dict[str, Any], now: float) -> None:
        """Take note of an epoch's history entry, which arrived at `now` seconds."""
        self.epoch, self.loss = entry["epoch"], entry["loss"]
        self.times.append(now)
        if "valid" in entry:
            self.last_look = self.epoch
            self.stopping.update(self.epoch, entry["valid"][self.protocol.monitor], {})

    @property
    def rate(self) -> float | None:
        """Epochs a second over the last few, validation included."""
        if len(self.times) < 2 or self.times[-1] <= self.times[0]:
            return None
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])

    @property
    def end(self) -> int:
        """The epoch at which the run stops if validation does not improve any more."""
        last = self.protocol.epochs - 1
        patience = (self.protocol.patience - self.stopping.since) * self.protocol.evaluate_every
        return min(last, self.last_look + patience) if self.looks else last

    def lines(self) -> tuple[str, str, str]:
        """Rate and loss; the best validation; when it ends. Each fits into 80 columns."""
        rate = "" if self.rate is None else f"{self.rate:.3g} epochs/s · "
        within = "" if self.rate is None else f" in {clock((self.end - self.epoch) / self.rate)}"
        best = "every pair is trained on, nothing is held out to look at"
        if self.looks:
            best = f"best {self.protocol.monitor} {self.stopping.best:.2%} at epoch {self.stopping.best_epoch}"
            best += f" · {self.stopping.since} of {self.protocol.patience} looks since"
        unless = "" if self.end == self.protocol.epochs - 1 else f" unless {self.protocol.monitor} improves"
        return f"{rate}loss {self.loss:.4f}", best, f"ends with epoch {self.end}{within}{unless}"


@contextmanager
def train_progress(protocol: "Protocol", quiet: bool = False, looks: bool = True) -> Iterator[OnEpoch | None]:
    """A function for `fit(on_epoch=…)`: a live view on a terminal, elsewhere a line a minute; None where it is `quiet`."""
    if quiet:
        yield None
        return
    from sahcns.training.fit import EarlyStopping

    progress, last_line = Progress(protocol, EarlyStopping(protocol.patience), looks), time.perf_counter()
    with live_view("epoch 0 …") as show:  # on a large set the first takes minutes

        def on_epoch(entry: dict[str, Any]) -> None:
            nonlocal last_line
            now = time.perf_counter()
            progress.update(entry, now)
            rate, *lines = progress.lines()
            if show is not None:
                show(progress.epoch + 1, progress.end + 1, f"epoch {progress.epoch} · {rate}", *lines)
            elif now - last_line >= PAUSE:
                last_line = now
                tell(f"epoch {progress.epoch}: {'; '.join(progress.lines())}")

        yield on_epoch
