"""The public data sets that sahcns knows by name (`catalogue.toml`): their files on this disk, and their splits."""

import gzip
import hashlib
import os
import tomllib
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO, Any

from sahcns.data.download import DownloadError, fetch, file_sha256
from sahcns.data.preparing import prepare, prepare_given
from sahcns.data.recipe import Recipe
from sahcns.data.split import Split
from sahcns.errors import DataError, nearest
from sahcns.files import write_whole

Report = Callable[[str, int, int | None], None]
"""Called while downloading with the file's name, the bytes there so far, and the bytes in all if known."""

EMBEDDED = Path(__file__).parent / "embedded"


@dataclass(frozen=True)
class File:
    """A file of a set, by its name in the set's folder.

    url        its own address, or None when it comes inside the set's archive or by hand
    sha256     of its content, where a verified copy was at hand
    optional   the set can be prepared without it (titles, the licence)
    """

    name: str
    url: str | None = None
    sha256: str | None = None
    optional: bool = False


@dataclass(frozen=True)
class Counts:
    """What a set prepared by its recipe must have; None where no one has published it."""

    interactions: int
    users: int | None = None
    items: int | None = None
    train: int | None = None
    valid: int | None = None
    test: int | None = None

    @classmethod
    def of(cls, split: Split) -> "Counts":
        parts = {name: len(pairs) for name, pairs in split.parts().items()}
        return cls(sum(parts.values()), split.n_users, split.n_items, **parts)

    def differences(self, other: "Counts") -> list[str]:
        """`users 6,040 instead of 6,039` for each count that is known and not met."""
        pairs = ((count.name, getattr(self, count.name), getattr(other, count.name)) for count in fields(self))
        return [f"{name} {got:,} instead of {want:,}" for name, want, got in pairs if want is not None and got != want]


@dataclass(frozen=True)
class NamedSet:
    """A data set with its source and its recipe.

    parts       part → file name: `{"all": …}`, or `{"train": …, "valid": …, "test": …}` for a given split
    reading     arguments for `readers.read`
    recipe      filters and split; of a given split only seed and unseen count
    expected    counts after preparing by the recipe
    archive     a zip file that holds all files
    by_hand     for a set that no program may download: what a person has to do
    embedded    it ships inside the package
    """

    name: str
    about: str
    homepage: str
    terms: str
    files: tuple[File, ...]
    parts: Mapping[str, str]
    recipe: Recipe
    expected: Counts
    archive: File | None = None
    reading: Mapping[str, object] = field(default_factory=dict)
    by_hand: str = ""
    embedded: bool = False
    note: str = ""


def _load() -> dict[str, NamedSet]:
    entries = tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text("utf-8"))
    for entry in entries.values():
        entry["files"] = tuple(File(**file) for file in entry["files"])
        entry["recipe"] = Recipe.from_dict(entry["recipe"])
        entry["expected"] = Counts(**entry["expected"])
        entry["archive"] = File("", **entry["archive"]) if "archive" in entry else None
    return {name: NamedSet(name, **entry) for name, entry in entries.items()}


CATALOGUE: Mapping[str, NamedSet] = MappingProxyType(_load())


def named_set(name: str) -> NamedSet:
    """The set of that name; a misspelt one gets the nearest right one."""
    if name not in CATALOGUE:
        raise DataError(f"there is no set named {name!r} in the catalogue; {nearest(name, CATALOGUE)}")
    return CATALOGUE[name]


def prepare_named(
    wanted: NamedSet | str,
    folder: str | os.PathLike[str] | None = None,
    recipe: Recipe | None = None,
    *,
    lenient: bool = False,
) -> Split:
    """The split of a named set by its own recipe or another: `prepare_named("ml-latest-small")`.

    folder    where its files are; None has `obtain` look in the cache, and download what is missing

    The manifest says which set it is, on what terms, and whether its counts are those of the catalogue.
    """
    from sahcns.data.readers import read

    wanted = named_set(wanted) if isinstance(wanted, str) else wanted
    home = obtain(wanted) if folder is None else Path(folder)
    recipe = recipe or wanted.recipe
    reading: dict[str, Any] = {"event": 0, "quantity": 0, **wanted.reading, "lenient": lenient}
    parts = {}
    for part, name in wanted.parts.items():
        path = find(home, name)
        if path is None:
            raise DataError(f"{home} has no {name}; run: sahcns data get {wanted.name}")
        parts[part] = read(path, **reading)
    if "all" in parts:
        split = prepare(parts["all"], recipe)
    else:
        valid, options = parts.get("valid"), {"unseen": recipe.unseen, "seed": recipe.seed}
        split = prepare_given(parts["train"], valid, parts["test"], overlap="drop", **options)  # type: ignore[arg-type]
    about: dict[str, Any] = {"name": wanted.name, "homepage": wanted.homepage, "terms": wanted.terms}
    if recipe == wanted.recipe:
        about["differs_from_catalogue"] = wanted.expected.differences(Counts.of(split))
    return replace(split, manifest={**split.manifest, "catalogue": about})


def cache_folder() -> Path:
    """Where sets are kept unless told otherwise: `~/.cache/sahcns`, or the same under XDG_CACHE_HOME."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "sahcns"
    except RuntimeError:  # neither HOME nor an account, as in some containers
        raise DataError("there is no home folder to keep sets in; set XDG_CACHE_HOME to a folder") from None


def obtain(
    wanted: NamedSet,
    *,
    to: Path | None = None,
    source: Path | None = None,
    report: Report = lambda name, done, total: None,
    pause: float = 0.5,
) -> Path:
    """The folder that holds the set's files, verified; what is missing is copied from `source` or downloaded.

    to        the folder of sets; the files come into a folder in it that has the set's name
    source    a local copy: the archive, a folder with the files, or the one file of a set that has only one
    pause     seconds before a download is tried again
    """
    folder = (
        EMBEDDED / wanted.name if wanted.embedded and to is source is None else (to or cache_folder()) / wanted.name
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot make the folder {folder} for the files of {wanted.name}: {error.strerror or error}; "
            "name another place for them, or set XDG_CACHE_HOME to a folder that can be written"
        ) from error
    if source is not None or (wanted.embedded and to is not None):
        _take(wanted, source or EMBEDDED / wanted.name, folder)
    elif _missing(wanted, folder):
        _download(wanted, folder, report, pause)
    for file in wanted.files:
        if (path := find(folder, file.name)) and file.sha256:
            with _unpacking(path), _content(path) as content:
                deque(_pieces(content, path, file.sha256, f"; delete it and run: sahcns data get {wanted.name}"), 0)
    return folder


def find(folder: Path, name: str) -> Path | None:
    """A file of a set in its folder, as it is or gzipped."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _missing(wanted: NamedSet, folder: Path) -> list[str]:
    return [file.name for file in wanted.files if not file.optional and not find(folder, file.name)]


def _download(wanted: NamedSet, folder: Path, report: Report, pause: float) -> None:
    """From the network; without one, the error says which file to put where."""
    if wanted.by_hand:
        raise DataError(
            f"{wanted.name} cannot be downloaded by a program: go to {wanted.homepage}, {wanted.by_hand}, and put "
            f"{_missing(wanted, folder)[0]} into {folder}, or run: sahcns data get {wanted.name} --from PATH"
        )
    for file in [wanted.archive] if wanted.archive else wanted.files:
        assert file.url is not None
        target = folder / file.url.rsplit("/", 1)[-1]
        if not target.exists():
            try:
                fetch(file.url, target, sha256=file.sha256, pause=pause, report=partial(report, target.name))
            except DownloadError as problem:
                raise DownloadError(
                    f"{problem}; get that file by other means and put it at {target}, "
                    f"or run: sahcns data get {wanted.name} --from PATH"
                ) from None
        if wanted.archive:
            _take(wanted, target, folder)
            target.unlink()


def _take(wanted: NamedSet, source: Path, folder: Path) -> None:
    """From a copy on this disk: a folder, the archive, or the one file of the set.

    Each file is written under its own name: no path from an archive is ever written to.
    """
    needed = [file.name for file in wanted.files if not file.optional]
    opened: dict[str, Callable[[], AbstractContextManager[IO[bytes]]]] = {}
    with _unpacking(source), ExitStack() as at_end:
        if source.is_dir():
            places = {file.name: find(source, file.name) for file in wanted.files}
            opened = {name: partial(_content, path) for name, path in places.items() if path}
        elif not source.is_file():
            raise DataError(f"{source} is not there; give the archive of {wanted.name}, or a folder with its files")
        elif _starts_as_zip(source):
            if wanted.archive:
                again = "; get it again, or unpack a copy you trust and give that folder with --from"
                _check_sha256(source, file_sha256(source), str(wanted.archive.sha256), again)
            packed = at_end.enter_context(zipfile.ZipFile(source))
            members = sorted(packed.namelist(), key=len, reverse=True)  # of two of one name the shorter path
            opened = {PurePosixPath(member).name: partial(packed.open, member) for member in members}
        elif len(needed) > 1:
            raise DataError(f"{wanted.name} has several files ({', '.join(needed)}); give the folder they are in")
        else:
            opened = {needed[0]: partial(_content, source)}
        if missing := [name for name in needed if name not in opened]:
            raise DataError(f"{source} has no {missing[0]}, which {wanted.name} needs")
        for file in wanted.files:
            if file.name in opened:
                with opened[file.name]() as content:
                    write_whole(folder / file.name, _pieces(content, Path(file.name), file.sha256))


def _starts_as_zip(path: Path) -> bool:
    """Also where its end was cut off, which zipfile calls no zip at all."""
    with path.open("rb") as opened:
        return opened.read(4) == b"PK\x03\x04"


def _pieces(content: IO[bytes], path: Path, sha256: str | None, again: str = "; get it again") -> Iterator[bytes]:
    """The content in pieces; an error at its end if it is not that of the checksum, so that it is not kept."""
    digest = hashlib.sha256()
    while piece := content.read(1 << 20):
        digest.update(piece)
        yield piece
    if sha256:
        _check_sha256(path, digest.hexdigest(), sha256, again)


def _check_sha256(path: Path, own: str, wanted: str, remedy: str) -> None:
    if own != wanted:
        raise DataError(f"{path} is not the expected file: its SHA-256 is {own}, not {wanted}{remedy}")


def _content(path: Path) -> IO[bytes]:
    """That of a file, gzipped or not."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    try:
        yield
    # zipfile says NotImplementedError to a compression it does not know, RuntimeError to an encrypted file.
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as problem:
        raise DataError(f"{path} cannot be unpacked ({problem}); get it again") from None
