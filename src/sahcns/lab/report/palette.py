"""One look for each sampler, the same in every figure and on every page; and the colours of the page itself.

The nine samplers of the paper have colours found by a search: in both themes any two stay at least 0.09 apart in OKLab
as seen with full vision, protanopia and deuteranopia, and each has a contrast of 3:1 against its background.
Colour is never the only sign: every look has a marker of its own, filled or hollow.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sahcns.lab.report.parts import Figure, Series

# Light and dark of each colour of the page.
PAGE: Mapping[str, tuple[str, str]] = {
    "page": ("#f7f7f5", "#121417"),
    "surface": ("#ffffff", "#191c21"),  # what figures and tables stand on
    "ink": ("#1c2027", "#e7e9ed"),
    "muted": ("#5a6270", "#a3abb7"),
    "grid": ("#e3e5e9", "#2d3239"),
    "rule": ("#c9cdd4", "#454c56"),
    "accent": ("#0b5cad", "#7fb8ff"),
    "heat": ("#0d4a8f", "#a8d0ff"),  # of a heat map; its opacity is the value
    "below": ("#b35806", "#f0944d"),  # of values below zero
}
# The same of each sampler, its marker, and whether that is hollow.
SAMPLERS: Mapping[str, tuple[str, str, str, bool]] = {
    "sahc": ("#f06010", "#f16216", "circle", False),
    "rns": ("#46474c", "#b0b0b0", "cross", False),
    "ahns": ("#401d00", "#816450", "plus", False),
    "bns": ("#7e510e", "#f4a741", "right", False),
    "dns": ("#15a779", "#6eefbb", "square", False),
    "dns-mn": ("#3874c1", "#5b98e8", "diamond", False),
    "mixgcf": ("#1c45bc", "#3d69d8", "up", False),
    "dens": ("#61067b", "#e9afff", "down", False),
    "divns": ("#af4387", "#bd739e", "star", False),
    "sa-only": ("#5f7fa9", "#86a7d3", "circle", True),
    "hc-only": ("#98218f", "#c05bb6", "square", True),
    "sahc-no-discrepancy": ("#6f8534", "#c2e06e", "up", True),
    "sahc-no-mean": ("#79300f", "#d0662f", "diamond", True),
    "sahc-fixed": ("#35314f", "#8e72fb", "down", True),
    "sahc-global": ("#727d5b", "#93a275", "right", True),
    "popularity": ("#0e7c8a", "#3fb9c9", "star", True),
}
COLOURS = {**PAGE, **{name: (light, dark) for name, (light, dark, *_) in SAMPLERS.items()}}
"""Each is a variable of CSS, so that a drawing in a page turns dark with it."""

# Shapes as Vega knows them, a path within -1 and 1 where it has none; and as letters, filled and hollow.
SHAPES = {
    "circle": ("circle", "●○"),
    "square": ("square", "■□"),
    "diamond": ("diamond", "◆◇"),
    "up": ("triangle-up", "▲△"),
    "down": ("triangle-down", "▼▽"),
    "right": ("triangle-right", "▶▷"),
    "plus": ("cross", "✚✚"),
    "cross": ("M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z", "✖✖"),
    "star": ("M0,-1L.25,-.35L.95,-.31L.4,.13L.59,.81L0,.42L-.59,.81L-.4,.13L-.95,-.31L-.25,-.35Z", "★☆"),
}


class Look(NamedTuple):
    """How a series is drawn: the name of its colour, its marker, and whether that is filled."""

    colour: str
    marker: str
    hollow: bool = False

    @property
    def paint(self) -> str:
        return paint(self.colour)

    @property
    def shape(self) -> str:
        return SHAPES[self.marker][0]

    @property
    def sign(self) -> str:
        return SHAPES[self.marker][1][self.hollow]


LOOKS = {name: Look(name, marker, hollow) for name, (*_, marker, hollow) in SAMPLERS.items()}
REST = tuple(look for look in LOOKS.values() if look.hollow)
"""Those of the variants of SAHC-NS, which a user's own samplers and nameless series share."""


def fixed_look(role: str) -> Look | None:
    """The look that belongs to this sampler whatever else is shown, or None for a name that is not ours."""
    return LOOKS.get(role.strip().lower())


def looks_of(roles: Iterable[str]) -> dict[str, Look]:
    """A look for each role.

    One that is not ours has its place among the rest by its letters, so that it looks alike in every report; only where
    two in one report would fall on the same place does the later, in the order of the alphabet, take the next free one.
    """
    looks: dict[str, Look] = {}
    for role in sorted(set(roles), key=lambda role: (fixed_look(role) is None, role)):
        start = zlib.crc32(role.strip().lower().encode()) % len(REST)
        places = (*REST[start:], *REST[:start])
        free = (look for look in places if look not in looks.values())
        looks[role] = fixed_look(role) or next(free, places[0])
    return looks


Drawn = list[tuple[Series, Look]]
"""Each series with its look."""


def drawn_series(figure: Figure, looks: Mapping[str, Look] | None = None) -> Drawn:
    """Each series with its look: that of its sampler. Further series of one sampler have other fillings and markers."""
    known = {**looks_of(one.role for one in figure.series if one.role), **(looks or {})}
    taken = [known[one.role] for one in figure.series if one.role]
    free = [look for look in REST if look not in taken] or list(REST)
    drawn: Drawn = []
    for place, series in enumerate(figure.series):
        look = known[series.role] if series.role else free[place % len(free)]
        markers = [look.marker, *(one for one in SHAPES if one != look.marker)]
        ways = [look._replace(marker=one, hollow=look.hollow ^ other) for one in markers for other in (False, True)]
        start = series.variant % len(ways)
        used = [other for _, other in drawn]
        drawn.append((series, next((way for way in (*ways[start:], *ways[:start]) if way not in used), look)))
    return drawn


def paint(colour: str) -> str:
    """A colour as a specification or a style names it."""
    return f"var(--{colour})"


def painted(text: str) -> str:
    """The text with every colour written out in its light form, for what stands outside of a page."""
    return re.sub(r"var\(--([\w-]+)\)", lambda match: COLOURS[match[1]][0], text)
