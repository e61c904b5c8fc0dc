"""A report's tables in the terminal: best in bold, second best underlined, as in the paper."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sahcns.cli.console import show, table

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

    from sahcns.lab.report.parts import Cell, Table

STYLES = {"": "", "best": "bold", "second": "underline"}


def rich_table(given: "Table") -> "RichTable":
    """The table in the house style, under its title."""
    made = table(*given.columns, title=given.title or None)
    for row in given.rows:
        made.add_row(*map(_text, row))
    return made


def show_tables(tables: "Iterable[Table]") -> None:
    """Print tables one below the other, each with its caption."""
    from rich.text import Text

    for at, given in enumerate(tables):
        if at:
            show("")
        show(rich_table(given))
        if given.caption:
            show("", Text(given.caption, style="dim"))  # a text is broken between words, a bare string is not


def _text(cell: "Cell | str") -> "Text":
    from rich.text import Text

    if isinstance(cell, str):
        return Text(cell)
    return Text.assemble((cell.text, STYLES[cell.mark]), cell.note)
