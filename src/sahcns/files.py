"""A file written whole or not at all."""

import contextlib
import os
import secrets
from pathlib import Path

from sahcns.errors import DataError


def write_whole(path: str | os.PathLike[str], content: str | bytes, what: str = "file") -> Path:
    """Write beside the place, bring it to the disk, rename: a reader sees the former file or the new one, never half."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(target)
    except OSError as error:
        raise DataError(f"cannot write the {what} {target}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    return target
