"""Whether a sampler's state can be replayed: a recorded step reads the tensors that were there when it was recorded."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

Bindings = dict[str, Any]


def bindings(state: Any) -> Bindings:
    """Every tensor and every number or text within dicts, lists and objects, by where it is found."""
    return dict(_found(state, "state", set()))


def replaced(before: Bindings, state: Any) -> str | None:
    """The first place where another tensor or value stands than before; what is new there is no fault."""
    now = bindings(state)
    for place, value in before.items():
        other = now.get(place)
        if value is not other and (isinstance(value, Tensor) or isinstance(other, Tensor) or value != other):
            return place
    return None


def _found(value: Any, place: str, met: set[int]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Tensor | bool | int | float | str | None):
        yield place, value
        return
    if id(value) in met:  # an object that holds itself
        return
    met.add(id(value))
    if isinstance(value, Mapping):
        keys = [repr(key) if isinstance(key, str | int) else f"key {k}" for k, key in enumerate(value)]
        inside = [(f"{place}[{key}]", one) for key, one in zip(keys, value.values(), strict=True)]
    elif isinstance(value, Sequence):
        inside = [(f"{place}[{k}]", one) for k, one in enumerate(value)]
    else:
        inside = [(f"{place}.{name}", one) for name, one in getattr(value, "__dict__", {}).items()]
    for where, one in inside:
        yield from _found(one, where, met)
