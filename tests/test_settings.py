"""Arguments that document and check themselves: ranges, words, types, names, and the sentence for each mistake."""

import dataclasses
import json
import math
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, ClassVar, Optional

import numpy as np
import pytest

from sahcns.errors import SahcnsError, SettingError
from sahcns.samplers import DNS, SAHC, Sampler
from sahcns.settings import Allowed, Configured, by_name, class_named, named, setting


@dataclass(frozen=True)
class Instrument(Configured):
    """Without a name: cannot be chosen."""

    strings: int = setting(4, "how many strings", low=1, high=12)


@dataclass(frozen=True)
class Violin(Instrument):
    """Everything a setting can be."""

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
    """A name of its own below another."""

    name: ClassVar[str] = "viola"


@dataclass(frozen=True)
class Unnamed(Viola):
    """Inherits a name and so does not count."""


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
    ("argument", "value", "sentence"),
    [
        ("strings", 0, r"Violin: strings=0 is not allowed; it must be in \[1, 12\]"),
        ("strings", 13, r"Violin: strings=13 is not allowed; it must be in \[1, 12\]"),
        ("strings", 4.0, r"Violin: strings=4\.0 must be a whole number"),
        ("strings", True, r"Violin: strings=True must be a number"),
        ("strings", "4", r"Violin: strings='4' must be a number"),
        ("strings", None, r"Violin: strings=None must be a number"),
        ("tension", -1e-9, r"Violin: tension=-1e-09 is not allowed; it must be >= 0"),
        ("tension", float("nan"), r"Violin: tension=nan is not allowed"),
        ("tension", "tight", r"Violin: tension='tight' must be a number"),
        ("pitch", 0, r"Violin: pitch=0 is not allowed; it must be > 0"),
        ("rank", 0, r"Violin: rank=0 is not allowed; it must be <= -1"),
        ("wood", "oak", r"Violin: wood='oak' is not allowed; it must be spruce \| maple"),
        ("wood", 3, r"Violin: wood=3 is not allowed"),
        ("muted", 1, r"Violin: muted=1 must be true or false"),
        ("limit", 1.5, r"Violin: limit=1\.5 is not allowed; it must be in \[0, 1\]"),
        ("limit", "half", r"Violin: limit='half' must be a number"),
        ("gauge", "3", r"Violin: gauge='3' must be a number"),
        ("wound", 1.5, r"Violin: wound=1\.5 must be a whole number"),
    ],
)
def test_a_wrong_value_is_refused_in_a_sentence(argument: str, value: object, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence) as caught:
        Violin.from_dict({argument: value})
    assert isinstance(caught.value, SahcnsError)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_right_values_are_kept_as_they_are() -> None:
    violin = Violin(strings=5, tension=1, limit=0.5, wood="maple", muted=True)
    assert (violin.strings, violin.tension, violin.limit, violin.wood, violin.muted) == (5, 1, 0.5, "maple", True)
    assert Violin().limit is None


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Violin().strings = 5  # type: ignore[misc]


def test_there_and_back() -> None:
    violin = Violin(strings=6, wood="maple")
    assert Violin.from_dict(violin.to_dict()) == violin
    assert violin.to_dict()["limit"] is None


def test_an_unknown_argument_gets_the_nearest_known_one() -> None:
    with pytest.raises(SettingError, match=r"violin has no argument 'tenson'; did you mean 'tension'\?"):
        Violin.from_dict({"tenson": 1})
    with pytest.raises(SettingError, match=r"violin has no argument 'zzzz'; there are: gauge, limit, maker"):
        Violin.from_dict({"zzzz": 1})


def test_the_manual_of_a_class() -> None:
    manual = {entry["name"]: entry for entry in Violin.settings()}
    assert next(iter(manual)) == "strings"
    assert manual["strings"] == {
        "name": "strings",
        "default": "4",
        "allowed": "in [1, 12]",
        "meaning": "how many strings",
    }
    assert manual["wood"]["allowed"] == "spruce | maple"
    assert manual["muted"]["allowed"] == "true | false"
    assert manual["offset"]["allowed"] == "any"


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
    ("argument", "text", "sentence"),
    [
        ("strings", "4.5", r"Violin: strings='4\.5' must be a whole number, in \[1, 12\]"),
        ("tension", "tight", r"Violin: tension='tight' must be a number, >= 0"),
        ("offset", "far", r"Violin: offset='far' must be a number$"),
        ("muted", "perhaps", r"Violin: muted='perhaps' must be true or false"),
        ("strings", "none", r"must be a whole number"),
        ("tuning", "1,2", r"Violin: tuning is a tuple\[float, \.\.\.\], which no text can say; set it in Python"),
        ("string", "4", r"violin has no argument 'string'; did you mean 'strings'\?"),
    ],
)
def test_text_that_is_no_value(argument: str, text: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        Violin.parsed(argument, text)


def test_classes_are_found_by_their_own_names() -> None:
    assert named(Instrument) == {"violin": Violin, "viola": Viola}
    assert class_named(Instrument, "viola") is Viola
    assert by_name(Instrument, "violin", {"strings": 5}) == Violin(strings=5)


def test_a_class_defined_later_is_found_too() -> None:
    @dataclass(frozen=True)
    class Cello(Instrument):
        name = "cello"

        endpin: "float" = setting(0.3, "length", low=0)  # as written under `from __future__ import annotations`

    assert class_named(Instrument, "cello") is Cello
    with pytest.raises(SettingError, match=r"Cello: endpin='long' must be a number"):
        by_name(Instrument, "cello", {"endpin": "long"})


def test_a_name_is_not_inherited() -> None:
    assert (Unnamed.name, Unnamed().name, named(Instrument)["viola"]) == ("", "", Viola)
    with pytest.raises(SettingError, match="Unnamed has no name to be called by; write one into its class, such as"):
        class_named(Instrument, "Unnamed")


def test_a_name_of_ours_cannot_be_taken_but_one_s_own_class_may_be_defined_anew() -> None:
    with pytest.raises(SettingError, match="Mine: name='dns' is that of DNS in sahcns; give it a name"):

        class Mine(Sampler):
            name: ClassVar[str] = "dns"

    assert class_named(Sampler, "dns") is DNS  # whatever is left of the other
    _, later = (type("Lute", (Instrument,), {"name": "lute"}) for _ in range(2))
    assert class_named(Instrument, "lute") is later


def test_a_misspelt_name_gets_the_nearest() -> None:
    with pytest.raises(SettingError, match=r"there is no instrument called 'voila'; did you mean 'viola'\?"):
        by_name(Instrument, "voila", {})
    with pytest.raises(SettingError, match=r"there is no instrument called 'drum'; there are: .*viola, violin"):
        by_name(Instrument, "drum", {})


def test_infinity_is_no_setting_and_a_number_of_numpy_is_one() -> None:
    with pytest.raises(SettingError, match="alpha=inf is not allowed"):
        SAHC(alpha=float("inf"))
    sampler = SAHC(pool=np.int64(7), alpha=np.float32(0.5), lambda_max=np.float64(0.25))  # type: ignore[arg-type]
    assert repr(sampler) == "SAHC(pool=7, alpha=0.5, lambda_max=0.25)"
    assert json.dumps(sampler.to_dict()) == '{"pool": 7, "alpha": 0.5, "lambda_max": 0.25}'


def test_settings_without_the_decorator_are_said_to_be_dead() -> None:
    class Bare(Instrument):
        strings: int = setting(4, "strings", low=1)

    with pytest.raises(SettingError, match=r"Bare has settings, so it needs @dataclass\(frozen=True\) above it"):
        Bare()

    @dataclass(frozen=True)
    class Below(Bare):
        pass

    with pytest.raises(SettingError, match="Bare has settings"):
        Below()


def test_annotated_values_without_the_decorator_are_dead_too() -> None:
    class Bare(Instrument):
        strings: int = 5

    with pytest.raises(SettingError, match=r"Bare has settings, so it needs @dataclass\(frozen=True\) above it"):
        Bare()

    class Constant(Instrument):
        """Nothing that could be set."""

        name: str = "constant"  # type: ignore[misc]
        bows: ClassVar[int] = 2
        woods = ("spruce",)

    assert Constant().bows == 2


class Wood(Enum):
    SPRUCE = 1


class Tone(StrEnum):
    A = "a"


@dataclass(frozen=True)
class Holding(Instrument):
    held: Any = setting(None, "anything")


@pytest.mark.parametrize(
    "value",
    [
        *(np.zeros(3), Path("a"), math.sqrt, Violin(), {1, 2}, (0.1, np.zeros(3)), object()),
        *(Wood.SPRUCE, Tone.A, {1: 2}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_no_record_could_hold_is_no_setting(value: object) -> None:
    """As text in the key of a run two large tensors were one, and a function another one in each process."""
    with pytest.raises(
        SettingError, match=r"Holding: held is a \w+, which no record of a run could hold; a setting is"
    ):
        Holding(held=value)


@pytest.mark.parametrize("value", [None, True, 1, 0.5, "a", (0.1, "b", None), {"a": 1}, np.float32(0.5)])
def test_what_a_record_holds_comes_back(value: object) -> None:
    held = Holding(held=value)
    assert held.held == value
    assert Holding.from_dict(json.loads(json.dumps(held.to_dict()))) == held


def test_a_tuple_is_one_again_after_json() -> None:
    violin = Violin(tuning=(196.0, 293.7))
    assert Violin.from_dict(json.loads(json.dumps(violin.to_dict()))) == violin


@pytest.mark.parametrize("taken", ["weights", "choose", "settings", "to_dict"])
def test_a_setting_cannot_be_called_as_what_all_samplers_have(taken: str) -> None:
    """`weights: float` stood in the place of the hook, and 'float' object is not callable was all that was said."""
    kind = dataclasses.make_dataclass(
        "Colliding", [(taken, float, setting(0.5, "x"))], bases=(Sampler,), frozen=True, namespace={}
    )
    with pytest.raises(SettingError, match=f"Colliding: {taken} is something else in every sampler; call the setting"):
        kind()


def test_a_name_is_a_text_and_no_setting() -> None:
    with pytest.raises(
        SettingError, match=r'Numbered: its name must be a text, written name: ClassVar\[str\] = "mine"'
    ):
        type("Numbered", (Sampler,), {"name": 3})
    with pytest.raises(SettingError, match="Named: its name must be a text"):
        type("Named", (Sampler,), {"name": setting("mine", "x"), "__annotations__": {"name": str}})

    @dataclass(frozen=True)
    class Annotated(Instrument):
        name: str = "annotated"  # type: ignore[misc]

    with pytest.raises(SettingError, match=r"Annotated: name is something else in every instrument; .* name: ClassVar"):
        Annotated()


def test_choices_are_no_text_and_a_list_of_them_is_a_tuple() -> None:
    with pytest.raises(SettingError, match=r"choices and search are tuples of values, such as \('near', 'far'\)"):
        setting("near", "x", choices="near")  # type: ignore[arg-type]
    about = setting("near", "x", choices=["near", "far"], search=["near"]).metadata  # type: ignore[arg-type]
    assert (about["allowed"].choices, about["search"]) == (("near", "far"), ("near",))


def test_any_number_is_a_finite_one() -> None:
    with pytest.raises(SettingError, match="Violin: offset=nan is not allowed; it must be a finite number"):
        Violin(offset=math.nan)


def test_arguments_that_are_no_settings_are_refused() -> None:
    """They worked, and no record held them: two runs that differed in them were the same by all that was kept."""
    with pytest.raises(SettingError, match=r"Handmade: write no __init__, .* declare each as a setting"):

        class Handmade(Sampler):
            def __init__(self, share: float = 0.5) -> None:
                super().__init__()

    @dataclass(frozen=True, slots=True)  # makes the class once more, with the __init__ of dataclass in it
    class Slotted(Instrument):
        pass

    assert Slotted(strings=6).strings == 6


def test_help_has_each_setting_below_what_the_class_says() -> None:
    first, _, table = (Violin.__doc__ or "").partition("\n\n")
    assert first == Violin.own_text == "Everything a setting can be."
    lines = table.splitlines()
    assert " ".join(lines[0].split()) == "strings=4 how many strings; in [1, 12]"  # of its base
    assert " ".join(lines[1].split()) == "tension=0.5 tension of the bow; >= 0"
    assert [line.split("=")[0] for line in lines] == [entry["name"] for entry in Violin.settings()]


def test_a_class_without_a_text_of_its_own_has_none_of_its_bases() -> None:
    @dataclass(frozen=True)
    class Fiddle(Violin):
        bow: int = setting(1, "which bow")

    assert Fiddle.own_text == ""
    assert (Fiddle.__doc__ or "").splitlines()[0].startswith("strings=4 ")
