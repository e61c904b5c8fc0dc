"""A table in Markdown, as GitHub draws it."""

import re

from sahcns.lab.report.parts import Cell, Table

MARKS = {"": "{}", "best": "**{}**", "second": "<u>{}</u>"}


def to_markdown(table: Table, *, title: bool = True) -> str:
    """Title in bold, the table, its caption; with title=False the rows alone, under their heads."""
    heads = [_escaped(column.removeprefix(">")) for column in table.columns]
    ruler = ["---:" if column.startswith(">") else "---" for column in table.columns]
    lines = [_line(heads), _line(ruler), *(_line([_cell(cell) for cell in row]) for row in table.rows)]
    body = "\n".join(lines)
    above, below = (_prose(text) if title else "" for text in (table.title, table.caption))
    return "\n\n".join(filter(None, [f"**{above}**" if above else "", body, below])) + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return _escaped(cell)
    text = MARKS[cell.mark].format(_escaped(cell.text)) if cell.text.strip() else ""
    return text + _escaped(cell.note)


def _prose(text: str) -> str:
    """As `_escaped`, but for `code`, which is set as such."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if at % 2 else _signs(part) for at, part in enumerate(parts))


def _escaped(text: str) -> str:
    """Nothing in it means anything to Markdown, HTML or the table; line ends become spaces."""
    return _signs(" ".join(text.split()))


def _signs(text: str) -> str:
    told = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)
    return told.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
