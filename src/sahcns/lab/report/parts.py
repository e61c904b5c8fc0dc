"""What a report is made of. Studies say it as data; how it looks is decided once, by the writers beside this file."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from sahcns.errors import SettingError

Kind = Literal["line", "bar", "scatter", "heat"]
Mark = Literal["", "best", "second"]


@dataclass(frozen=True)
class Series:
    """One line, set of bars or cloud of points.

    `role` picks the colour and is the name of a sampler wherever there is one, so that a sampler looks alike everywhere.
    `variant` counts the settings of one role that are shown side by side: each has a marker of its own in all figures.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float]
    low: Sequence[float] = ()  # lower and upper end of each y: a band around a line, a whisker on a bar
    high: Sequence[float] = ()
    role: str = ""
    dashed: bool = False
    hints: Sequence[str] = ()  # a line of text for each point, shown on hover beside x and y
    partial: Sequence[bool] = ()  # of a heat map's row: values that are not final, framed and kept out of the colours
    variant: int = 0

    def __post_init__(self) -> None:
        for name in ("y", "low", "high", "hints", "partial"):
            needed = name == "y" or (name in ("low", "high") and (len(self.low) or len(self.high)))
            length = len(getattr(self, name))
            if length != len(self.x) and (length or needed):
                raise SettingError(f"series {self.name!r}: {length} values of {name} for {len(self.x)} of x")

    def text(self, at: int) -> str:
        """A value with its band and its hint: `0.124 (0.123 – 0.126); best of seed 3`."""
        band = f" ({number(self.low[at])} – {number(self.high[at])})" if len(self.low) else ""
        hint = f"; {self.hints[at]}" if len(self.hints) and self.hints[at] else ""
        return f"{number(self.y[at])}{band}{hint}"


@dataclass(frozen=True)
class Figure:
    """A picture: its series over named axes.

    A bar's x are words or the left edges of equal bins. A heat map has one series a row: x are the columns, y the values.
    """

    name: str  # short, unique within a report, fit for a file name
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series] = field(repr=False)
    kind: Kind = "line"
    caption: str = ""
    x_log: bool = False
    value_label: str = ""  # what the colours of a heat map stand for; its y_label is what the rows are
    partial_label: str = ""  # what the framed cells of a heat map are

    @property
    def partial_note(self) -> str:
        """What dashed cells of a heat map are, where there are any."""
        return f"Dashed cells: {self.partial_label}." if any(any(series.partial) for series in self.series) else ""

    def values(self) -> "Table":
        """One column a series where all have the same x, else one row a point."""
        first, series = self.x_label or "x", self.series
        if len({tuple(one.x) for one in series}) == 1:
            heads = [first, *(f">{one.name}" for one in series)]
            rows = [[number(x), *(one.text(at) for one in series)] for at, x in enumerate(series[0].x)]
        else:
            heads = ["series", f">{first}", f">{self.y_label or 'value'}"]
            rows = [[one.name, number(x), one.text(at)] for one in series for at, x in enumerate(one.x)]
        return Table(f"{self.name} data", self.title, heads, rows)


@dataclass(frozen=True)
class Cell:
    """A table's cell with more to it than its text."""

    text: str
    mark: Mark = ""  # best is bold, second underlined, as in the paper
    note: str = ""  # a sign behind the text, such as * for significance
    hint: str = ""  # longer, shown on hover and left out of print


@dataclass(frozen=True)
class Table:
    """Rows under columns; a column named `>R@20` is set to the right, and `toys · R@20` may stand below a common `toys`."""

    name: str  # short, unique within a report, fit for a file name
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell | str]] = field(repr=False)
    caption: str = ""

    def __post_init__(self) -> None:
        for at, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise SettingError(
                    f"table {self.name!r}: row {at} has {len(row)} cells for {len(self.columns)} columns"
                )

    @property
    def cells(self) -> list[list[Cell]]:
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]

    @property
    def grouped(self) -> bool:
        """Whether the first column says the same in neighbouring rows, as a backbone does, and so groups them."""
        return len(self.columns) > 2 and any(one[0].text == other[0].text for one, other in pairwise(self.cells))


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, tables and figures below it."""

    title: str
    blocks: Sequence[str | Table | Figure]


@dataclass(frozen=True)
class Report:
    """A whole page: an answer on the first screen (verdict, one figure, one table), then the sections.

    `facts` is what one must know to trust it: protocol, data, versions, commands. `verdict` is the answer in one
    sentence, the first of the summary where it is empty; `lead` stands beside it, by default the first figure and table.
    """

    title: str
    summary: Sequence[str] = field(repr=False)
    sections: Sequence[Section] = field(repr=False)
    facts: Sequence[tuple[str, str]] = field(default=(), repr=False)
    verdict: str = ""
    lead: Sequence[Table | Figure] = field(default=(), repr=False)

    def figures(self) -> list[Figure]:
        """Every figure once, in the order of the page."""
        return [block for block in self._blocks().values() if isinstance(block, Figure)]

    def tables(self) -> list[Table]:
        """Every table once, in the order of the page."""
        return [block for block in self._blocks().values() if isinstance(block, Table)]

    def opening(self) -> list[Table | Figure]:
        """What the first screen shows: `lead`, or the first figure and the first table."""
        return list(self.lead) or [*self.figures()[:1], *self.tables()[:1]]

    def _blocks(self) -> dict[int, str | Table | Figure]:
        return {id(one): one for part in (self.lead, *(section.blocks for section in self.sections)) for one in part}


def number(value: float | str) -> str:
    """A number to read: five digits that count, thousands apart; – where there is none."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.5g}"
    return text.replace("-", "\N{MINUS SIGN}")


def unique_names(names: Iterable[str]) -> list[str]:
    """Names fit for files and anchors, none twice: letters, digits, dots and dashes."""
    unique: list[str] = []
    for name in names:
        plain = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "part"
        free = (plain if at == 1 else f"{plain}-{at}" for at in range(1, len(unique) + 2))
        unique.append(next(one for one in free if one not in unique))
    return unique
