"""The prepared folder: `.npy` columns to memory-map, id maps, and a manifest that a person can read.

manifest.json                       source, recipe, steps with counts, statistics, fingerprint, SHA-256 of each file
train|valid|test.users|items.npy    int32 [rows], sorted by user, then item
user_ids, item_ids                  .npy int64, or .utf8.npy and .offsets.npy
item_titles.utf8|offsets.npy        where the source has titles
"""

import glob
import hashlib
import io
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.data.assemble import FORMAT, FORMAT_VERSION
from sahcns.data.ids import load_ids, load_texts
from sahcns.data.split import PARTS, Pairs, Split
from sahcns.data.stats import statistics
from sahcns.errors import DataError
from sahcns.version import __version__

MANIFEST = "manifest.json"


def save_split(split: Split, folder: str | os.PathLike[str]) -> Path:
    """Write the prepared folder whole or not at all; a former prepared set of that name is replaced only at the end."""
    target = Path(os.path.realpath(folder))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_up(target)
        _refuse_foreign(target)
        fresh = target.with_name(f".{target.name}.new-{secrets.token_hex(4)}")
        fresh.mkdir()
        try:
            _write(split, fresh)
            _swap(fresh, target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise DataError(f"cannot write the prepared set {target}: {error.strerror or error}") from error
    return target


def load_split(folder: str | os.PathLike[str], *, verify: bool = True) -> Split:
    """The split in a prepared folder, its columns memory-mapped. `verify=False` checks sizes but not contents."""
    given = Path(folder)
    home = given if given.exists() or not _aside(given).exists() else _aside(given)
    manifest = read_manifest(home)
    files = manifest.get("files")
    if not isinstance(files, dict):
        raise DataError(f"{home / MANIFEST} does not list its files; prepare the set again")
    for name, entry in files.items():
        _check(home / name, entry, contents=verify)
    try:
        train, valid, test = (Pairs(_column(home, part, "users"), _column(home, part, "items")) for part in PARTS)
        titles = load_texts(home, "item_titles") if "item_titles.offsets.npy" in files else None
        users, items = load_ids(home, "user_ids"), load_ids(home, "item_ids")
    except (OSError, ValueError) as error:
        raise DataError(f"{home} is not a whole prepared set ({error}); prepare it again") from error
    split = Split(train, valid, test, user_ids=users, item_ids=items, titles=titles, manifest=manifest)
    if verify and split.fingerprint != manifest.get("fingerprint"):
        raise DataError(f"the fingerprint in {home / MANIFEST} is not that of its files; prepare the set again")
    return split


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a prepared folder, without its arrays."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        there = "has no manifest.json" if Path(folder).is_dir() else "is not there"
        raise DataError(f"{folder} is not a prepared set: it {there}; make one with `sahcns data prepare`") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{path} is not readable JSON ({error}); prepare the set again") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path} is not the manifest of a prepared set; make one with `sahcns data prepare`")
    if manifest.get("format_version") != FORMAT_VERSION:
        raise DataError(
            f"{folder} has format version {manifest.get('format_version')!r} (written by sahcns "
            f"{manifest.get('sahcns_version')}), and this version reads {FORMAT_VERSION}; prepare the set again"
        )
    return manifest


def _arrays(split: Split) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for part, pairs in split.parts().items():
        yield f"{part}.users.npy", np.asarray(pairs.users, "<i4")
        yield f"{part}.items.npy", np.asarray(pairs.items, "<i4")
    for stem, ids in (("user_ids", split.user_ids), ("item_ids", split.item_ids)):
        for suffix, array in ids.arrays().items():
            yield f"{stem}{suffix}.npy", array
    if split.titles is not None:
        yield "item_titles.utf8.npy", split.titles.blob
        yield "item_titles.offsets.npy", split.titles.offsets


def _write(split: Split, folder: Path) -> None:
    files: dict[str, dict[str, Any]] = {}
    for name, array in _arrays(split):
        header, body = _npy(array)
        with open(folder / name, "wb") as out:
            out.write(header)
            out.write(body)
            out.flush()
            os.fsync(out.fileno())
        digest = hashlib.sha256(header)
        digest.update(body)
        files[name] = {"bytes": len(header) + body.nbytes, "sha256": digest.hexdigest()}
    heading = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "sahcns_version": __version__,
        "fingerprint": split.fingerprint,
    }
    rest = {name: value for name, value in split.manifest.items() if name not in heading}
    rest.setdefault("statistics", statistics(split))
    with open(folder / MANIFEST, "w", encoding="utf-8") as out:
        json.dump(heading | rest | {"files": files}, out, indent=2, ensure_ascii=False, default=_plain)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())
    _sync_folder(folder)


def _npy(array: npt.NDArray[Any]) -> tuple[bytes, memoryview]:
    """The two halves of a `.npy` file; numpy's own writer hides why the system refused to write."""
    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue(), array.data


def _swap(fresh: Path, target: Path) -> None:
    """Put `fresh` in the place of `target`; killed between the two renames, the former set is still there, aside."""
    if not target.exists() or not any(target.iterdir()):
        fresh.rename(target)
        _sync_folder(target.parent)
        return
    aside = _aside(target)
    shutil.rmtree(aside, ignore_errors=True)
    target.rename(aside)
    try:
        fresh.rename(target)
    except OSError:
        aside.rename(target)
        raise
    _sync_folder(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _clear_up(target: Path) -> None:
    """What a killed save left behind: the former set goes back, unfinished folders of another day go."""
    if not target.exists() and _aside(target).exists():
        _aside(target).rename(target)
    for stale in target.parent.glob(f".{glob.escape(target.name)}.new-*"):
        if time.time() - stale.stat().st_mtime > 86_400:
            shutil.rmtree(stale, ignore_errors=True)


def _refuse_foreign(target: Path) -> None:
    """Only a prepared set is ever replaced, and only if it holds nothing but its own files."""
    if not target.exists():
        return
    if not target.is_dir():
        raise DataError(f"{target} is a file, not a folder; choose another place for the prepared set")
    names = sorted(entry.name for entry in target.iterdir())
    try:
        manifest = json.loads((target / MANIFEST).read_text(encoding="utf-8")) if names else {"format": FORMAT}
    except (OSError, ValueError):
        manifest = None
    own = {MANIFEST}
    if isinstance(manifest, dict) and manifest.get("format") == FORMAT:
        own.update(manifest.get("files", ()))
        foreign = [name for name in names if name not in own]
    else:
        foreign = names
    if foreign:
        raise DataError(
            f"{target} holds {foreign[0]!r}, which is not part of a prepared set, and is left as it is; "
            "choose another folder"
        )


def _check(path: Path, entry: dict[str, Any], *, contents: bool) -> None:
    try:
        size = path.stat().st_size
        same = size == entry["bytes"] and (not contents or _sha256(path) == entry["sha256"])
    except FileNotFoundError:
        raise DataError(f"{path} is missing; prepare the set again") from None
    if not same:
        found = f"{size:,} bytes, not {entry['bytes']:,}" if size != entry["bytes"] else "its SHA-256 differs"
        raise DataError(f"{path} is not as it was written ({found}); prepare the set again")


def _column(folder: Path, part: str, name: str) -> npt.NDArray[np.int32]:
    column = np.load(folder / f"{part}.{name}.npy", mmap_mode="r", allow_pickle=False)
    if column.dtype != np.dtype("<i4") or column.ndim != 1:
        raise ValueError(f"{part}.{name}.npy is not one column of int32")
    return np.asarray(column)


def _sha256(path: Path) -> str:
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _plain(value: object) -> object:
    """Numbers of numpy as numbers, anything else that a reader put into its source as text."""
    return value.item() if isinstance(value, np.generic) else str(value)
