"""The prepared folder: `.npy` columns to memory-map, id maps, and a manifest that a person can read.

manifest.json                       source, recipe, steps with counts, statistics, fingerprint, SHA-256 of each file
train|valid|test.users|items.npy    int32 [rows], sorted by user, then item
train|valid|test.weights.npy        float32 [rows], where pairs count unalike
aside.users|items.npy               int32 [rows], pairs that a filter took out, where it did
user_ids, item_ids                  .npy int64, or .utf8.npy and .offsets.npy
item_titles.utf8|offsets.npy        where the source has titles; item_categories alike
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sahcns.data.ids import ID_FILES, id_files, load_column, load_id_files
from sahcns.data.split import PARTS, Pairs, Split
from sahcns.data.splitting import FORMAT, FORMAT_VERSION
from sahcns.data.stats import statistics
from sahcns.described import Manifest
from sahcns.errors import DataError
from sahcns.folders import File, FolderKind, load_folder, npy, read_description, write_folder

MANIFEST = "manifest.json"
ASIDE = "aside"
PREPARED = FolderKind(
    what="prepared set",
    description=MANIFEST,
    format=FORMAT,
    version=FORMAT_VERSION,
    make="make one with `sahcns data prepare`",
    again="prepare the set again",
    some={*ID_FILES, f"{ASIDE}.users.npy", f"{ASIDE}.items.npy", *(f"{part}.weights.npy" for part in PARTS)},
    entries=Manifest,
)


def save_split(split: Split, folder: str | os.PathLike[str]) -> Path:
    """Write the prepared folder whole or not at all; a former prepared set of that name is replaced only at the end."""
    # the fingerprint comes first, and is that of these pairs even where a manifest was taken over from others
    manifest = {"fingerprint": split.fingerprint} | {**split.manifest, "fingerprint": split.fingerprint}
    manifest.setdefault("statistics", statistics(split))
    return write_folder(PREPARED, folder, _files(split), manifest)


def load_split(folder: str | os.PathLike[str], *, verify: bool = True) -> Split:
    """The split in a prepared folder, its columns memory-mapped. `verify=False` checks sizes but not contents."""

    def loaded(home: Path, manifest: dict[str, Any]) -> Split:
        split = _loaded(home, manifest)
        if verify and split.fingerprint != manifest.get("fingerprint"):
            raise DataError(f"the fingerprint in {home / MANIFEST} is not that of its files; prepare the set again")
        return split

    return load_folder(PREPARED, folder, loaded, contents=verify)


def _loaded(home: Path, manifest: dict[str, Any]) -> Split:
    listed = manifest["files"]

    def pairs(part: str) -> Pairs:
        weights = load_column(home / f"{part}.weights.npy", "<f4") if f"{part}.weights.npy" in listed else None
        users, items = (load_column(home / f"{part}.{side}.npy", "<i4") for side in ("users", "items"))
        return Pairs(users, items, weights)

    try:
        train, valid, test = map(pairs, PARTS)
        aside = pairs(ASIDE) if f"{ASIDE}.users.npy" in listed else Pairs.none()
        users, items, titles, categories = load_id_files(home, listed)
        split = Split(train, valid, test, users, items, titles, manifest, aside, categories)
        _agree(split)
    except (OSError, ValueError) as error:
        raise DataError(f"{home} is not a whole prepared set ({error}); prepare it again") from error
    return split


def _agree(split: Split) -> None:
    """Lengths that must be equal, and positions that must be there: a folder put together by hand may hold anything."""
    for part, pairs in (split.parts() | {ASIDE: split.aside}).items():
        for name, column, size in (("users", pairs.users, split.n_users), ("items", pairs.items, split.n_items)):
            if len(column) != len(pairs) or (len(column) and not 0 <= column.min() <= column.max() < size):
                raise ValueError(f"{part}.{name}.npy does not hold {len(pairs):,} positions of {size:,} {name}")
        weights = np.ones(len(pairs)) if pairs.weights is None else pairs.weights
        if len(weights) != len(pairs) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError(f"{part}.weights.npy does not hold {len(pairs):,} numbers of 0 or more")


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a prepared folder, without its arrays."""
    return read_description(PREPARED, folder)


def _files(split: Split) -> Iterator[File]:
    for part, pairs in (split.parts() | ({ASIDE: split.aside} if len(split.aside) else {})).items():
        yield f"{part}.users.npy", npy(np.asarray(pairs.users, "<i4"))
        yield f"{part}.items.npy", npy(np.asarray(pairs.items, "<i4"))
        if pairs.weights is not None:
            yield f"{part}.weights.npy", npy(np.asarray(pairs.weights, "<f4"))
    yield from id_files(split.user_ids, split.item_ids, split.titles, split.categories)
