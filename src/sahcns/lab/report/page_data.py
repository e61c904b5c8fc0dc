"""The values of a figure as a table, for those who listen to a page, copy from it, or want to know exactly."""

from collections.abc import Callable
from html import escape

from sahcns.lab.report.parts import Figure, Series
from sahcns.lab.report.scales import told, told_alike


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
