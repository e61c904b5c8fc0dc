"""A heat map: one row a series, one column an x, the value as colour and, where there is room, as a number."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sahcns.lab.report.frame import SMALL, below, below_axis, fitted
from sahcns.lab.report.palette import THEMES, Hue, mixed
from sahcns.lab.report.parts import Figure, Series
from sahcns.lab.report.scales import Slots, compact
from sahcns.lab.report.scene import Group, Item, Label, Point, Scene, Shape, box, shortened, text_width, wrapped

# From little to much, on a light and on a dark ground; and, where values have two signs, from one to the other.
RAMP = Hue("#eaf1fa", "#1f2a3a"), Hue("#0d4a8f", "#a8d0ff")
BELOW, NAUGHT, ABOVE = Hue("#b35806", "#f0944d"), Hue("#f2f2f0", "#2a2d33"), Hue("#2166ac", "#6fb2f2")
BRIGHT, DEEP = "#ffffff", "#14171c"
HATCH, STEP = Hue(THEMES["light"]["rule"], THEMES["dark"]["rule"]), 9.0  # of cells whose value is not final


@dataclass(frozen=True)
class Ramp:
    """From values to colours, and to numbers that all have the same decimals."""

    low: float
    high: float
    decimals: int = 2

    @classmethod
    def over(cls, values: Sequence[float], partial: Sequence[float] = ()) -> "Ramp":
        """Colours for the `values`, and numbers for the `partial` ones too."""
        low, high = _ends(values)
        if low < 0 < high:
            low, high = -max(-low, high), max(-low, high)  # zero in the middle, so that the sign is seen
        # three digits of the distance between the least and the greatest are what can be told apart
        least, most = _ends([low, high, *partial])
        return cls(low, high, max(0, min(6, 2 - math.floor(math.log10(most - least) + 1e-9))))

    def told(self, value: float) -> str:
        return compact(value) if abs(value) >= 1e5 else f"{value:,.{self.decimals}f}".replace("-", "−")

    def hue(self, value: float) -> Hue:
        share = (value - self.low) / (self.high - self.low)
        if self.low < 0 < self.high:
            ends, share = ((BELOW, NAUGHT), share * 2) if share < 0.5 else ((NAUGHT, ABOVE), share * 2 - 1)
        else:
            ends = RAMP
        return Hue(mixed(ends[0].light, ends[1].light, share), mixed(ends[0].dark, ends[1].dark, share))


def heat_scene(figure: Figure, width: float, top: float, edge: float, items: Sequence[Item]) -> Scene:
    """The rows from top to bottom in the order of the series, the columns in the order in which they are met."""
    columns = list(dict.fromkeys(_word(column) for series in figure.series for column in series.x))
    known = [one for series in figure.series for one in zip(series.y, _partial(series), strict=True)]
    ramp = Ramp.over([value for value, part in known if not part], [value for value, part in known if part])
    names = [shortened(series.name, width * 0.32, SMALL) for series in figure.series]
    left = max((text_width(name, SMALL) for name in names), default=0.0) + 10 + edge
    key, taken = _key(figure, ramp, width, top, edge)
    top += taken
    right = width - edge
    slots = Slots(columns, left, right)
    row = 26.0 if width > 500 else 24.0
    finite = [value for series in figure.series for value in series.y if math.isfinite(value)]
    numbered = all(text_width(ramp.told(value), SMALL) <= slots.room - 4 for value in finite)
    cells: list[Group] = []
    places: list[list[Point | None]] = []
    for number, series in enumerate(figure.series):
        where: list[Point | None] = []
        for column, value, part in zip(series.x, series.y, _partial(series), strict=True):
            if not math.isfinite(value):
                where.append(None)
                continue
            middle = (slots.place(_word(column)), top + row * (number + 0.5))
            where.append(middle)
            text = ramp.told(value) if numbered else ""
            cells.append(_cell(middle, slots.room, row, text, None if part else ramp.hue(value), number))
        places.append(where)
    bottom = top + row * len(figure.series)
    words = fitted(columns, slots.room, left + slots.room / 2)
    around = below([slots.place(column) for column in columns], words, bottom, right)
    around += [
        Label((left - 8, top + row * (at + 0.5) + 4), name, SMALL, "end", "muted") for at, name in enumerate(names)
    ]
    if figure.x_label:
        around.append(below_axis(figure.x_label, (left + right) / 2, bottom + words.height + 17, width))
    height = bottom + words.height + (28 if figure.x_label else 10)
    back = Group([Shape([box(0, 0, width, height)], fill="surface", closed=True)], "back")
    data = {
        "plot": f"{left:.1f},{top:.1f},{right:.1f},{bottom:.1f}",
        "cell": f"{slots.room:.1f},{row:.1f}",
        "at": written(places),
    }
    ground = Shape([box(left, top, right - left, bottom - top)], fill="grid", opacity=0.4, closed=True)
    return Scene(
        width,
        height,
        [back, Group(items, "heading"), *key, Group([ground], "ground"), *cells, Group(around, "axes")],
        data,
    )


def written(places: Sequence[Sequence[Point | None]]) -> str:
    """Where points are, for a page to read: series apart by |, points by blanks, x and y by a comma, - for none."""
    return "|".join(" ".join(f"{spot[0]:.1f},{spot[1]:.1f}" if spot else "-" for spot in series) for series in places)


def _cell(middle: Point, wide: float, high: float, text: str, hue: Hue | None, number: int) -> Group:
    """Filled with its colour and numbered; hatched where it has none, since its value is not final."""
    corner = box(middle[0] - wide / 2 + 0.75, middle[1] - high / 2 + 0.75, wide - 1.5, high - 1.5)
    items: list[Item] = [Shape([corner], fill="hue", closed=True, name="cell")] if hue else _hatched(corner)
    if text:
        items.append(Label((middle[0], middle[1] + 4), text, SMALL, "middle", "on-hue" if hue else "muted"))
    on_hue = Hue(_readable(hue.light), _readable(hue.dark)) if hue else None
    return Group(items, "series", hue or HATCH, on_hue, {"series": str(number)})


def _hatched(corners: Sequence[Point]) -> list[Item]:
    """A box with slanted lines: told from colours in print, in the dark, and by whoever sees no colours."""
    (left, top), (right, bottom) = corners[0], corners[2]
    lines, at = [], left + top + STEP  # on each line x + y is the same
    while at < right + bottom:
        lines.append([(max(left, at - bottom), min(bottom, at - left)), (min(right, at - top), max(top, at - right))])
        at += STEP
    return [Shape([corners], "hue", "surface", closed=True, name="cell"), Shape(lines, "hue", width=0.7, name="hatch")]


def _key(figure: Figure, ramp: Ramp, width: float, top: float, edge: float) -> tuple[list[Group], float]:
    """What the values are, their colours from least to greatest, and below it what the rows are; and the height."""
    low, high = ramp.told(ramp.low), ramp.told(ramp.high)
    wide, steps, start_of = 110.0, 22, top
    end = width - edge - text_width(high, SMALL) - 6
    start = end - wide
    labels: list[Item] = []
    lines = wrapped(figure.value_label, width - 16, SMALL)
    beside = text_width(figure.value_label, SMALL) <= start - text_width(low, SMALL) - 20
    for at, line in enumerate(lines):
        labels.append(Label((edge, top + 17 + 16 * at), line, SMALL))
    top += 0 if beside else 16 * len(lines)
    labels += [
        Label((start - 6, top + 17), low, SMALL, "end", "muted"),
        Label((end + 6, top + 17), high, SMALL, "start", "muted"),
    ]
    strips = []
    for step in range(steps):
        hue = ramp.hue(ramp.low + (ramp.high - ramp.low) * (step + 0.5) / steps)
        corner = box(start + wide * step / steps, top + 8, wide / steps, 10)
        strips.append(Group([Shape([corner], fill="hue", closed=True, name="strip")], "ramp", hue))
    top += 18 if beside and lines else 0  # or else the rows' name has the left side for itself
    if figure.partial_label and any(any(_partial(series)) for series in figure.series):
        top += 0 if beside and lines else 18
        strips.append(Group(_hatched(box(edge + 0.5, top + 7, 22, 12)), "ramp", HATCH))
        for line in wrapped(figure.partial_label, width - 2 * edge - 30, SMALL):
            labels.append(Label((edge + 30, top + 17), line, SMALL))
            top += 18
    if figure.y_label:
        room = width - 16 if beside and lines else start - 50
        labels.append(Label((edge, top + 17), shortened(figure.y_label, room, SMALL), SMALL, "start", "muted"))
    return [*strips, Group(labels, "axes")], top + 26 - start_of


def _partial(series: Series) -> Sequence[bool]:
    return series.partial or [False] * len(series.y)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest of what is known, never the same."""
    known = [value for value in values if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    return low, high if high > low else low + 1


def _word(column: float | str) -> str:
    return column if isinstance(column, str) else compact(column)


def _readable(colour: str) -> str:
    """White or near black, whichever stands out more."""
    return BRIGHT if contrast(colour, BRIGHT) >= contrast(colour, DEEP) else DEEP


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as the accessibility guidelines count it, 1 to 21."""
    lights = sorted(_light(colour) for colour in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _light(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
