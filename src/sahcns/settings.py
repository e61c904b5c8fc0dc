"""Constructor arguments that document and check themselves.

A sampler or a backbone is a frozen dataclass; each field is declared with `setting(default, meaning, …)`. The same line
is its manual (`sahcns samplers` prints it), its range (checked at construction) and its default.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from sahcns.errors import SettingError, nearest


@dataclass(frozen=True)
class Allowed:
    """What a setting may be: a closed range, or one of several words."""

    low: float | None = None
    high: float | None = None
    above: float | None = None
    choices: tuple[object, ...] = ()

    def __str__(self) -> str:
        if self.choices:
            return " | ".join(map(str, self.choices))
        if self.low is not None and self.high is not None:
            return f"in [{self.low:g}, {self.high:g}]"
        ends = {">=": self.low, ">": self.above, "<=": self.high}
        return " and ".join(f"{sign} {end:g}" for sign, end in ends.items() if end is not None) or "any"

    def holds(self, value: Any) -> bool:
        if self.choices:
            return value in self.choices
        return (
            math.isfinite(value)
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.above is None or value > self.above)
        )


@dataclass(frozen=True)
class Between:
    """A range to tune within, both ends included; with `log`, each order of magnitude is tried alike."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise SettingError(f"Between: low={self.low} must be below high={self.high}")
        if self.log and self.low <= 0:
            raise SettingError(f"Between: low={self.low} must be above 0 for a logarithmic range")

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


def setting(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    choices: tuple[object, ...] = (),
    search: tuple[object, ...] | Between | None = None,
    unless: Mapping[str, tuple[object, ...]] | None = None,
    late: bool = False,
) -> Any:
    """A dataclass field with its meaning and what it may be.

    search  what `sahcns tune` tries: a tuple of values, or `Between(…)`; () leaves the setting alone, and None
            tries all that is allowed, if that has an end
    unless  values of other settings with which this one makes no difference: {"schedule": ("warmup",)}
    late    it joined a class of which there are results: at its default no record says it, so that their keys stay, and it
            is given by name only, so that what stood in order still does
    """
    allowed = Allowed(low, high, above, tuple(choices))
    about = {"meaning": meaning, "allowed": allowed, "search": search, "unless": dict(unless or {}), "late": late}
    return field(default=default, metadata=about, kw_only=late)


@dataclass(frozen=True)
class Configured:
    """Base of everything that is chosen by name and set by arguments: samplers, backbones, protocols."""

    name: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        """A name is not inherited, since a run is built again by it, nor can it be that of a built-in class."""
        super().__init_subclass__(**options)
        cls.name = cls.__dict__.get("name", "")
        family = cls.__mro__[cls.__mro__.index(Configured) - 1]  # Sampler, Backbone, …
        other: type[Configured] | None = named(family).get(cls.name)
        if other is not None and _is_built_in(other) and not _is_built_in(cls):
            raise SettingError(
                f"{cls.__name__}: name={cls.name!r} is that of {other.__name__} in sahcns; choose another"
            )

    def __post_init__(self) -> None:
        self.check_plain(declared=True)
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, list) and "meaning" in entry.metadata:  # as which a tuple comes back from JSON
                value = tuple(value)
                object.__setattr__(self, entry.name, value)
            self._check(entry.name, value, entry.metadata.get("allowed"), kind_of(entry.type))
            if isinstance(value, Real) and not isinstance(value, bool):  # also one of numpy, which JSON does not know
                object.__setattr__(self, entry.name, int(value) if isinstance(value, Integral) else float(value))

    def check_plain(self, declared: bool = False) -> None:
        """Refuse a value that no record can hold; with `declared`, only of what was declared by `setting`."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not _is_plain(value) and ("meaning" in entry.metadata or not declared):
                raise SettingError(
                    f"{type(self).__name__}: {entry.name} is a {type(value).__name__}, which no record of a run could hold; a "
                    "setting is a number, a text, true or false, None, or a tuple of these"
                )

    def _check(self, argument: str, value: object, allowed: Allowed | None, kind: str) -> None:
        if value is None and "None" in kind:
            return
        number, must = isinstance(value, Real) and not isinstance(value, bool), ""
        if kind.startswith(("int", "float")) and not number:
            must = "must be a number"
        elif kind.startswith("int") and not isinstance(value, Integral):
            must = "must be a whole number"
        elif kind == "bool" and not isinstance(value, bool):
            must = "must be true or false"
        elif allowed is not None and (number or allowed.choices) and not allowed.holds(value):
            must = f"is not allowed; it must be {'a finite number' if str(allowed) == 'any' else allowed}"
        if must:
            raise SettingError(f"{type(self).__name__}: {argument}={value!r} {must}")

    @classmethod
    def settings(cls) -> list[dict[str, str]]:
        """Each argument with its default, meaning and range, for the command line and the docs."""
        manual = []
        for entry in fields(cls):
            meaning, allowed = (str(entry.metadata.get(key, "")) for key in ("meaning", "allowed"))
            allowed = "true | false" if kind_of(entry.type) == "bool" else allowed or "any"
            manual.append({"name": entry.name, "default": str(entry.default), "allowed": allowed, "meaning": meaning})
        return manual

    @classmethod
    def parsed(cls, argument: str, text: str) -> Any:
        """A value from text, as it stands on a command line, by the type of the argument."""
        kinds = {entry.name: (kind_of(entry.type), entry.metadata.get("allowed", "any")) for entry in fields(cls)}
        if argument not in kinds:
            raise SettingError(f"{cls.name} has no argument {argument!r}; {nearest(argument, kinds)}")
        kind, allowed = kinds[argument]
        word = text.strip().lower()
        if word == "none" and "None" in kind:
            return None
        for start, read, what in _READ:
            if kind.startswith(start):
                try:
                    return read(word)
                except (KeyError, ValueError):
                    limits = "" if str(allowed) == "any" else f", {allowed}"
                    raise SettingError(f"{cls.__name__}: {argument}={text!r} must be {what}{limits}") from None
        if kind.startswith(("tuple", "list", "dict", "set")):  # it would stay text, and nobody would say so
            raise SettingError(f"{cls.__name__}: {argument} is a {kind}, which no text can say; set it in Python")
        return text.strip()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Build from a plain dict; an unknown argument is an error that names the nearest known one."""
        known = {entry.name for entry in fields(cls)}
        for argument in values:
            if argument not in known:
                raise SettingError(f"{cls.name} has no argument {argument!r}; {nearest(argument, known)}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        unsaid = {
            one.name for one in fields(self) if one.metadata.get("late") and getattr(self, one.name) == one.default
        }
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in unsaid}


Base = TypeVar("Base", bound=Configured)
WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_READ: tuple[tuple[str, Callable[[str], object], str], ...] = (
    ("int", int, "a whole number"),
    ("float", float, "a number"),
    ("bool", WORDS.__getitem__, "true or false"),
)


def kind_of(annotation: object) -> str:
    """`int`, `float | None`: however it was written, `Optional[float]` and text (of `from __future__`) included."""
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join("None" if part is NoneType else kind_of(part) for part in get_args(annotation))
    text = annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)
    inside = re.fullmatch(r"(?:typing\.)?Optional\[(.+)\]", text)
    return f"{inside[1]} | None" if inside else text


def named(base: type[Base]) -> dict[str, type[Base]]:
    """Every imported class below `base` that has a name: built-in ones and those in a user's own file alike.

    Of two with one name it is the later, as when a class is defined anew; built-in ones stay, though.
    """
    classes: dict[str, type[Base]] = {}
    for child in _below(base):
        if child.name and not (child.name in classes and _is_built_in(classes[child.name])):
            classes[child.name] = child
    return classes


def class_named(base: type[Base], name: str) -> type[Base]:
    """The class called `name`; a misspelt name gets the nearest right one."""
    known = named(base)
    if name not in known:
        raise SettingError(f"there is no {base.__name__.lower()} called {name!r}; {nearest(name, known)}")
    return known[name]


def by_name(base: type[Base], name: str, values: dict[str, Any]) -> Base:
    """The class called `name`, built with `values`."""
    return class_named(base, name).from_dict(values)


def _below(base: type[Base]) -> Iterator[type[Base]]:
    for child in base.__subclasses__():
        yield child
        yield from _below(child)


def _is_built_in(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "sahcns"


def _is_plain(value: object) -> bool:
    """Whether JSON holds it, and gives it back."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(part) for name, part in value.items())
    return value is None or (isinstance(value, bool | Real | str) and not isinstance(value, Enum))
