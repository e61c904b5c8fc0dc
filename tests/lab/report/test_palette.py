"""Samplers keep their look, and people who see fewer colours can still tell them apart."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from sahcns.lab.report.heat import contrast
from sahcns.lab.report.palette import LOOKS, REST, THEMES, VARIANTS, Theme, fixed_look, looks_of, mixed
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


def test_the_simulation_confuses_what_it_should() -> None:
    """Red and green of equal light are one to those without either cone, and blue is not."""
    red, green, blue = "#c00000", "#5d6000", "#0000ff"
    assert distance(red, green, "deuteranopia") < 0.4 * distance(red, green, "full")
    assert distance(red, blue, "deuteranopia") > 0.3


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("theme", THEMES)
def test_the_nine_samplers_are_told_apart(theme: Theme, seen: str) -> None:
    colours = {name: getattr(LOOKS[name].hue, theme) for name in NINE}
    for (one, a), (other, b) in combinations(colours.items(), 2):
        assert distance(a, b, seen) >= 0.09, f"{one} and {other}, {seen}, {theme}"


@pytest.mark.parametrize("theme", THEMES)
def test_every_colour_stands_out_from_what_it_is_drawn_on(theme: Theme) -> None:
    for look in (*LOOKS.values(), *REST):
        assert contrast(getattr(look.hue, theme), THEMES[theme]["surface"]) >= 3, look
    for name in ("ink", "muted", "accent"):
        for ground in ("surface", "page"):
            assert contrast(THEMES[theme][name], THEMES[theme][ground]) >= 4.5, f"{name} on {ground}"


def test_no_two_share_a_marker() -> None:
    signs = [(look.marker, look.hollow) for look in (*LOOKS.values(), *REST)]
    assert len(set(signs)) == len(signs)


def test_every_sampler_there_is_has_a_look_of_its_own() -> None:
    ours = [name for name, kind in named(Sampler).items() if kind.__module__.startswith("sahcns.")]
    looks = [fixed_look(name) for name in ours]
    assert None not in looks
    assert len(set(looks)) == len(ours) == len(LOOKS) + len(VARIANTS)


def test_a_strange_name_keeps_its_look_whatever_else_there_is() -> None:
    alone = looks_of(["softest"])["softest"]
    assert alone in REST
    assert looks_of(["sahc", "dns", "softest", "softest"])["softest"] == alone
    assert fixed_look("softest") is None
    assert fixed_look(" SAHC ") is LOOKS["sahc"]


def test_strange_names_in_one_report_do_not_share_a_look_while_there_are_looks() -> None:
    names = [f"sampler {letter}" for letter in "abcdefg"]
    assert len(set(looks_of(names).values())) == len(REST) == len(names)
    assert looks_of(names) == looks_of(reversed(names))
    assert len(looks_of([*names, "one more"])) == len(names) + 1


def test_mixed() -> None:
    assert mixed("#000000", "#ff8000", 0) == "#000000"
    assert mixed("#000000", "#ff8000", 1) == "#ff8000"
    assert mixed("#000000", "#ff8000", 0.5) == "#804000"
