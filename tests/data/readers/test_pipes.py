"""A pipe can be read only once: whatever arrives through one is read as the same file would be."""

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from sahcns.data.readers import read
from tests.data.readers.soundness import pairs

ROWS = [(k % 97, k * 7919 % 1009) for k in range(40_000)]  # several times what a pipe holds
TEXT = b"user,item,name\n" + b"".join(b"%d,%d,n%d\n" % (user, item, item) for user, item in ROWS)


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
    made = read(fifo(TEXT))
    assert pairs(made) == ROWS
    assert made.source["files"][0]["bytes"] == len(TEXT)


def test_compressed_content(fifo: Callable[[bytes], Path]) -> None:
    assert pairs(read(fifo(gzip.compress(TEXT)))) == ROWS


def test_a_title_column_and_a_title_file(fifo: Callable[[bytes], Path]) -> None:
    titles = read(fifo(TEXT), title="name").titles
    assert titles is not None
    assert titles[5] == "n5"
    titles = read(fifo(TEXT), title=fifo(b"id,title\n5,Five\n")).titles
    assert titles is not None
    assert titles[5] == "Five"


def test_parquet(fifo: Callable[[bytes], Path], tmp_path: Path) -> None:
    pl.DataFrame(ROWS, schema=["user", "item"], orient="row").write_parquet(tmp_path / "file")
    assert pairs(read(fifo((tmp_path / "file").read_bytes()))) == ROWS


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_standard_input(pack: Callable[[bytes], bytes]) -> None:
    script = "from sahcns.data.readers import read; made = read('/dev/stdin'); print(len(made), made.users.sum())"
    done = subprocess.run([sys.executable, "-c", script], input=pack(TEXT), capture_output=True, check=True)
    assert done.stdout.split() == [b"%d" % len(ROWS), b"%d" % sum(user for user, _ in ROWS)]
