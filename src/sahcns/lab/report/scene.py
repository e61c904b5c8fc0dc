"""A drawing as plain shapes in pixels, before it is SVG or PNG: what is laid out once looks alike in both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sahcns.lab.report.palette import THEMES, Hue, Marker

Point = tuple[float, float]
Paint = Literal["none", "surface", "ink", "muted", "grid", "rule", "hue", "on-hue"]
"""A name from the theme, or the group's own colour and what is readable on it."""
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Shape:
    """Lines or areas: each run of points is a line of its own, closed if `closed`."""

    runs: Sequence[Sequence[Point]]
    stroke: Paint = "none"
    fill: Paint = "none"
    width: float = 1.0
    dash: Sequence[float] = ()
    opacity: float = 1.0
    closed: bool = False
    name: str = ""  # a class in SVG


@dataclass(frozen=True)
class Dot:
    """A marker around a point; a hollow one lets the surface through."""

    at: Point
    marker: Marker
    radius: float = 4.0
    hollow: bool = False
    opacity: float = 1.0
    paint: Paint = "hue"


@dataclass(frozen=True)
class Label:
    """A line of text whose baseline begins, is centred or ends at a point, turned by degrees clockwise."""

    at: Point
    text: str
    size: float = 12.0
    anchor: Anchor = "start"
    paint: Paint = "ink"
    bold: bool = False
    turned: float = 0.0


Item = Shape | Dot | Label


@dataclass(frozen=True)
class Group:
    """Items that belong together, with the colour they share and what a page may read about them."""

    items: Sequence[Item]
    name: str = ""
    hue: Hue | None = None
    on_hue: Hue | None = None
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """A drawing: width, height and groups from back to front."""

    width: float
    height: float
    groups: Sequence[Group]
    data: Mapping[str, str] = field(default_factory=dict)


def colour_of(paint: Paint, group: Group) -> str:
    """The fixed colour of a paint on a light ground."""
    if paint == "none":
        return "none"
    own = {"hue": group.hue, "on-hue": group.on_hue}.get(paint)
    return own.light if own else THEMES["light"][paint]


def box(x: float, y: float, width: float, height: float) -> list[Point]:
    """The corners of a rectangle."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def text_width(text: str, size: float = 12.0) -> float:
    """About how wide a text is at most: in DejaVu Sans, the widest of what is met as sans-serif."""
    return sum(_em(letter) for letter in text) * size * 1.13


def shortened(text: str, room: float, size: float = 12.0) -> str:
    """The text, or as much of it as there is room for with an ellipsis in its middle, since names differ at their ends."""
    if text_width(text, size) <= room:
        return text
    keep = len(text) - 1
    while keep > 2 and text_width(text[: (keep + 1) // 2] + "…" + text[-(keep // 2) :], size) > room:
        keep -= 1
    return text[: (keep + 1) // 2].rstrip() + "…" + text[-(keep // 2) :].lstrip()


def wrapped(text: str, room: float, size: float = 12.0) -> list[str]:
    """The text in lines that fit."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _em(letter: str) -> float:
    if letter in "ijl.,:;|!'·":
        return 0.26
    if letter in 'ftr()[]{}/\\-– "':
        return 0.36
    if letter in "mwMW%@—…":
        return 0.88
    return 0.69 if letter.isupper() or ord(letter) > 0x2000 else 0.56
