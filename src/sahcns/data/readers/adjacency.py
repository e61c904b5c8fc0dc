"""LightGCN's text: `user item item …` on each line, separated by blanks; every pair is a row."""

import re
from collections.abc import Iterator

import numpy as np

from sahcns.data.readers.faults import Where
from sahcns.data.readers.gathering import Gathered
from sahcns.data.readers.line_by_line import decodes, not_utf8
from sahcns.data.readers.opening import Chunk
from sahcns.data.readers.values import Batch


def read_adjacency(chunks: Iterator[Chunk], where: Where, into: Gathered) -> int:
    """All pairs of one file; returns how many lines name a user and no item (LightGCN's files have some)."""
    import polars as pl

    alone, line = 0, 1
    for chunk in chunks:
        users: list[str] = []
        items: list[str] = []
        counts: list[int] = []
        lines: list[int] = []
        valid = decodes(chunk.data)
        for at, text in enumerate(chunk.data.decode("utf-8", "surrogateescape").split("\n")):
            tokens = re.split("[ \t]+", text.removesuffix("\r").strip(" \t"))
            if tokens == [""]:
                continue
            wrong = None if valid else not_utf8(text)
            if wrong:
                into.faults.rows_read += 1
                into.faults.row(where, line + at, wrong, value=text)
            elif len(tokens) == 1:
                alone += 1
            else:
                users.append(tokens[0])
                items.extend(tokens[1:])
                counts.append(len(tokens) - 1)
                lines.append(line + at)
        if items:
            repeated = np.repeat(np.arange(len(users)), counts)
            user = pl.Series(users, dtype=pl.String).gather(repeated)
            where_each = np.array(lines, np.int64)[repeated]
            into.add(Batch(user, pl.Series(items, dtype=pl.String), None, None, where_each, where))
        line += chunk.data.count(b"\n")
    return alone
