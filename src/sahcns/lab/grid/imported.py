"""What a file imports, by its text: a number that was imported does not say from where, nor does one yet to be imported."""

import ast
import sys
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from types import ModuleType


def imported_names(text: bytes, package: str) -> set[str]:
    """Every dotted name in its import statements, at the top or within a function, that may be a module; parents too."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    told: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            told |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            try:
                home = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:  # relative, and beyond the package
                continue
            told |= {f"{home}.{one.name}" for one in node.names}
    parts = (name.split(".") for name in told)
    return {".".join(some[: end + 1]) for some in parts for end in range(len(some))}


def source_of(name: str) -> tuple[str | None, ModuleType | None]:
    """The file of a module, and the module if it has been imported; nothing is imported for it."""
    if (module := sys.modules.get(name)) is not None:
        source = getattr(module, "__file__", None)
        return source if isinstance(source, str) else None, module
    places: list[str] | None = None
    parts = name.split(".")
    source = None
    for end in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: end + 1]), places)
        if spec is None or (end + 1 < len(parts) and spec.submodule_search_locations is None):
            return None, None
        source, places = spec.origin, spec.submodule_search_locations
    return source, None
