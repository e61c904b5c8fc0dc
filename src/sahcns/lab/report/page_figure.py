"""A figure of the page: drawn twice, for a desk and for a phone, with its values for those who point, listen or copy."""

import json
from collections.abc import Mapping
from html import escape

from sahcns.lab.report.frame import HEADING
from sahcns.lab.report.layout import NARROW, WIDE, lay_out
from sahcns.lab.report.page_data import band_told, data_html, numbers_of, x_told
from sahcns.lab.report.palette import Look
from sahcns.lab.report.parts import Figure
from sahcns.lab.report.scene import wrapped
from sahcns.lab.report.svg import scene_to_svg


def figure_html(figure: Figure, looks: Mapping[str, Look], identity: str, prose: str) -> str:
    """Title, drawings, caption, the button that saves, the data folded away, and the values for the script."""
    drawings = "".join(
        scene_to_svg(
            lay_out(figure, width, titled=False, looks=looks),
            attributes={"class": f"drawing {name}", "role": "group", "aria-label": figure.title},
        )
        for name, width in (("wide", WIDE), ("narrow", NARROW))
    )
    caption = f'<figcaption class="caption">{prose}</figcaption>' if prose else ""
    told = escape(f"data of {figure.title}")  # or else all of them are one name in a list of regions
    data = f'<div class="scroll" role="region" tabindex="0" aria-label="{told}">{data_html(figure)}</div>'
    return (
        f'<figure class="card figure" id="{identity}"><h3>{escape(figure.title)}</h3>{drawings}'
        f'<div class="below">{caption}<details><summary>Data</summary>{data}</details>'
        '<button type="button" class="save" hidden>Save as SVG</button></div>'
        f'<script type="application/json">{safe_json(_values(figure, identity))}</script></figure>'
    )


def safe_json(value: object) -> str:
    """JSON that cannot end the script element it stands in, whatever the names in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _values(figure: Figure, identity: str) -> dict[str, object]:
    """What is shown on hover, as it is written there: for each point x, y, band and hint."""
    write = numbers_of(figure)
    series = []
    for one in figure.series:
        points = []
        for at, x in enumerate(one.x):
            point = [x_told(x), write(one.y[at]), band_told(one, at, write), one.hints[at] if len(one.hints) else ""]
            while point[-1] == "" and len(point) > 2:
                point.pop()
            points.append(point)
        series.append({"name": one.name, "points": points})
    return {
        "name": identity,
        "heading": wrapped(figure.title, WIDE - 16, HEADING * 1.08),
        "kind": figure.kind,
        "x": figure.x_label,
        "row": figure.y_label if figure.kind == "heat" else "",
        "value": figure.value_label or "value",
        "series": series,
    }
