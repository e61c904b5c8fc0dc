"""A user's own files: run once, so that the samplers and backbones in them are named like the built-in ones."""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

from sahcns.errors import DataError

PREFIX = "sahcns_user_"  # of the module that a file becomes


def import_files(paths: Iterable[Path]) -> None:
    """Run each file once; an error in it is one sentence with the file and the line."""
    for path in paths:
        _import(path)


def import_once(paths: Iterable[str | Path]) -> None:
    """Run those files that this process has not run yet."""
    for path in map(Path, paths):
        if _module_name(path) not in sys.modules:
            _import(path)


def raised_in_imported_file(error: BaseException) -> bool:
    """Whether it arose in a file that was imported here, or in what that called."""
    files = {getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith(PREFIX)}
    return any(frame.f_code.co_filename in files for frame, _ in traceback.walk_tb(error.__traceback__))


def _import(path: Path) -> None:
    if not path.is_file():
        raise DataError(f"--import {path}: there is no such file")
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None or path.suffix != ".py":
        raise DataError(f"--import {path}: it must be a Python file, with .py at its end")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by its name
    if str(path.resolve().parent) not in sys.path:
        sys.path.append(str(path.resolve().parent))  # the file may import what stands beside it, as a script does
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        message = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
        raise DataError(f"{path}, line {_line(error, path)}: {type(error).__name__}: {message}") from error


def _module_name(path: Path) -> str:
    """By the whole path: of two files with one name, the second would take the place of the first."""
    return f"{PREFIX}{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"


def _line(error: Exception, path: Path) -> int | str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path.resolve())]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return line or "?"
