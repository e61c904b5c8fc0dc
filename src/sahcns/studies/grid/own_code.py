"""Which code of the user's own decides a result: the files of the classes, what these files import, what was typed."""

import hashlib
import inspect
import os
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from sahcns.errors import DataError
from sahcns.studies.grid.typed import code_of, said, typed_code

LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")


def own_code(*kinds: type) -> str | None:
    """A digest of the user's own files and of what was typed into an interpreter; None for built-in classes.

    The files are those of the classes and of what they inherit, and all that these import of the user's own. One that was
    changed after it was imported is refused: the process would run the old text, and the digest would be of the new.
    """
    typed = sorted({typed_code(kind) for kind, path in _own(*kinds) if path is None})
    used = _used(*kinds)
    for path, module in used.items():
        _refuse_stale(path, module)
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
    """The files of the classes, and of every module of the user's own that can be reached from them by its names."""
    found: dict[Path, ModuleType | None] = {}
    waiting = [(path, sys.modules.get(kind.__module__)) for kind, path in _own(*kinds) if path is not None]
    while waiting:
        path, module = waiting.pop()
        if path not in found:
            found[path] = module
            waiting += [(own, other) for other in _named_in(module) if (own := _own_file(other, module))]
    return found


def _named_in(module: ModuleType | None) -> set[ModuleType]:
    """The modules that a module's names are, or come from."""
    names = vars(module).values() if module is not None else ()
    homes = (value if isinstance(value, ModuleType) else sys.modules.get(_home(value)) for value in names)
    return {home for home in homes if home is not None and home is not module}


def _home(value: object) -> str:
    home = getattr(value, "__module__", None)
    return home if isinstance(home, str) else ""


def _own_file(module: ModuleType, importer: ModuleType | None) -> Path | None:
    """Of a module of the importer's own package, or of one that is not installed; else None."""
    source = getattr(module, "__file__", None)
    top = module.__name__.partition(".")[0]
    if not isinstance(source, str) or not source.endswith(".py") or top == "sahcns":
        return None
    path = Path(source)
    if importer is not None and top == importer.__name__.partition(".")[0]:
        return path
    return None if installed(path) else path


def installed(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return any(path.is_relative_to(sysconfig.get_path(name)) for name in LIBRARIES)


def _refuse_stale(path: Path, module: ModuleType | None) -> None:
    """Every function and method that was imported from the file must still stand in it as it is."""
    spec = getattr(module, "__spec__", None)
    if spec is None or type(spec.loader) is not SourceFileLoader:  # others, such as pytest's, rewrite what they read
        return
    try:
        there = {_told(code) for code in _inside(compile(path.read_bytes(), str(path), "exec", dont_inherit=True))}
    except (SyntaxError, ValueError):
        there = set()
    for name, value in vars(module).items():
        mine = isinstance(value, type) and value.__module__ == spec.name
        for part in vars(value).values() if mine else (value,):
            for code in code_of(part):
                if code.co_filename == str(path) and _told(code) not in there:
                    raise DataError(
                        f"{path} was changed after it was imported, and its {name} is still the old one: import it again, "
                        "with importlib.reload or in a new process"
                    )


def _inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _inside(value)


def _told(code: CodeType) -> tuple[str, ...]:
    return code.co_qualname, *said(code)
