"""How far a long piece of work is: a bar on a terminal, a line a minute in a log."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from html import escape
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from sahcns.training.protocol import Protocol
from sahcns.training.stopping import EarlyStopping
from sahcns.training.train import OnEpoch

PAUSE = 60  # seconds between two lines of a log


class Bar:
    """A bar on stderr with words beside and below it; where that is no terminal there is only what is said and logged."""

    def __init__(self, words: str, quiet: bool = False) -> None:
        self.console = Console(stderr=True, markup=False, emoji=False, highlight=False)
        cut = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        columns = (
            BarColumn(24),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False, table_column=cut),
        )
        self.drawn = Progress(*columns, console=self.console, transient=True, expand=True, speed_estimate_period=3600)
        self.drawn.add_task(words, total=None)
        self.task = self.drawn.tasks[0]
        self.logged = time.perf_counter()
        self.cell: Any = None
        if self.console.is_jupyter and not quiet:
            notebook = import_module("IPython.display")
            self.html = notebook.HTML
            self.cell = notebook.display(self.html(""), display_id=True)

    def show(self, done: int, total: int, *lines: str) -> None:
        """So much is done, of so much."""
        self.task.total = total  # given to `update`, a new total would forget how fast it went
        self.drawn.update(self.task.id, completed=done, description="\n".join(lines))
        if self.cell is not None:
            words = "<br>".join(map(escape, lines))
            self.cell.update(self.html(f'<progress value="{done}" max="{total}"></progress> {words}'))

    @property
    def left(self) -> str:
        """`, about 0:01:20 left`, by what was done so far; nothing while that is not known."""
        seconds = self.task.time_remaining
        return f", about {timedelta(seconds=round(seconds))} left" if seconds else ""

    def say(self, line: str) -> None:
        """A line that stays."""
        self.console.print(line, soft_wrap=True)

    def log(self, line: str) -> None:
        """A line where nothing is drawn, at most one a minute."""
        if not self.console.is_terminal and (now := time.perf_counter()) - self.logged >= PAUSE:
            self.logged = now
            self.say(line)


@contextmanager
def bar(words: str = "", quiet: bool = False) -> Iterator[Bar]:
    """One to be shown for as long as the work goes on; `quiet` never draws."""
    made = Bar(words, quiet)
    with made.drawn if made.console.is_terminal and not quiet else nullcontext():
        yield made


@contextmanager
def train_progress(protocol: Protocol, quiet: bool = False, looks: bool = True) -> Iterator[OnEpoch | None]:
    """A function for `fit(on_epoch=…)`, None if `quiet`; a run that does not look at validation has all its epochs."""
    if quiet:
        yield None
        return
    stopping, monitor, last, looked = EarlyStopping(protocol.patience), protocol.monitor, protocol.epochs - 1, 0
    with bar("epoch 0 …") as shown:  # on a large set the first takes minutes

        def on_epoch(entry: dict[str, Any]) -> None:
            nonlocal looked
            epoch, best, end = entry["epoch"], "every pair is trained on, nothing is held out to look at", last
            if "valid" in entry:
                looked = epoch
                stopping.update(epoch, entry["valid"][monitor], {})
            if looks:
                best = f"best {monitor} {stopping.best:.2%} at epoch {stopping.best_epoch}"
                best += f" · {stopping.since} of {protocol.patience} looks since"
                end = min(last, looked + (protocol.patience - stopping.since) * protocol.evaluate_every)
            first = f"epoch {epoch} · loss {entry['loss']:.4f}"
            if "refit" in entry:
                best, end = "the epoch is picked; trained anew, on the validation pairs too", entry["refit"] - 1
            ends = f"ends with epoch {end}{'' if end == last or 'refit' in entry else f' unless {monitor} improves'}"
            shown.show(epoch + 1, end + 1, first, best, ends)
            shown.log("; ".join((first, best, ends)) + shown.left)

        yield on_epoch
