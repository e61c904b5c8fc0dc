"""The files of a named set on this disk: from the package, the network, or a copy that someone already has."""

import gzip
import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from sahcns.data.catalogue import File, NamedSet
from sahcns.data.download import DownloadError, fetch, file_sha256
from sahcns.errors import DataError

FileReport = Callable[[str, int, int | None], None]
"""Called while downloading with the file's name, the bytes there so far, and the bytes in all if known."""

EMBEDDED = Path(__file__).parent / "embedded"


def cache_folder() -> Path:
    """Where sets are kept unless told otherwise: `~/.cache/sahcns`, or the same under XDG_CACHE_HOME."""
    told = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(told) if told else Path.home() / ".cache") / "sahcns"
    except RuntimeError:  # neither HOME nor an account, as in some containers
        raise DataError(
            "there is no home folder to keep sets in; set XDG_CACHE_HOME to a folder that can be written"
        ) from None


def obtain(
    wanted: NamedSet,
    *,
    to: Path | None = None,
    source: Path | None = None,
    report: FileReport = lambda name, done, total: None,
    pause: float = 0.5,
) -> Path:
    """The folder that holds the set's files, verified; what is missing is copied from `source` or downloaded.

    to        the folder of sets; the files come into a folder in it that has the set's name
    source    a local copy: the archive, a folder with the files, or the one file of a set that has only one
    pause     seconds before a download is tried again
    """
    if wanted.embedded and to is None and source is None:
        return _verified(wanted, EMBEDDED / wanted.name)
    folder = (to or cache_folder()) / wanted.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot make the folder {folder} for the files of {wanted.name}: {error.strerror or error}; "
            "name another place for them, or set XDG_CACHE_HOME to a folder that can be written"
        ) from error
    if source is not None or wanted.embedded:
        _take(wanted, source or EMBEDDED / wanted.name, folder)
    elif _missing(wanted, folder):
        _download(wanted, folder, report, pause)
    return _verified(wanted, folder)


def find(folder: Path, name: str) -> Path | None:
    """A file of a set in its folder, as it is or gzipped."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _missing(wanted: NamedSet, folder: Path) -> list[str]:
    return [file.name for file in wanted.files if not file.optional and not find(folder, file.name)]


def _download(wanted: NamedSet, folder: Path, report: FileReport, pause: float) -> None:
    """From the network; without one, the error says which file to put where."""
    if wanted.by_hand:
        raise DataError(
            f"{wanted.name} cannot be downloaded by a program: go to {wanted.homepage}, {wanted.by_hand}, and put "
            f"{_missing(wanted, folder)[0]} into {folder}, or run: sahcns data get {wanted.name} --from PATH"
        )
    archive = wanted.archive
    loads = [(archive.url, archive.sha256)] if archive else [(file.url, file.sha256) for file in wanted.files]
    for url, sha256 in loads:
        assert url is not None
        target = folder / url.rsplit("/", 1)[-1]
        if target.exists():
            continue
        try:
            fetch(url, target, sha256=sha256, pause=pause, report=lambda *sizes, name=target.name: report(name, *sizes))
        except DownloadError as problem:
            raise DownloadError(
                f"{problem}; get that file by other means and put it at {target}, "
                f"or run: sahcns data get {wanted.name} --from PATH"
            ) from None
    if archive:
        packed = folder / archive.name
        _unpack(wanted, packed, folder)
        packed.unlink()


def _take(wanted: NamedSet, source: Path, folder: Path) -> None:
    """From a copy on this disk."""
    needed = [file.name for file in wanted.files if not file.optional]
    if source.is_dir():
        inside = source if not _missing(wanted, source) else source / wanted.name
        archive = source / wanted.archive.name if wanted.archive else None
        if _missing(wanted, inside) and archive and archive.is_file():
            return _unpack(wanted, archive, folder)
        if missing := _missing(wanted, inside):
            raise DataError(f"{source} has no {missing[0]}, which {wanted.name} needs ({', '.join(needed)})")
        for file in wanted.files:
            if found := find(inside, file.name):
                _copy(file, found, folder)
        return None
    if not source.is_file():
        raise DataError(f"{source} is not there; give the archive of {wanted.name}, or a folder with its files")
    with source.open("rb") as opened:
        is_zip = opened.read(4) == b"PK\x03\x04"  # also when its end was cut off, which zipfile calls no zip at all
    if is_zip:
        return _unpack(wanted, source, folder)
    if len(needed) > 1:
        raise DataError(f"{wanted.name} has several files ({', '.join(needed)}); give the folder they are in")
    return _copy(next(file for file in wanted.files if file.name == needed[0]), source, folder)


def _copy(file: File, source: Path, folder: Path) -> None:
    target = folder / (f"{file.name}.gz" if source.suffix == ".gz" else file.name)
    if target.exists() and target.samefile(source):
        return
    if file.sha256 and (found := _content_sha256(source)) != file.sha256:
        raise DataError(f"{source} is not the expected {file.name}: its SHA-256 is {found}, not {file.sha256}")
    with source.open("rb") as content, _whole(target) as part:
        shutil.copyfileobj(content, part, 1 << 20)


def _unpack(wanted: NamedSet, archive: Path, folder: Path) -> None:
    """Only the files of the set, each under its own name: no path from the archive is ever written to."""
    if wanted.archive and (found := file_sha256(archive)) != wanted.archive.sha256:
        raise DataError(
            f"{archive} is not the expected {wanted.archive.name}: its SHA-256 is {found}, not "
            f"{wanted.archive.sha256}; get it again, or unpack a copy you trust and give that folder with --from"
        )
    try:
        with zipfile.ZipFile(archive) as packed:
            members = _members(packed, archive)
            for file in wanted.files:
                if file.name not in members and not file.optional:
                    raise DataError(f"{archive} holds no {file.name}, which {wanted.name} needs")
            for file in wanted.files:
                if file.name in members:
                    with packed.open(members[file.name]) as content, _whole(folder / file.name, file) as part:
                        shutil.copyfileobj(content, part, 1 << 20)
    # zipfile says NotImplementedError to a compression it does not know, RuntimeError to an encrypted file.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as problem:
        raise DataError(f"{archive} cannot be unpacked ({problem}); get it again") from None


def _members(packed: zipfile.ZipFile, archive: Path) -> dict[str, str]:
    """File name → path in the archive, the shortest path of each; an archive with paths that lead out is refused."""
    for name in packed.namelist():
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in name:
            raise DataError(f"{archive} holds the path {name!r}, which leads out of its folder; nothing was unpacked")
    return {PurePosixPath(name).name: name for name in sorted(packed.namelist(), key=len, reverse=True)}


@contextmanager
def _whole(target: Path, file: File | None = None) -> Iterator[IO[bytes]]:
    """A file to write that gets its name when it is complete, on the disk, and of the checksum that `file` has."""
    part = target.with_name(target.name + ".part")
    try:
        with part.open("wb") as opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        if file and file.sha256 and (found := file_sha256(part)) != file.sha256:
            raise DataError(f"the {file.name} in it has the SHA-256 {found}, not {file.sha256}; get it again")
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _verified(wanted: NamedSet, folder: Path) -> Path:
    for file in wanted.files:
        path = find(folder, file.name)
        if path and file.sha256 and (found := _content_sha256(path)) != file.sha256:
            raise DataError(
                f"{path} is not the expected file: its SHA-256 is {found}, not {file.sha256}; "
                f"delete it and run: sahcns data get {wanted.name}"
            )
    return folder


def _content_sha256(path: Path) -> str:
    if path.suffix != ".gz":
        return file_sha256(path)
    try:
        with gzip.open(path) as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except (OSError, EOFError) as problem:
        raise DataError(f"{path} is not a whole gzip file ({problem}); get it again") from None
