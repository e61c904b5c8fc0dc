"""Who works on what: a locked file for each job, which the system frees when its process dies, however it dies."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from sahcns.errors import DataError
from sahcns.lab.grid.result import RUNS, USERS

CLAIMS, FAILED = "claims", "failed"
WAIT = 0.01  # seconds between two attempts at a claim


@contextlib.contextmanager
def claim(folder: Path, key: str) -> Iterator[bool]:
    """True, and ours until the end of the block, if nobody else holds the key; no file stays behind."""
    path = folder / CLAIMS / key
    handle = _lock(path)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):
                path.unlink()  # while it is locked, so that it is ours
            os.close(handle)


@contextlib.contextmanager
def waiting_for(folder: Path, key: str) -> Iterator[None]:
    """Hold a claim, however long it takes to get it."""
    while True:
        with claim(folder, key) as mine:
            if mine:
                yield
                return
        time.sleep(WAIT)


def sweep(folder: Path) -> None:
    """Remove what killed processes left: claims that nobody holds, and files that were being written under them."""
    _refuse_without_locks()  # before a worker process is started, which would only say so to itself
    left = {path.name for path in _entries(folder / CLAIMS)} | {_key(path) for path in _unfinished(folder)}
    for key in left:
        with claim(folder, key) as mine:
            for path in _unfinished(folder) if mine else ():
                if _key(path) == key:
                    path.unlink(missing_ok=True)


def _refuse_without_locks() -> None:
    """An error on a system that has no such locks, as Windows."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        raise DataError(
            "what writes many runs into one folder needs the file locks of Linux and macOS, which this system does not "
            "have: use one of them (on Windows, WSL), or train one run at a time with `sahcns train`"
        ) from None


def _lock(path: Path) -> int | None:
    """An open, locked file, or None if another process has it."""
    _refuse_without_locks()
    import fcntl

    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it before removed the file in leaving: then ours has no name any more, and another may stand
            # in its place.
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(handle)
            raise DataError(f"{path} cannot be locked ({error.strerror}); choose a folder on a local disk") from error
        os.close(handle)


def _unfinished(folder: Path) -> list[Path]:
    """What `write_whole` writes beside a result until it is whole: `.KEY.json.1f3a9c04`."""
    return [path for name in (RUNS, USERS, FAILED) for path in _entries(folder / name) if path.name.startswith(".")]


def _key(unfinished: Path) -> str:
    return unfinished.name[1:].rsplit(".", 2)[0]


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
