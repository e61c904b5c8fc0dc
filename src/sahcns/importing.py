"""A user's own files: run once, so that the samplers and backbones in them are named like the built-in ones."""

import hashlib
import importlib.util
import sys
import tempfile
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path

from sahcns.errors import DataError
from sahcns.sources import with_imports

PREFIX = "sahcns_user_"  # of the module that a file becomes

Packed = Mapping[str, Mapping[str, bytes]]
"""By a file's path, it and the files beside it that it imports, by their places in its folder."""


def import_files(paths: Iterable[Path]) -> None:
    """Run each file once; an error in it is one sentence with the file and the line."""
    for path in paths:
        _import(path)


def import_once(paths: Iterable[str | Path]) -> None:
    """Run those files that this process has not run yet."""
    for path in map(Path, paths):
        if _module_name(path) not in sys.modules:
            _import(path)


def pack(paths: Iterable[str | Path]) -> Packed:
    """Files to be sent to a machine that does not have them."""
    packed = {}
    for path in paths:
        _refuse_other(Path(path))
        file = Path(path).resolve()
        packed[str(path)] = {str(one.relative_to(file.parent)): one.read_bytes() for one in with_imports([file])}
    return packed


def import_packed(packed: Packed) -> None:
    """Run on that machine those files that this process has not run yet, as if they stood where they stood."""
    for path, files in packed.items():
        if _module_name(Path(path)) not in sys.modules:
            home = Path(tempfile.mkdtemp(prefix="sahcns-"))
            for name, content in files.items():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_bytes(content)
            _import(Path(path), home / Path(path).name)


def raised_in_imported_file(error: BaseException) -> bool:
    """Whether it arose in a file that was imported here, or in what that called."""
    files = {getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith(PREFIX)}
    return any(frame.f_code.co_filename in files for frame, _ in traceback.walk_tb(error.__traceback__))


def _import(path: Path, copy: Path | None = None) -> None:
    """`copy` is where the file is on this machine, if not where it was."""
    _refuse_other(copy or path)
    file = (copy or path).resolve()
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by its name
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # the file may import what stands beside it, as a script does
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        message = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
        raise DataError(f"{path}, line {_line(error, file)}: {type(error).__name__}: {message}") from error


def _refuse_other(path: Path) -> None:
    if not path.is_file():
        raise DataError(f"--import {path}: there is no such file")
    if path.suffix != ".py":
        raise DataError(f"--import {path}: it must be a Python file, with .py at its end")


def _module_name(path: Path) -> str:
    """By the whole path: of two files with one name, the second would take the place of the first."""
    return f"{PREFIX}{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"


def _line(error: Exception, file: Path) -> int | str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return line or "?"
