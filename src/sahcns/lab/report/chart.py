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
from sahcns.lab.report.parts import Figure, Series, number, unique_names

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
RULE = {"domainColor": paint("rule"), "tickColor": paint("rule"), "gridColor": paint("grid")}
NAMES = {"labelColor": paint("muted"), "labelFontSize": 11.5, "labelLimit": 150}
TITLES = {"titleColor": paint("muted"), "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8}
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "Arial, 'Liberation Sans', Helvetica, sans-serif",
    "view": {"stroke": None},
    "padding": {"left": 2, "right": 8, "top": 4, "bottom": 2},
    "axis": {**RULE, **NAMES, **TITLES},
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
DIGITS = ",.4~r"  # of a heat map: four that count
Rows = list[dict[str, Any]]


def specification(
    figure: Figure, looks: Mapping[str, Look] | None = None, *, width: int | None = None, height: int = 300
) -> dict[str, Any]:
    """The figure for Vega-Lite, as wide as what it stands in, or `width` pixels wide and with its title."""
    drawn, words = drawn_series(figure, looks), _in_words(figure)
    data = {"rows": _rows(figure, drawn)}  # beside the chart, since Altair would copy every row at every step
    chart: Any
    if not any(math.isfinite(value) for series in figure.series for value in series.y):
        chart, data, height = _chart().mark_text(text="no values yet"), {"rows": [{}]}, 60
    elif figure.kind == "heat":
        chart, height = _heat_map(figure, data), 28 * len(figure.series) + 8
    elif figure.kind == "bar" and not words:
        chart = _histogram(figure, drawn, data)
    else:
        chart = _series_chart(figure, drawn, data)
    fit = {"type": "fit-x", "contains": "padding"}
    chart = chart.properties(width=width or "container", height=height, autosize=fit)
    if width:
        title = alt.Title(figure.title, subtitle=figure.partial_note)
        chart = chart.properties(title=title, background=paint("surface"))
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)  # the page has ours once, a file gets it when it is written
    spec["params"] = [*spec.get("params", []), {"name": "WIDTH", "value": width or WIDE}]
    return spec | {"datasets": data}


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
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise SettingError(f"path={str(path)!r} must end in one of {', '.join(ENDINGS)}")
    svg = to_svg(figure, width=width, looks=looks)
    convert = {".png": lambda: vl_convert.svg_to_png(svg, scale=2), ".pdf": lambda: vl_convert.svg_to_pdf(svg)}
    return write_whole(Path(path), convert[ending]() if ending in convert else svg, "figure")


def save_all(figures: Sequence[Figure], folder: Path, looks: Mapping[str, Look] | None = None) -> list[Path]:
    """Each figure by its name, as SVG, PNG and PDF."""
    named = zip(unique_names(figure.name for figure in figures), figures, strict=True)
    return [save(figure, folder / f"{name}{ending}", looks=looks) for name, figure in named for ending in ENDINGS]


def _rows(figure: Figure, drawn: Drawn) -> Rows:
    """One row a point, for all layers of a chart; null where it cannot be drawn."""

    def finite(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    rows = []
    for place, (series, look) in enumerate(drawn):
        step = math.ceil(1.5 * len(series.x) / MARKED) if figure.kind == "line" and len(series.x) > MARKED else 1
        for at, x in enumerate(series.x):
            row = {"s": series.name, "c": look.paint, "xt": number(x), "t": series.text(at), "y": finite(series.y[at])}
            row["x"] = x if isinstance(x, str) else finite(x) if x > 0 or not figure.x_log else None
            row |= {"m": (at + place) % step == 0, "d": series.dashed}  # has a marker, is dashed
            if len(series.low):
                row |= {"low": finite(series.low[at]), "high": finite(series.high[at])}
            rows.append(row)
    return rows


class _Keys:
    """The encodings that tell series apart, one scale each for all layers, so that they share a legend."""

    def __init__(self, drawn: Drawn, *, legend: bool | None = None):
        self.names = [series.name for series, _ in drawn]
        if legend is None:
            legend = len(drawn) > 1 or any(series.role for series, _ in drawn)
        room = min(300, 44 + 7 * max(map(len, self.names), default=0))
        columns = alt.ExprRef(f"max(1, floor(({AVAILABLE} - 60) / {room}))")
        key = alt.Legend(title=None, columns=columns, labelLimit=260, symbolSize=70, symbolLimit=0) if legend else None

        def scale(values: Sequence[str]) -> alt.Scale:
            return alt.Scale(domain=self.names, range=values)

        looks = [look for _, look in drawn]
        fills = [paint("surface") if look.hollow else look.paint for look in looks]
        self.stroke = alt.Stroke("s:N", scale=scale([look.paint for look in looks]), legend=key)
        self.fill = alt.Fill("s:N", scale=scale(fills), legend=key)
        self.shape = alt.Shape("s:N", scale=scale([look.shape for look in looks]), legend=key)
        self.chosen = alt.selection_point(fields=["s"], bind="legend", name="chosen") if legend else None

    def dimmed(self, opacity: float) -> Any:
        """Full for the series that was clicked in the legend, and for all where none was."""
        if self.chosen is None:
            return alt.value(opacity)
        return alt.when(self.chosen).then(alt.value(opacity)).otherwise(alt.value(opacity * 0.1))


def _series_chart(figure: Figure, drawn: Drawn, data: dict[str, Rows]) -> Any:
    """Lines with bands, points, or bars over words, side by side where there are several; each value with its marker."""
    kind, keys, size = figure.kind, _Keys(drawn), 55
    offset: Any = alt.Undefined
    if kind == "scatter":
        size = 30 if len(data["rows"]) > 300 else 70
    elif kind == "bar" and len(drawn) == 1 and not drawn[0][0].role:  # words that are samplers have their looks
        looks = {str(x): fixed_look(str(x)) or drawn[0][1] for x in drawn[0][0].x}
        keys, size = _Keys([(Series(word, (), ()), own) for word, own in looks.items()], legend=False), 0
        data["rows"] = [row | {"s": row["x"], "c": looks[row["x"]].paint} for row in data["rows"]]
    elif kind == "bar":
        size = 40
        offset = alt.XOffset("s:N", scale=alt.Scale(domain=keys.names)) if len(drawn) > 1 else offset
    base = _chart().encode(x=_x(figure), xOffset=offset)
    single, layers = base.encode(y=_y(figure, zero=kind == "bar")), []
    ends = any(len(series.low) for series, _ in drawn)
    if kind == "line":
        band = base.mark_area(tooltip=False).encode(y=_y(figure, "low"), y2="high:Q", color=PLAIN)
        layers += [band.encode(opacity=keys.dimmed(0.13))] if ends else []
        line = single.mark_line(strokeWidth=2, tooltip=False)
        layers.append(line.encode(color=PLAIN, detail="s:N", strokeDash=DASHED, opacity=keys.dimmed(1.0)))
    if kind == "bar":
        layers.append(single.mark_bar(tooltip=False).encode(color=PLAIN, opacity=keys.dimmed(0.45)))
        data["zero"] = [{"y": 0}]
        if any(value < 0 for series in figure.series for value in (*series.y, *series.low)):
            layers.append(_chart("zero").mark_rule(color=paint("muted")).encode(y="y:Q"))
    if ends and kind != "line":
        whiskers = single.mark_rule(strokeWidth=1.4, color=paint("ink"), tooltip=False)
        layers.append(whiskers.encode(y="low:Q", y2="high:Q", opacity=keys.dimmed(1.0)))
    return alt.layer(*layers, _markers(figure, single, keys, size))


def _histogram(figure: Figure, drawn: Drawn, data: dict[str, Rows]) -> Any:
    """Outlines from the left edges of equal bins, since bars of several series would hide each other."""
    edges = sorted({float(x) for series in figure.series for x in series.x})
    width = min((b - a for a, b in pairwise(edges)), default=1.0)
    data["rows"] = [row | {"mid": row["x"] + width / 2} for row in data["rows"]]
    data["steps"] = [
        {"s": series.name, "c": look.paint, "x": edge, "y": heights.get(edge, 0.0)}
        for series, look in drawn
        for heights in [dict(zip(map(float, series.x), series.y, strict=True))]
        for edge in (*edges, edges[-1] + width)
    ]
    keys, y = _Keys(drawn), _y(figure, zero=True)
    step: dict[str, Any] = {"interpolate": "step-after", "tooltip": False}
    steps = _chart("steps").encode(x=_x(figure), y=y.stack(None), color=PLAIN)
    filled = steps.mark_area(**step).encode(opacity=keys.dimmed(0.12 if len(drawn) > 1 else 0.5))
    lines = steps.mark_line(**step).encode(detail="s:N", opacity=keys.dimmed(1.0))
    return alt.layer(filled, lines, _markers(figure, _chart().encode(x=_x(figure, "mid"), y=y), keys, size=0))


def _heat_map(figure: Figure, data: dict[str, Rows]) -> Any:
    """One row a series; the opacity of a cell is its value, and a value that is not final has a dashed frame instead."""
    final = [not part for series in figure.series for part in (series.partial or [False] * len(series.y))]
    rows = [row | {"f": is_final, "x": row["xt"]} for row, is_final in zip(data["rows"], final, strict=True)]
    data["rows"] = rows
    values = [row["y"] for row in rows if row["f"] and row["y"] is not None] or [0.0, 1.0]
    signs = min(values) < 0 < max(values)
    span = [0.0, max(map(abs, values))] if signs else [min(values), max(values)]
    span[1] += span[0] == span[1]
    columns = list(dict.fromkeys(row["x"] for row in rows))
    titles = {"s": figure.y_label or "row", "x": figure.x_label or "column", "t": figure.value_label or "value"}
    base = _chart().transform_filter("isValid(datum.y)")
    base = base.transform_calculate(v="abs(datum.y)" if signs else "datum.y").encode(
        x=alt.X("x:N", sort=columns, axis=_word_axis(columns), title=figure.x_label or None),
        y=alt.Y("s:N", sort=[series.name for series in figure.series], title=figure.y_label or None),
        tooltip=[alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()],
    )
    ticks = [span[0], sum(span) / 2, span[1]]
    key = alt.Legend(title=figure.value_label or None, symbolType="square", format=DIGITS, values=ticks)
    strength = alt.Opacity("v:Q", scale=alt.Scale(domain=span, range=[0.07, 1.0]), legend=key)
    sides = alt.when("datum.y < 0").then(alt.value(paint("below"))).otherwise(alt.value(paint("heat")))
    cells = base.transform_filter("datum.f").mark_rect(stroke=paint("surface"), strokeWidth=1.5)
    rest: Any = base.transform_filter("!datum.f")
    frames = rest.mark_rect(fill="transparent", stroke=paint("muted"), strokeDash=[4, 3], strokeWidth=1, cornerRadius=3)
    layers = [cells.encode(fill=sides, opacity=strength), frames]
    if len(columns) <= 14:  # else there is no room for numbers
        bright = alt.when(f"datum.f && datum.v > {ticks[1]}").then(alt.value(paint("surface")))
        texts = base.mark_text(fontSize=11.5, tooltip=False).encode(text=alt.Text("y:Q", format=DIGITS))
        layers.append(texts.encode(color=bright.otherwise(alt.value(paint("ink")))))
    return alt.layer(*layers)


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


def _in_words(figure: Figure) -> bool:
    return any(isinstance(x, str) for series in figure.series for x in series.x)


def _x(figure: Figure, field: str = "x") -> alt.X:
    title = figure.x_label or None
    values = list(dict.fromkeys(x for series in figure.series for x in series.x))
    if _in_words(figure):
        words = [str(value) for value in values]
        scale = alt.Scale(paddingInner=0.25) if figure.kind == "bar" else alt.Undefined
        return alt.X(f"{field}:N", sort=words, title=title, axis=_word_axis(words), scale=scale)
    scale = alt.Scale(type="log" if figure.x_log else "linear", nice=False, padding=10)
    if not figure.x_log:
        scale.zero = False
    tried = len(values) <= 8 and all(list(series.x) == values for series in figure.series)
    ticks: Any = values if figure.x_log and tried else alt.Undefined  # sizes that were tried, not round ones
    whole: Any = 1 if all(float(value).is_integer() for value in values) else alt.Undefined
    return alt.X(f"{field}:Q", title=title, axis=alt.Axis(values=ticks, tickMinStep=whole), scale=scale)


def _y(figure: Figure, field: str = "y", *, zero: bool = False) -> alt.Y:
    scale = alt.Scale(zero=zero, padding=alt.Undefined if zero else 8)
    return alt.Y(f"{field}:Q", title=figure.y_label or None, scale=scale)


def _word_axis(words: Sequence[str]) -> alt.Axis:
    """Words below an axis, turned where they would touch, which depends on how wide the page is."""
    tight = f"({AVAILABLE} - 60) / {max(1, len(words))} < {min(150, 7 * max(map(len, words), default=1)) + 6}"
    turned = {"labelAngle": "-35 : 0", "labelAlign": "'right' : 'center'", "labelBaseline": "'middle' : 'top'"}
    either: dict[str, Any] = {name: alt.ExprRef(f"{tight} ? {ways}") for name, ways in turned.items()}
    return alt.Axis(ticks=False, labelPadding=6, **either)
