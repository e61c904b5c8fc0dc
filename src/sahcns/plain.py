"""Dataclasses that become JSON and come back, each value checked against its annotation: files may be damaged or foreign.

Besides numbers, texts and further dataclasses there are tuples, lists, dictionaries and unions of these, `Literal`, and
`Annotated[…, kind]`, which is read as `kind`: often a `TypedDict` that says what must be right in a dictionary of anything.
"""

import math
import os
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin, get_type_hints, is_typeddict

from sahcns.errors import DataError, SettingError

Setting = Annotated[Any, str | int | float | bool | None]
_SCALARS: dict[Any, set[type]] = {
    str: {str},
    int: {int},
    bool: {bool},
    float: {float, int},
    types.NoneType: {types.NoneType},
}


@dataclass(frozen=True)
class Plain:
    """A dataclass of what this module knows."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From what `to_dict` gave, or from its JSON, where tuples have become lists."""
        made: Self = restored(cls, values)
        return made


@contextmanager
def read_from(path: str | os.PathLike[str]) -> Iterator[None]:
    """Names the file in the error where what it holds does not become what it should."""
    try:
        yield
    except (DataError, SettingError) as error:
        raise DataError(f"{os.fspath(path)}: {error}; delete it and make it again") from error


def restored(kind: Any, value: Any, at: str = "") -> Any:
    """What the annotation `kind` says, from plain JSON; the error for what is something else names its place, `at`."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or type(value) in _SCALARS.get(kind, ()):
        return value
    if kind is float and value is None:  # as the command line writes what is not a number
        return math.nan
    if origin is Annotated:
        return restored(parts[1], value, at)
    if origin in (Union, types.UnionType):
        rest = [part for part in parts if part is not types.NoneType]
        if value is None and len(rest) < len(parts):
            return None
        if len(rest) == 1:
            return restored(rest[0], value, at)
        for part in rest:
            with suppress(DataError):
                return restored(part, value, at)
    elif origin is Literal:
        if value in parts:
            return value
    elif origin in (list, tuple):
        if isinstance(value, list | tuple):
            if set(map(type, value)) <= _SCALARS.get(parts[0], set()):
                return origin(value)
            return origin(restored(parts[0], one, f"{at}[{n}]") for n, one in enumerate(value))
    elif isinstance(value, Mapping):
        if origin is dict:
            own: dict[Any, Any] = {_key(parts[0], name, at): one for name, one in value.items()}
            return (
                own if parts[1] is Any else {name: restored(parts[1], one, f"{at}.{name}") for name, one in own.items()}
            )
        if is_dataclass(kind) or is_typeddict(kind):
            return _made(kind, value, at)
    what = getattr(kind, "__name__", str(kind)) if origin is None else str(kind)
    raise DataError(f"{at.lstrip('.') or 'its content'} is {value!r:.60}, which is no {what}")


def _made(kind: Any, values: Mapping[str, Any], at: str) -> Any:
    """A dataclass, in which what has a default may be missing; or the same values, as a `TypedDict` says what they are."""
    known, needed = _names(kind)
    for name in needed:
        if name not in values:
            raise DataError(f"there is no {name!r} in {at.lstrip('.') or 'this ' + kind.__name__}")
    own = {name: restored(part, values[name], f"{at}.{name}") for name, part in known.items() if name in values}
    return {**values, **own} if is_typeddict(kind) else kind(**own)


@cache
def _names(kind: Any) -> tuple[dict[str, Any], list[str]]:
    """The annotations of a dataclass or a `TypedDict`, and the names that must be there."""
    known = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        return get_type_hints(kind), sorted(kind.__required_keys__)
    own = [entry for entry in fields(kind) if entry.init]
    missing = [entry.name for entry in own if entry.default is MISSING and entry.default_factory is MISSING]
    return {entry.name: known[entry.name] for entry in own}, missing


def _key(kind: Any, name: Any, at: str) -> Any:
    """Of a dictionary; JSON has its whole numbers as text."""
    try:
        return int(name) if kind is int else name
    except ValueError:
        raise DataError(f"{at.lstrip('.')} has a key {name!r}, which is no whole number") from None
