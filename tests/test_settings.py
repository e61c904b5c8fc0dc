"""Arguments that document and check themselves: ranges, words, types and names."""

import dataclasses
import json
import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Optional

import numpy as np
import pytest

from sahcns.errors import SahcnsError, SettingError
from sahcns.samplers import DNS, SAHC, Sampler
from sahcns.settings import Allowed, Configured, by_name, class_named, named, setting


@dataclass(frozen=True)
class Instrument(Configured):
    strings: int = setting(4, "how many strings", low=1, high=12)


@dataclass(frozen=True)
class Violin(Instrument):
    name: ClassVar[str] = "violin"

    tension: float = setting(0.5, "tension of the bow", low=0)
    pitch: float = setting(440.0, "of the A", above=0)
    offset: float = setting(0.0, "any number")
    rank: int = setting(-1, "not above -1", high=-1)
    wood: str = setting("spruce", "of the top", choices=("spruce", "maple"))
    muted: bool = setting(False, "with a mute")
    maker: str = setting("unknown", "who built it")
    limit: float | None = setting(None, "none, or a share", low=0, high=1)
    gauge: Optional[int] = setting(None, "of the strings", low=1)  # noqa: UP045  as many write it
    wound: "Optional[int]" = setting(None, "how many are wound", low=0)  # noqa: UP045
    tuning: tuple[float, ...] = setting((196.0, 293.7, 440.0, 659.3), "of each string")


@dataclass(frozen=True)
class Viola(Violin):
    name: ClassVar[str] = "viola"


@dataclass(frozen=True)
class Unnamed(Viola):
    """A name is not inherited, so it does not count."""


@pytest.mark.parametrize(
    ("allowed", "text", "holds", "refuses"),
    [
        (Allowed(low=0, high=1), "in [0, 1]", [0, 0.5, 1], [-0.01, 1.01, float("nan")]),
        (Allowed(low=2), ">= 2", [2, 1e9], [1, float("nan")]),
        (Allowed(high=-1), "<= -1", [-1, -7], [0, float("nan")]),
        (Allowed(above=0), "> 0", [1e-9, 3], [0, -1, float("nan")]),
        (Allowed(above=0, high=1), "> 0 and <= 1", [1e-9, 1], [0, 2, float("nan")]),
        (Allowed(choices=("a", "b")), "a | b", ["a", "b"], ["c", "", None]),
        (Allowed(), "any", [0, -5.5], [float("nan")]),
    ],
)
def test_what_is_allowed(allowed: Allowed, text: str, holds: list[Any], refuses: list[Any]) -> None:
    assert str(allowed) == text
    assert all(allowed.holds(value) for value in holds)
    assert not any(allowed.holds(value) for value in refuses)


@pytest.mark.parametrize(
    ("argument", "value", "limit"),
    [
        ("strings", 0, r"in \[1, 12\]"),
        ("strings", 13, r"in \[1, 12\]"),
        ("strings", 4.0, "whole number"),
        ("strings", True, "number"),
        ("strings", None, "number"),
        ("tension", -1e-9, ">= 0"),
        ("tension", math.nan, ">= 0"),
        ("pitch", 0, "> 0"),
        ("offset", math.inf, "finite"),
        ("rank", 0, "<= -1"),
        ("wood", "oak", r"spruce \| maple"),
        ("muted", 1, "true or false"),
        ("limit", 1.5, r"in \[0, 1\]"),
        ("gauge", "3", "number"),
        ("wound", 1.5, "whole number"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name_and_range(argument: str, value: object, limit: str) -> None:
    with pytest.raises(SettingError, match=rf"Violin: {argument}={value!r} .*{limit}") as caught:
        Violin.from_dict({argument: value})
    assert isinstance(caught.value, SahcnsError)
    assert isinstance(caught.value, ValueError)


def test_there_and_back() -> None:
    violin = Violin(strings=6, tension=1, wood="maple", muted=True, tuning=(196.0, 293.7))
    assert (
        Violin.from_dict(json.loads(json.dumps(violin.to_dict()))) == violin
    )  # the tuple too, which JSON makes a list
    assert violin.to_dict()["limit"] is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        violin.strings = 5  # type: ignore[misc]


def test_an_unknown_argument_gets_the_nearest_known_one() -> None:
    with pytest.raises(SettingError, match=r"'tenson'.*'tension'"):
        Violin.from_dict({"tenson": 1})
    with pytest.raises(SettingError, match=r"'zzzz'.* gauge, limit, maker"):
        Violin.from_dict({"zzzz": 1})


@pytest.mark.parametrize(
    ("argument", "text", "value"),
    [
        ("strings", "7", 7),
        ("tension", "0.25", 0.25),
        ("tension", " 1e-2 ", 0.01),
        ("muted", "true", True),
        ("muted", "No", False),
        ("wood", "maple", "maple"),
        ("maker", " Amati ", "Amati"),
        ("limit", "none", None),
        ("limit", "0.5", 0.5),
        ("gauge", "3", 3),
        ("gauge", "none", None),
        ("wound", "2", 2),
        ("wound", "none", None),
    ],
)
def test_values_from_text(argument: str, text: str, value: object) -> None:
    found = Violin.parsed(argument, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("argument", "text", "names"),
    [
        ("strings", "4.5", r"strings='4\.5' .*in \[1, 12\]"),
        ("tension", "tight", "tension='tight' .*>= 0"),
        ("muted", "perhaps", "muted='perhaps' .*true or false"),
        ("strings", "none", "strings='none'"),
        ("tuning", "1,2", r"tuning is a tuple\[float, \.\.\.\]"),
        ("string", "4", "'string'.*'strings'"),
    ],
)
def test_text_that_is_no_value(argument: str, text: str, names: str) -> None:
    with pytest.raises(SettingError, match=names):
        Violin.parsed(argument, text)


def test_classes_are_found_by_their_own_names() -> None:
    assert named(Instrument) == {"violin": Violin, "viola": Viola}
    assert class_named(Instrument, "viola") is Viola
    assert by_name(Instrument, "violin", {"strings": 5}) == Violin(strings=5)
    assert (Unnamed.name, Unnamed().name) == ("", "")
    with pytest.raises(SettingError, match=r"'voila'.*'viola'"):
        by_name(Instrument, "voila", {})
    with pytest.raises(SettingError, match=r"'drum'.* viola, violin"):
        by_name(Instrument, "drum", {})


def test_a_class_defined_later_is_found_too() -> None:
    @dataclass(frozen=True)
    class Cello(Instrument):
        name = "cello"

        endpin: "float" = setting(0.3, "length", low=0)  # as written under `from __future__ import annotations`

    assert class_named(Instrument, "cello") is Cello
    with pytest.raises(SettingError, match=r"Cello: endpin='long' must be a number"):
        by_name(Instrument, "cello", {"endpin": "long"})


def test_a_name_of_ours_cannot_be_taken_but_one_s_own_class_may_be_defined_anew() -> None:
    with pytest.raises(SettingError, match="Mine: name='dns' is that of DNS"):

        class Mine(Sampler):
            name: ClassVar[str] = "dns"

    assert class_named(Sampler, "dns") is DNS  # whatever is left of the other
    _, later = (type("Lute", (Instrument,), {"name": "lute"}) for _ in range(2))
    assert class_named(Instrument, "lute") is later


def test_a_number_of_numpy_is_a_number() -> None:
    sampler = SAHC(pool=np.int64(7), alpha=np.float32(0.5), lambda_max=np.float64(0.25))  # type: ignore[arg-type]
    assert json.dumps(sampler.to_dict()) == '{"pool": 7, "alpha": 0.5, "lambda_max": 0.25}'


class Wood(Enum):
    SPRUCE = 1


@dataclass(frozen=True)
class Holding(Instrument):
    held: Any = setting(None, "anything")


@pytest.mark.parametrize(
    "value",
    [np.zeros(3), Path("a"), math.sqrt, {1, 2}, (0.1, np.zeros(3)), Wood.SPRUCE, {1: 2}],
    ids=lambda value: type(value).__name__,
)
def test_what_no_record_could_hold_is_no_setting(value: object) -> None:
    """As text in the key of a run two large tensors were one, and a function another one in each process."""
    with pytest.raises(SettingError, match=f"held is a {type(value).__name__}"):
        Holding(held=value)


@pytest.mark.parametrize("value", [None, True, 1, 0.5, "a", (0.1, "b", None), {"a": 1}, np.float32(0.5)])
def test_what_a_record_holds_comes_back(value: object) -> None:
    held = Holding(held=value)
    assert held.held == value
    assert Holding.from_dict(json.loads(json.dumps(held.to_dict()))) == held


@dataclass(frozen=True)
class Later(Instrument):
    """With a setting in front of the others that came after them."""

    bows: int = setting(1, "how many bows", low=1, late=True)
    case: str = setting("hard", "what it lies in")


def test_a_late_setting_is_told_where_it_is_not_its_default_and_stands_in_nobodys_way() -> None:
    in_order: Any = (5, "soft")
    assert Later(*in_order).to_dict() == {"strings": 5, "case": "soft"}
    told = Later(bows=2).to_dict()
    assert told == {"strings": 4, "bows": 2, "case": "hard"}
    assert Later.from_dict(told) == Later(bows=2)
    assert [entry["name"] for entry in Later.settings()] == ["strings", "bows", "case"]
    with pytest.raises(SettingError, match="bows=0"):
        Later(bows=0)
