"""Bytes of a file as whole lines: compression is recognised by its first bytes, and the file is hashed on the way."""

import bz2
import hashlib
import lzma
import os
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from typing import NamedTuple, Protocol

from sahcns.data.readers.faults import EmptyFile
from sahcns.errors import DataError

CHUNK = 4 << 20  # text handed on at a time: large enough for polars' threads, small beside the columns it becomes
BLOCK = 1 << 12  # compressed bytes fed at a time, and so the most that damage takes with it
LONGEST_LINE = 64 << 20
TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".gz", ".bz2", ".xz", ".zst")  # what a folder of a log's days holds


class Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> Decompressor:
    try:
        import zstandard
    except ImportError:
        raise DataError("a .zst file needs one more package; install it with: pip install 'sahcns[zstd]'") from None
    made: Decompressor = zstandard.ZstdDecompressor().decompressobj()
    return made


MAGIC: dict[bytes, tuple[str, Callable[[], Decompressor]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMADecompressor),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
}
FOREIGN = {
    b"PK\x03\x04": "is a zip archive; unpack it and read the file inside",
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8, for example: iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8, for example: iconv -f utf-16 -t utf-8",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save the sheet as CSV UTF-8",
    b"SQLite format 3": "is an SQLite database; export the table as CSV",
    b"\x89HDF": "is an HDF5 file; export the table as CSV or Parquet",
    b"%PDF": "is a PDF document, not a table",
}


class Chunk(NamedTuple):
    """Whole lines of text, the next of a file."""

    data: bytes
    last: bool


class TextFile:
    """One file of text lines, perhaps compressed; a pipe is copied to a temporary file, since it can be read only once.

    Known once it has been read: `sha256` of the bytes on disk; `damage`, why compressed data broke off, if it did; and
    `cut_line`, the line it broke off in.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content, self.size, self.magic = _open(path)
        known = [kind for magic, kind in MAGIC.items() if self.magic.startswith(magic)]
        self.compression = known[0][0] if known else None
        self._make = known[0][1] if known else None
        self._digest = hashlib.sha256()
        self.damage: str | None = None
        self.cut_line: int | None = None

    def __enter__(self) -> "TextFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.content.close()

    @property
    def table(self) -> Path | FileIO:
        """What polars can open as a table."""
        return self.path if self.path.is_file() else self.content

    def hash_all(self) -> str:
        """SHA-256 of the whole file, for one whose lines are not read."""
        self.content.seek(0)
        return hashlib.file_digest(self.content, "sha256").hexdigest()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def chunks(self) -> Iterator[Chunk]:
        """The text from its beginning, cut after line ends, without a byte order mark."""
        held, line, first = b"", 1, True
        for block in self._text():
            held = held + block if held else block
            if first and len(held) >= 3:
                held, first = held.removeprefix(b"\xef\xbb\xbf"), False
            if len(held) < CHUNK:
                continue
            end = held.rfind(b"\n") + 1
            if not end and len(held) > LONGEST_LINE:
                raise DataError(f"{self.path} has a line of more than {LONGEST_LINE >> 20} MB; it is not a text table")
            if end:
                yield Chunk(held[:end], False)
                line += held.count(b"\n", 0, end) if self.compression else 0
                held = held[end:]
        if self.damage:  # the half line at the end of broken data is not a row
            end = held.rfind(b"\n") + 1
            self.cut_line = line + held.count(b"\n") if held[end:] else None
            held = held[:end]
        yield Chunk(held, True)

    def _text(self) -> Iterator[bytes]:
        self._digest = hashlib.sha256()
        try:
            self.content.seek(0)
            if self._make is None:
                while block := self.content.read(CHUNK):
                    self._digest.update(block)
                    yield block
            else:
                yield from self._decompressed(iter(lambda: self.content.read(BLOCK), b""))
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def _decompressed(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        assert self._make is not None
        machine, ready, size = self._make(), list[bytes](), 0
        for block in blocks:
            self._digest.update(block)
            while block and not self.damage:
                if machine.eof:  # another member follows; zeros are padding
                    block = block.lstrip(b"\x00")
                    if not block:
                        break
                    machine = self._make()
                try:
                    ready.append(machine.decompress(block))
                    size += len(ready[-1])
                except Exception as error:  # each library has its own class, and bzip2 uses OSError
                    self.damage = f"the {self.compression} data is damaged ({error})"
                    break
                block = machine.unused_data if machine.eof else b""
            if size >= CHUNK // 4:
                yield b"".join(ready)
                ready, size = [], 0
        if not machine.eof and not self.damage:
            self.damage = f"the {self.compression} data ends before its end mark"
        yield b"".join(ready)


def _open(path: Path) -> tuple[FileIO, int, bytes]:
    """The open file, its size and its first bytes."""
    with ExitStack() as on_failure:
        try:
            if path.is_dir():
                raise DataError(f"{path} is a folder; {_inside(path)}")
            content: FileIO = on_failure.enter_context(path.open("rb", buffering=0))
            if not path.is_file():
                spooled = on_failure.enter_context(tempfile.TemporaryFile(buffering=0))
                with content:
                    shutil.copyfileobj(content, spooled, CHUNK)
                content = spooled
            size = content.seek(0, os.SEEK_END)
            content.seek(0)
            head = content.read(16)
        except FileNotFoundError:
            raise DataError(f"{path} does not exist{_beside(path)}") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        if not head:
            raise EmptyFile(f"{path} is empty; check the download or the command that wrote it", path)
        if head.startswith(b"PK\x03\x04") and _is_workbook(content):
            raise DataError(f"{path} is an Excel workbook; save the sheet as CSV UTF-8")
        for magic, what in FOREIGN.items():
            if head.startswith(magic):
                raise DataError(f"{path} {what}")
        on_failure.pop_all()
        return content, size, head


def _inside(folder: Path) -> str:
    """What to name instead: the file in it, or, of several, those of the most frequent ending and other tables."""
    there = sorted(child.name for child in folder.iterdir() if not child.name.startswith((".", "_")))
    endings = Counter(Path(name).suffix for name in there)
    if endings and (often := endings.most_common(1)[0])[1] > 1:
        others = (ending for ending in endings if ending in TABLES and ending != often[0])
        files = " ".join(str(folder / f"*{ending}") for ending in (often[0], *others))
        return f"give the files inside it, which are read as one: {files}"
    return f"name the file inside it ({', '.join(there[:6]) or 'it is empty'})"


def _is_workbook(content: FileIO) -> bool:
    import zipfile

    try:
        with zipfile.ZipFile(content) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _beside(path: Path) -> str:
    try:
        there = sorted(child.name for child in path.parent.iterdir() if child.is_file())
    except OSError:
        return f", and neither does the folder {path.parent}"
    import difflib

    close = difflib.get_close_matches(path.name, there, n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else f"; the folder holds: {', '.join(there[:6]) or 'nothing'}"
