"""Folders written whole or not at all: a JSON file that describes the folder, and the files that it lists by SHA-256.

A new folder is made beside its place, brought to the disk, and renamed; a former one is replaced only if it is of the
same kind and holds nothing but its own files. Killed at any moment, the former folder or the new one is there, whole.
Of two who write one folder the later wins, and who reads while it is replaced gets the one or the other, never a mixture.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from sahcns.errors import DataError
from sahcns.files import DIGEST, clear_abandoned, digest_of, plain, read_marked, unfinished_name
from sahcns.plain import restored
from sahcns.version import __version__

File = tuple[str, Iterable[bytes | memoryview]]
"""A file's name, and its content in pieces."""

Stamp = tuple[int, int]
"""The inode of a folder's description, and when it was written."""

LOCK_SECONDS = 10.0  # to wait for others who write beside
TRIES = 5  # to read a folder that is replaced meanwhile
Made = TypeVar("Made")


@dataclass(frozen=True)
class FolderKind:
    """One kind of folder, and the words for it in errors.

    what              as in "X is not a prepared set"
    description       name of the JSON file that describes the folder
    format, version   the mark in that file
    make, again       remedies: "make one with `sahcns data prepare`", "prepare the set again"
    some              files that only some of them have: where one was copied over another, they are left of the former
    entries           a `TypedDict` of what must be right in the description
    """

    what: str
    description: str
    format: str
    version: int
    make: str
    again: str
    some: Set[str] = frozenset()
    entries: type[Any] | None = None


class Listed(TypedDict):
    """A file of the folder, in its description."""

    bytes: int
    sha256: str


def write_folder(
    kind: FolderKind,
    folder: str | os.PathLike[str],
    files: Iterable[File],
    described: Mapping[str, Any],
    beside: Iterable[File] = (),
) -> Path:
    """Write `files` and the description of them; a former folder of this kind is replaced only at the end.

    beside   further files among `kind.some`, which are not listed, so that people may change them
    """
    target = Path(os.path.realpath(folder))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with lock(target.parent, LOCK_SECONDS):
            _clear_up(target)
            refuse_foreign(kind, target)
        fresh = target.with_name(unfinished_name(target))
        try:
            fresh.mkdir()
            listed = {name: _write(fresh / name, pieces) for name, pieces in files}
            heading = {"format": kind.format, "format_version": kind.version, "sahcns_version": __version__}
            rest = {name: value for name, value in described.items() if name not in {*heading, DIGEST}}
            whole = heading | rest | {"files": listed}
            text = json.dumps(whole | {DIGEST: digest_of(whole)}, indent=2, ensure_ascii=False, default=plain)
            _write(fresh / kind.description, [f"{text}\n".encode()])
            for name, pieces in beside:
                _write(fresh / name, pieces)
            _sync(fresh)
            with lock(target.parent, LOCK_SECONDS):
                _swap(fresh, target)
        finally:
            _remove(fresh)
    except OSError as error:
        raise DataError(f"cannot write the {kind.what} {target}: {error.strerror or error}") from error
    return target


def read_folder(
    kind: FolderKind, folder: str | os.PathLike[str], *, contents: bool = True
) -> tuple[Path, dict[str, Any]]:
    """Where the folder is and its description, its files checked; `contents=False` looks at sizes only."""
    home = home_of(folder)
    described = read_description(kind, home)
    files: dict[str, Listed] = _right(kind, home, dict[str, Listed], described.get("files"), "files")
    for name, entry in files.items():
        _check(kind, home, name, entry, contents)
    return home, described


def home_of(folder: str | os.PathLike[str]) -> Path:
    """The folder itself, or the former one, which stands aside where a writer was killed between its two renames."""
    given, aside = Path(folder), _aside(Path(os.path.realpath(folder)))
    return aside if aside.exists() and not given.exists() else given


def load_folder(
    kind: FolderKind,
    folder: str | os.PathLike[str],
    load: Callable[[Path, dict[str, Any]], Made],
    *,
    contents: bool = True,
) -> Made:
    """What `load` makes of a checked folder and its description; again, if the folder was replaced meanwhile."""
    for _ in range(TRIES):
        before = stamp(kind, folder)
        try:
            made = load(*read_folder(kind, folder, contents=contents))
        except (DataError, OSError):
            if stamp(kind, folder) == before:
                raise
            continue
        if stamp(kind, folder) == before:
            return made
    raise DataError(f"{folder} was replaced {TRIES} times while it was read; wait until whoever writes it has ended")


def stamp(kind: FolderKind, folder: str | os.PathLike[str]) -> Stamp | None:
    """What tells a folder from the one that takes its place; None where there is none, as between the two."""
    try:
        entry = (Path(folder) / kind.description).stat()
    except OSError:
        return None
    return entry.st_ino, entry.st_mtime_ns


def read_description(kind: FolderKind, folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON file alone, without a look at the others."""
    stem, there = kind.description.removesuffix(".json"), "is not there"
    if Path(folder).exists():
        there = f"has no {kind.description}" if Path(folder).is_dir() else "is a file, not a folder"
    described = read_marked(
        home_of(folder) / kind.description,
        kind.format,
        kind.version,
        missing=f"{folder} is not a {kind.what}: it {there}; {kind.make}",
        again=kind.again,
        foreign=f"{Path(folder) / kind.description} is not the {stem} of a {kind.what}; {kind.make}",
    )
    described.pop(DIGEST, None)  # of what is written, and not of what may be made of it
    return described if kind.entries is None else _right(kind, Path(folder), kind.entries, described)


def _right(kind: FolderKind, home: Path, what: Any, value: Any, at: str = "") -> Any:
    """What the description says, as it must be."""
    try:
        return restored(what, value, at)
    except DataError as error:
        raise DataError(f"{home / kind.description}: {error}; {kind.again}") from error


def refuse_foreign(kind: FolderKind, folder: str | os.PathLike[str]) -> None:
    """An error if something stands at `folder` that is not of this kind, or holds more than its own files."""
    target = Path(os.path.realpath(folder))
    if not target.exists():
        return
    own, why = set[str](), ""
    with contextlib.suppress(OSError, ValueError):
        described = json.loads((target / kind.description).read_text(encoding="utf-8"))
        if isinstance(described, dict) and described.get("format") == kind.format:
            own = {kind.description, *described.get("files", ()), *kind.some}
    if not target.is_dir():
        why = f"is a file, not a folder; choose another place for the {kind.what}"
    elif target.is_mount():
        why = f"is a mount point, and a {kind.what} is replaced whole, folder and all; choose a folder in it"
    elif foreign := sorted({entry.name for entry in target.iterdir()} - own):
        why = f"holds {foreign[0]!r}, which is not part of a {kind.what}; choose another folder"
    if why:
        raise DataError(f"{target} {why}")


def npy(array: npt.NDArray[Any]) -> tuple[bytes, memoryview]:
    """The two halves of a `.npy` file; numpy's own writer hides why the system refused to write."""
    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue(), array.data


def _write(path: Path, pieces: Iterable[bytes | memoryview]) -> dict[str, Any]:
    """Bring one file to the disk; its size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    with open(path, "wb") as out:
        for piece in pieces:
            out.write(piece)
            digest.update(piece)
            size += len(piece) if isinstance(piece, bytes) else piece.nbytes
        out.flush()
        os.fsync(out.fileno())
    return {"bytes": size, "sha256": digest.hexdigest()}


def _swap(fresh: Path, target: Path) -> None:
    """Put `fresh` in the place of `target`, and what stood there in that of `fresh`, where it is removed.

    Killed between the renames, the former one is still there, aside.
    """
    if not target.exists() or not any(target.iterdir()):
        if target.exists():
            target.rmdir()  # Windows renames onto nothing that is there
        fresh.rename(target)
        _sync(target.parent)
        return
    aside = _aside(target)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        target.rename(aside)
        fresh.rename(target)
        _sync(target.parent)
    finally:  # by a Ctrl-C too
        if aside.exists():
            aside.rename(fresh if target.exists() else target)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the rest, where Ctrl-C cut it short


@contextlib.contextmanager
def lock(folder: Path, seconds: float) -> Iterator[bool]:
    """Hold a folder against others who lock it; False if somebody else still has it after `seconds`.

    True where there are no locks: on Windows, in a folder that may not be listed, on some file systems.
    """
    try:
        import fcntl  # noqa: F401

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, PermissionError):
        yield True
        return
    held = True
    try:
        with contextlib.suppress(OSError):
            held = lock_file(handle, seconds)
        yield held
    finally:
        os.close(handle)


def lock_file(handle: int, seconds: float = 0.0) -> bool:
    """Lock an open file, until it is closed; False if somebody else still has it after `seconds`."""
    import fcntl

    ends = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= ends:
                return False
        time.sleep(0.01)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _clear_up(target: Path) -> None:
    """What a killed writer left behind: the former folder goes back, unfinished ones of another day go."""
    if not target.exists() and _aside(target).exists():
        _aside(target).rename(target)
    clear_abandoned(target)


def _check(kind: FolderKind, home: Path, name: str, entry: Listed, contents: bool) -> None:
    path, difference = home / name, ""
    if path.parent != home or "\0" in name:
        raise DataError(f"{home / kind.description} lists {name!r}, which is not a file of its folder; {kind.again}")
    try:
        with open(path, "rb", opener=_at_once) as file:
            about = os.stat(file.fileno())
            size = about.st_size
            if not stat.S_ISREG(about.st_mode):
                difference = "it is no file"
            elif size != entry["bytes"]:
                difference = f"{size:,} bytes, not {entry['bytes']:,}"
            elif contents and hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
                difference = "its SHA-256 differs"
    except FileNotFoundError:
        raise DataError(f"{path} is missing; {kind.again}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    if difference:
        raise DataError(f"{path} is not as it was written ({difference}); {kind.again}")


def _at_once(path: str, flags: int) -> int:
    """Opened without waiting, as one would for whoever writes into a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk at once, where it may be opened: see `lock`."""
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
