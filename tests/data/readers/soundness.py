"""What must hold for every `Interactions` a reader returns, whatever the file."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.data.ids import IdMap, Texts
from sahcns.data.interactions import Interactions, fold_case


def assert_sound(made: Interactions) -> None:
    """Positions in range, ids sorted and all in use, numbers finite, and every row accounted for."""
    rows = len(made)
    assert rows > 0
    for positions, ids in ((made.users, made.user_ids), (made.items, made.item_ids)):
        assert positions.dtype == np.int32
        assert len(positions) == rows
        assert np.array_equal(np.unique(positions), np.arange(len(ids)))
        assert sorted_without_repeats(ids)
    if made.ratings is not None:
        assert made.ratings.dtype == np.float32
        assert len(made.ratings) == rows
        assert not np.isinf(made.ratings).any()
        assert np.isnan(made.ratings).sum() == made.source.get("missing", {}).get("rating", {"rows": 0})["rows"]
    if made.times is not None:
        assert made.times.dtype == np.int64
        assert len(made.times) == rows
    if made.nanoseconds is not None:
        assert made.times is not None
        assert made.nanoseconds.dtype == np.int32
        assert len(made.nanoseconds) == rows
        assert made.nanoseconds.min() >= 0
        assert 0 < made.nanoseconds.max() < 10**9
    if made.events is not None:
        assert len(made.events.codes) == rows
        assert sum(made.events.counts().values()) == rows
        assert len({fold_case(name) for name in made.events.names}) == len(made.events.names)
    if made.titles is not None:
        assert len(made.titles) == len(made.item_ids)
    source = json.loads(json.dumps(made.source))
    skipped = sum(found["rows"] for found in source["skipped"].values())
    assert source["rows_read"] == rows + skipped
    assert source["rows_skipped"] == skipped
    if source["files"]:
        assert sum(entry["rows_read"] for entry in source["files"]) == source["rows_read"]
        assert sum(entry["rows"] for entry in source["files"]) == rows


def sorted_without_repeats(ids: IdMap) -> bool:
    if isinstance(ids.values, np.ndarray):
        return ids.values.dtype == np.int64 and bool((ids.values[1:] > ids.values[:-1]).all())
    raw = [ids.values.raw(k) for k in range(len(ids))]
    assert all(text.decode().strip(" \t\r\n") for text in raw)
    return raw == sorted(set(raw))


def values(column: npt.NDArray[Any] | Texts | None) -> list[Any] | None:
    """A column as a list, or None where there is none."""
    return None if column is None else [column[k] for k in range(len(column))]


def kinds(made: Interactions) -> list[str] | None:
    """The kind of event of every row, in order."""
    return None if made.events is None else [made.events.names[code] for code in made.events.codes]


def pairs(made: Interactions) -> list[tuple[int | str, int | str]]:
    """Original ids of every row, in order."""
    return list(zip(made.user_ids.decode(made.users), made.item_ids.decode(made.items), strict=True))
