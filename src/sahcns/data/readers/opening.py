"""A file as whole lines of text, read once: compression is recognised by its first bytes, and a hash is taken on the way.

The streams are fed by hand, not through `gzip.open` and its kin, which drop what follows a damaged member in silence.
"""

import bz2
import codecs
import difflib
import hashlib
import lzma
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from sahcns.data.readers.checks import EmptyFile
from sahcns.errors import DataError

CHUNK = 4 << 20  # bytes of text passed on at a time: large enough for polars' threads, small beside the columns
BLOCK = 1 << 12  # compressed bytes fed at a time, and so the most that damage takes with it
LONGEST_LINE = 64 << 20
UTF16 = "is UTF-16 text; say so with encoding='utf-16'"
FOREIGN = {
    b"PK\x03\x04": "is a zip archive or an Excel workbook; unpack it, or save the sheet as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save the sheet as CSV UTF-8",
    b"\xff\xfe": UTF16,
    b"\xfe\xff": UTF16,
}


def _zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise DataError("a .zst file needs one more package; install it with: pip install 'sahcns[zstd]'") from None
    return zstandard.ZstdDecompressor().decompressobj()


COMPRESSIONS: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMADecompressor),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
}


class Chunk(NamedTuple):
    """Whole lines of text, the next of a file."""

    data: bytes
    last: bool


class InputFile:
    """One open file, perhaps compressed; a pipe is copied to a temporary file, since it can be read only once.

    Known once `chunks` is exhausted: `sha256` of the bytes on disk; `damage`, why compressed data broke off, if it did;
    and `cut_line`, the line it broke off in.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path, self.name = path, shown(path)
        self.encoding = encoding
        self.content, self.size, self.first_bytes = _open(path, encoding)
        matching = [kind for magic, kind in COMPRESSIONS.items() if self.first_bytes.startswith(magic)]
        self.compression = matching[0][0] if matching else None
        self._decompressor = matching[0][1] if matching else None
        self._digest = hashlib.sha256()
        self.damage: str | None = None
        self.cut_line: int | None = None

    def __enter__(self) -> "InputFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.content.close()

    @property
    def table(self) -> Path | FileIO:
        """What polars can open as Parquet."""
        return self.path if self.path.is_file() else self.content

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def hash_all(self) -> None:
        """Take `sha256` of a file whose lines are not read."""
        self.content.seek(0)
        self._digest = hashlib.file_digest(self.content, hashlib.sha256)

    def chunks(self) -> Iterator[Chunk]:
        """The text as UTF-8 from its beginning, cut after line ends, without a byte order mark."""
        rest, line, first = b"", 1, True
        for block in self._bytes() if self.encoding is None else self._decoded(self.encoding):
            rest = rest + block if rest else block
            if first and len(rest) >= 3:
                rest, first = rest.removeprefix(codecs.BOM_UTF8), False
            if len(rest) < CHUNK:
                continue
            end = rest.rfind(b"\n") + 1
            if not end and len(rest) > LONGEST_LINE:
                raise DataError(f"{self.name} has a line of more than {LONGEST_LINE >> 20} MB; it is not a text table")
            if end:
                yield Chunk(rest[:end], False)
                line += rest.count(b"\n", 0, end) if self.compression else 0
                rest = rest[end:]
        if self.damage:  # the half line at the end of broken data is not a row
            end = rest.rfind(b"\n") + 1
            self.cut_line = line + rest.count(b"\n") if rest[end:] else None
            rest = rest[:end]
        yield Chunk(rest, True)

    def _decoded(self, encoding: str) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            for block in self._bytes():
                yield decoder.decode(block).encode()
            if not self.damage:
                yield decoder.decode(b"", final=True).encode()
        except UnicodeError as error:
            reason = getattr(error, "reason", error)
            raise DataError(f"{self.name} is not text in {encoding} ({reason}); give its encoding=") from None

    def _bytes(self) -> Iterator[bytes]:
        self._digest = hashlib.sha256()
        try:
            self.content.seek(0)
            if self._decompressor is None:
                while block := self.content.read(CHUNK):
                    self._digest.update(block)
                    yield block
            else:
                yield from self._decompress(self._decompressor)
        except OSError as error:
            raise DataError(f"{self.name} cannot be read: {error.strerror or error}") from None

    def _decompress(self, make: Callable[[], Any]) -> Iterator[bytes]:
        decompressor, pieces, size = make(), list[bytes](), 0
        while block := self.content.read(BLOCK):
            self._digest.update(block)
            while block and not self.damage:
                if decompressor.eof:  # another member follows; zeros are padding
                    block = block.lstrip(b"\x00")
                    if not block:
                        break
                    decompressor = make()
                try:
                    pieces.append(decompressor.decompress(block))
                    size += len(pieces[-1])
                except Exception as error:  # each library has its own class, and bzip2 uses OSError
                    self.damage = f"the {self.compression} data is damaged ({error})"
                    break
                block = decompressor.unused_data if decompressor.eof else b""
            if size >= CHUNK // 4:
                yield b"".join(pieces)
                pieces, size = [], 0
        if not decompressor.eof and not self.damage:
            self.damage = f"the {self.compression} data ends before its end mark"
        yield b"".join(pieces)


def shown(path: Path) -> str:
    """Its name as text, whatever bytes it is made of."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _open(path: Path, encoding: str | None) -> tuple[FileIO, int, bytes]:
    """The open file, its size and its first bytes."""
    with ExitStack() as on_failure:
        try:
            if path.is_dir():
                raise DataError(f"{path} is a folder without Parquet files; give the files inside it: {_names(path)}")
            if path.is_char_device() or path.is_block_device():  # which may never end; a pipe does
                raise DataError(f"{path} is a device or a terminal, not a file; give a file or a pipe")
            content = on_failure.enter_context(path.open("rb", buffering=0))
            if not path.is_file():
                copy = on_failure.enter_context(tempfile.TemporaryFile(buffering=0))
                with content:
                    shutil.copyfileobj(content, copy, CHUNK)
                content = copy
            size = content.seek(0, os.SEEK_END)
            content.seek(0)
            first_bytes = content.read(16)
        except FileNotFoundError:
            raise DataError(f"{path} does not exist; {_hint(path)}") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        if not first_bytes:
            raise EmptyFile(f"{path} is empty; check the download or the command that wrote it")
        for magic, reason in FOREIGN.items():
            if first_bytes.startswith(magic) and not (encoding and reason == UTF16):
                raise DataError(f"{path} {reason}")
        on_failure.pop_all()
        return content, size, first_bytes


def _hint(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    close = difflib.get_close_matches(path.name, [child.name for child in path.parent.iterdir()], n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else f"the folder holds: {_names(path.parent)}"


def _names(folder: Path) -> str:
    names = sorted(child.name for child in folder.iterdir() if not child.name.startswith((".", "_")))
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "") or "nothing"
