"""Optuna's journal on disk, under a lock that a dead process does not keep."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sahcns.errors import DataError
from sahcns.lab.grid.locks import LOCKS, wait_for_lock
from sahcns.lab.grid.result import RUNS
from sahcns.lab.tuning.proposing import optuna_module, quiet_optuna

if TYPE_CHECKING:
    from optuna.storages import JournalStorage

JOURNAL = "journal.log"


def open_journal(folder: Path) -> "JournalStorage":
    """The storage in FOLDER/journal.log, made if it is not there."""
    path, journal = folder / JOURNAL, optuna_module().storages.journal
    try:
        with quiet_optuna():
            backend = journal.JournalFileBackend(str(path), lock_obj=_Lock(path))
            backend.append_logs = _named(backend.append_logs, path)
            storage: JournalStorage = journal.JournalStorage(backend)
            return storage
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise DataError(f"{path} is no journal that can be read ({error}); choose another folder") from error


def _named(append: Callable[..., None], path: Path) -> Callable[..., None]:
    """Optuna's own way to write lines, but where the disk refuses them the error names the file."""

    def appended(logs: list[dict[str, Any]]) -> None:
        try:
            append(logs)
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror or error}") from error

    return appended


def refuse_foreign(folder: Path) -> None:
    """An error if something else stands at `folder` than a search, or a comparison, which it may be put beside."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file, not a folder; choose another place for the search")
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in names if name != LOCKS and not name.startswith(".")]
    if foreign and not {JOURNAL, RUNS} & set(names):
        raise DataError(f"{folder} holds {foreign[0]!r} and no search; choose another folder")


class _Lock:
    """What Optuna asks for around each line that it writes."""

    def __init__(self, path: Path) -> None:
        self._path, self._held = path, contextlib.ExitStack()

    def acquire(self) -> bool:
        self._held.enter_context(wait_for_lock(self._path.parent, JOURNAL))
        _mend(self._path)
        return True

    def release(self) -> None:
        self._held.close()


def _mend(path: Path) -> None:
    """Cut off half a line, the last words of a machine that lost power: the next would be glued to it."""
    with open(path, "rb+") as journal:
        if journal.seek(0, 2) == 0:
            return
        journal.seek(-1, 2)
        if journal.read(1) != b"\n":
            journal.seek(0)
            journal.truncate(journal.read().rfind(b"\n") + 1)
