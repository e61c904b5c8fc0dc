"""Tables of the page."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby, pairwise

from sahcns.lab.report.palette import Look, fixed_look
from sahcns.lab.report.parts import Cell, Table
from sahcns.lab.report.scene import Dot, Group, Scene, Shape, text_width
from sahcns.lab.report.svg import scene_to_svg

MARKS = {"": "{}", "best": "<strong>{}</strong>", "second": "<u>{}</u>"}
BOTH = "Bold is the best, underlined the second best."
SAMPLERS = ("sampler", "method")  # how the first column is called where each row is one of them
UNDER = " · "  # `toys · R@20` stands under toys
COLUMN = 58.0  # letters that the page's column has room for
PADDING = 1.6  # letters that the sides of a cell take
BOLD = 1.12  # how much wider bold is
SWATCH = 2.1  # letters that the marker before a sampler's name takes
WORDS = 13.0  # letters that a column of words has room for before it breaks them, if it has so many
PROSE, LINE = 100, 34.0  # a cell with so many letters is prose, and prose has so long a line at least

Rows = Sequence[Sequence[Cell]]


def table_html(table: Table, named: Mapping[str, Look], identity: str, prose: str) -> str:
    """A table in a box of its own, in which a wide one scrolls; `named` are the looks of what may stand in its rows.

    One with prose in its cells is set as a list on a phone, where its columns would be too narrow to read.

    Where the first column repeats itself from row to row, as a backbone does, it becomes a heading over its rows.
    Neighbouring columns whose names begin alike, as `toys · R@10` and `toys · R@20`, get a common head.
    """
    whole = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in table.rows]
    grouped = len(table.columns) > 2 and any(one[0].text == other[0].text for one, other in pairwise(whole))
    columns = table.columns[1:] if grouped else table.columns
    rows = [row[1:] for row in whole] if grouped else whole
    of_samplers = bool(columns) and columns[0].removeprefix(">").lower() in SAMPLERS
    numeric = [at > 0 and column.startswith(">") for at, column in enumerate(columns)]
    prosaic = any(len(cell.text) > PROSE for row in rows for cell in row)
    body = []
    for at, (first, *rest) in enumerate(rows):
        if grouped and (at == 0 or whole[at][0].text != whole[at - 1][0].text):
            body.append(f'<tr class="group"><th scope="rowgroup" colspan="{len(columns)}"><span>{_inner(whole[at][0])}')
            body.append("</span></th></tr>")
        look = named.get(first.text) or (fixed_look(first.text) if of_samplers else None)
        names = [name.removeprefix(">") for name in columns[1:]]
        cells = "".join(
            _cell(cell, right, name if prosaic else "")
            for cell, right, name in zip(rest, numeric[1:], names, strict=True)
        )
        body.append(f'<tr><th scope="row"{_row_head(first)}>{swatch(look)}{_inner(first)}</th>{cells}</tr>')
    below = " ".join(filter(None, (prose, _key(table))))
    caption = f'<p class="caption">{below}</p>' if below else ""
    box = f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.title or table.name)}">'
    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    marked = of_samplers or any(row[0].text in named for row in rows)
    ems = _ems(columns, rows) + SWATCH * marked
    broad = " broad" * (ems > COLUMN) + " prosaic" * prosaic
    return (
        f'<div class="card block{broad}" id="{identity}" style="--em:{ems:.1f}">{title}{box}'
        f"<table><thead>{_heads(columns, rows, named)}</thead><tbody>{''.join(body)}</tbody></table></div>{caption}</div>"
    )


def _heads(columns: Sequence[str], rows: Rows, named: Mapping[str, Look]) -> str:
    names = [column.removeprefix(">") for column in columns]
    above = [name.partition(UNDER)[0] if UNDER in name else "" for name in names]
    below = [name.partition(UNDER)[2] if UNDER in name else name for name in names]
    heads = "".join(
        f'<th scope="col"{_column(columns, rows, at)}>{swatch(named.get(name))}{escape(name)}</th>'
        for at, name in enumerate(below)
    )
    if not any(above):
        return f"<tr>{heads}</tr>"
    common = ""
    for group, members in groupby(above):
        width = len(list(members))
        common += (
            f'<th scope="colgroup" colspan="{width}" class="over">{escape(group)}</th>'
            if group
            else "<th></th>" * width
        )
    return f'<tr class="overs">{common}</tr><tr>{heads}</tr>'


def swatch(look: Look | None) -> str:
    """The marker of a sampler, before its name."""
    if look is None:
        return ""
    group = Group(
        [Shape([[(1, 7), (23, 7)]], "hue", width=2), Dot((12, 7), look.marker, 4.4, look.hollow)], hue=look.hue
    )
    return scene_to_svg(Scene(24, 14, [group]), attributes={"class": "swatch", "aria-hidden": "true"})


def _key(table: Table) -> str:
    """What bold and underlined mean, unless the caption says it."""
    marks = {cell.mark for row in table.rows for cell in row if isinstance(cell, Cell)}
    return BOTH if {"best", "second"} <= marks and "bold" not in table.caption.lower() else ""


def _cell(cell: Cell, right: bool, name: str = "") -> str:
    """`name` is that of its column, for where the heads are not seen."""
    told = f' data-name="{escape(name)}"' if name else ""
    if cell.hint:
        classes = "number hinted" if right else "hinted"
        return f'<td class="{classes}" title="{escape(cell.hint)}"{told}>{_inner(cell)}</td>'
    return f"<td{_class('number', right)}{told}>{_inner(cell)}</td>"


def _inner(cell: Cell) -> str:
    note = f'<span class="note">{escape(cell.note)}</span>' if cell.note else ""
    mean, sign, std = cell.text.partition(" ± ")
    spread = f"<small> ± {escape(std)}</small>" if sign else ""  # in small print, as in the paper
    return MARKS[cell.mark].format(escape(mean) + spread) + note


def _row_head(cell: Cell) -> str:
    classes = " ".join(filter(None, ("hinted" if cell.hint else "", "long" if len(cell.text) > 28 else "")))
    return _class(classes, bool(classes)) + (f' title="{escape(cell.hint)}"' if cell.hint else "")


def _column(columns: Sequence[str], rows: Rows, at: int) -> str:
    """A column of words has room for most of them before they are broken into lines."""
    right = at > 0 and columns[at].startswith(">")
    longest = max((text_width(row[at].text, 1.0) for row in rows), default=0.0)
    if right or at == 0 or longest < 4:
        return _class("number", right)
    room = LINE if max(len(row[at].text) for row in rows) > PROSE else min(longest, WORDS)
    return f' style="min-width:{room + 1:.1f}em"'


def _class(name: str, there: bool) -> str:
    return f' class="{name}"' if there else ""


def _ems(columns: Sequence[str], rows: Rows) -> float:
    """About how many letters wide the table is when no number is broken; words may be, to a dozen letters, prose to a line."""

    def needed(text: str, right: bool, bold: bool = False) -> float:
        whole = text_width(text, BOLD if bold else 1.0)
        longest = max((text_width(word, 1.0) for word in text.split()), default=0.0)
        return whole if right else max(longest, min(whole, LINE if len(text) > PROSE else 12.0))

    total = 0.0
    for at, column in enumerate(columns):
        right = column.startswith(">")
        cells = [row[at] for row in rows]
        widest = max((needed(cell.text + cell.note, right, cell.mark == "best") for cell in cells), default=0.0)
        head = column.removeprefix(">").rpartition(UNDER)[2]
        total += max(widest, needed(head, False)) + PADDING
    return total + 2.0
