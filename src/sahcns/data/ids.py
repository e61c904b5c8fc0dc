"""Original ids, of any type, behind dense positions 0 … n-1.

Whole numbers are kept as int64; everything else as text (UTF-8 bytes and offsets). Both are sorted, so looking an id up
is a binary search, both are plain `.npy` files, and a table of a hundred million ids is memory-mapped, not loaded.
"""

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import lt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.errors import DataError, nearest
from sahcns.folders import File, npy

Id = int | str
IDS, TEXTS = ("user_ids", "item_ids"), ("item_titles", "item_categories")
ID_FILES = frozenset(
    [  # what a folder may hold, by the type of its ids, and whether there are titles and categories
        *(f"{stem}.npy" for stem in IDS),
        *(f"{stem}.{part}.npy" for stem in (*IDS, *TEXTS) for part in ("utf8", "offsets")),
    ]
)
SEARCHED = 2000  # the most texts among which an unknown one is looked for by its likeness


@dataclass(frozen=True, eq=False, repr=False)
class Texts:
    """A column of texts: `blob` holds the UTF-8 bytes, text k is `blob[offsets[k]:offsets[k+1]]`."""

    blob: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        encoded = [text.encode() for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:]) if encoded else None
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What is stored: `{".utf8": uint8, ".offsets": int64}`."""
        return {".utf8": self.blob, ".offsets": self.offsets}

    def raw(self, k: int) -> bytes:
        return self.blob[self.offsets[k] : self.offsets[k + 1]].tobytes()

    def __getitem__(self, k: int) -> str:
        return self.raw(k).decode()

    def take(self, positions: npt.NDArray[np.integer]) -> "Texts":
        """The texts at `positions`, in that order."""
        starts, lengths = self.offsets[positions], np.diff(self.offsets)[positions]
        offsets = np.zeros(len(positions) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        where = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Texts(self.blob[where], offsets)


@dataclass(frozen=True, eq=False, repr=False)
class IdMap:
    """Position → original id and back; `values` is sorted and without repeats."""

    values: npt.NDArray[np.int64] | Texts

    @classmethod
    def of(cls, ids: Iterable[Id]) -> "IdMap":
        """From ids in any order; all whole numbers, or all turned into text."""
        distinct = set(ids)
        if all(isinstance(value, int | np.integer) for value in distinct):
            return cls(np.array(sorted(distinct), np.int64))
        return cls(Texts.of(sorted((str(value) for value in distinct), key=str.encode)))

    @property
    def kind(self) -> str:
        return "text" if isinstance(self.values, Texts) else "int"

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"IdMap({len(self):,} ids{f', {self[0]!r} to {self[len(self) - 1]!r}' if len(self) else ''})"

    def __getitem__(self, position: int) -> Id:
        value = self.values[position]
        return value if isinstance(value, str) else int(value)

    def __iter__(self) -> Iterator[Id]:
        return map(self.__getitem__, range(len(self)))

    def decode(self, positions: Iterable[int]) -> list[Id]:
        return [self[int(position)] for position in positions]

    def find(self, value: Id) -> int | None:
        """Position of an id, or None. On the command line ids arrive as text, so '17' finds the number 17."""
        if getattr(value, "ndim", None) == 0:  # one number of a tensor or of an array
            value = value.item()  # type: ignore[union-attr]
        if isinstance(self.values, Texts):
            # text that is not Unicode (a stray byte of a command line) is no id, and no reason to break off either
            wanted = str(value).encode("utf-8", "surrogatepass")
            at = bisect_left(range(len(self)), wanted, key=self.values.raw)
            return at if at < len(self) and self.values.raw(at) == wanted else None
        number = _whole(value)
        if number is None or not -(1 << 63) <= number < 1 << 63:
            return None
        at = int(np.searchsorted(self.values, number))
        return at if at < len(self.values) and self.values[at] == number else None

    def encode(self, values: Iterable[Id], *, what: str = "id") -> npt.NDArray[np.int64]:
        """Positions of the ids; an unknown one is an error that names it."""
        values = list(values)
        positions = self.places(values)
        for value, position in zip(values, positions, strict=True):
            if position < 0:
                raise DataError(f"{what} {value!r} is not in the data{self._hint(value)}")
        return positions

    def places(self, values: Iterable[Id]) -> npt.NDArray[np.int64]:
        """Positions of the ids, -1 for an unknown one."""
        positions = map(self.find, values)
        return np.array([-1 if position is None else position for position in positions], np.int64)

    def take(self, positions: npt.NDArray[np.integer]) -> "IdMap":
        """The map of a subset; `positions` ascending."""
        if isinstance(self.values, Texts):
            return IdMap(self.values.take(positions))
        return IdMap(self.values[positions])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What is stored: `{"": int64}`, or texts."""
        return self.values.arrays() if isinstance(self.values, Texts) else {"": self.values}

    def _hint(self, value: Id) -> str:
        if not len(self):
            return ""
        bare = re.sub(r"^\+?(-?)0*([0-9]+?)(\.0*)?$", r"\1\2", str(value).strip())  # 7 for ' 007' and '7.0'
        like = self.find(bare)
        if like is not None:
            return f"; did you mean {self[like]!r}?"
        if not isinstance(self.values, Texts):
            return f" (ids run from {int(self.values[0])} to {int(self.values[-1])})"
        close = did_you_mean(str(value), map(str, self)) if len(self) < SEARCHED else ""
        return close or f" (ids are such as {self.values[0]!r})"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'purchase'?`, or nothing where none is alike."""
    hint = nearest(word, known)
    return f"; {hint}" if hint.startswith("did you mean") else ""


def id_files(users: IdMap, items: IdMap, titles: Texts | None, categories: Texts | None) -> Iterator[File]:
    """The files of a folder that hold its ids and what is said of the items."""
    for stem, column in zip((*IDS, *TEXTS), (users, items, titles, categories), strict=True):
        for suffix, array in ({} if column is None else column.arrays()).items():
            yield f"{stem}{suffix}.npy", npy(array)


def load_id_files(
    folder: Path, listed: Container[str], *, mapped: bool = True
) -> tuple[IdMap, IdMap, Texts | None, Texts | None]:
    """What `id_files` wrote; memory-mapped unless told.

    listed   the files that belong to the folder: one that was copied over another may hold ids of the former, too
    """
    users, items = (_load_ids(folder, stem, listed, mapped) for stem in IDS)
    titles, categories = (
        _load_texts(folder, stem, mapped) if f"{stem}.offsets.npy" in listed else None for stem in TEXTS
    )
    for stem, texts in zip(TEXTS, (titles, categories), strict=True):
        if texts is not None and len(texts) != len(items):
            raise ValueError(f"{len(texts):,} {stem.removeprefix('item_')} for {len(items):,} items")
    return users, items, titles, categories


def _load_texts(folder: Path, stem: str, mapped: bool) -> Texts:
    """Texts whose pieces cover the blob, each UTF-8; a folder put together by hand may hold anything."""
    blob = load_column(folder / f"{stem}.utf8.npy", np.uint8, mapped)
    offsets = load_column(folder / f"{stem}.offsets.npy", np.int64, mapped)
    whole = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(blob) and (offsets[1:] >= offsets[:-1]).all()
    try:
        blob.tobytes().decode()  # as a whole; then no piece may begin within a character
    except UnicodeDecodeError:
        whole = False
    if not whole or (blob[offsets[offsets < len(blob)]] & 0xC0 == 0x80).any():
        raise ValueError(f"{stem}.offsets.npy does not cut {stem}.utf8.npy into texts")
    return Texts(blob, offsets)


def _load_ids(folder: Path, stem: str, listed: Container[str], mapped: bool) -> IdMap:
    if f"{stem}.npy" in listed:
        numbers = load_column(folder / f"{stem}.npy", np.int64, mapped)
        ids, ascending = IdMap(numbers), bool((numbers[1:] > numbers[:-1]).all())
    else:
        ids = IdMap(texts := _load_texts(folder, stem, mapped))
        data, ends = texts.blob.tobytes(), texts.offsets.tolist()
        each = [data[start:end] for start, end in pairwise(ends)]
        ascending = all(map(lt, each, each[1:]))
    if not ascending:
        raise ValueError(f"the ids of {stem} are not sorted, each once")
    return ids


def load_column(path: Path, kind: npt.DTypeLike, mapped: bool = True) -> npt.NDArray[Any]:
    """One column of just this type; anything else is a ValueError."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    except Exception as error:  # numpy reads a header with Python's own parser, and shows all of its errors
        raise ValueError(f"{path.name} is not an array ({error})") from error
    if array.dtype != np.dtype(kind) or array.ndim != 1:
        raise ValueError(f"{path.name} is not one column of {np.dtype(kind).name}")
    return np.asarray(array) if mapped else np.array(array)


def _whole(value: object) -> int | None:
    """The whole number that a value is: 17, 17.0 and '17', and neither 17.5 nor '017', which is a text of its own."""
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return int(value) if float(value).is_integer() else None
    text = str(value)
    return int(text) if len(text) <= 20 and re.fullmatch("0|-?[1-9][0-9]*", text) else None
