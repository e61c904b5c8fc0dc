"""Dataclasses that become JSON and come back."""

import os
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from sahcns.errors import DataError


@dataclass(frozen=True)
class Plain:
    """A dataclass of numbers, texts, tuples, dictionaries and further such dataclasses."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From what `to_dict` gave, or from its JSON, where tuples have become lists."""
        hints = get_type_hints(cls)
        names = [entry.name for entry in fields(cls)]
        for name in names:
            if name not in values:
                why = f"there is no {name!r} in this {cls.__name__}, so another version of sahcns wrote it"
                raise DataError(f"{why}; delete it and make it again")
        return cls(**{name: _restored(hints[name], values[name]) for name in names})


@contextmanager
def read_from(path: str | os.PathLike[str]) -> Iterator[None]:
    """Names the file in the error where what it holds does not become what it should."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{os.fspath(path)}: {error}") from error


def _restored(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(kind) in (Union, types.UnionType):
        plain = [part for part in get_args(kind) if is_dataclass(part) or get_origin(part) is tuple]
        return _restored(plain[0], value) if plain else value
    if get_origin(kind) is tuple:
        return tuple(_restored(get_args(kind)[0], part) for part in value)
    if get_origin(kind) is dict:
        return {name: _restored(get_args(kind)[1], part) for name, part in value.items()}
    if isinstance(kind, type) and issubclass(kind, Plain):
        return kind.from_dict(value)
    return value
