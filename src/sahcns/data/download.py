"""One file over HTTP: resumed after a cut, verified, and never half there. Hand-written: no dependency does all three.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sahcns.errors import DataError
from sahcns.folders import lock
from sahcns.version import __version__

Report = Callable[[int, int | None], None]
"""Called with the bytes there so far and the bytes in all (None when the server does not say)."""

CHUNK = 1 << 18
TEMPORARY = {408, 416, 425, 429, 500, 502, 503, 504}  # statuses that another try may cure


class DownloadError(DataError):
    """The file could not be had from its address; the message says why."""


class _Interrupted(Exception):
    """The transfer stopped early; what arrived is kept and another try may finish it."""


@dataclass(frozen=True)
class _Part:
    """The bytes that have arrived of `url`, and a note of the version of the file that they belong to."""

    url: str
    path: Path

    @property
    def _note_path(self) -> Path:
        return self.path.with_name(self.path.name + ".json")

    @property
    def note(self) -> dict[str, Any]:
        try:
            note: dict[str, Any] = json.loads(self._note_path.read_text())
            return note if note["url"] == self.url and note["validator"] else {}
        except (OSError, ValueError, TypeError, KeyError):
            return {}

    def write_note(self, validator: str | None, total: int | None) -> None:
        self._note_path.write_text(json.dumps({"url": self.url, "validator": validator, "total": total}))

    @property
    def size(self) -> int:
        """Bytes that a new request can go on from."""
        return self.path.stat().st_size if self.note and self.path.exists() else 0

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._note_path.unlink(missing_ok=True)

    def rename(self, target: Path) -> None:
        os.replace(self.path, target)
        self._note_path.unlink(missing_ok=True)


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
    part = _Part(url, target.with_name(target.name + ".part"))
    with lock(target.parent, 0) as held:
        if not held:
            raise DownloadError(f"another download into {target.parent} is under way; wait for it to end")
        resumed = part.size > 0
        _transfer_with_retries(part, report, timeout, tries, pause)
        if sha256 and resumed and file_sha256(part.path) != sha256:
            part.discard()  # the old bytes may be the bad ones, so the second opinion is a whole new copy
            _transfer_with_retries(part, report, timeout, tries, pause)
        if sha256 and (found := file_sha256(part.path)) != sha256:
            part.discard()
            raise DownloadError(f"{url} is not the expected file: its SHA-256 is {found}, not {sha256}")
        part.rename(target)
    return target


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _transfer_with_retries(part: _Part, report: Report, timeout: float, tries: int, pause: float) -> None:
    most, idle = part.size, 0
    while True:
        try:
            return _transfer(part, report, timeout)
        except _Interrupted as problem:
            idle = 0 if part.size > most else idle + 1
            most = max(most, part.size)
            if idle >= tries:
                raise DownloadError(f"could not download {part.url}: {problem}") from None
            time.sleep(pause * 2 ** max(idle - 1, 0))


def _transfer(part: _Part, report: Report, timeout: float) -> None:
    """One request; returns when the part is complete."""
    note, size = part.note, part.size
    if size and note["total"] == size:
        return
    headers = {"User-Agent": f"sahcns/{__version__}", "Accept-Encoding": "identity"}
    if size:
        headers |= {"Range": f"bytes={size}-", "If-Range": note["validator"]}
    with _request(part, headers, timeout) as response:
        done = 0
        if response.status == 206:
            first = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
            if not first or int(first[1]) != size:
                part.discard()
                raise _Interrupted("the server sent another range than was asked for")
            done = size
        length = response.headers.get("Content-Length")
        total = done + int(length) if length and length.isdecimal() else None
        # If-Range may carry a strong ETag, else the date; a weak ETag does not promise equal bytes.
        etag = response.headers.get("ETag")
        part.write_note(etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified"), total)
        with part.path.open("r+b" if done else "wb") as file:
            file.seek(done)
            report(done, total)
            while block := response.read(CHUNK):
                file.write(block)
                done += len(block)
                report(done, total)
            file.flush()
            os.fsync(file.fileno())
    if total is not None and done != total:
        raise _Interrupted(f"the connection was cut after {done:,} of {total:,} bytes")


@contextmanager
def _request(part: _Part, headers: dict[str, str], timeout: float) -> Iterator[http.client.HTTPResponse]:
    """The response; what another try may cure is `_Interrupted`."""
    try:
        with urllib.request.urlopen(urllib.request.Request(part.url, headers=headers), timeout=timeout) as response:
            yield response
    except urllib.error.HTTPError as problem:
        problem.close()
        if problem.code == 416:  # our part is longer than the file is now
            part.discard()
        status = f"answered {problem.code} {problem.reason}"
        raise (
            _Interrupted(f"the server {status}") if problem.code in TEMPORARY else DownloadError(f"{part.url} {status}")
        ) from None
    except (OSError, http.client.HTTPException) as problem:
        reason = problem.reason if isinstance(problem, urllib.error.URLError) else problem
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise DownloadError(f"{part.url} has no valid certificate ({reason})") from None
        timed_out = isinstance(reason, TimeoutError)
        raise _Interrupted("the server did not answer in time" if timed_out else _describe(reason)) from None


def _describe(reason: object) -> str:
    if isinstance(reason, http.client.IncompleteRead):
        return "the connection was cut"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror[0].lower() + reason.strerror[1:]
    return str(reason) or type(reason).__name__
