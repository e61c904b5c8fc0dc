"""Samplers keep their look, and people who see fewer colours can still tell them apart."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from sahcns.lab.report.palette import COLOURS, LOOKS, REST, drawn_series, fixed_look, looks_of
from sahcns.lab.report.parts import Figure, Kind, Series
from sahcns.samplers import Sampler
from sahcns.settings import named

Colour = npt.NDArray[np.float64]

# What is left of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SEEN = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
NINE = ("rns", "bns", "dns", "dns-mn", "mixgcf", "dens", "ahns", "divns", "sahc")


def linear(colour: str) -> Colour:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def oklab(rgb: Colour) -> Colour:
    """Björn Ottosson's OKLab: distances are about as large as they look."""
    to_cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    to_lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    found: Colour = to_lab @ np.cbrt(to_cones @ np.clip(rgb, 0, 1))
    return found


def distance(one: str, other: str, seen: str) -> float:
    apart = oklab(SEEN[seen] @ linear(one)) - oklab(SEEN[seen] @ linear(other))
    return float(np.linalg.norm(apart))


def contrast(one: str, other: str) -> float:
    """As the accessibility guidelines count it, 1 to 21."""
    dark, bright = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(colour))) for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_the_nine_samplers_are_told_apart(theme: int, seen: str) -> None:
    colours = {name: COLOURS[name][theme] for name in NINE}
    for (one, a), (other, b) in combinations(colours.items(), 2):
        assert distance(a, b, seen) >= 0.09, f"{one} and {other}, {seen}"


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_colour_stands_out_from_what_it_is_drawn_on(theme: int) -> None:
    for look in LOOKS.values():
        assert contrast(COLOURS[look.colour][theme], COLOURS["surface"][theme]) >= 3, look
    for name in ("ink", "muted", "accent"):
        for ground in ("surface", "page"):
            assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= 4.5, f"{name} on {ground}"


def test_every_sampler_there_is_has_a_look_of_its_own_and_none_share_a_marker() -> None:
    ours = [name for name, kind in named(Sampler).items() if kind.__module__.startswith("sahcns.")]
    assert {fixed_look(name) for name in ours} - {None} == set(LOOKS.values())
    assert len({(look.marker, look.hollow) for look in LOOKS.values()}) == len(LOOKS)


def test_a_strange_name_keeps_its_look_whatever_else_there_is() -> None:
    alone = looks_of(["softest"])["softest"]
    assert alone in REST
    assert looks_of(["sahc", "dns", "softest", "softest"])["softest"] == alone
    names = [f"sampler {letter}" for letter in "abcdefg"]
    assert len(set(looks_of(names).values())) == len(REST) == len(names)
    assert looks_of(names) == looks_of(reversed(names))
    assert len(looks_of([*names, "one more"])) == len(names) + 1


@pytest.mark.parametrize("kind", ["line", "scatter", "bar"])
@pytest.mark.parametrize("role", ["sahc", "rns", "mine", ""])
def test_many_series_of_one_sampler_are_told_apart(kind: Kind, role: str) -> None:
    series = [Series(f"setting {at}", ["a", "b"], [1, at], role=role) for at in range(7)]
    looks = [look for _, look in drawn_series(Figure("f", "F", "x", "y", series, kind=kind))]
    assert len(set(looks)) == 7
    assert len({look.colour for look in looks}) == (1 if role else 7)
