"""What can be tried: settings of a sampler, and of the backbone and the protocol that it is trained with.

`alpha` and `pool` are the sampler's; `backbone.depth` and `protocol.l2` name their part. A sampler's setting says by
`setting(…, search=…)` what to try; one that says nothing is searched over all that it may be, if that is bounded. The
pool, the backbone and the protocol are searched only when asked for, so that samplers are compared on equal terms.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from sahcns.errors import SettingError, nearest
from sahcns.settings import Allowed, Between, Configured, kind_of

if TYPE_CHECKING:
    from sahcns.samplers import Sampler

Point = dict[str, Any]
"""A value for each searched setting."""

Values = Sequence[object] | Between
"""What to try of a setting: values, or a range; both may be text, as on the command line: `10,20` or `1e-5..1e-2`."""

MOST = 10_000  # points of a finite space that are ever listed
STEPS = 33  # values of a long range of whole numbers
LOGARITHMIC = 10  # the ratio of its ends from which a range given as text is logarithmic


@dataclass(frozen=True)
class Dimension:
    """One searched setting: its values, or the range that they come from."""

    name: str
    default: Any = None
    values: tuple[Any, ...] = ()  # ascending where they are numbers
    between: Between | None = None
    unless: Mapping[str, tuple[object, ...]] = field(default_factory=dict)  # as of `setting`

    @classmethod
    def of(cls, name: str, entry: "dataclasses.Field[Any]", default: Any, search: Values) -> "Dimension":
        unless = entry.metadata.get("unless", {})
        if isinstance(search, Between):
            if not kind_of(entry.type).startswith("int"):
                return cls(name, default, between=search, unless=unless)
            search = _whole_numbers(search)
        values: list[Any] = list(dict.fromkeys(search))
        return cls(name, default, tuple(sorted(values) if _are_numbers(values) else values), unless=unless)

    @property
    def ordered(self) -> bool:
        """Whether neighbours are alike: numbers are, words are not."""
        return self.between is not None or _are_numbers(self.values)

    def holds(self, value: Any) -> bool:
        if self.between is not None:
            return isinstance(value, int | float) and self.between.low <= value <= self.between.high
        return value in self.values

    @property
    def idle(self) -> Any:
        """Its value where it makes no difference: the default, if it can be."""
        if self.holds(self.default):
            return self.default
        return self.values[0] if self.between is None else self.between.low

    def to_plain(self) -> Any:
        """For JSON: a list of values, or a range."""
        return list(self.values) if self.between is None else dataclasses.asdict(self.between)


@dataclass(frozen=True)
class Space:
    """The searched settings of a sampler and its surroundings, and the values of the sampler's other settings."""

    kind: "type[Sampler]"
    dimensions: tuple[Dimension, ...]
    rest: Mapping[str, Any]  # settings of the sampler that are not searched
    fixed: Mapping[str, Any]  # those of them that were held at a value
    unbounded: tuple[str, ...]  # those of them that could not be searched
    first: Mapping[str, Any]  # what to begin with instead of the defaults
    parts: Mapping[str, Configured]  # the backbone and the protocol, by those words

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
        """The space of `kind`, and of the `parts` (`backbone=…, protocol=…`) as far as `search` names their settings.

        fixed   settings held at a value
        search  overrides what the settings say of themselves; one value alone sets the setting
        first   the point to begin with, as far as its settings are searched; otherwise the defaults
        """
        fixed, search, first = dict(fixed or {}), dict(search or {}), dict(first or {})
        own = {entry.name: entry for entry in fields(kind)}
        known = own | {f"{word}.{entry.name}": entry for word, part in parts.items() for entry in fields(part)}
        others = (other for entry in own.values() for other in entry.metadata.get("unless", ()))
        for name in (*fixed, *search, *first, *others):
            if name not in known:
                raise SettingError(f"{kind.name} has no argument {name!r}; {nearest(name, known)}")
        dimensions, rest, unbounded = [], dict(fixed), []
        for name, entry in known.items():
            if name in fixed or (name not in own and name not in search):
                continue
            values = search.get(name, entry.metadata.get("search"))
            if values is None and name != "pool":
                values = _all_of(entry.metadata.get("allowed"), kind_of(entry.type))
                if values is None:
                    unbounded.append(name)
            word, _, argument = name.rpartition(".")
            default = getattr(parts[word], argument) if word else entry.default
            if isinstance(values, str):
                values = read_values(type(parts[word]) if word else kind, argument, values)
            dimension = Dimension.of(name, entry, default, values or ())
            if word or dimension.between is not None or len(dimension.values) > 1:
                dimensions.append(dimension)
            else:
                rest[name] = dimension.values[0] if dimension.values else default
        space = cls(kind, tuple(dimensions), rest, fixed, tuple(unbounded), first, parts)
        if space.points() == []:
            try:
                space.build({dimension.name: dimension.values[0] for dimension in dimensions})
            except SettingError as error:
                raise SettingError(f"{space.name}: nothing of its search space is allowed: {error}") from None
        return space

    @property
    def name(self) -> str:
        return self.kind.name or self.kind.__name__

    @property
    def start(self) -> Point | None:
        """The first point to try: the defaults, or `first` instead, if it belongs to the space."""
        point = self.canonical({one.name: self.first.get(one.name, one.default) for one in self.dimensions})
        return point if all(one.holds(point[one.name]) for one in self.dimensions) and self.accepts(point) else None

    def build(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The sampler and the parts at a point, as `fit` takes them by name."""
        own: dict[str, dict[str, Any]] = {"": dict(self.rest), **{word: {} for word in self.parts}}
        for name, value in point.items():
            word, _, argument = name.rpartition(".")
            own[word][argument] = value
        parts = {word: dataclasses.replace(part, **own[word]) for word, part in self.parts.items()}
        return {"sampler": self.kind.from_dict(own[""]), **parts}

    def accepts(self, point: Mapping[str, Any]) -> bool:
        """Whether it can be built: a check of its own may tie one setting to another."""
        try:
            self.build(point)
        except SettingError:
            return False
        return True

    def canonical(self, point: Mapping[str, Any]) -> Point:
        """The same sampler written in one way: a setting that makes no difference has one value."""
        counts = self.counting(point)
        return {one.name: counts.get(one.name, one.idle) for one in self.dimensions}

    def counting(self, point: Mapping[str, Any]) -> Point:
        """The part of a point that makes a difference, as the settings' `unless` has it."""
        values = {**self.rest, **point}
        return {
            one.name: point[one.name]
            for one in self.dimensions
            if not any(values[other] in idle for other, idle in one.unless.items())
        }

    def points(self) -> list[Point] | None:
        """Every point that can be built, each once; None where they cannot be listed."""
        if any(one.between is not None for one in self.dimensions):
            return None
        if math.prod(len(one.values) for one in self.dimensions) > MOST:
            return None
        points: dict[tuple[Any, ...], Point] = {}
        for values in itertools.product(*(one.values for one in self.dimensions)):
            point = self.canonical({one.name: value for one, value in zip(self.dimensions, values, strict=True)})
            if self.accepts(point):
                points.setdefault(self.key(point), point)
        return list(points.values())

    def key(self, point: Mapping[str, Any]) -> tuple[Any, ...]:
        """Equal for points that come to the same."""
        return tuple(self.canonical(point).values())

    def to_plain(self) -> dict[str, Any]:
        return {one.name: one.to_plain() for one in self.dimensions}

    def __str__(self) -> str:
        """`dns-mn: top_k in {1, 2, 3, 4}: 4 points`."""
        if not self.dimensions:
            return f"{self.name}: nothing to tune"
        points = self.points()
        return f"{self.name}: {space_text(self.to_plain())}" + ("" if points is None else f": {len(points)} points")


def space_text(space: Mapping[str, Any]) -> str:
    """`alpha in {0, 0.5, 1}; beta from 0.1 to 50 (logarithmic)`, of what `Space.to_plain` gives."""
    words = []
    for name, values in space.items():
        if isinstance(values, Mapping):
            log = " (logarithmic)" if values["log"] else ""
            words.append(f"{name} from {short(values['low'])} to {short(values['high'])}{log}")
        else:
            words.append(f"{name} in {{{', '.join(map(short, values))}}}")
    return "; ".join(words)


def short(value: object) -> str:
    """A value of a setting, as it is shown."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_values(kind: type[Configured], argument: str, text: str) -> Values:
    """`1e-5..1e-2` or `10,20`, by the type of the setting."""
    low, dots, high = text.partition("..")
    if not dots:
        return tuple(kind.parsed(argument, value) for value in text.split(","))
    try:
        ends = float(low), float(high)
    except ValueError:
        raise SettingError(f"{argument}={text!r}: a range is two numbers, such as 1e-5..1e-2") from None
    return Between(*ends, log=ends[0] > 0 and ends[1] / ends[0] >= LOGARITHMIC)


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


def _whole_numbers(between: Between) -> list[int]:
    """Whole numbers of a range, both ends among them: all, or STEPS of them in equal steps or equal ratios."""
    low, high = math.ceil(between.low), math.floor(between.high)
    shares = [at / (STEPS - 1) for at in range(STEPS)]
    if between.log:
        return sorted({round(low * (high / low) ** share) for share in shares})
    return sorted({round(low + (high - low) * share) for share in shares})


def _are_numbers(values: Sequence[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
