"""Who works on what: a locked file for each job, which the system unlocks when its process dies, however it dies."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from sahcns.errors import DataError
from sahcns.folders import lock_file
from sahcns.lab.grid.result import FAILED, RUNS, USERS

LOCKS = "claims"  # the name on disk, which earlier versions know
WAIT = 0.01  # seconds between two attempts at a lock


@contextlib.contextmanager
def lock(folder: Path, key: str) -> Iterator[bool]:
    """True if nobody else holds the lock, which is then ours until the end of the block; no file stays behind."""
    path = folder / LOCKS / key
    handle = _locked_file(path)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):
                path.unlink()  # before it is unlocked, or it might be another's by now
            os.close(handle)


@contextlib.contextmanager
def wait_for_lock(folder: Path, key: str) -> Iterator[None]:
    """Hold the lock, however long it takes to get it."""
    while True:
        with lock(folder, key) as mine:
            if mine:
                yield
                return
        time.sleep(WAIT)


def sweep(folder: Path) -> None:
    """Remove what killed processes left: locks that nobody holds, and half-written files."""
    refuse_without_locks()
    keys: dict[str, list[Path]] = {path.name: [] for path in (folder / LOCKS).glob("*")}
    for path in (path for name in (RUNS, USERS, FAILED) for path in (folder / name).glob(".*")):
        keys.setdefault(path.name[1:].rsplit(".", 2)[0], []).append(path)  # .KEY.json.1f3a9c04 of `write_whole`
    for key, half_written in keys.items():
        with lock(folder, key) as mine:
            for path in half_written if mine else ():
                path.unlink(missing_ok=True)


def refuse_without_locks() -> None:
    """An error on a system that has no such locks, as Windows."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        raise DataError(
            "what writes many runs into one folder needs the file locks of Linux and macOS, which this system does not "
            "have: use one of them (on Windows, WSL), or train one run at a time with `sahcns train`"
        ) from None


def _locked_file(path: Path) -> int | None:
    """An open, locked file, or None if another process has it."""
    refuse_without_locks()
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror}") from error
        try:
            if not lock_file(handle):
                os.close(handle)
                return None
            # The last holder removes the file when it leaves: then ours has no name any more, and another process may
            # have locked a new file of that name.
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(handle)
            raise DataError(f"{path} cannot be locked ({error.strerror}); choose a folder on a local disk") from error
        os.close(handle)
