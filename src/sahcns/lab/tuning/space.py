"""What can be tried of a sampler: which of its settings, and which values of each.

A setting says so itself, by `setting(…, search=…)`. One that says nothing is searched over all that it may be, if that
has an end; otherwise it stays at its default. `pool` is left alone unless asked for, so that samplers are compared at
equal pools.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from sahcns.errors import SettingError
from sahcns.settings import Allowed, Between, kind_of

if TYPE_CHECKING:
    from sahcns.samplers import Sampler

Point = dict[str, Any]
"""A value for each searched setting."""

Search = tuple[object, ...] | Between
MOST = 10_000  # points of a finite space that are ever listed
STEPS = 33  # values of a long range of whole numbers


@dataclass(frozen=True)
class Dimension:
    """One searched setting: its values, or the range that they come from."""

    name: str
    values: tuple[Any, ...] = ()  # ascending where they are numbers
    between: Between | None = None
    unless: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, search: Search, whole: bool, unless: Mapping[str, tuple[object, ...]]) -> "Dimension":
        if isinstance(search, Between) and not whole:
            return cls(name, between=search, unless=unless)
        values: list[Any] = list(dict.fromkeys(_whole(search) if isinstance(search, Between) else search))
        return cls(name, tuple(sorted(values) if _numbers(values) else values), unless=unless)

    @property
    def ordered(self) -> bool:
        """Whether neighbours are alike: numbers are, words are not."""
        return self.between is not None or _numbers(self.values)

    def holds(self, value: Any) -> bool:
        if self.between is not None:
            return isinstance(value, int | float) and self.between.low <= value <= self.between.high
        return value in self.values

    def nearest(self, value: Any) -> Any:
        """The value itself where it belongs to the dimension, else the first there is."""
        if self.holds(value):
            return value
        return self.values[0] if self.between is None else self.between.low

    def to_plain(self) -> Any:
        """For JSON: a list of values, or a range."""
        if self.between is None:
            return list(self.values)
        return {"low": self.between.low, "high": self.between.high, "log": self.between.log}

    def __str__(self) -> str:
        if self.between is None:
            return f"{self.name} {{{', '.join(map(short, self.values))}}}"
        log = ", logarithmic" if self.between.log else ""
        return f"{self.name} {short(self.between.low)} to {short(self.between.high)}{log}"


@dataclass(frozen=True)
class Space:
    """A sampler's settings: those that are searched, and the values of the others."""

    kind: "type[Sampler]"
    dimensions: tuple[Dimension, ...]
    rest: Mapping[str, Any]  # settings that are not searched
    fixed: Mapping[str, Any] = field(default_factory=dict)  # those of them that were held at a value
    open: tuple[str, ...] = ()  # those of them that could not be: what they may be has no end
    first: Mapping[str, Any] = field(default_factory=dict)  # what to begin with where it is not the defaults

    @classmethod
    def of(
        cls,
        kind: "type[Sampler]",
        *,
        pool: Sequence[int] = (),
        fixed: Mapping[str, Any] | None = None,
        search: Mapping[str, Search] | None = None,
        first: Mapping[str, Any] | None = None,
    ) -> "Space":
        """The space of `kind`.

        pool    one value sets the pool, several are searched; a sampler whose `pool` has `search=()` keeps its own
        fixed   settings held at a value
        search  overrides what the settings say of themselves
        first   the point to begin with, as far as its settings are searched; otherwise the defaults
        """
        fixed, search, first = dict(fixed or {}), dict(search or {}), dict(first or {})
        known = {entry.name: entry for entry in fields(kind)}
        others = (other for entry in known.values() for other in entry.metadata.get("unless", ()))
        for name in (*fixed, *search, *first, *others):
            if name not in known:
                kind.from_dict({name: None})  # raises, and names the nearest
        if pool and not kind.draws_negatives():
            search.setdefault("pool", tuple(pool))
        dimensions, rest, unbounded = [], dict(fixed), []
        for name, entry in known.items():
            if name in fixed:
                continue
            found = search.get(name, entry.metadata.get("search"))
            if found is None and name != "pool":
                found = _all_of(entry.metadata.get("allowed"), kind_of(entry.type))
                if found is None:
                    unbounded.append(name)
            whole = kind_of(entry.type).startswith("int")
            made = Dimension.of(name, found or (), whole, entry.metadata.get("unless", {}))
            if made.between is None and len(made.values) < 2:
                rest[name] = made.values[0] if made.values else entry.default
            else:
                dimensions.append(made)
        space = cls(kind, tuple(dimensions), rest, fixed, tuple(unbounded), first)
        space._refuse_if_empty()
        return space

    @property
    def name(self) -> str:
        return self.kind.name or self.kind.__name__

    @property
    def leaves_pool(self) -> bool:
        """Whether the sampler keeps its own pool, whatever is asked for."""
        return self.kind.draws_negatives()

    @property
    def start(self) -> Point | None:
        """The first point to try: the sampler's defaults or what was told instead, if it belongs to the space."""
        told = {entry.name: entry.default for entry in fields(self.kind)} | dict(self.first)
        point = self.canonical({dimension.name: told[dimension.name] for dimension in self.dimensions})
        inside = all(dimension.holds(point[dimension.name]) for dimension in self.dimensions)
        return point if inside and self.accepts(point) else None

    def sampler(self, point: Mapping[str, Any]) -> "Sampler":
        return self.kind.from_dict({**self.rest, **point})

    def accepts(self, point: Mapping[str, Any]) -> bool:
        """Whether the sampler can be built so: its own check may tie one setting to another."""
        try:
            self.sampler(point)
        except SettingError:
            return False
        return True

    def canonical(self, point: Mapping[str, Any]) -> Point:
        """The same sampler written in one way: a setting that does not count has one value, its default if it can."""
        counts = self.counting(point)
        defaults = {entry.name: entry.default for entry in fields(self.kind)}
        return {
            dimension.name: counts.get(dimension.name, dimension.nearest(defaults[dimension.name]))
            for dimension in self.dimensions
        }

    def counting(self, point: Mapping[str, Any]) -> Point:
        """The part of a point that makes a difference, as the settings' `unless` has it."""
        values = {**self.rest, **point}
        return {
            dimension.name: point[dimension.name]
            for dimension in self.dimensions
            if not any(values[other] in idle for other, idle in dimension.unless.items())
        }

    def points(self) -> list[Point] | None:
        """Every point that the sampler accepts, each once; None where there is no end of them."""
        if any(dimension.between is not None for dimension in self.dimensions):
            return None
        if math.prod(len(dimension.values) for dimension in self.dimensions) > MOST:
            return None
        names = [dimension.name for dimension in self.dimensions]
        found: dict[tuple[Any, ...], Point] = {}
        for values in itertools.product(*(dimension.values for dimension in self.dimensions)):
            point = self.canonical(dict(zip(names, values, strict=True)))
            if self.accepts(point):
                found.setdefault(self.key(point), point)
        return list(found.values())

    def key(self, point: Mapping[str, Any]) -> tuple[Any, ...]:
        """Equal for points that are the same sampler."""
        own = self.canonical(point)
        return tuple(own[dimension.name] for dimension in self.dimensions)

    def to_plain(self) -> dict[str, Any]:
        return {dimension.name: dimension.to_plain() for dimension in self.dimensions}

    def __str__(self) -> str:
        points = self.points()
        if not self.dimensions:
            return f"{self.name}: nothing to tune"
        counted = "" if points is None else f": {len(points)} points"
        return f"{self.name}: {'; '.join(map(str, self.dimensions))}{counted}"

    def _refuse_if_empty(self) -> None:
        """An error if no point of a finite space can be built, with the sampler's own reason."""
        points = self.points()
        if points == []:
            first = {dimension.name: dimension.values[0] for dimension in self.dimensions}
            try:
                self.sampler(first)
            except SettingError as error:
                raise SettingError(f"{self.name}: nothing of its search space is allowed: {error}") from None


def _all_of(allowed: Allowed | None, kind: str) -> Search | None:
    """Everything that a setting may be, if that has an end."""
    if kind == "bool":
        return (False, True)
    if allowed is None:
        return None
    if allowed.choices:
        return allowed.choices
    if kind.startswith(("int", "float")) and allowed.low is not None and allowed.high is not None:
        return Between(allowed.low, allowed.high) if allowed.low < allowed.high else (allowed.low,)
    return None


def _whole(between: Between) -> list[int]:
    """Whole numbers of a range, both ends among them: all, or STEPS of them in equal steps or equal ratios."""
    low, high = math.ceil(between.low), math.floor(between.high)
    if high - low < STEPS and not between.log:
        return list(range(low, high + 1))
    shares = [at / (STEPS - 1) for at in range(STEPS)]
    if between.log:
        return sorted({round(low * (high / low) ** share) for share in shares})
    return sorted({round(low + (high - low) * share) for share in shares})


def _numbers(values: Sequence[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def short(value: object) -> str:
    """A value of a setting, as it is shown."""
    return f"{value:g}" if isinstance(value, float) else str(value)
