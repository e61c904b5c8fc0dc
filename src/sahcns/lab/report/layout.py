"""A figure laid out: where everything stands, in pixels. SVG, PNG and the page are drawn from this and from nothing else."""

import math
from collections.abc import Mapping, Sequence

from sahcns.lab.report.frame import (
    EDGE,
    SMALL,
    TEXT,
    Drawn,
    Written,
    below,
    below_axis,
    drawn,
    fitted,
    grid,
    heading,
    legend,
    thinned,
)
from sahcns.lab.report.heat import heat_scene, written
from sahcns.lab.report.marks import Spots, bars, bin_width, bins, lines, points
from sahcns.lab.report.palette import Look
from sahcns.lab.report.parts import Figure
from sahcns.lab.report.scales import Axis, Range, Slots, at_values, linear_range, log_range
from sahcns.lab.report.scene import Group, Item, Label, Scene, Shape, box, shortened, text_width

WIDE, NARROW = 760.0, 340.0  # for a page and for a phone


def lay_out(
    figure: Figure, width: float = WIDE, *, titled: bool = True, looks: Mapping[str, Look] | None = None
) -> Scene:
    """The figure as a scene of this width; its height follows.

    titled   whether the title is part of the picture; on a page it stands above it
    looks    how each role looks, so that samplers of a user's own look alike in all figures of a report
    """
    items, top = heading(figure.title, width) if titled else ([], 0.0)
    edge = EDGE if titled else 0.0
    if figure.kind == "heat":
        return heat_scene(figure, width, top, edge, items)
    entries = drawn(figure, looks)
    keys, taken = legend(entries, width, top, edge, line=figure.kind == "line")
    return _over_axes(figure, entries, width, top + taken, edge, [Group(items, "heading"), *keys])


def _over_axes(
    figure: Figure, entries: Sequence[Drawn], width: float, top: float, edge: float, above: Sequence[Group]
) -> Scene:
    wide = width > 500
    y_range = _y_range(figure, entries, 5 if wide else 4)
    left = max((text_width(label, SMALL) for label in y_range.labels), default=0.0) + 10 + edge
    right = width - edge - 8
    top += 24 if figure.y_label else 10
    bottom = top + (290.0 if wide else 210.0)
    y = y_range.onto(bottom, top)
    x, ticks, words = _x_axis(figure, entries, left, right, width)
    marks, places = _marks(figure, entries, x, y)
    axes: list[Item] = []
    if figure.y_label:
        axes.append(Label((edge, top - 13), shortened(figure.y_label, width - 16, SMALL), SMALL, paint="muted"))
    foot = y.place(0.0) if figure.kind == "bar" and not y.range.log else None
    axes.append(Shape([[(left, bottom), (right, bottom)]], "rule", name="baseline"))
    if foot is not None and foot < bottom - 0.5:
        axes.append(Shape([[(left, foot), (right, foot)]], "muted", name="baseline"))
    if isinstance(x, Axis):
        axes.append(Shape([[(at, bottom), (at, bottom + 4)] for at in ticks], "rule"))
    axes += below(ticks, words, bottom, width - edge)
    if figure.x_label:
        axes.append(below_axis(figure.x_label, (left + right) / 2, bottom + words.height + 18, width))
    if not any(spot for series in places for spot in series):
        axes.append(Label(((left + right) / 2, (top + bottom) / 2), "no values", TEXT, "middle", "muted"))
    height = bottom + words.height + (30 if figure.x_label else 12)
    back = Group([Shape([box(0, 0, width, height)], fill="surface", closed=True)], "back")
    data = {"plot": f"{left:.1f},{top:.1f},{right:.1f},{bottom:.1f}", "at": written(places)}
    return Scene(width, height, [back, *above, Group(grid(y, left, right), "grid"), *marks, Group(axes, "axes")], data)


def _y_range(figure: Figure, entries: Sequence[Drawn], count: int) -> Range:
    series = [entry.series for entry in entries]
    values = [value for one in series for part in (one.y, one.low, one.high) for value in part]
    if figure.y_log:
        return log_range(values, count)
    if figure.kind == "scatter":
        known = [value for value in values if math.isfinite(value)]
        around = (max(known) - min(known)) * 0.03 if known else 0.0
        values += [value + side for value in known for side in (-around, around)]
    return linear_range(values, count, zero=figure.kind == "bar")


def _x_axis(
    figure: Figure, entries: Sequence[Drawn], left: float, right: float, width: float
) -> tuple[Axis | Slots, list[float], Written]:
    """The axis, where it is marked, and what is written there."""
    given = [value for entry in entries for value in entry.series.x]
    if any(isinstance(value, str) for value in given) or not given:
        slots = Slots(list(dict.fromkeys(str(value) for value in given)), left, right)
        places = [slots.place(word) for word in slots.words]
        return slots, places, fitted(slots.words, slots.room, left + slots.room / 2)
    numbers = [float(value) for value in given if math.isfinite(float(value))]
    inset = 0.0 if figure.kind == "bar" else 10.0  # markers at the ends stay inside
    if figure.kind == "bar":
        numbers.append(max(numbers, default=0.0) + bin_width(entries))
    count = 8 if width > 500 else 5
    fit = log_range if figure.x_log else linear_range
    span = fit(numbers, count, tight=figure.kind != "scatter")
    axis = span.onto(left + inset, right - inset)
    few = {number for number in numbers if not figure.x_log or number > 0}
    if figure.kind == "line" and len(few) <= 9:
        exact = at_values(span, few).onto(left + inset, right - inset)
        if len(thinned(exact)) == len(few):
            axis = exact
    marks = thinned(axis)
    return axis, [at for at, _ in marks], Written([[label] for _, label in marks], False, 20.0)


def _marks(figure: Figure, entries: Sequence[Drawn], x: Axis | Slots, y: Axis) -> tuple[list[Group], list[Spots]]:
    if figure.kind == "line":
        return lines(entries, x, y)
    if figure.kind == "scatter":
        return points(entries, x, y)
    if isinstance(x, Slots):
        return bars(entries, x, y)
    return bins(entries, x, y, bin_width(entries))
