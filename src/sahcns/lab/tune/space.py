"""What can be tried: settings of a sampler, and of the backbone, objective and protocol that it is trained with.

`alpha` and `pool` are the sampler's; `backbone.depth` and `protocol.l2` name their part. A setting says by
`setting(…, search=…)` what to try. A sampler's that says nothing is searched over all that it may be, if that is bounded;
another part's only when asked for. L2 and the step size say so: held still, they favour the sampler that they suit.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sahcns.errors import SettingError, nearest
from sahcns.lab.parts import built, known_settings
from sahcns.settings import Allowed, Between, Configured, class_named, kind_of

if TYPE_CHECKING:
    from sahcns.samplers import Sampler

Point = dict[str, Any]
"""A value for each searched setting."""

Values = Sequence[object] | Between
"""What to try of a setting: values, or a range; both may be text, as on the command line: `10,20` or `1e-5..1e-2`."""

MOST = 10_000  # points of a finite space that are ever listed
STEPS = 33  # values of a long range of whole numbers
LOGARITHMIC = 10  # the ratio of its ends from which a range given as text is logarithmic
POOLS = (5, 10, 20, 50)  # tried where a sampler that chooses from its pool says nothing else
NEAR_END = 0.05  # of a range, of its orders of magnitude where it is logarithmic


@dataclass(frozen=True)
class Dimension:
    """One searched setting."""

    name: str
    values: tuple[Any, ...] | Between  # ascending where they are numbers
    default: Any
    unless: Mapping[str, tuple[object, ...]]  # as of `setting`

    @property
    def usual(self) -> Any:
        """The default, or what is nearest to it: where to begin, and its value where it makes no difference."""
        ends = (self.values.low, self.values.high) if isinstance(self.values, Between) else self.values
        if self.default in self.values or not are_numbers([*ends, self.default]):
            return self.default if self.default in self.values else ends[0]
        return min(ends, key=lambda value: abs(value - self.default))


@dataclass(frozen=True)
class Space:
    """The searched settings of a sampler and its surroundings, and the values of the sampler's other settings."""

    kind: "type[Sampler]"
    dimensions: tuple[Dimension, ...]
    rest: Mapping[str, Any]  # settings of the sampler that are not searched
    fixed: Mapping[str, Any]  # those of them that were held at a value
    unbounded: tuple[str, ...]  # those of them that could not be searched
    first: Mapping[str, Any]  # what to begin with instead of the defaults
    parts: Mapping[str, Configured]  # the backbone, the objective and the protocol, by those words

    @classmethod
    def of(
        cls,
        kind: "type[Sampler]",
        *,
        fixed: Mapping[str, Any] | None = None,
        search: Mapping[str, Values] | None = None,
        first: Mapping[str, Any] | None = None,
        **parts: Configured,
    ) -> "Space":
        """The space of `kind` and of the `parts` (`backbone=…, objective=…, protocol=…`).

        fixed   settings held at a value
        search  overrides what the settings say of themselves; one value alone sets the setting, () leaves it alone
        first   the point to begin with, as far as its settings are searched; otherwise the defaults
        """
        fixed, search, first = dict(fixed or {}), dict(search or {}), dict(first or {})
        known = known_settings(kind, parts)
        for name in (*fixed, *search, *first):
            if name not in known:
                raise SettingError(f"{kind.name} has no argument {name!r}; {nearest(name, known)}")
        dimensions, rest, unbounded = [], dict(fixed), []
        for name, (home, entry, default) in known.items():
            of_part = "." in name
            if name in fixed or (of_part and name not in search and entry.metadata.get("search") is None):
                continue
            values = _values(home, entry, search.get(name))
            if values is None:
                unbounded.append(name)
            if isinstance(values, Between) or (values and (len(values) > 1 or of_part)):
                dimensions.append(Dimension(name, values, default, entry.metadata.get("unless", {})))
            elif not of_part:
                rest[name] = values[0] if values else default
        space = cls(kind, tuple(dimensions), rest, fixed, tuple(unbounded), first, parts)
        if space.points() == []:
            try:
                space.build({})
            except SettingError as error:
                raise SettingError(f"{space.name}: nothing of its search space is allowed: {error}") from None
        return space

    @property
    def name(self) -> str:
        return self.kind.name or self.kind.__name__

    @property
    def start(self) -> Point | None:
        """The first point to try: as near to the defaults as the space has it, or `first`, if it belongs to the space."""
        point = self.counting({one.name: self.first.get(one.name, one.usual) for one in self.dimensions})
        there = all(point[one.name] in one.values for one in self.dimensions if one.name in point)
        return point if there and self.accepts(point) else None

    def counting(self, values: Mapping[str, Any]) -> Point:
        """The searched settings that make a difference at these values, as the settings' `unless` has it: a point."""
        values = {**self.rest, **values}
        return {
            one.name: values[one.name]
            for one in self.dimensions
            if not any(values[other] in idle for other, idle in one.unless.items())
        }

    def settings(self, point: Point) -> dict[str, Any]:
        """All settings at a point, those that make no difference included."""
        return {**self.rest, **{one.name: one.usual for one in self.dimensions}, **point}

    def build(self, point: Point) -> dict[str, Any]:
        """The sampler and the parts at a point, as `fit` takes them by name."""
        return built(self.kind, self.settings(point), self.parts)

    def accepts(self, point: Point) -> bool:
        """Whether it can be built: a check of its own may tie one setting to another."""
        try:
            self.build(point)
        except SettingError:
            return False
        return True

    def points(self) -> list[Point] | None:
        """Every point that can be built, each once; None where they cannot be listed."""
        grids = [one.values for one in self.dimensions if not isinstance(one.values, Between)]
        if len(grids) < len(self.dimensions) or math.prod(map(len, grids)) > MOST:
            return None
        names, points = [one.name for one in self.dimensions], dict[Any, Point]()
        for values in itertools.product(*grids):
            point = self.counting(dict(zip(names, values, strict=True)))
            points.setdefault(key(point), point)
        return [*filter(self.accepts, points.values())]

    def to_plain(self) -> dict[str, Any]:
        """{"alpha": [0, 0.5], "beta": Between(0.1, 50, log=True)}."""
        values = {one.name: one.values for one in self.dimensions}
        return {name: one if isinstance(one, Between) else list(one) for name, one in values.items()}

    def __str__(self) -> str:
        """`dns-mn: top_k in {1, 2, 3, 4}: 4 points`."""
        if not self.dimensions:
            return f"{self.name}: nothing to tune"
        points = self.points()
        return f"{self.name}: {space_text(self.to_plain())}" + ("" if points is None else f": {len(points)} points")


def spaces_of(
    samplers: "type[Sampler] | str | Iterable[type[Sampler] | str]",
    *,
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    search: Mapping[str, Values] | None = None,
    first: Mapping[str, Mapping[str, Any]] | None = None,
    **parts: Configured,
) -> list[Space]:
    """The search space of each sampler, by class or by name; `search` is {"sahc.alpha": …, "pool": …, "protocol.l2": …}."""
    from sahcns.samplers import Sampler

    given = [samplers] if isinstance(samplers, str | type) else list(samplers)
    kinds = list(dict.fromkeys(class_named(Sampler, one) if isinstance(one, str) else one for one in given))
    if not kinds:
        raise SettingError("no samplers to tune: name at least one, such as sahc")
    fixed, search, first = fixed or {}, search or {}, first or {}
    known = {kind.name or kind.__name__: [*known_settings(kind, parts)] for kind in kinds}
    searchable = [word for name, own in known.items() for key in own for word in (key, f"{name}.{key}")]
    for names, among in (((*fixed, *first), [*known]), (search, searchable)):
        for name in names:
            if name not in among:
                raise SettingError(f"{name!r} is not among what is tuned; {nearest(name, among)}")
    spaces = []
    for kind, (name, own) in zip(kinds, known.items(), strict=True):
        values = {key: search[key] for key in own if key in search}
        if kind.draws_negatives:
            values.pop("pool", None)  # a number of negatives, not of candidates
        values |= {key: search[f"{name}.{key}"] for key in own if f"{name}.{key}" in search}
        spaces.append(Space.of(kind, fixed=fixed.get(name), search=values, first=first.get(name), **parts))
    return spaces


def key(point: Point) -> tuple[tuple[str, Any], ...]:
    """Of a point, to look it up by."""
    return tuple(point.items())


def space_text(space: Mapping[str, Any]) -> str:
    """`alpha in {0, 0.5, 1}; beta from 0.1 to 50 (logarithmic)`, of what `Space.to_plain` gives."""
    words = []
    for name, values in space.items():
        if isinstance(values, Between):
            log = " (logarithmic)" if values.log else ""
            words.append(f"{name} from {short(values.low)} to {short(values.high)}{log}")
        else:
            words.append(f"{name} in {{{', '.join(map(short, values))}}}")
    return "; ".join(words)


def short(value: object) -> str:
    """A value of a setting, as it is shown."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def are_numbers(values: Sequence[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def end_of(values: "Sequence[Any] | Between", value: Any) -> str:
    """`low` or `high` where a chosen value sits at, or next to, an end of what was tried; of numbers alone."""
    log = isinstance(values, Between) and values.log
    ends = [values.low, values.high] if isinstance(values, Between) else [*values]
    if not are_numbers([*ends, value]) or len(ends) < 2:
        return ""
    low, high, at = (math.log(one) if log else one for one in (min(ends), max(ends), value))
    near = NEAR_END * (high - low) if isinstance(values, Between) else 0
    return "low" if at <= low + near else "high" if at >= high - near else ""


def _values(home: type[Configured], entry: "Field[Any]", asked: Values | None) -> tuple[Any, ...] | Between | None:
    """What to try of a setting: what was asked for, what it says of itself, or all that it may be; None without an end."""
    values, kind = entry.metadata.get("search") if asked is None else asked, kind_of(entry.type)
    if values is None and entry.name == "pool":
        values = () if getattr(home, "draws_negatives", False) else POOLS
    if values is None:
        values = _all_of(entry.metadata.get("allowed"), kind)
    if isinstance(values, str):
        values = _read_values(home, entry.name, values)
    if isinstance(values, Between) and kind.startswith("int"):  # all of them, or STEPS in equal steps or equal ratios
        ends, spaced = (math.ceil(values.low), math.floor(values.high)), np.geomspace if values.log else np.linspace
        values = spaced(*ends, STEPS).round().astype(int).tolist()
    if values is None or isinstance(values, Between):
        return values
    each = tuple(dict.fromkeys(values))
    return tuple(sorted(each)) if are_numbers(each) else each


def _read_values(kind: type[Configured], argument: str, text: str) -> Values:
    """`1e-5..1e-2` or `10,20`, by the type of the setting."""
    low, dots, high = text.partition("..")
    if not dots:
        return tuple(kind.parsed(argument, value) for value in text.split(","))
    try:
        ends = float(low), float(high)
    except ValueError:
        raise SettingError(f"{argument}={text!r}: a range is two numbers, such as 1e-5..1e-2") from None
    return Between(*ends, log=ends[0] > 0 and ends[1] / ends[0] >= LOGARITHMIC * (1 - 1e-9))  # 3e-4..3e-3 is, too


def _all_of(allowed: Allowed | None, kind: str) -> Values | None:
    """Everything that a setting may be, if that is bounded."""
    if kind == "bool":
        return (False, True)
    if allowed is None:
        return None
    if allowed.choices:
        return allowed.choices
    if kind.startswith(("int", "float")) and allowed.low is not None and allowed.high is not None:
        return Between(allowed.low, allowed.high) if allowed.low < allowed.high else (allowed.low,)
    return None
