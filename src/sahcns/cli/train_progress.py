"""Where a training run stands: a live view on a terminal, and now and then a line in a log."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sahcns.cli.console import err, tell

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sahcns.training import Protocol
    from sahcns.training.stopping import EarlyStopping

WINDOW = 20  # epochs that the rate is taken over
PAUSE = 60  # seconds between two lines of a log

Told = Callable[[dict[str, Any]], None]


@dataclass
class Standing:
    """What is known after each epoch: the rate, the best look so far, and when the run will end."""

    protocol: "Protocol"
    stopping: "EarlyStopping"
    looks: bool = True  # at a validation part; without one the run has all its epochs
    epoch: int = -1
    loss: float = float("nan")
    looked: int = -1  # epoch of the last look
    times: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW + 1))

    def update(self, entry: dict[str, Any], now: float) -> None:
        """Take note of an epoch's history entry, which arrived at `now` seconds."""
        self.epoch, self.loss = entry["epoch"], entry["loss"]
        self.times.append(now)
        if "valid" in entry:
            self.looked = self.epoch
            self.stopping.update(self.epoch, entry["valid"][self.protocol.monitor], {})

    @property
    def rate(self) -> float | None:
        """Epochs a second over the last few, looks included."""
        if len(self.times) < 2 or self.times[-1] <= self.times[0]:
            return None
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])

    @property
    def last(self) -> int:
        """The last epoch that the run can have."""
        return self.protocol.epochs - 1

    @property
    def ends(self) -> int:
        """The epoch at which the run stops if validation does not improve any more."""
        if not self.looks:
            return self.last
        looks = self.protocol.patience - self.stopping.since
        return min(self.last, self.looked + looks * self.protocol.evaluate_every)

    def left(self, epoch: int) -> str:
        return "" if self.rate is None else clock((epoch - self.epoch) / self.rate)

    def lines(self) -> tuple[str, str, str]:
        """Pace and loss; the best look; when it ends. Each fits into 80 columns."""
        pace = "" if self.rate is None else f"{self.rate:.3g} epochs/s · "
        best = f"best {self.protocol.monitor} {self.stopping.best:.2%} at epoch {self.stopping.best_epoch}"
        since = f"{self.stopping.since} of {self.protocol.patience} looks since"
        if not self.looks:
            best, since = "every pair is trained on", "nothing is held out to look at"
        if self.ends == self.last:
            ending = f"ends with epoch {self.last}" + (f", in {self.left(self.last)}" if pace else "")
        else:
            within = f" in {self.left(self.ends)}" if pace else ""
            most = f", {self.left(self.last)} at most" if pace else ""
            ending = f"stops at epoch {self.ends}{within} unless {self.protocol.monitor} improves{most}"
        return f"{pace}loss {self.loss:.4f}", f"{best} · {since}", ending


@contextmanager
def train_progress(protocol: "Protocol", quiet: bool = False, looks: bool = True) -> Iterator[Told | None]:
    """A function for `fit(on_epoch=…)`: a live view on a terminal, elsewhere a line a minute; None where it is `quiet`."""
    if quiet:
        yield None
        return
    from sahcns.training.stopping import EarlyStopping

    console, standing = err(), Standing(protocol, EarlyStopping(protocol.patience), looks)
    if not console.is_terminal:
        yield _in_a_log(standing)
        return
    from rich.live import Live
    from rich.text import Text

    begun = Text("epoch 0 …")  # on a large set it takes minutes
    with Live(begun, console=console, transient=True, refresh_per_second=5) as live:

        def told(entry: dict[str, Any]) -> None:
            standing.update(entry, time.perf_counter())
            live.update(_view(standing))

        yield told


def _in_a_log(standing: Standing) -> Told:
    said = time.perf_counter()

    def told(entry: dict[str, Any]) -> None:
        nonlocal said
        now = time.perf_counter()
        standing.update(entry, now)
        if now - said >= PAUSE:
            said = now
            tell(f"epoch {standing.epoch}: {'; '.join(standing.lines())}")

    return told


def _view(standing: Standing) -> "RenderableType":
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    pace, best, ending = (Text(line, no_wrap=True, overflow="ellipsis") for line in standing.lines())
    first = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=standing.ends + 1, completed=standing.epoch + 1, width=24)
    first.add_row(Text(f"epoch {standing.epoch}"), bar, pace)
    return Group(first, best, ending)


def clock(seconds: float) -> str:
    """0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
