"""Which code made a result: the git commit of this package, and the text of the user's own files."""

import ast
import hashlib
import inspect
import os
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from sahcns.errors import DataError

VARIABLE = "SAHCNS_COMMIT"


def source_commit() -> str | None:
    """The commit of the sources, `+changes` behind it if they differ from it; None where nobody knows.

    The environment variable SAHCNS_COMMIT says it for a machine without git.
    """
    return os.environ.get(VARIABLE) or _from_git()


def own_code(*kinds: type) -> str | None:
    """A digest of the user's own code that these classes come from; None for built-in classes.

    It covers the files of the classes and of their parents, and what these files import from beside them. Of a class typed
    into a notebook it covers the text of the class.
    """
    texts = sorted(path.read_bytes() for path in with_imports(own_files(*kinds)))
    texts += sorted(_typed_text(kind) for kind in _own(*kinds) if _file(kind) is None)
    return hashlib.sha256(b"".join(hashlib.sha256(text).digest() for text in texts)).hexdigest()[:16] if texts else None


def own_files(*kinds: type) -> list[Path]:
    """The files outside this package that define the classes and their parents; empty for built-in ones."""
    return sorted({path for kind in _own(*kinds) if (path := _file(kind)) is not None})


def with_imports(files: Iterable[Path]) -> set[Path]:
    """The files, and those beside them that they import, and so on."""
    found, waiting = set[Path](), list(files)
    while waiting:
        found.update(waiting)
        waiting = [path for file in waiting for path in _imports(file) if path not in found]
    return found


def _own(*kinds: type) -> Iterator[type]:
    for kind in dict.fromkeys(part for one in kinds for part in one.__mro__):
        if kind.__module__.partition(".")[0] not in ("sahcns", "builtins", "abc", "typing"):
            yield kind


def _file(kind: type) -> Path | None:
    try:
        return Path(path) if (path := inspect.getsourcefile(kind)) and os.path.isfile(path) else None
    except (TypeError, OSError):  # typed into an interpreter
        return None


def _imports(file: Path) -> Iterator[Path]:
    """The files beside a file that it imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            home = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in node.names:
                parts = ".".join([*home, name.name]).split(".")
                for end in range(len(parts)):
                    place = file.parent.joinpath(*parts[: end + 1])
                    yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file())


def _typed_text(kind: type) -> bytes:
    """The text of the methods of a class without a file, which a notebook remembers."""
    parts = [getattr(value, "fget", None) or getattr(value, "__func__", value) for value in vars(kind).values()]
    methods = [inspect.unwrap(part) for part in parts if inspect.isfunction(part)]
    own = [method for method in methods if method.__code__.co_filename != "<string>"]  # which dataclass makes
    try:
        if own:
            return "\n".join([kind.__qualname__, *map(inspect.getsource, own)]).encode()
    except (TypeError, OSError):
        pass
    raise DataError(
        f"{kind.__name__} has no source text, so its results could not be told from those of a later version; put it into "
        "a file and import it"
    )


@cache  # of what this process runs, which is what stood there when it began
def _from_git() -> str | None:
    home = str(Path(__file__).parent)
    if _git(home, "ls-files", "--error-unmatch", "__init__.py") is None:  # a checkout of something else around us
        return None
    commit, changes = _git(home, "rev-parse", "HEAD"), _git(home, "status", "--porcelain", "--", ".")
    return None if commit is None else commit + ("+changes" if changes else "")


def _git(folder: str, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
