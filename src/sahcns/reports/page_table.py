"""Tables of the page: the report's own, and the data below each figure."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from sahcns.reports.palette import Look, fixed_look
from sahcns.reports.parts import Cell, Figure, Series, Table
from sahcns.reports.scales import told, told_alike
from sahcns.reports.scene import Dot, Group, Scene, Shape, text_width
from sahcns.reports.svg import scene_to_svg

MARKS = {"": "{}", "best": "<strong>{}</strong>", "second": "<u>{}</u>"}
BOTH = "Bold is the best, underlined the second best."
SAMPLERS = ("sampler", "method")  # how the first column is called where each row is one of them
COLUMN = 58.0  # letters that the page's column has room for
PADDING = 1.6  # letters that the sides of a cell take


def table_html(table: Table, named: Mapping[str, Look], identity: str, prose: str) -> str:
    """A table in a box of its own, in which a wide one scrolls; `named` are the looks of what may stand in its rows."""
    numeric = [at > 0 and column.startswith(">") for at, column in enumerate(table.columns)]
    titles = [column.removeprefix(">") for column in table.columns]
    head = "".join(
        f'<th scope="col"{_column(table, at, right)}>{swatch(named.get(titles[at]))}{escape(titles[at])}</th>'
        for at, right in enumerate(numeric)
    )
    of_samplers = bool(titles) and titles[0].lower() in SAMPLERS
    rows = []
    for row in table.rows:
        first, *rest = (cell if isinstance(cell, Cell) else Cell(cell) for cell in row)
        look = named.get(first.text) or (fixed_look(first.text) if of_samplers else None)
        label = f'<th scope="row"{_row_head(first)}>{swatch(look)}{_inner(first)}</th>'
        rows.append(label + "".join(_cell(cell, right) for cell, right in zip(rest, numeric[1:], strict=True)))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    below = " ".join(filter(None, (prose, _key(table))))
    caption = f'<p class="caption">{below}</p>' if below else ""
    box = f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.title or table.name)}">'
    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    ems = _ems(table)
    broad = " broad" if ems > COLUMN else ""
    return (
        f'<div class="card block{broad}" id="{identity}" style="--em:{ems:.1f}">{title}{box}'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{caption}</div>"
    )


def data_html(figure: Figure) -> str:
    """The values of a figure: one column a series where all have the same x, else one row a point."""
    write = numbers_of(figure)
    shared = len({tuple(series.x) for series in figure.series}) == 1
    first = figure.x_label or "x"
    if shared:
        head = [first, *(series.name for series in figure.series)]
        rows = [
            [x_told(x), *(value_told(series, at, write) for series in figure.series)]
            for at, x in enumerate(figure.series[0].x)
        ]
    else:
        head = ["series", first, figure.y_label or "value"]
        rows = [
            [series.name, x_told(x), value_told(series, at, write)]
            for series in figure.series
            for at, x in enumerate(series.x)
        ]
    heading = "".join(f'<th scope="col">{escape(column)}</th>' for column in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return f"<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"


def x_told(x: float | str) -> str:
    return x if isinstance(x, str) else told(float(x))


def numbers_of(figure: Figure) -> Callable[[float], str]:
    """How the values of a figure are written, alike for all of them."""
    return told_alike(value for one in figure.series for part in (one.y, one.low, one.high) for value in part)


def band_told(series: Series, at: int, write: Callable[[float], str]) -> str:
    """The lower and upper end of a point's band, or nothing."""
    return f"{write(series.low[at])} – {write(series.high[at])}" if len(series.low) else ""


def value_told(series: Series, at: int, write: Callable[[float], str]) -> str:
    """A value with its band and its hint."""
    band = band_told(series, at, write)
    hint = series.hints[at] if len(series.hints) else ""
    return f"{write(series.y[at])}{f' ({band})' if band else ''}{f'; {hint}' if hint else ''}"


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


def _cell(cell: Cell, right: bool) -> str:
    if cell.hint:
        classes = "number hinted" if right else "hinted"
        return f'<td class="{classes}" title="{escape(cell.hint)}">{_inner(cell)}</td>'
    return f"<td{_class('number', right)}>{_inner(cell)}</td>"


def _inner(cell: Cell) -> str:
    note = f'<span class="note">{escape(cell.note)}</span>' if cell.note else ""
    return MARKS[cell.mark].format(escape(cell.text)) + note


def _row_head(cell: Cell) -> str:
    classes = " ".join(filter(None, ("hinted" if cell.hint else "", "long" if len(cell.text) > 28 else "")))
    return _class(classes, bool(classes)) + (f' title="{escape(cell.hint)}"' if cell.hint else "")


def _column(table: Table, at: int, right: bool) -> str:
    """A column of words has room for most of them before they are broken into lines."""
    longest = max((text_width(_text(row[at]), 1.0) for row in table.rows), default=0.0)
    if right or at == 0 or longest < 4:
        return _class("number", right)
    return f' style="min-width:{min(longest, 16.0) + 1:.1f}em"'


def _text(cell: Cell | str) -> str:
    return f"{cell.text}{cell.note}" if isinstance(cell, Cell) else cell


def _class(name: str, there: bool) -> str:
    return f' class="{name}"' if there else ""


def _ems(table: Table) -> float:
    """About how many letters wide the table is when no number is broken; words may be, down to a dozen letters."""

    def needed(text: str, right: bool) -> float:
        whole = text_width(text, 1.0)
        longest = max((text_width(word, 1.0) for word in text.split()), default=0.0)
        return whole if right else max(longest, min(whole, 12.0))

    total = 0.0
    columns: Sequence[str] = table.columns
    for at, column in enumerate(columns):
        right = column.startswith(">")
        widest = max((needed(_text(row[at]), right) for row in table.rows), default=0.0)
        total += max(widest, needed(column.removeprefix(">"), False)) + PADDING
    return max(total + 2.0, 1.0)
