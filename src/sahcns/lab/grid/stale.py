"""A file that was changed after its import: the process would run the old text, and the digest would be of the new."""

import ast
from collections import Counter
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from sahcns.errors import DataError
from sahcns.lab.grid.typed import CONSTANT, code_of, said


def refuse_stale(path: Path, module: ModuleType | None) -> None:
    """Every function, method and constant that was imported from the file must still stand in it as it is."""
    spec = getattr(module, "__spec__", None)
    if module is None or spec is None or type(spec.loader) is not SourceFileLoader:  # others rewrite what they read
        return
    try:
        text = path.read_bytes()
        there = {_told(code) for code in _inside(compile(text, str(path), "exec", dont_inherit=True))}
        constants = dict(_constants(ast.parse(text)))
    except (SyntaxError, ValueError):
        there, constants = set(), {}
    for name, value in vars(module).items():
        changed = name in constants and repr(constants[name]) != repr(value)
        mine = isinstance(value, type) and value.__module__ == spec.name
        for part in vars(value).values() if mine else (value,):
            codes = (code for code in code_of(part) if code.co_filename == str(path))
            changed = changed or any(_told(code) not in there for code in codes)
        if changed:
            raise DataError(
                f"{path} was changed after it was imported, and its {name} is still the old one: import it again, "
                "with importlib.reload or in a new process"
            )


def _constants(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """What the file says once, at its top level, and no function of it changes."""
    nodes = list(ast.walk(tree))
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    stored.update(name for node in nodes if isinstance(node, ast.Global) for name in node.names)
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and stored[target.id] == 1 and isinstance(value, ast.expr):
            try:
                found = ast.literal_eval(value)
            except (ValueError, TypeError):
                continue
            if isinstance(found, CONSTANT):
                yield target.id, found


def _inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _inside(value)


def _told(code: CodeType) -> tuple[str, ...]:
    return code.co_qualname, *said(code)
