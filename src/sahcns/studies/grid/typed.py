"""Classes typed into a notebook or an interpreter: there is no file of theirs, so their code itself is what is digested."""

import hashlib
from collections.abc import Iterator
from types import CodeType
from typing import Any


def typed_code(kind: type) -> bytes:
    """A digest of the class's own methods: the same for the same text, wherever and whenever it is typed."""
    digest = hashlib.sha256(kind.__qualname__.encode())
    for name, value in sorted(vars(kind).items()):
        if name == "__post_init__" or not name.startswith("__"):  # the others are made by dataclass, from the settings
            for code in code_of(value):
                digest.update("\n".join([name, *said(code)]).encode())
    return digest.digest()


def code_of(value: Any) -> Iterator[CodeType]:
    """Of a function, a method or a property; of anything else nothing."""
    for part in (value, *(getattr(value, way, None) for way in ("__func__", "fget", "func"))):
        code = getattr(part, "__code__", None)
        if isinstance(code, CodeType):
            yield code


def said(code: CodeType) -> Iterator[str]:
    """What the code does, without where it stands."""
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    for value in code.co_consts:
        yield from said(value) if isinstance(value, CodeType) else [_constant(value)]


def _constant(value: Any) -> str:
    """As text; a set has another order each time."""
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
