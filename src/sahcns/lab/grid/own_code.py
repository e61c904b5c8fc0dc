"""Which code of the user's own decides a result: the files of the classes, what these files import, what was typed."""

import hashlib
import inspect
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from sahcns.lab.grid.imported import imported_names, source_of
from sahcns.lab.grid.stale import refuse_stale
from sahcns.lab.grid.typed import globals_of, typed_code

LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")


def own_code(*kinds: type) -> str | None:
    """A digest of the user's own files and of what was typed into an interpreter; None for built-in classes.

    The files are those of the classes and of what they inherit, and all that these import of the user's own. One that was
    changed after it was imported is refused: the process would run the old text, and the digest would be of the new.
    """
    typed = sorted({typed_code(kind) for kind, path in _own(*kinds) if path is None})
    used = _used(*kinds)
    for path, module in used.items():
        refuse_stale(path, module)
    files = [hashlib.sha256(text).digest() for text in sorted(path.read_bytes() for path in used)]
    return hashlib.sha256(b"".join([*files, *typed])).hexdigest()[:16] if files or typed else None


def own_sources(*kinds: type) -> list[Path]:
    """The files outside this package that define the classes and what they inherit; empty for built-in ones."""
    return sorted({path for _, path in _own(*kinds) if path is not None})


def _own(*kinds: type) -> Iterator[tuple[type, Path | None]]:
    """Each class that is not built in, with its file if it has one."""
    for own in kinds:
        for kind in own.__mro__:
            if kind.__module__.partition(".")[0] not in ("sahcns", "builtins", "abc", "typing"):
                try:
                    source = inspect.getsourcefile(kind)
                except (TypeError, OSError):  # typed into an interpreter
                    source = None
                yield kind, Path(source) if source and os.path.isfile(source) else None


def _used(*kinds: type) -> dict[Path, ModuleType | None]:
    """The files of the classes, and of every module of the user's own that they name or import, and so on from there."""
    found: dict[Path, ModuleType | None] = {}
    waiting: list[tuple[Path, ModuleType | None]] = []
    for kind, own in _own(*kinds):
        if own is not None:
            waiting.append((own, sys.modules.get(kind.__module__)))
        else:
            waiting += _own_files(_homes(globals_of(kind).values()), None)
    while waiting:
        path, module = waiting.pop()
        if path not in found:
            found[path] = module
            named = _homes(vars(module).values() if module is not None else ())
            package = getattr(module, "__package__", None) or ""
            waiting += _own_files(named | imported_names(path.read_bytes(), package), module)
    return found


def _homes(values: Iterable[object]) -> set[str]:
    """The modules that values are, or come from."""
    homes = (value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "") for value in values)
    return {home for home in homes if isinstance(home, str) and home}


def _own_files(names: Iterable[str], importer: ModuleType | None) -> Iterator[tuple[Path, ModuleType | None]]:
    """Of modules in the importer's own package, or not installed."""
    home = importer.__name__.partition(".")[0] if importer is not None else None
    for name in names:
        top = name.partition(".")[0]
        if top == "sahcns":
            continue
        source, module = source_of(name)
        if source is not None and source.endswith(".py") and (top == home or not installed(Path(source))):
            yield Path(source), module


def installed(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return any(path.is_relative_to(sysconfig.get_path(name)) for name in LIBRARIES)
