"""A figure as SVG, by our own hand: a file that looks right alone, and on a page follows the page's theme.

Every colour is an attribute, which any style sheet overrides; the classes `fill-ink`, `stroke-hue` and so on are what a
page's style sheet takes hold of, and `--light` and `--dark` of a group are the two colours between which it chooses.
"""

import math
from collections.abc import Mapping
from html import escape

from sahcns.lab.report.layout import WIDE, lay_out
from sahcns.lab.report.palette import OPEN, Look, Marker
from sahcns.lab.report.parts import Figure
from sahcns.lab.report.scene import Dot, Group, Item, Label, Paint, Point, Scene, Shape, colour_of

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"


def to_svg(figure: Figure, width: float = WIDE, *, looks: Mapping[str, Look] | None = None) -> str:
    """The figure as a file of its own, with its title, on white."""
    made = scene_to_svg(lay_out(figure, width, looks=looks), alone=True)
    about = f"<title>{escape(figure.title)}</title>"
    if figure.caption:
        about += f"<desc>{escape(figure.caption)}</desc>"
    start = made.index(">") + 1
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{made[:start]}{about}{made[start:]}\n'


def scene_to_svg(scene: Scene, *, alone: bool = False, attributes: Mapping[str, str] | None = None) -> str:
    """The `<svg>` element; one that stands alone says its size, one on a page takes that of its box."""
    named = {"viewBox": f"0 0 {_n(scene.width)} {_n(scene.height)}", "font-family": FONT, **(attributes or {})}
    if alone:
        named |= {"xmlns": "http://www.w3.org/2000/svg", "width": _n(scene.width), "height": _n(scene.height)}
    else:
        named |= {f"data-{name}": value for name, value in scene.data.items()}
    return f"<svg{_attributes(named)}>{''.join(_group(group, page=not alone) for group in scene.groups)}</svg>"


def outline(marker: Marker, at: Point, radius: float) -> list[list[Point]]:
    """The corners of a marker; a cross and a plus are two strokes, a circle has its own element."""
    x, y = at
    r = radius

    def around(corners: int, turn: float, inner: float = 0.0, size: float = 1.15) -> list[Point]:
        steps = corners * (2 if inner else 1)
        radii = [r * size * (inner if inner and step % 2 else 1.0) for step in range(steps)]
        angles = [math.radians(turn) + math.tau * step / steps for step in range(steps)]
        return [(x + size * math.sin(a), y - size * math.cos(a)) for size, a in zip(radii, angles, strict=True)]

    if marker == "square":
        return [around(4, 45, size=1.22)]
    if marker == "diamond":
        return [around(4, 0, size=1.3)]
    if marker == "star":
        return [around(5, 0, inner=0.45, size=1.45)]
    if marker in ("up", "down", "right"):
        return [around(3, {"up": 0, "right": 90, "down": 180}[marker], size=1.3)]
    if marker == "plus":
        return [[(x - 1.15 * r, y), (x + 1.15 * r, y)], [(x, y - 1.15 * r), (x, y + 1.15 * r)]]
    return [[(x - r, y - r), (x + r, y + r)], [(x - r, y + r), (x + r, y - r)]]


def _group(group: Group, *, page: bool) -> str:
    named = {"class": group.name}
    if page:
        named |= {f"data-{name}": value for name, value in group.data.items()}
        hues = [("", group.hue), ("on-", group.on_hue)]
        named["style"] = ";".join(f"--{on}light:{hue.light};--{on}dark:{hue.dark}" for on, hue in hues if hue)
    return f"<g{_attributes(named)}>{''.join(_item(item, group) for item in group.items)}</g>"


def _item(item: Item, group: Group) -> str:
    if isinstance(item, Label):
        return _label(item, group)
    if isinstance(item, Dot):
        return _dot(item, group)
    named = {"class": item.name, "d": _path(item)}
    named |= _painted(item.fill, item.stroke, group)
    if item.stroke != "none":
        named |= {"stroke-width": _n(item.width), "stroke-linejoin": "round"}
    if item.dash:
        named["stroke-dasharray"] = " ".join(map(_n, item.dash))
    if item.opacity < 1:
        named["opacity"] = _n(item.opacity)
    if item.name == "strip":
        named["shape-rendering"] = "crispEdges"  # or the ground would shine through between one strip and the next
    return f"<path{_attributes(named)}/>"


def _path(shape: Shape) -> str:
    runs = ("M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in run) + ("Z" if shape.closed else "") for run in shape.runs)
    return "".join(runs)


def marker_paint(dot: Dot) -> tuple[Paint, float]:
    """What a marker is filled with and how thick its stroke is."""
    if dot.marker in OPEN:
        return "none", 2.0
    if dot.hollow:
        return ("surface" if dot.paint == "hue" else "none"), 1.6
    return dot.paint, 1.0


def _dot(dot: Dot, group: Group) -> str:
    fill, width = marker_paint(dot)
    named = {"class": "dot", "stroke-width": _n(width)} | _painted(fill, dot.paint, group)
    if dot.opacity < 1:
        named["opacity"] = _n(dot.opacity)
    if dot.marker == "circle":
        return f"<circle{_attributes(named | {'cx': _n(dot.at[0]), 'cy': _n(dot.at[1]), 'r': _n(dot.radius)})}/>"
    shape = Shape(outline(dot.marker, dot.at, dot.radius), closed=dot.marker not in OPEN)
    return f"<path{_attributes(named | {'d': _path(shape)})}/>"


def _label(label: Label, group: Group) -> str:
    x, y = (_n(part) for part in label.at)
    named = {"x": x, "y": y, "font-size": _n(label.size)} | _painted(label.paint, "none", group)
    if label.anchor != "start":
        named["text-anchor"] = label.anchor
    if label.bold:
        named["font-weight"] = "600"
    if label.turned:
        named["transform"] = f"rotate({_n(label.turned)} {x} {y})"
    return f"<text{_attributes(named)}>{escape(label.text, quote=False)}</text>"


def _painted(fill: Paint, stroke: Paint, group: Group) -> dict[str, str]:
    """Both colours as attributes, and as classes for a page's style sheet."""
    named = {"fill": colour_of(fill, group)}
    classes = [] if fill == "none" else [f"fill-{fill}"]
    if stroke != "none":
        named["stroke"] = colour_of(stroke, group)
        classes.append(f"stroke-{stroke}")
    return named | {"paint": " ".join(classes)}


def _attributes(named: Mapping[str, str]) -> str:
    """` name="value"` for each that has a value; the classes of name and paint are one attribute."""
    rest = {name: value for name, value in named.items() if name not in ("class", "paint")}
    classes = " ".join(filter(None, (named.get("class"), named.get("paint"))))
    return "".join(f' {name}="{escape(value)}"' for name, value in {"class": classes, **rest}.items() if value)


def _n(number: float) -> str:
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
