"""What commands print: results on stdout, as tables or as JSON; messages and progress on stderr."""

import dataclasses
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from sahcns.lab.report.parts import Cell
    from sahcns.lab.report.parts import Table as ReportTable

WIDTH = 120  # of words, where there is no terminal to measure
MARKS = {"": "", "best": "bold", "second": "underline"}  # of a cell in a report's table
# All but tab and line end: what moves a cursor, sets a title, or turns the direction in which letters run.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
ENDLESS = 10_000  # of a table there: a file or a pipe has no edge at which to fold it

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout and nothing else there.")]


def err() -> "Console":
    """The console for messages and progress, so that stdout stays clean for a pipe."""
    return _console(stderr=True)


def show(*what: "RenderableType") -> None:
    """Print a result; words are printed as they are, without markup."""
    from rich.table import Table

    for part in what:
        console = _console(stderr=False, width=ENDLESS if isinstance(part, Table) else WIDTH)
        console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))


def tell(message: str, mark: str = "", style: str = "") -> None:
    """One message on stderr, with a mark before it."""
    from rich.text import Text

    err().print(Text.assemble((mark, style), printable(message)), highlight=False, soft_wrap=True)


def warn(message: str) -> None:
    """`warning: message` on stderr."""
    tell(message, "warning: ", "bold yellow")


def printable(text: str) -> str:
    r"""`\x1b[31m` for the letters that would make a terminal red: an id or a title comes from anywhere."""
    return UNPRINTABLE.sub(lambda letter: letter[0].encode("unicode_escape").decode(), text)


def count(number: int, one: str, many: str = "") -> str:
    """`1 row`, `2,000 rows`, `3 people`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def show_json(value: object) -> None:
    """Print `value` as JSON; arrays, paths and dataclasses become plain values, numbers that are not finite null."""
    letters = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"  # elsewhere escapes, which say the same
    plain = json.loads(json.dumps(value, default=_plain), parse_constant=lambda name: None)
    text = json.dumps(plain, indent=2, ensure_ascii=not letters)
    sys.stdout.write(UNPRINTABLE.sub(lambda letter: f"\\u{ord(letter[0]):04x}", text) + "\n")


def escape_unprintable() -> None:
    r"""A letter that the other end of stdout cannot take (a pipe on Windows, LC_ALL=C) is shown as \u4e03, not a crash.

    Where stdout or stderr is closed (`2>&-`, some schedulers), what is printed there goes nowhere.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for as long as the process
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def table(*columns: str, title: str | None = None) -> "Table":
    """An empty table in the house style; a column named `>users` is set to the right."""
    from rich import box
    from rich.table import Table

    empty = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    for column in columns:
        justify: Any = "right" if column.startswith(">") else "left"
        empty.add_column(column.removeprefix(">"), justify=justify, overflow="fold")  # an id cut short is another id
    return empty


def rich_table(report: "ReportTable") -> "Table":
    """A report's table in the terminal: best in bold, second best underlined, as in the paper."""
    rows = table(*report.columns, title=report.title or None)
    for row in report.rows:
        rows.add_row(*map(_cell_text, row))
    return rows


def show_tables(tables: "Iterable[ReportTable]") -> None:
    """Print a report's tables one below the other, each with its caption."""
    from rich.text import Text

    for at, one in enumerate(tables):
        show(*[""] * bool(at), rich_table(one))
        if one.caption:
            show("", Text(printable(one.caption), style="dim"))  # a text is broken between words, a bare string is not


def _cell_text(cell: "Cell | str") -> "Text":
    from rich.text import Text

    if isinstance(cell, str):
        return Text(printable(cell))
    return Text.assemble((printable(cell.text), MARKS[cell.mark]), printable(cell.note))


@contextmanager
def byte_progress() -> Iterator[Callable[[str, int, int | None], None]]:
    """A function to call with (name, bytes so far, bytes in all): a bar on a terminal, else one line for each name."""
    from rich import progress

    bar = progress.Progress(
        "{task.description}",
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
        console=err(),
        transient=True,
    )
    tasks: dict[str, progress.TaskID] = {}

    def report(name: str, done: int, total: int | None) -> None:
        if name not in tasks:
            tasks[name] = bar.add_task(name)
            if not bar.console.is_terminal:
                tell(f"downloading {name}" + (f" ({total:,} bytes)" if total else ""))
        bar.update(tasks[name], completed=done, total=total)

    with bar if bar.console.is_terminal else nullcontext():
        yield report


def working(message: str) -> AbstractContextManager[object]:
    """A sign of life on a terminal while something takes its time."""
    console = err()
    return console.status(message, spinner="line") if console.is_terminal else nullcontext()


def _console(*, stderr: bool, width: int = WIDTH) -> "Console":
    from rich.console import Console

    class Safe(Console):
        def render_str(self, text: str, **how: Any) -> "Text":
            """Every text becomes one here, cells and titles of tables too."""
            return super().render_str(printable(text), **how)

    stream = sys.stderr if stderr else sys.stdout
    measured = stream.isatty() or "COLUMNS" in os.environ
    # ids and titles are shown as they are: [x] is no markup, and :100: no picture
    return Safe(stderr=stderr, width=None if measured else width, markup=False, emoji=False)


def _plain(value: object) -> Any:
    """What JSON does not know itself: dataclasses, numpy's arrays and numbers, paths."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)
