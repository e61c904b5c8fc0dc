"""Compressed files, damaged files and pipes: no row is lost in silence."""

import bz2
import gzip
import hashlib
import lzma
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard

from sahcns.data import load_split, prepare, save_split
from sahcns.data.readers import read
from sahcns.errors import DataError
from tests.data.readers.soundness import assert_sound, pairs

ROWS = [(k % 97, k * 7919 % 1009) for k in range(6000)]
TEXT = b"user,item\n" + b"".join(b"%d,%d\n" % row for row in ROWS)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("kind", PACK)
def test_compressed_files(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sahcns.data.readers.opening.CHUNK", 5000)
    path = tmp_path / "ratings.csv"  # the name says nothing
    packed = PACK[kind](TEXT)
    path.write_bytes(packed)
    made = read(path)
    assert_sound(made)
    assert pairs(made) == ROWS
    assert made.source["compression"] == kind
    assert made.source["files"][0]["sha256"] == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize("kind", PACK)
def test_several_members_in_one_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "joined"
    path.write_bytes(PACK[kind](TEXT[:20000]) + PACK[kind](TEXT[20000:]))
    assert pairs(read(path)) == ROWS


@pytest.mark.parametrize("kind", PACK)
def test_truncated_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "cut.csv"
    packed = PACK[kind](TEXT)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    with pytest.raises(DataError, match=rf"cut\.csv.*: the {kind} data ends before its end mark.*; download it again"):
        read(path)
    if kind in ("bzip2", "zstd"):  # one block holds everything, so nothing can be read
        with pytest.raises(DataError, match="ends before its end mark"):
            read(path, lenient=True)
        return
    made = read(path, lenient=True)
    assert_sound(made)
    assert 0 < len(made) < 6000
    assert pairs(made) == ROWS[: len(made)]
    assert "ends before its end mark" in made.source["files"][0]["damage"]


def test_a_flipped_byte_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "bad.gz"
    packed = bytearray(gzip.compress(TEXT))
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)
    with pytest.raises(DataError, match=r"bad\.gz.*: the gzip data is damaged"):
        read(path)


def test_cut_row_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    machine_made = gzip.compress(b"user,item\n1,2\n3,4\n5,6", compresslevel=0)
    path.write_bytes(machine_made[:-8])  # the checksum and length are gone, and the last row has no end
    made = read(path, lenient=True)
    assert_sound(made)
    assert pairs(made) == [(1, 2), (3, 4)]
    assert made.source["skipped"].keys() == {"cut short"}
    assert made.source["skipped"]["cut short"]["first_line"] == 4


def test_a_line_longer_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sahcns.data.readers.opening.CHUNK", 100)
    path = tmp_path / "wide"
    path.write_text("0 " + " ".join(map(str, range(500))) + "\n1 2 3\n2 7\n")
    made = read(path)
    assert len(made) == 503
    monkeypatch.setattr("sahcns.data.readers.opening.LONGEST_LINE", 1000)
    with pytest.raises(DataError, match="it is not a text table"):
        read(path)


def test_a_workbook_is_called_by_its_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "new.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    (tmp_path / "old.xls").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1"))
    for name in ("new.xlsx", "old.xls"):
        with pytest.raises(DataError, match=f"{name} is an? .*Excel workbook"):
            read(tmp_path / name)


MANY = [(k % 97, k * 7919 % 1009) for k in range(40_000)]  # several times what a pipe holds
NAMED = b"user,item,name\n" + b"".join(b"%d,%d,n%d\n" % (user, item, item) for user, item in MANY)


@pytest.fixture
def fifo(tmp_path: Path) -> Callable[[bytes], Path]:
    """A named pipe into which some bytes are written by another thread."""

    def made(content: bytes) -> Path:
        path = tmp_path / f"pipe{len(list(tmp_path.iterdir()))}"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
        return path

    return made


def test_a_fifo(fifo: Callable[[bytes], Path]) -> None:
    made = read(fifo(NAMED))
    assert pairs(made) == MANY
    assert made.source["files"][0]["bytes"] == len(NAMED)


def test_a_title_column_and_a_title_file(fifo: Callable[[bytes], Path]) -> None:
    titles = read(fifo(NAMED), title="name").titles
    assert titles is not None
    assert titles[5] == "n5"
    titles = read(fifo(NAMED), title=fifo(b"id,title\n5,Five\n")).titles
    assert titles is not None
    assert titles[5] == "Five"


def test_parquet(fifo: Callable[[bytes], Path], tmp_path: Path) -> None:
    pl.DataFrame(MANY, schema=["user", "item"], orient="row").write_parquet(tmp_path / "file")
    assert pairs(read(fifo((tmp_path / "file").read_bytes()))) == MANY


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_standard_input(pack: Callable[[bytes], bytes]) -> None:
    script = "from sahcns.data.readers import read; made = read('/dev/stdin'); print(len(made), made.users.sum())"
    done = subprocess.run([sys.executable, "-c", script], input=pack(NAMED), capture_output=True, check=True)
    assert done.stdout.split() == [b"%d" % len(MANY), b"%d" % sum(user for user, _ in MANY)]


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read(name: str) -> None:
    with pytest.raises(DataError, match=f"{name} is a device"):
        read(name)


def test_a_folder_of_parquet_files_and_a_pattern(tmp_path: Path) -> None:
    for month, rows in (("month=1", MANY[:5]), ("month=2", MANY[5:9]), ("_delta_log", MANY[:3])):
        (tmp_path / "orders" / month).mkdir(parents=True)
        pl.DataFrame(rows, schema=["user", "item"], orient="row").write_parquet(
            tmp_path / "orders" / month / "part.parquet"
        )
    os.mkfifo(tmp_path / "orders" / "pipe.parquet")
    assert pairs(read(tmp_path / "orders")) == MANY[:9]
    assert pairs(read(str(tmp_path / "orders" / "month=?" / "*.parquet"))) == MANY[:9]
    with pytest.raises(DataError, match="holds: orders"):
        read(str(tmp_path / "*.csv"))


def test_the_file_whose_columns_differ_is_named(tmp_path: Path) -> None:
    """One that calls items otherwise may mean something else by it; case and punctuation mean nothing."""
    for name, columns in (("b", "user_id,item_id"), ("a", "User ID,ITEM_ID"), ("c", "user_id,sku")):
        (tmp_path / f"{name}.csv").write_text(f"{columns}\n{name},1\n")
    assert pairs(read(str(tmp_path / "[ba].csv"))) == [("a", 1), ("b", 1)]  # by name
    with pytest.raises(DataError, match=r"c\.csv has 'sku' as its item column and .*a\.csv has 'ITEM_ID'"):
        read(str(tmp_path / "*.csv"))
    (tmp_path / "c.csv").write_text("user_id\nc\n")
    with pytest.raises(DataError, match=r"c\.csv"):
        read(str(tmp_path / "*.csv"))
    (tmp_path / "c.csv").write_text("user_id,item_id,rating\nc,1,5\n")
    with pytest.raises(DataError, match=r"c\.csv has a rating column"):
        read(str(tmp_path / "*.csv"))


def test_a_name_that_is_no_text_stays_out_of_the_manifest(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    path.write_bytes(TEXT)
    made = prepare(read(path))
    assert load_split(save_split(made, tmp_path / "set")).fingerprint == made.fingerprint
