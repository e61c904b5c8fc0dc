"""A figure as a Vega-Lite specification through Altair; vl-convert makes SVG, PNG and PDF of it."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from sahcns.errors import SahcnsError, SettingError
from sahcns.files import write_whole
from sahcns.lab.report.palette import Drawn, Look, drawn_series, fixed_look, paint, painted
from sahcns.lab.report.parts import Figure, Series, unique_names
from sahcns.lab.report.tables import frame_note, number, value_text

try:
    import altair as alt
    import vl_convert
except ImportError:
    raise SahcnsError(
        "figures need altair and vl-convert, which are not installed; pip install 'sahcns[report]'"
    ) from None

WIDE = 760  # pixels of a figure in a file
ENDINGS = (".svg", ".png", ".pdf")
MARKED = 12  # points of a line up to which each has a marker
VERSION = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "Arial, 'Liberation Sans', Helvetica, sans-serif",
    "view": {"stroke": None},
    "padding": {"left": 2, "right": 8, "top": 4, "bottom": 2},
    "axis": {
        "domainColor": paint("rule"),
        "tickColor": paint("rule"),
        "gridColor": paint("grid"),
        "labelColor": paint("muted"),
        "labelFontSize": 11.5,
        "labelLimit": 150,
        "titleColor": paint("muted"),
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "axisX": {"grid": False, "labelFlush": False},
    "axisY": {"domain": False, "ticks": False},
    "legend": {"orient": "top", "labelColor": paint("ink"), "titleColor": paint("muted"), "labelFontSize": 12.5},
    "text": {"color": paint("muted"), "fontSize": 12.5},
    "title": {"anchor": "start", "color": paint("ink"), "subtitleColor": paint("muted"), "fontSize": 15, "offset": 10},
}

AVAILABLE = "(containerSize()[0] || WIDTH)"  # in pixels; the width of the plot itself changes while a chart is laid out
# The colours and dashes of rows themselves, for layers that have no part in the legend.
PLAIN = alt.Color("c:N", scale=None)
DASHED = alt.when("datum.d").then(alt.value([6, 4])).otherwise(alt.value([1, 0]))


Made = tuple[Any, dict[str, list[dict[str, Any]]]]
"""A chart and the rows it draws, by the names it knows them by."""


def specification(
    figure: Figure, looks: Mapping[str, Look] | None = None, *, width: int | None = None, height: int = 300
) -> dict[str, Any]:
    """The figure for Vega-Lite, as wide as what it stands in, or `width` pixels wide and with its title."""
    makers = {"line": _lines, "bar": _bars, "scatter": _points, "heat": _heat_map}
    if figure.kind == "bar" and not _in_words(figure):
        makers["bar"] = _histogram
    if any(math.isfinite(value) for series in figure.series for value in series.y):
        chart, data = makers[figure.kind](figure, drawn_series(figure, looks))
        height = 28 * len(figure.series) + 8 if figure.kind == "heat" else height
    else:
        chart, data, height = _chart().mark_text(text="no values yet"), {"rows": [{}]}, 60
    fit = {"type": "fit-x", "contains": "padding"}
    chart = chart.properties(width=width or "container", height=height, autosize=fit)
    if width:
        title = alt.Title(figure.title, subtitle=frame_note(figure))
        chart = chart.properties(title=title, background=paint("surface"))
    made: dict[str, Any] = chart.to_dict(validate=False)
    made.pop("config", None)  # the page has ours once, a file gets it when it is written
    made["params"] = [*made.get("params", []), {"name": "WIDTH", "value": width or WIDE}]
    return made | {"datasets": data}  # beside the chart, since Altair would copy every row at every step


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one, for a page."""
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VERSION))


def to_svg(figure: Figure, *, width: int = WIDE, looks: Mapping[str, Look] | None = None) -> str:
    """The figure as SVG in the light colours."""
    spec = painted(json.dumps(specification(figure, looks, width=width) | {"config": CONFIG}))
    return str(vl_convert.vegalite_to_svg(spec, vl_version=VERSION, allowed_base_urls=[]))


def save(
    figure: Figure, path: str | os.PathLike[str], *, width: int = WIDE, looks: Mapping[str, Look] | None = None
) -> Path:
    """Write the figure as SVG, PNG or PDF, by the ending of `path`; the three look alike."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise SettingError(f"path={str(path)!r} must end in one of {', '.join(ENDINGS)}")
    svg = to_svg(figure, width=width, looks=looks)
    match target.suffix.lower():
        case ".png":
            return write_whole(target, vl_convert.svg_to_png(svg, scale=2), "figure")
        case ".pdf":
            return write_whole(target, vl_convert.svg_to_pdf(svg), "figure")
    return write_whole(target, svg, "figure")


def save_all(figures: Sequence[Figure], folder: Path, looks: Mapping[str, Look] | None = None) -> list[Path]:
    """Each figure by its name, as SVG, PNG and PDF."""
    named = zip(unique_names(figure.name for figure in figures), figures, strict=True)
    return [save(figure, folder / f"{name}{ending}", looks=looks) for name, figure in named for ending in ENDINGS]


def _rows(figure: Figure, drawn: Drawn, shift: float = 0.0) -> list[dict[str, Any]]:
    """One row a point, for all layers of a chart."""

    def placed(value: float, log: bool) -> float | None:
        return float(value) if math.isfinite(value) and (value > 0 or not log) else None

    rows = []
    least = min((value for series in figure.series for value in series.y if value > 0), default=1.0)
    for place, (series, look) in enumerate(drawn):
        step = math.ceil(1.5 * len(series.x) / MARKED) if figure.kind == "line" and len(series.x) > MARKED else 1
        for at, x in enumerate(series.x):
            row: dict[str, Any] = {"s": series.name, "c": look.paint, "xt": number(x), "t": value_text(series, at)}
            row["x"] = x if isinstance(x, str) else placed(x, figure.x_log)
            row["y"] = placed(series.y[at], figure.y_log)
            if len(series.low):
                low = max(series.low[at], least / 2) if figure.y_log else series.low[at]
                row |= {"low": placed(low, figure.y_log), "high": placed(series.high[at], figure.y_log)}
            if shift and not isinstance(x, str):
                row["mid"] = x + shift
            if (at + place) % step == 0:
                row["m"] = 1  # has a marker
            if series.dashed:
                row["d"] = 1
            rows.append(row)
    return rows


class _Keys:
    """The encodings that tell series apart, one scale each for all layers, so that they share a legend."""

    def __init__(self, drawn: Drawn, *, legend: bool | None = None):
        self.names = [series.name for series, _ in drawn]
        looks = [look for _, look in drawn]
        if legend is None:
            legend = len(drawn) > 1 or any(series.role for series, _ in drawn)
        room = 44 + 7 * max(map(len, self.names), default=0)
        columns = alt.ExprRef(f"max(1, floor(({AVAILABLE} - 60) / {min(room, 300)}))")
        key = alt.Legend(title=None, columns=columns, labelLimit=260, symbolSize=70, symbolLimit=0) if legend else None
        scale: dict[str, Any] = {
            "colour": [look.paint for look in looks],
            "fill": [paint("surface") if look.hollow else look.paint for look in looks],
            "shape": [look.shape for look in looks],
        }
        of = {name: alt.Scale(domain=self.names, range=values) for name, values in scale.items()}
        self.stroke = alt.Stroke("s:N", scale=of["colour"], legend=key)
        self.fill = alt.Fill("s:N", scale=of["fill"], legend=key)
        self.shape = alt.Shape("s:N", scale=of["shape"], legend=key)
        self.chosen = alt.selection_point(fields=["s"], bind="legend", name="chosen") if legend else None

    def dimmed(self, opacity: float) -> Any:
        """Full for the series that was clicked in the legend, and for all where none was."""
        if self.chosen is None:
            return alt.value(opacity)
        return alt.when(self.chosen).then(alt.value(opacity)).otherwise(alt.value(opacity * 0.1))


def _lines(figure: Figure, drawn: Drawn) -> Made:
    keys, base = _Keys(drawn), _chart()
    x, y = _x(figure), _y(figure)
    layers = []
    if any(len(series.low) for series, _ in drawn):
        band = base.mark_area(tooltip=False).encode(x=x, y=_y(figure, "low"), y2="high:Q", color=PLAIN)
        layers.append(band.encode(opacity=keys.dimmed(0.13)))
    line = base.mark_line(strokeWidth=2, tooltip=False).encode(x=x, y=y, color=PLAIN, detail="s:N", strokeDash=DASHED)
    layers += [line.encode(opacity=keys.dimmed(1.0)), _markers(figure, base.encode(x=x, y=y), keys)]
    return alt.layer(*layers), {"rows": _rows(figure, drawn)}


def _points(figure: Figure, drawn: Drawn) -> Made:
    keys, base = _Keys(drawn), _chart().encode(x=_x(figure), y=_y(figure))
    many = sum(len(series.x) for series, _ in drawn) > 300
    marks = _markers(figure, base, keys, size=30 if many else 70)
    return alt.layer(*_whiskers(base, drawn, keys), marks), {"rows": _rows(figure, drawn)}


def _bars(figure: Figure, drawn: Drawn) -> Made:
    """Bars over words, side by side where there are several series, each with its marker at its value."""
    words = list(dict.fromkeys(str(x) for series in figure.series for x in series.x))
    alone = len(drawn) == 1 and not drawn[0][0].role
    if alone and any(map(fixed_look, words)):  # the words are samplers, and have their looks here too
        series, look = drawn[0]
        parts = {str(x): fixed_look(str(x)) or look for x in series.x}
        keys = _Keys([(Series(word, (), ()), own) for word, own in parts.items()], legend=False)
        rows = [row | {"s": str(row["x"]), "c": parts[str(row["x"])].paint} for row in _rows(figure, drawn)]
    else:
        keys, rows = _Keys(drawn), _rows(figure, drawn)
    offset: Any = alt.Undefined if len(drawn) == 1 else alt.XOffset("s:N", scale=alt.Scale(domain=keys.names))
    base = _chart().encode(x=_x(figure), y=_y(figure, zero=True), xOffset=offset)
    bars = base.mark_bar(tooltip=False).encode(color=PLAIN, opacity=keys.dimmed(0.45))
    signs = any(value < 0 for series in figure.series for value in (*series.y, *series.low))
    marks = _markers(figure, base, keys, size=0 if alone else 40)
    zero = [_chart("zero").mark_rule(color=paint("muted")).encode(y="y:Q")] if signs else []
    return alt.layer(bars, *zero, *_whiskers(base, drawn, keys), marks), {"rows": rows, "zero": [{"y": 0}]}


def _histogram(figure: Figure, drawn: Drawn) -> Made:
    """Bars from the left edges of equal bins; several series as outlines, since bars would hide each other."""
    edges = sorted({float(x) for series in figure.series for x in series.x})
    width = min((b - a for a, b in pairwise(edges)), default=1.0)
    rows = _rows(figure, drawn, width / 2)
    keys, base = _Keys(drawn), _chart()
    marks = _markers(figure, base.encode(x=_x(figure, "mid"), y=_y(figure, zero=True)), keys, size=0)
    if len(drawn) == 1:
        flat = base.transform_calculate(end=f"datum.x + {width}").mark_rect(tooltip=False, stroke=paint("surface"))
        bars = flat.encode(x=_x(figure), x2="end:Q", y=_y(figure, zero=True), y2=alt.datum(0), color=PLAIN)
        return alt.layer(bars, marks), {"rows": rows}
    steps = []
    for series, look in drawn:
        heights = dict(zip((float(x) for x in series.x), series.y, strict=True))
        steps += [{"s": series.name, "c": look.paint, "x": edge, "y": heights.get(edge, 0.0)} for edge in edges]
        steps.append({"s": series.name, "c": look.paint, "x": edges[-1] + width, "y": 0.0})
    area = _chart("steps").encode(x=_x(figure), y=_y(figure, zero=True).stack(None))
    filled = area.mark_area(interpolate="step-after", tooltip=False).encode(color=PLAIN, opacity=keys.dimmed(0.12))
    lines = area.mark_line(interpolate="step-after", tooltip=False).encode(
        color=PLAIN, detail="s:N", strokeDash=DASHED, opacity=keys.dimmed(1.0)
    )
    return alt.layer(filled, lines, marks), {"rows": rows, "steps": steps}


def _heat_map(figure: Figure, drawn: Drawn) -> Made:
    """One row a series; the opacity of a cell is its value, and a value that is not final has a dashed frame instead."""
    rows = _rows(figure, drawn)
    final = [not part for series in figure.series for part in (series.partial or [False] * len(series.y))]
    for row, is_final in zip(rows, final, strict=True):
        row |= {"f": bool(is_final), "x": row["xt"]}
    known = [row["y"] for row in rows if row["f"] and row["y"] is not None] or [0.0, 1.0]
    signs = min(known) < 0 < max(known)
    span = [0.0, max(map(abs, known))] if signs else [min(known), max(known)]
    span[1] += span[0] == span[1]
    digits = max(0, min(6, 2 - math.floor(math.log10(span[1] - span[0]) + 1e-9)))
    columns = list(dict.fromkeys(row["x"] for row in rows))
    strength = "abs(datum.y)" if signs else "datum.y"
    base = _chart().transform_filter("isValid(datum.y)").transform_calculate(v=strength)
    base = base.encode(
        x=alt.X("x:N", sort=columns, axis=_word_axis(columns), title=figure.x_label or None),
        y=alt.Y("s:N", sort=[series.name for series in figure.series], title=figure.y_label or None),
        tooltip=[
            alt.Tooltip("s:N", title=figure.y_label or "row"),
            alt.Tooltip("x:N", title=figure.x_label or "column"),
            alt.Tooltip("t:N", title=figure.value_label or "value"),
        ],
    )
    marks = [span[0], sum(span) / 2, span[1]]
    legend = alt.Legend(title=figure.value_label or None, symbolType="square", format=f",.{digits}f", values=marks)
    scale = alt.Scale(domain=span, range=[0.07, 1.0])
    cells = base.transform_filter("datum.f").mark_rect(stroke=paint("surface"), strokeWidth=1.5).encode(
        fill=alt.condition("datum.y < 0", alt.value(paint("below")), alt.value(paint("heat"))),
        opacity=alt.Opacity("v:Q", scale=scale, legend=legend),
    )  # fmt: skip
    frames = base.transform_filter("!datum.f").mark_rect(
        fill="transparent", stroke=paint("muted"), strokeDash=[4, 3], strokeWidth=1, cornerRadius=3
    )
    if len(columns) > 14:  # no room for numbers
        return alt.layer(cells, frames), {"rows": rows}
    bright = f"datum.f && datum.v > {span[0] + 0.5 * (span[1] - span[0])}"
    texts = base.mark_text(fontSize=11.5, tooltip=False).encode(
        text=alt.Text("y:Q", format=f",.{digits}f"),
        color=alt.condition(bright, alt.value(paint("surface")), alt.value(paint("ink"))),
    )
    return alt.layer(cells, frames, texts), {"rows": rows}


def _chart(rows: str = "rows") -> alt.Chart:
    return alt.Chart(alt.NamedData(name=rows))


def _markers(figure: Figure, base: alt.Chart, keys: _Keys, size: int = 55) -> Any:
    """A marker at each value, or at every few of a long line; the nearest to the pointer grows and tells its value."""
    near = alt.selection_point(nearest=True, on="pointerover", clear="pointerout", empty=False, name="near")
    sizes = alt.when(near).then(alt.value(130)).when("datum.m").then(alt.value(size)).otherwise(alt.value(0))
    # Vega-Lite's own tooltips look for the values of the nearest point one level too high
    fields = {"title": "s", figure.x_label or "at": "xt", figure.y_label or "value": "t"}
    values = ", ".join(f"{json.dumps(name)}: (datum.datum || datum).{field}" for name, field in fields.items())
    marks = base.mark_point(strokeWidth=1.6, aria=False, tooltip=alt.ExprRef(f"{{{values}}}")).encode(
        stroke=keys.stroke, fill=keys.fill, shape=keys.shape, size=sizes, opacity=keys.dimmed(1.0)
    )
    params = [near] + ([keys.chosen] if keys.chosen is not None else [])
    if figure.kind in ("line", "scatter") and not _in_words(figure):
        params.append(alt.selection_interval(bind="scales", zoom="wheel![event.ctrlKey]", name="zoom"))
    return marks.add_params(*params)


def _whiskers(base: alt.Chart, drawn: Drawn, keys: _Keys) -> list[alt.Chart]:
    if not any(len(series.low) for series, _ in drawn):
        return []
    rule = base.mark_rule(strokeWidth=1.4, color=paint("ink"), tooltip=False)
    return [rule.encode(y="low:Q", y2="high:Q", opacity=keys.dimmed(1.0))]


def _in_words(figure: Figure) -> bool:
    return any(isinstance(x, str) for series in figure.series for x in series.x)


def _x(figure: Figure, field: str = "x") -> alt.X:
    title = figure.x_label or None
    values = list(dict.fromkeys(x for series in figure.series for x in series.x))
    if _in_words(figure):
        words = [str(value) for value in values]
        scale = alt.Scale(paddingInner=0.25) if figure.kind == "bar" else alt.Undefined
        return alt.X(f"{field}:N", sort=words, title=title, axis=_word_axis(words), scale=scale)
    tried = len(values) <= 8 and all(list(series.x) == values for series in figure.series)
    ticks: Any = values if figure.x_log and tried else alt.Undefined  # sizes that were tried, not round ones
    scale = alt.Scale(zero=False, nice=False, padding=10)
    if figure.x_log:
        scale = alt.Scale(type="log", nice=False, padding=10)
    whole: Any = 1 if all(float(value).is_integer() for value in values) else alt.Undefined
    return alt.X(f"{field}:Q", title=title, axis=alt.Axis(values=ticks, tickMinStep=whole), scale=scale)


def _y(figure: Figure, field: str = "y", *, zero: bool = False) -> alt.Y:
    edge = alt.Undefined if zero else 8
    scale = alt.Scale(type="log", padding=edge) if figure.y_log else alt.Scale(zero=zero, padding=edge)
    return alt.Y(f"{field}:Q", title=figure.y_label or None, scale=scale)


def _word_axis(words: Sequence[str]) -> alt.Axis:
    """Words below an axis, turned where they would touch, which depends on how wide the page is."""
    tight = f"({AVAILABLE} - 60) / {max(1, len(words))} < {min(150, 7 * max(map(len, words), default=1)) + 6}"
    return alt.Axis(
        labelAngle=alt.ExprRef(f"{tight} ? -35 : 0"),
        labelAlign=alt.ExprRef(f"{tight} ? 'right' : 'center'"),
        labelBaseline=alt.ExprRef(f"{tight} ? 'middle' : 'top'"),
        ticks=False,
        labelPadding=6,
    )
