"""One file over HTTP: resumed after a cut, verified, and never half there. Hand-written: no dependency does all three.

The bytes arrive in `NAME.part`, whose time is that of the file on the server: a later call asks for the rest with Range
and If-Range, so a file that changed meanwhile starts over. Only a complete file of the right checksum is renamed to NAME.
"""

import hashlib
import http.client
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path

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
    part = target.with_name(f"{target.name}.part")
    with lock(target.parent, 0) as held:
        if not held:
            raise DownloadError(f"another download into {target.parent} is under way; wait for it to end")
        resumed, idle = _size(part) > 0, 0
        while True:
            before = _size(part)
            try:
                _transfer(url, part, report, timeout)
            except _Interrupted as problem:
                idle = 0 if _size(part) > before else idle + 1
                if idle >= tries:
                    raise DownloadError(f"could not download {url}: {problem}") from None
                time.sleep(pause * 2 ** max(idle - 1, 0))
                continue
            if sha256 is None or (found := file_sha256(part)) == sha256:
                os.replace(part, target)
                return target
            part.unlink()
            resumed, whole = False, not resumed
            if whole:  # else the old bytes may be the bad ones, so the second opinion is a whole new copy
                raise DownloadError(f"{url} is not the expected file: its SHA-256 is {found}, not {sha256}")


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _transfer(url: str, part: Path, report: Report, timeout: float) -> None:
    """One request; returns when the part is complete."""
    headers = {"User-Agent": f"sahcns/{__version__}", "Accept-Encoding": "identity"}
    if size := _size(part):
        headers |= {"Range": f"bytes={size}-", "If-Range": formatdate(part.stat().st_mtime, usegmt=True)}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout) as response:
            done = size if response.status == 206 else 0
            if done and not response.headers.get("Content-Range", "").startswith(f"bytes {size}-"):
                part.unlink()
                raise _Interrupted("the server sent another range than was asked for")
            length, changed = response.headers.get("Content-Length"), response.headers.get("Last-Modified")
            total = done + int(length) if length and length.isdecimal() else None
            try:
                with part.open("ab" if done else "wb") as file:
                    report(done, total)
                    while block := response.read(CHUNK):
                        file.write(block)
                        done += len(block)
                        report(done, total)
            finally:
                if changed:
                    os.utime(part, (time.time(), parsedate_to_datetime(changed).timestamp()))
                elif done != total:
                    part.unlink()  # nothing says to which version of the file it belongs
        if total is not None and done != total:
            raise _Interrupted(f"the connection was cut after {done:,} of {total:,} bytes")
    except urllib.error.HTTPError as problem:
        problem.close()
        if problem.code == 416:  # our part is longer than the file is now
            part.unlink(missing_ok=True)
        status = f"answered {problem.code} {problem.reason}"
        temporary = problem.code in TEMPORARY
        raise (_Interrupted(f"the server {status}") if temporary else DownloadError(f"{url} {status}")) from None
    except (OSError, http.client.HTTPException) as problem:
        reason = problem.reason if isinstance(problem, urllib.error.URLError) else problem
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise DownloadError(f"{url} has no valid certificate ({reason})") from None
        if isinstance(reason, TimeoutError):
            raise _Interrupted("the server did not answer in time") from None
        text = "the connection was cut" if isinstance(reason, http.client.IncompleteRead) else str(reason)
        raise _Interrupted(getattr(reason, "strerror", None) or text) from None
