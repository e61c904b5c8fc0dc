"""The marks of lines, bars and points, in pixels; where a value is missing there is none, and a line is broken."""

import math
from collections.abc import Sequence
from itertools import pairwise

from sahcns.lab.report.frame import Drawn, coloured_by_word
from sahcns.lab.report.palette import OPEN, Look
from sahcns.lab.report.parts import Series
from sahcns.lab.report.scales import Axis, Slots
from sahcns.lab.report.scene import Dot, Group, Item, Paint, Point, Shape, box

Spots = list[Point | None]
"""Where each point of a series is, for whoever points at it."""


def spots(series: Series, x: Axis | Slots, y: Axis) -> Spots:
    """The pixel of each point, None where x or y has none."""
    found: Spots = []
    for across, value in zip(series.x, series.y, strict=True):
        at = x.place(str(across)) if isinstance(x, Slots) else x.place(float(across))
        up = y.place(value)
        found.append((at, up) if at is not None and up is not None else None)
    return found


def lines(entries: Sequence[Drawn], x: Axis | Slots, y: Axis) -> tuple[list[Group], list[Spots]]:
    """Bands behind, then lines with markers far enough apart to be told from each other."""
    bands: list[Group] = []
    strokes: list[Group] = []
    places = []
    for number, entry in enumerate(entries):
        at = spots(entry.series, x, y)
        places.append(at)
        if len(entry.series.low):
            band = Shape(_bands(entry.series, at, y), fill="hue", opacity=0.12, closed=True, name="band")
            bands.append(_group([band], entry, number))
        items: list[Item] = [Shape(_runs(at), "hue", width=2.0, dash=entry.dash, name="line")]
        items += [_dot(entry, spot) for spot in _apart(at, number)]
        strokes.append(_group(items, entry, number))
    return bands + strokes, places


def points(entries: Sequence[Drawn], x: Axis | Slots, y: Axis) -> tuple[list[Group], list[Spots]]:
    """A cloud: small and see-through where there are many."""
    groups, places = [], []
    many = sum(len(entry.series.x) for entry in entries) > 300
    for number, entry in enumerate(entries):
        at = spots(entry.series, x, y)
        items: list[Item] = _whiskers(entry.series, at, y, 0.0, "hue")
        look = entry.look
        items += [
            Dot(spot, look.marker, 3.2 if many else 4.6, look.hollow, 0.55 if many else 0.85) for spot in at if spot
        ]
        groups.append(_group(items, entry, number))
        places.append(at)
    return groups, places


def bars(entries: Sequence[Drawn], x: Slots, y: Axis) -> tuple[list[Group], list[Spots]]:
    """Bars over words, side by side where there are several series, each with its marker.

    It stands at the bar's foot, and above a bar that is too low for it. Among changes, which go both ways, it stands at
    the value: so a change of nothing is seen too, and a whisker does not strike it out.
    """
    groups, places = [], []
    thick = min(64.0, x.room * (0.62 if len(entries) == 1 else 0.82) / max(1, len(entries)))
    base = _base(y)
    own = coloured_by_word(entries, x)
    ends = (end for entry in entries for end in (*entry.series.y, *entry.series.low))
    changes = not y.range.log and any(end <= 0 for end in ends)
    for number, entry in enumerate(entries):
        shift = (number - (len(entries) - 1) / 2) * thick
        at: Spots = [spot and (spot[0] + shift, spot[1]) for spot in spots(entry.series, x, y)]
        for place, (word, spot) in enumerate(zip(entry.series.x, at, strict=True)):
            if spot is None:
                continue
            look = own[x.words.index(str(word))] or entry.look
            gap = 1.0 if thick > 6 and len(entries) > 1 else 0.0
            corners = box(spot[0] - thick / 2 + gap / 2, min(base, spot[1]), thick - gap, abs(base - spot[1]))
            items: list[Item] = [Shape([corners], fill="hue", closed=True, name="bar")]
            one = [spot if here == place else None for here in range(len(at))]
            whiskers = _whiskers(entry.series, one, y, min(5.0, thick / 3), "ink")
            marked = len(entries) > 1 or own[x.words.index(str(word))] is not None
            if changes:
                items += [*whiskers, *_at_value(spot, look, min(4.2, thick / 2 - 0.5))]
            elif thick < 10 or not marked:
                items += whiskers
            elif abs(base - spot[1]) > 16:
                foot = base - math.copysign(9, base - spot[1])
                items += [Dot((spot[0], foot), look.marker, 3.2, look.hollow, paint="surface"), *whiskers]
            else:
                reach = _reach(entry.series.low[place], entry.series.high[place], y) if len(entry.series.low) else None
                top = min(spot[1], *reach) if reach else spot[1]
                items += [*whiskers, Dot((spot[0], top - 8), look.marker, 3.2, look.hollow)]
            groups.append(Group(items, "series", look.hue, data={"series": str(number)}))
        places.append(at)
    return groups, places


def _at_value(spot: Point, look: Look, radius: float) -> list[Item]:
    """A marker with a rim, or it would drown in its own bar; one of mere lines stands on a disc."""
    rim = Dot(spot, "circle" if look.marker in OPEN else look.marker, radius + 1.4, paint="surface")
    return [rim, Dot(spot, look.marker, radius, look.hollow)]


def bins(entries: Sequence[Drawn], x: Axis, y: Axis, width: float) -> tuple[list[Group], list[Spots]]:
    """A histogram from the left edges of equal bins; several series as outlines, since bars would hide each other."""
    groups, places = [], []
    base = _base(y)
    for number, entry in enumerate(entries):
        at: Spots = []
        tops: list[tuple[float, float, float]] = []  # left, right, top of each bin
        for edge, value in zip(entry.series.x, entry.series.y, strict=True):
            left, right, up = x.place(float(edge)), x.place(float(edge) + width), y.place(value)
            if left is None or right is None or up is None:
                at.append(None)
            else:
                at.append(((left + right) / 2, up))
                tops.append((left, right, up))
        tops.sort()
        items: list[Item]
        if len(entries) == 1:
            corners = [
                box(left + 0.5, min(base, up), max(0.5, right - left - 1), abs(base - up)) for left, right, up in tops
            ]
            items = [Shape([corner], fill="hue", opacity=0.9, closed=True, name="bar") for corner in corners]
        else:
            outlines = _outlines(tops, base)
            items = [
                Shape(outlines, fill="hue", opacity=0.1, closed=True, name="band"),
                Shape(outlines, "hue", width=1.8, dash=entry.dash, name="bar"),
            ]
            items += [_dot(entry, spot) for spot in _apart(sorted(spot for spot in at if spot), number)]
        items += _whiskers(entry.series, at, y, 4.0, "ink" if len(entries) == 1 else "hue")
        groups.append(_group(items, entry, number))
        places.append(at)
    return groups, places


def _outlines(tops: Sequence[tuple[float, float, float]], base: float) -> list[list[Point]]:
    """Around each row of bins that touch: up from the base, along the tops, down again."""
    outlines: list[list[Point]] = []
    end = -math.inf
    for left, right, up in tops:
        if left - end > 0.5:
            outlines.append([(left, base)])
        else:
            outlines[-1].pop()
        outlines[-1] += [(left, up), (right, up), (right, base)]
        end = right
    return outlines


def bin_width(entries: Sequence[Drawn]) -> float:
    """The least distance between two left edges, 1 where there is one bin."""
    edges = sorted({float(edge) for entry in entries for edge in entry.series.x})
    return min((b - a for a, b in pairwise(edges)), default=1.0)


def _base(y: Axis) -> float:
    """Where bars stand: at zero, or on a log axis, which has none, at its lower end."""
    at = None if y.range.log else y.place(0.0)
    return y.start if at is None else at


def _group(items: Sequence[Item], entry: Drawn, number: int) -> Group:
    return Group(items, "series", entry.look.hue, data={"series": str(number)})


def _dot(entry: Drawn, at: Point) -> Dot:
    return Dot(at, entry.look.marker, 4.2, entry.look.hollow)


def _bands(series: Series, at: Spots, y: Axis) -> list[list[Point]]:
    """The areas between low and high over the places of the line, one for each unbroken stretch."""
    edges: list[tuple[Point, Point] | None] = []
    for spot, low, high in zip(at, series.low, series.high, strict=True):
        ends = _reach(low, high, y)
        edges.append(((spot[0], ends[0]), (spot[0], ends[1])) if spot and ends else None)
    downs = _runs([edge and edge[0] for edge in edges])
    ups = _runs([edge and edge[1] for edge in edges])
    return [[*up, *reversed(down)] for up, down in zip(ups, downs, strict=True)]


def _reach(low: float, high: float, y: Axis) -> Point | None:
    """The pixels of a lower and an upper end; on a log axis a lower end that is not positive is the bottom."""
    down = y.start if y.range.log and low <= 0 else y.place(low)
    up = y.place(high)
    return None if down is None or up is None else (down, up)


def _runs(at: Spots) -> list[list[Point]]:
    runs: list[list[Point]] = [[]]
    for spot in at:
        if spot is not None:
            runs[-1].append(spot)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _apart(at: Sequence[Point | None], shift: int) -> list[Point]:
    """Few points all have a marker; of many, those about 60 pixels apart, begun elsewhere for each series."""
    known = [spot for spot in at if spot]
    if len(known) <= 12:
        return known
    kept: list[Point] = []
    free = known[0][0] + shift * 25 % 60
    for spot in known:
        if spot[0] >= free:
            kept.append(spot)
            free = spot[0] + 60
    return kept or known[:1]


def _whiskers(series: Series, at: Spots, y: Axis, cap: float, paint: Paint) -> list[Item]:
    if not len(series.low):
        return []
    runs: list[list[Point]] = []
    for spot, low, high in zip(at, series.low, series.high, strict=True):
        ends = _reach(low, high, y)
        if spot is None or ends is None:
            continue
        down, up = ends
        x = spot[0]
        runs.append([(x, down), (x, up)])
        if cap:
            runs += [[(x - cap, up), (x + cap, up)], [(x - cap, down), (x + cap, down)]]
    if not runs:
        return []
    halo = [Shape(runs, "surface", width=3.4)] if paint == "ink" else []  # or it would not be seen on a dark bar
    return [*halo, Shape(runs, paint, width=1.3, name="whisker")]
