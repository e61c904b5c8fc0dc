"""Many frames as one Parquet file, without ever holding all of them."""

import io
import os
import shutil
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sahcns.files import unfinished_name

if TYPE_CHECKING:
    import polars as pl

PIECE = 1 << 20  # bytes handed on at a time


def parquet_pieces(frames: Iterable["pl.DataFrame"], target: Path) -> Generator[bytes, None, None]:
    """The bytes of the file; `frames`, at least one, have one schema.

    polars writes a Parquet file in one go, or streams one from others. So each frame is a file first, in a hidden folder
    beside `target`, which is gone when the last piece is taken, or when this is closed.
    """
    import polars as pl

    home = Path(os.path.realpath(target)).parent
    while not home.exists():
        home = home.parent
    beside = home / unfinished_name(target)
    beside.mkdir()
    try:
        parts = list[Path]()
        for frame in frames:
            parts.append(beside / f"{len(parts)}.parquet")
            content = io.BytesIO()
            frame.write_parquet(content)
            parts[-1].write_bytes(content.getvalue())
        whole = beside / "whole.parquet"
        # The names are these files and nothing else: neither a [1] nor a year=2020 in the name of a folder means anything.
        try:
            pl.scan_parquet(parts, glob=False, hive_partitioning=False).sink_parquet(whole)
        except pl.exceptions.ComputeError as error:  # so polars calls a full disk
            raise OSError(str(error)) from error
        for part in parts:
            part.unlink()
        with open(whole, "rb") as made:
            while piece := made.read(PIECE):
                yield piece
    finally:
        shutil.rmtree(beside, ignore_errors=True)
