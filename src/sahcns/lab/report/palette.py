"""One look for each sampler, the same in every figure and on every page; and the colours of the page itself.

The nine samplers of the paper have colours found by a search: in both themes any two stay at least 0.09 apart in OKLab
as seen with full vision, protanopia and deuteranopia, and each has a contrast of 3:1 against its background.
Colour is never the only sign: every look has a marker of its own, filled or hollow.
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]
Marker = Literal["circle", "square", "diamond", "up", "down", "right", "star", "cross", "plus"]
OPEN = ("cross", "plus")  # markers that are strokes and enclose nothing

# surface is what figures stand on, ink is text, muted is lesser text, grid is the faint lines
THEMES: Mapping[Theme, Mapping[str, str]] = {
    "light": {
        "page": "#f7f7f5",
        "surface": "#ffffff",
        "ink": "#1c2027",
        "muted": "#5a6270",
        "grid": "#e3e5e9",
        "rule": "#c9cdd4",
        "accent": "#0b5cad",
    },
    "dark": {
        "page": "#121417",
        "surface": "#191c21",
        "ink": "#e7e9ed",
        "muted": "#a3abb7",
        "grid": "#2d3239",
        "rule": "#454c56",
        "accent": "#7fb8ff",
    },
}


@dataclass(frozen=True)
class Hue:
    """A colour in both themes."""

    light: str
    dark: str


@dataclass(frozen=True)
class Look:
    """How a series is drawn: its colour and its marker."""

    hue: Hue
    marker: Marker
    hollow: bool = False


# Open markers are as strange to the eye as another shape, so that sixteen looks are told apart with nine shapes.
LOOKS: Mapping[str, Look] = {
    "sahc": Look(Hue("#f06010", "#f16216"), "circle"),
    "rns": Look(Hue("#46474c", "#b0b0b0"), "cross"),
    "ahns": Look(Hue("#401d00", "#816450"), "plus"),
    "bns": Look(Hue("#7e510e", "#f4a741"), "right"),
    "dns": Look(Hue("#15a779", "#6eefbb"), "square"),
    "dns-mn": Look(Hue("#3874c1", "#5b98e8"), "diamond"),
    "mixgcf": Look(Hue("#1c45bc", "#3d69d8"), "up"),
    "dens": Look(Hue("#61067b", "#e9afff"), "down"),
    "divns": Look(Hue("#af4387", "#bd739e"), "star"),
}

# What is left, for the variants of SAHC-NS, for samplers of a user's own, and for series that are no sampler.
REST = (
    Look(Hue("#5f7fa9", "#86a7d3"), "circle", hollow=True),
    Look(Hue("#98218f", "#c05bb6"), "square", hollow=True),
    Look(Hue("#6f8534", "#c2e06e"), "up", hollow=True),
    Look(Hue("#79300f", "#d0662f"), "diamond", hollow=True),
    Look(Hue("#35314f", "#8e72fb"), "down", hollow=True),
    Look(Hue("#727d5b", "#93a275"), "right", hollow=True),
    Look(Hue("#0e7c8a", "#3fb9c9"), "star", hollow=True),
)

# The variants of the paper's ablation meet each other in one table, so none of them may share a look.
VARIANTS = ("sa-only", "hc-only", "sahc-no-discrepancy", "sahc-no-mean", "sahc-fixed", "sahc-global", "popularity")


def fixed_look(role: str) -> Look | None:
    """The look that belongs to this sampler whatever else is shown, or None for a name that is not ours."""
    name = role.strip().lower()
    if name in VARIANTS:
        return REST[VARIANTS.index(name)]
    return LOOKS.get(name)


def looks_of(roles: Iterable[str]) -> dict[str, Look]:
    """A look for each role.

    One that is not ours has its place among the rest by its letters, so that it looks alike in every report; only where
    two in one report would fall on the same place does the later, in the order of the alphabet, take the next free one.
    """
    found: dict[str, Look] = {}
    strange = []
    for role in dict.fromkeys(roles):
        look = fixed_look(role)
        if look is None:
            strange.append(role)
        else:
            found[role] = look
    for role in sorted(strange):
        start = zlib.crc32(role.strip().lower().encode()) % len(REST)
        places = [REST[(start + step) % len(REST)] for step in range(len(REST))]
        found[role] = next((look for look in places if look not in found.values()), places[0])
    return found


def nth_look(place: int) -> Look:
    """The look of the n-th series that is no sampler."""
    return REST[place % len(REST)]


def mixed(low: str, high: str, share: float) -> str:
    """The colour `share` of the way from one to the other, in sRGB."""
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (low, high)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))
