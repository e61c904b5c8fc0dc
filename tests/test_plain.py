"""Plain data that comes back: each value as its annotation says, or an error that names its place."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

import pytest

from sahcns.errors import DataError
from sahcns.plain import Plain


class Keys(TypedDict):
    name: str


@dataclass(frozen=True)
class Inner(Plain):
    value: float
    who: int | str = "nobody"


@dataclass(frozen=True)
class Outer(Plain):
    about: Annotated[dict[str, Any], Keys]
    pair: tuple[Inner, ...]
    state: Literal["on", "off"] = "on"
    looks: dict[int, float | None] = field(default_factory=dict)


GIVEN: dict[str, Any] = {
    "about": {"name": "x", "more": [1]},
    "pair": [{"value": 2}, {"value": None, "who": 3}],
    "looks": {"5": 1},
}


def test_what_was_plain_is_made_again() -> None:
    made = Outer.from_dict(GIVEN)
    assert made.about == GIVEN["about"]
    assert (made.pair[0], made.pair[1].who, made.looks) == (Inner(2), 3, {5: 1})
    assert math.isnan(made.pair[1].value)
    assert Outer.from_dict(made.to_dict()).looks == made.looks


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("about", {"name": 1}, "about.name"),
        ("about", {}, "'name' in about"),
        ("about", "x", "about"),
        ("pair", [{"value": 1}, {"value": "1"}], r"pair\[1\].value"),
        ("pair", [{"value": 1, "who": []}], r"pair\[0\].who"),
        ("pair", {}, "pair"),
        ("state", "upside down", "state"),
        ("looks", {"x": 1}, "looks.*'x'"),
        ("looks", {"1": True}, "looks.1"),
    ],
)
def test_what_is_something_else_is_named(name: str, value: object, place: str) -> None:
    with pytest.raises(DataError, match=place):
        Outer.from_dict({**GIVEN, name: value})
