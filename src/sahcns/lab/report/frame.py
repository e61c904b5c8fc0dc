"""What stands around the marks of a figure: heading, legend, axes with their labels."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sahcns.lab.report.palette import LOOKS, OPEN, REST, Look, fixed_look, looks_of
from sahcns.lab.report.parts import Figure, Series
from sahcns.lab.report.scales import Axis, Slots
from sahcns.lab.report.scene import Dot, Group, Item, Label, Shape, shortened, text_width, wrapped

SMALL, TEXT, HEADING = 11.5, 12.5, 15.0  # sizes of letters
DASH = (6.0, 4.0)
TURN = 35.0  # degrees by which words that would touch are turned
SWATCH, GAP, ROW = 22.0, 9.0, 23.0
LONG_SWATCH = 38.0  # where a line is dashed: on either side of the marker there is room for a dash and a gap
EDGE = 8.0  # what a picture of its own leaves free at its sides


@dataclass(frozen=True)
class Drawn:
    """A series with how it is drawn in this figure."""

    series: Series
    look: Look
    dash: tuple[float, ...] = ()


def drawn(figure: Figure, looks: Mapping[str, Look] | None = None) -> list[Drawn]:
    """Each series with its look: that of its sampler. One sampler's further series differ in dashes and filling."""
    known = dict(looks or {})
    roles = [series.role for series in figure.series if series.role]
    known |= looks_of(role for role in roles if role not in known)
    free = [look for look in REST if look not in [known[role] for role in roles]] or list(REST)
    found: list[Drawn] = []
    unnamed = 0
    for series in figure.series:
        if series.role:
            look = known[series.role]
        else:
            look, unnamed = free[unnamed % len(free)], unnamed + 1
        used = {_sign(one, figure) for one in found}
        own = variant_look(look, series.variant)
        ways = [Drawn(series, own, DASH if own.hollow != look.hollow else ())] if series.variant else []
        ways += _ways(series, look)
        found.append(next((one for one in ways if _sign(one, figure) not in used), Drawn(series, look)))
    return found


def variant_look(look: Look, variant: int) -> Look:
    """The look of a role's n-th variant: its colour, with another filling and then other markers; 0 is the look itself."""
    others = list(dict.fromkeys(way.look for way in _ways(Series("", (), ()), look)))
    return others[variant % len(others)]


def _sign(one: Drawn, figure: Figure) -> tuple[Look, tuple[float, ...]]:
    """What tells a series from others: points and bars have no dashes."""
    return one.look, one.dash if figure.kind == "line" else ()


def _ways(series: Series, look: Look) -> Iterator[Drawn]:
    """Ever further from the look: other dashes and filling first, then other markers. The colour stays."""
    dashes: tuple[tuple[float, ...], ...] = (DASH, ()) if series.dashed else ((), DASH)
    order = ((0, 0), (0, 1), (1, 1), (1, 0)) if series.dashed else ((0, 0), (1, 1), (0, 1), (1, 0))
    for marker in (look.marker, *(one.marker for one in LOOKS.values() if one.marker != look.marker)):
        for dash, turned in order:
            hollow = look.hollow != bool(turned) and marker not in OPEN
            yield Drawn(series, replace(look, marker=marker, hollow=hollow), dashes[dash])


def heading(title: str, width: float) -> tuple[list[Item], float]:
    """The title in as many lines as it needs, and the height they take."""
    lines = wrapped(title, width - 16, HEADING * 1.08)  # bold is wider
    items: list[Item] = [
        Label((EDGE, 22 + 20 * at), line, HEADING, bold=True, paint="ink") for at, line in enumerate(lines)
    ]
    return items, 20.0 * len(lines) + 12 if lines else 0.0


def legend(entries: Sequence[Drawn], width: float, top: float, edge: float, *, line: bool) -> tuple[list[Group], float]:
    """One key a series, in rows that fit, and the height they take; nothing where one unnamed series needs no key."""
    if len(entries) < 2 and not any(entry.series.role for entry in entries):
        return [], 0.0
    groups: list[Group] = []
    swatch = (LONG_SWATCH if any(entry.dash for entry in entries) else SWATCH) if line else 12.0
    left, row = edge, 0
    for place, entry in enumerate(entries):
        text = shortened(entry.series.name, width - 2 * edge - swatch - 8, TEXT)
        needed = swatch + 7 + text_width(text, TEXT)
        if left > edge and left + needed > width - edge:
            left, row = edge, row + 1
        middle = top + ROW * row + ROW / 2
        items: list[Item] = []
        if line:
            items.append(Shape([[(left, middle), (left + swatch, middle)]], "hue", width=2.2, dash=entry.dash))
        items += [
            Dot((left + swatch / 2, middle), entry.look.marker, 4.4, entry.look.hollow),
            Label((left + swatch + 7, middle + 4.3), text, TEXT),
        ]
        span = f"{left - 4:.0f},{middle - ROW / 2 + 1:.0f},{needed + 8:.0f},{ROW - 2:.0f}"
        groups.append(Group(items, "key", entry.look.hue, data={"series": str(place), "box": span}))
        left += needed + GAP
    return groups, ROW * (row + 1) + 6


@dataclass(frozen=True)
class Written:
    """Words below an axis as they fit: in lines, or turned, and the height they need."""

    lines: Sequence[Sequence[str]]
    turned: bool
    height: float


def fitted(words: Sequence[str], room: float, first: float) -> Written:
    """Words that have `room` pixels each, the first of them `first` pixels from the left edge."""
    longest = max((text_width(part, SMALL) for word in words for part in word.split()), default=0.0)
    lines = [wrapped(word, room - 8, SMALL) for word in words]
    rows = max(map(len, lines), default=1)
    if longest <= room - 8 and rows <= 3:
        return Written(lines, False, 20.0 + 15 * (rows - 1))
    reach = 1 / math.cos(
        math.radians(TURN)
    )  # a turned word ends at its place, and the first ones have little before it
    limits = [min(150.0, room * 3, (first + room * at - 4) * reach) for at in range(len(words))]
    short = [shortened(word, max(24.0, limit), SMALL) for word, limit in zip(words, limits, strict=True)]
    longest = max(text_width(word, SMALL) for word in short)
    return Written([[word] for word in short], True, longest * math.sin(math.radians(TURN)) + 18)


def below(places: Sequence[float], words: Written, bottom: float, end: float) -> list[Item]:
    """The words of an x axis, none of them beyond `end`; turned ones end at their place."""
    if words.turned:
        return [
            Label((at + 4, bottom + 14), word, SMALL, "end", "muted", turned=-TURN)
            for at, (word,) in zip(places, words.lines, strict=True)
        ]
    return [
        Label((min(at, end - text_width(line, SMALL) / 2), bottom + 17 + 15 * row), line, SMALL, "middle", "muted")
        for at, lines in zip(places, words.lines, strict=True)
        for row, line in enumerate(lines)
    ]


def below_axis(text: str, middle: float, y: float, width: float) -> Label:
    """What x is, in the middle of the axis or as near to it as the picture's edges allow."""
    written = shortened(text, width - 16, SMALL)
    half = text_width(written, SMALL) / 2 + 8
    return Label((min(max(middle, half), width - half), y), written, SMALL, "middle")


def thinned(axis: Axis) -> list[tuple[float, str]]:
    """The ticks of an x axis that can stand beside each other without touching."""
    marks = [(axis.place(tick), label) for tick, label in zip(axis.range.ticks, axis.range.labels, strict=True)]
    known = [(at, label) for at, label in marks if at is not None]
    for every in range(1, len(known) + 1):
        kept = known[::every]
        if all(
            b - a >= (text_width(left, SMALL) + text_width(right, SMALL)) / 2 + 8
            for (a, left), (b, right) in pairwise(kept)
        ):
            return kept
    return known[:1]


def grid(y: Axis, left: float, right: float) -> list[Item]:
    """Faint lines at the ticks of y, and their numbers beside them."""
    items: list[Item] = []
    for tick, label in zip(y.range.ticks, y.range.labels, strict=True):
        at = y.place(tick)
        if at is not None:
            items.append(Shape([[(left, at), (right, at)]], "grid", name="gridline"))
            items.append(Label((left - 8, at + 4), label, SMALL, "end", "muted"))
    return items


def coloured_by_word(entries: Sequence[Drawn], slots: Slots) -> list[Look | None]:
    """Where the words below one unnamed set of bars are samplers, the look of each: it is theirs everywhere else."""
    if len(entries) == 1 and not entries[0].series.role:
        return [fixed_look(word) for word in slots.words]
    return [None] * len(slots.words)
