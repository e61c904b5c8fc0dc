"""Files written whole or not at all, and JSON files read with an error that says what is wrong."""

import contextlib
import glob
import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sahcns.errors import DataError

LARGEST, DEEPEST = 1 << 28, 64  # bytes, and lists within lists, of any JSON file of ours
DIGEST = "sha256"  # the entry of a marked file that holds the digest of all others
FORMULA = r"^[=+\-@\t\r\n]"  # how a text begins that a spreadsheet runs, unless it is a
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def write_whole(path: str | os.PathLike[str], content: str | bytes | Iterable[bytes], what: str = "file") -> Path:
    """Write beside the place, bring it to the disk, rename: a reader sees the former file or the new one, never half.

    `content` may come in pieces, each written as it is made; an error in making one leaves the former file. A link
    stays, and the file that it leads to is replaced; a pipe or a device (/dev/null) is written to as it is.
    """
    whole = content.encode() if isinstance(content, str) else content
    target, pieces = Path(path), [whole] if isinstance(whole, bytes) else whole
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with open(target, "wb") as out:
                out.writelines(pieces)
        else:
            _replace(Path(os.path.realpath(target)), pieces)
    except OSError as error:
        raise DataError(f"cannot write the {what} {target}: {error.strerror or error}") from error
    return target


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    beside = target.with_name(unfinished_name(target))
    rest = iter(pieces)
    first = next(rest, b"")  # an error in making it leaves not even a folder
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_abandoned(target)
        with open(beside, "wb") as out:
            out.writelines(itertools.chain([first], rest))
            out.flush()
            os.fsync(out.fileno())
        beside.replace(target)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def nearest_folder(path: str | os.PathLike[str]) -> Path:
    """What is there of the way to `path`, which is where it would begin to be written."""
    return next(place for place in Path(os.path.realpath(path)).parents if place.exists())


def writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def refuse_unwritable(path: str | os.PathLike[str], what: str) -> None:
    """An error now, before anything is computed, if nothing could be written at `path` later."""
    if not writable(near := nearest_folder(path)):
        raise DataError(f"cannot write the {what} {path}: {near} is not a folder that can be written to")


def unfinished_name(target: Path) -> str:
    """Hidden, and another each time: for what is to become `target`, beside it; what is left of one is cleared away."""
    return f".{target.name}.{secrets.token_hex(4)}"


def clear_abandoned(target: Path) -> None:
    """Remove what killed writers of `target` left beside it, of another day: a younger one may be still written."""
    for stale in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 8}"):  # see `unfinished_name`
        with contextlib.suppress(OSError):  # another's, perhaps, or just taken away
            if time.time() - stale.stat().st_mtime > 86_400:
                shutil.rmtree(stale) if stale.is_dir() else stale.unlink()


def csv_text(text: str) -> str:
    """A cell's text, with an apostrophe before it where a spreadsheet would run it."""
    return f"'{text}" if re.search(FORMULA, text) and not re.search(NUMBER, text) else text


def plain(value: object) -> object:
    """For `json.dumps`: numbers of numpy as numbers, anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)


def json_lines(values: Mapping[str, Any], *, sealed: bool = True) -> str:
    """One key a line, and of a list of dictionaries one entry: small, and readable in a diff; `sealed` with a digest."""
    lines = []
    for name, value in ({**values, DIGEST: digest_of(values)} if sealed else values).items():
        rows = [json.dumps(one, ensure_ascii=False, default=plain) for one in value] if isinstance(value, list) else []
        text = json.dumps(value, ensure_ascii=False, default=plain)
        if rows and isinstance(value[0], dict):
            text = "[\n    " + ",\n    ".join(rows) + "\n  ]"
        lines.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_json(path: Path, *, missing: str, again: str) -> Any:
    """The content of a JSON file. `missing`: the sentence where there is none; `again`: how a broken one is made anew."""
    try:
        entry = path.stat()
        if not stat.S_ISREG(entry.st_mode):  # who opens a pipe waits for its writer
            raise DataError(f"{path} is no file; {again}")
        if entry.st_size > LARGEST:
            raise ValueError(f"{entry.st_size:,} bytes")
        text = path.read_text("utf-8")
        values = json.loads(text)
        _refuse_hostile(values)
        if "\\ud" in text or "\\uD" in text:  # half of a letter cannot be written again
            json.dumps(values, ensure_ascii=False).encode()
        return values
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(missing) from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not readable JSON ({error}); {again}") from error


def _refuse_hostile(values: object) -> None:
    """A ValueError for what is deeper than any file of ours, and for whole numbers that overflow."""
    level = [values]
    for _ in range(DEEPEST):
        inside: list[object] = []
        for one in level:
            if isinstance(one, dict):
                inside += one.values()
            elif isinstance(one, list):
                inside += one
            elif isinstance(one, int) and not -(2**63) <= one < 2**63:
                raise ValueError("a number beyond 64 bits")
        if not inside:
            return
        level = inside
    raise ValueError(f"lists within lists, more than {DEEPEST}")


def digest_of(values: Mapping[str, Any]) -> str:
    """SHA-256 of what a JSON file holds, however its lines are laid out, but for the entry `DIGEST`."""
    rest = {name: value for name, value in values.items() if name != DIGEST}
    return hashlib.sha256(json.dumps(rest, default=plain).encode()).hexdigest()


def read_marked(path: Path, mark: str, version: int, *, missing: str, again: str, foreign: str) -> dict[str, Any]:
    """The same for a file with our mark in it; `foreign`: the sentence where it has another, or none."""
    values = read_json(path, missing=missing, again=again)
    if not isinstance(values, dict) or values.get("format") != mark:
        raise DataError(foreign)
    check_version(path, values, version, again=again)
    if DIGEST in values and values[DIGEST] != digest_of(values):  # earlier versions wrote none
        raise DataError(f"{path} is not as it was written (its SHA-256 differs); {again}")
    return values


def check_version(path: Path, values: Mapping[str, Any], version: int, *, again: str) -> None:
    """An error where a marked file is of another version than `version`."""
    own_version = values.get("format_version")
    if own_version != version:
        newer = isinstance(own_version, int) and own_version > version
        raise DataError(
            f"{path} has format version {own_version!r}, and this sahcns reads {version}; {'update it' if newer else again}"
        )
