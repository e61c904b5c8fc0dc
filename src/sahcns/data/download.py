"""One file over HTTP: resumed after a cut, verified, and never half there.

The bytes arrive in `NAME.part`; `NAME.part.json` remembers which version of the file they belong to (its ETag or
date). A later call asks for the rest with Range and If-Range, so a file that changed meanwhile starts over. Only a
complete file of the right checksum is renamed to NAME.
"""

import hashlib
import http.client
import json
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from sahcns.errors import DataError
from sahcns.version import __version__

Report = Callable[[int, int | None], None]
"""Called with the bytes there so far and the bytes in all (None when the server does not say)."""

CHUNK = 1 << 18
PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers that another try may cure


class DownloadError(DataError):
    """The file could not be had from its address; the message says why."""


class _Cut(Exception):
    """The transfer stopped early; what arrived is kept and another try may finish it."""


@dataclass(frozen=True)
class _Note:
    """What the bytes in the `.part` file are a part of."""

    url: str
    validator: str | None
    total: int | None


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    report: Report = lambda done, total: None,
    timeout: float = 30.0,
    tries: int = 3,
    pause: float = 0.5,
) -> Path:
    """Download `url` to `target`, going on from where an earlier call was cut.

    `tries` counts attempts in a row that bring nothing new; between them it waits `pause`, twice that, and so on.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with _alone(target.parent):
        resumed = _have(part, url) > 0
        _persist(url, part, report, timeout, tries, pause)
        if sha256 and resumed and file_sha256(part) != sha256:
            _discard(part)  # the old bytes may be the bad ones, so the second opinion is a whole new copy
            _persist(url, part, report, timeout, tries, pause)
        if sha256 and (found := file_sha256(part)) != sha256:
            _discard(part)
            raise DownloadError(f"{url} is not the expected file: its SHA-256 is {found}, not {sha256}")
        os.replace(part, target)
        _note_path(part).unlink(missing_ok=True)
    return target


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _persist(url: str, part: Path, report: Report, timeout: float, tries: int, pause: float) -> None:
    most, idle = _have(part, url), 0
    while True:
        try:
            return _transfer(url, part, report, timeout)
        except _Cut as problem:
            have = _have(part, url)
            idle = 0 if have > most else idle + 1
            most = max(most, have)
            if idle >= tries:
                raise DownloadError(f"could not download {url}: {problem}") from None
            time.sleep(pause * 2 ** max(idle - 1, 0))


def _transfer(url: str, part: Path, report: Report, timeout: float) -> None:
    """One request; returns when `part` is complete."""
    note, have = _read_note(part), _have(part, url)
    if note and have and note.total == have:
        return
    headers = {"User-Agent": f"sahcns/{__version__}", "Accept-Encoding": "identity"}
    if note and note.validator and have:
        headers |= {"Range": f"bytes={have}-", "If-Range": note.validator}
    with _open(urllib.request.Request(url, headers=headers), part, timeout) as answer:
        start = 0
        if answer.status == 206:
            start, first = have, re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
            if not first or int(first[1]) != have:
                _discard(part)
                raise _Cut("the server sent another range than was asked for")
        length = answer.headers.get("Content-Length")
        total = start + int(length) if length and length.isdecimal() else None
        _note_path(part).write_text(json.dumps(asdict(_Note(url, _validator(answer), total))))
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            done = start
            report(done, total)
            while block := _read(answer):
                file.write(block)
                done += len(block)
                report(done, total)
            file.flush()
            os.fsync(file.fileno())
    if total is not None and done != total:
        raise _Cut(f"the connection was cut after {done:,} of {total:,} bytes")


@contextmanager
def _open(request: urllib.request.Request, part: Path, timeout: float) -> Iterator[http.client.HTTPResponse]:
    try:
        answer = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as problem:
        problem.close()
        if problem.code == 416:  # our part is longer than the file is now
            _discard(part)
        if problem.code == 416 or problem.code in PASSING:
            raise _Cut(f"the server answered {problem.code} {problem.reason}") from None
        raise DownloadError(f"{request.full_url} answered {problem.code} {problem.reason}") from None
    except urllib.error.URLError as problem:
        if isinstance(problem.reason, ssl.SSLCertVerificationError):
            raise DownloadError(f"{request.full_url} has no valid certificate ({problem.reason})") from None
        raise _Cut(_why(problem.reason)) from None
    except (OSError, http.client.HTTPException) as problem:
        raise _Cut(_why(problem)) from None
    with answer:
        yield answer


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(CHUNK)
    except http.client.IncompleteRead:
        raise _Cut("the connection was cut") from None
    except (OSError, http.client.HTTPException) as problem:
        raise _Cut(_why(problem)) from None


def _why(problem: object) -> str:
    if isinstance(problem, TimeoutError):
        return "the server did not answer in time"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror[0].lower() + problem.strerror[1:]
    return str(problem) or type(problem).__name__


def _validator(answer: http.client.HTTPResponse) -> str | None:
    """What If-Range may carry: a strong ETag, else the date; a weak ETag does not promise equal bytes."""
    etag = answer.headers.get("ETag")
    return etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified")


def _note_path(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_note(part: Path) -> _Note | None:
    try:
        return _Note(**json.loads(_note_path(part).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _have(part: Path, url: str) -> int:
    """Bytes of this very file that a new request can go on from."""
    note = _read_note(part)
    return part.stat().st_size if note and note.url == url and note.validator and part.exists() else 0


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note_path(part).unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder, so that two commands never write into one `.part` file."""
    try:
        import fcntl
    except ImportError:  # Windows: no such lock; the checksum still guards the result
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise DownloadError(f"another download into {folder} is under way; wait for it to end") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(handle)
