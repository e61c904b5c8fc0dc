"""Classes typed into a notebook or an interpreter: there is no file of theirs, so their code itself is what is digested."""

import dis
import hashlib
import os
from collections.abc import Iterator
from types import CodeType
from typing import Any

CONSTANT = (int, float, complex, str, bytes, tuple, type(None))  # what is not changed in its place


def typed_code(kind: type) -> bytes:
    """A digest of the class's own methods and of what else was typed that they name: functions, classes, constants.

    It is the same for the same text, wherever and whenever it is typed.
    """
    return _digest(kind, {kind}).digest()


def globals_of(kind: type) -> dict[str, Any]:
    """What its methods read by name outside of themselves."""
    return dict(found for _, value in _own(kind) for found in _read(value))


def code_of(value: Any) -> Iterator[CodeType]:
    """Of a function, a method or a property, and of what a decorator wrapped; of anything else nothing."""
    for part in _functions(value):
        yield part.__code__


def said(code: CodeType) -> Iterator[str]:
    """What the code does, without where it stands."""
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    for value in code.co_consts:
        yield from said(value) if isinstance(value, CodeType) else [_constant(value)]


def _digest(kind: type, met: set[Any]) -> "hashlib._Hash":
    digest = hashlib.sha256(kind.__qualname__.encode())
    for name, value in _own(kind):
        for code in code_of(value):
            digest.update("\n".join([name, *said(code)]).encode())
        for text in _beside(value, met):
            digest.update(text.encode())
    return digest


def _own(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(kind).items()):
        if name == "__post_init__" or not name.startswith("__"):  # the others are made by dataclass, from the settings
            yield name, value


def _beside(value: Any, met: set[Any]) -> Iterator[str]:
    """What a function names that was typed too, and so on from there; each thing once."""
    for name, other in _read(value):
        if isinstance(other, CONSTANT):
            yield f"{name} = {other!r}"
        elif isinstance(other, type):
            typed = any(not os.path.isfile(code.co_filename) for _, own in _own(other) for code in code_of(own))
            if typed and other not in met and other.__module__ != "builtins":
                met.add(other)
                yield f"{name} = {_digest(other, met).hexdigest()}"
        else:
            for code in code_of(other):
                if code not in met and not os.path.isfile(code.co_filename):
                    met.add(code)
                    yield "\n".join([name, *said(code)])
                    yield from _beside(other, met)


def _read(value: Any) -> Iterator[tuple[str, Any]]:
    """Global names that a function reads, those in functions within it included."""
    for part in _functions(value):
        space = getattr(part, "__globals__", {})
        for name in sorted(_names(part.__code__)):
            if name in space:
                yield name, space[name]


def _names(code: CodeType) -> set[str]:
    own = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*(_names(value) for value in code.co_consts if isinstance(value, CodeType)))


def _functions(value: Any) -> Iterator[Any]:
    for part in (value, *(getattr(value, way, None) for way in ("__func__", "fget", "func", "__wrapped__"))):
        if isinstance(getattr(part, "__code__", None), CodeType):
            yield part


def _constant(value: Any) -> str:
    """As text; a set has another order each time."""
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
