"""Progress on a terminal: a bar with lines of text beside and below it, drawn again in place."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from sahcns.cli.console import err


class Show(Protocol):
    """Draws the view: so much is done, of so much, and lines of text; `above` are lines that stay."""

    def __call__(self, done: int, total: int, *lines: str, above: Sequence[str] = ()) -> None: ...


@contextmanager
def live_view(first: str = "") -> Iterator[Show | None]:
    """A function that draws the view, which begins with one line; None where stderr is no terminal."""
    console = err()
    if not console.is_terminal:
        yield None
        return
    from rich.console import Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    with Live(Text(first), console=console, transient=True, refresh_per_second=5) as live:

        def show(done: int, total: int, *lines: str, above: Sequence[str] = ()) -> None:
            for line in above:
                console.print(line, markup=False, highlight=False, soft_wrap=True)
            beside, *below = (Text(line, no_wrap=True, overflow="ellipsis") for line in lines)
            row = Table.grid(padding=(0, 1))
            row.add_row(ProgressBar(total=total, completed=done, width=24), beside)
            live.update(Group(row, *below))

        yield show


def clock(seconds: float) -> str:
    """0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
