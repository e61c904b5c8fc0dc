"""A table as HTML for the page, as Markdown as GitHub draws it, and as CSV; and the values of a figure as a table."""

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby, pairwise

from sahcns.lab.report.palette import Look, fixed_look
from sahcns.lab.report.parts import Cell, Figure, Series, Table

UNDER = " · "  # `toys · R@20` stands under toys
SAMPLERS = ("sampler", "method")  # how the first column is called where each row is one of them
PROSE = 100  # letters from which a cell is prose
HTML_MARKS = {"": "{}", "best": "<strong>{}</strong>", "second": "<u>{}</u>"}
MARKDOWN_MARKS = {"": "{}", "best": "**{}**", "second": "<u>{}</u>"}
SPREAD = re.compile(r"(?P<mean>[-+]?[\d.,]+(?:e[-+]?\d+)?)\s*±\s*(?P<std>[\d.,]+(?:e[-+]?\d+)?)", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE)


def to_html(table: Table, looks: Mapping[str, Look] | None = None) -> str:
    """A `<table>`; `looks` are those of the names that may head a row or a column.

    Where the first column repeats itself from row to row, as a backbone does, it becomes a heading over its rows.
    Neighbouring columns whose names begin alike, as `toys · R@10` and `toys · R@20`, get a common head.
    """
    known = looks or {}
    whole = [[as_cell(cell) for cell in row] for row in table.rows]
    grouped = len(table.columns) > 2 and repeats(row[0].text for row in whole)
    columns = table.columns[1:] if grouped else table.columns
    rows = [row[1:] for row in whole] if grouped else whole
    of_samplers = bool(columns) and columns[0].removeprefix(">").lower() in SAMPLERS
    prosaic = any(len(cell.text) > PROSE for row in rows for cell in row)
    body = []
    for at, (first, *rest) in enumerate(rows):
        if grouped and (at == 0 or whole[at][0].text != whole[at - 1][0].text):
            group = f'<th scope="rowgroup" colspan="{len(columns)}"><span>{_inner(whole[at][0])}</span></th>'
            body.append(f'<tr class="group">{group}</tr>')
        look = known.get(first.text) or (fixed_look(first.text) if of_samplers else None)
        long = ' class="long"' if len(first.text) > 28 else ""
        others = "".join(_cell(cell, column, prosaic) for cell, column in zip(rest, columns[1:], strict=True))
        body.append(f'<tr><th scope="row"{long}{_hint(first)}>{swatch(look)}{_inner(first)}</th>{others}</tr>')
    style = ' class="prosaic"' if prosaic else ""
    cells = [[column, *(row[at].text for row in rows)] for at, column in enumerate(columns)]
    letters = sum(min(40, max(map(len, texts))) for texts in cells)  # on paper a wide table is set smaller
    head = f"<thead>{_heads(columns, known)}</thead>"
    return f'<table{style} style="--letters:{letters}">{head}<tbody>{"".join(body)}</tbody></table>'


def swatch(look: Look | None) -> str:
    """The marker of a sampler, before its name."""
    return f'<span class="swatch" style="color:{look.paint}" aria-hidden="true">{look.sign}</span>' if look else ""


def to_markdown(table: Table, *, title: bool = True) -> str:
    """Title in bold, the table, its caption; with title=False the rows alone, under their heads."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def marked(cell: Cell) -> str:
        text = MARKDOWN_MARKS[cell.mark].format(_plain_markdown(cell.text)) if cell.text.strip() else ""
        return text + _plain_markdown(cell.note)

    heads = line(_plain_markdown(column.removeprefix(">")) for column in table.columns)
    ruler = line("---:" if column.startswith(">") else "---" for column in table.columns)
    body = "\n".join([heads, ruler, *(line(marked(as_cell(cell)) for cell in row) for row in table.rows)])
    above, below = (_prose_markdown(text) if title else "" for text in (table.title, table.caption))
    return "\n\n".join(filter(None, [f"**{above}**" if above else "", body, below])) + "\n"


def to_csv(table: Table) -> str:
    """RFC 4180, with plain numbers for whoever computes on; an empty cell is what was not there.

    `13.26 ± 0.07` becomes two columns, and a column's signs, such as * for significance, become one of their own.
    """
    columns: list[list[str]] = []
    for at, head in enumerate(table.columns):
        name = head.removeprefix(">")
        cells = [as_cell(row[at]) for row in table.rows]
        spreads = [SPREAD.fullmatch(cell.text.strip()) for cell in cells]
        means = [one["mean"] if one else cell.text for one, cell in zip(spreads, cells, strict=True)]
        columns.append([name, *map(_plain_number, means)])
        if any(spreads):
            columns.append([f"{name} std", *(_plain_number(one["std"]) if one else "" for one in spreads)])
        if any(cell.note for cell in cells):
            columns.append([f"{name} sign", *(cell.note for cell in cells)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(zip(*columns, strict=True))
    return text.getvalue()


def data_table(figure: Figure) -> Table:
    """The values of a figure: one column a series where all have the same x, else one row a point."""
    first = figure.x_label or "x"
    rows: list[list[Cell | str]]
    if len({tuple(series.x) for series in figure.series}) == 1:
        heads = [first, *(f">{series.name}" for series in figure.series)]
        places = enumerate(figure.series[0].x)
        rows = [[number(x), *(value_text(series, at) for series in figure.series)] for at, x in places]
    else:
        heads = ["series", f">{first}", f">{figure.y_label or 'value'}"]
        rows = [[one.name, number(x), value_text(one, at)] for one in figure.series for at, x in enumerate(one.x)]
    return Table(f"{figure.name} data", figure.title, heads, rows)


def value_text(series: Series, at: int) -> str:
    """A value with its band and its hint: `0.124 (0.123 – 0.126); best of seed 3`."""
    band = f" ({number(series.low[at])} – {number(series.high[at])})" if len(series.low) else ""
    hint = f"; {series.hints[at]}" if len(series.hints) and series.hints[at] else ""
    return f"{number(series.y[at])}{band}{hint}"


def number(value: float | str) -> str:
    """A number to read: five digits that count, thousands apart; – where there is none."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.5g}"
    return text.replace("-", "\N{MINUS SIGN}")


def frame_note(figure: Figure) -> str:
    """What dashed cells of a heat map are, where there are any."""
    there = figure.partial_label and any(any(series.partial) for series in figure.series)
    return f"Dashed cells: {figure.partial_label}." if there else ""


def as_cell(cell: Cell | str) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def repeats(firsts: Iterable[str]) -> bool:
    """Whether a first column says the same in neighbouring rows, and so groups them."""
    return any(one == other for one, other in pairwise(firsts))


def split_heads(columns: Sequence[str]) -> tuple[list[tuple[str, int]], list[str]]:
    """The common heads with the number of columns below each, "" for none; and each column's own name."""
    names = [column.removeprefix(">") for column in columns]
    above = [name.partition(UNDER)[0] if UNDER in name else "" for name in names]
    below = [name.partition(UNDER)[2] if UNDER in name else name for name in names]
    return [(group, len(list(members))) for group, members in groupby(above)], below


def _heads(columns: Sequence[str], looks: Mapping[str, Look]) -> str:
    groups, names = split_heads(columns)
    heads = "".join(
        f'<th scope="col"{_number(column, first=at == 0)}>{swatch(looks.get(name))}{escape(name)}</th>'
        for at, (name, column) in enumerate(zip(names, columns, strict=True))
    )
    if not any(group for group, _ in groups):
        return f"<tr>{heads}</tr>"
    common = "".join(
        f'<th scope="colgroup" colspan="{width}" class="over">{escape(group)}</th>' if group else "<th></th>" * width
        for group, width in groups
    )
    return f'<tr class="overs">{common}</tr><tr>{heads}</tr>'


def _cell(cell: Cell, column: str, prosaic: bool) -> str:
    named = f' data-name="{escape(column.removeprefix(">"))}"' if prosaic else ""  # where a phone hides the heads
    return f"<td{_number(column)}{_hint(cell)}{named}>{_inner(cell)}</td>"


def _number(column: str, *, first: bool = False) -> str:
    return ' class="number"' if column.startswith(">") and not first else ""


def _hint(cell: Cell) -> str:
    return f' data-hint="{escape(cell.hint)}"' if cell.hint else ""


def _inner(cell: Cell) -> str:
    note = f'<span class="note">{escape(cell.note)}</span>' if cell.note else ""
    mean, sign, std = cell.text.partition(" ± ")
    spread = f"<small> ± {escape(std)}</small>" if sign else ""  # in small print, as in the paper
    return HTML_MARKS[cell.mark].format(escape(mean) + spread) + note


def _plain_number(text: str) -> str:
    """`15,306` as 15306, `+0.12` as 0.12, a typographer's minus as a minus, a lone dash as nothing."""
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if plain in ("–", "—", "-"):
        return ""
    return plain.replace(",", "").removeprefix("+") if NUMBER.fullmatch(plain) else text.strip()


def _prose_markdown(text: str) -> str:
    """As `_plain_markdown`, but for `code`, which is set as such."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if at % 2 else _escaped_markdown(part) for at, part in enumerate(parts))


def _plain_markdown(text: str) -> str:
    """Nothing in it means anything to Markdown, HTML or the table; line ends become spaces."""
    return _escaped_markdown(" ".join(text.split()))


def _escaped_markdown(text: str) -> str:
    signs = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)
    return signs.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
