from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.data.filters import CHUNK, Int32, degrees, k_core


def brute_force_core(rows: list[tuple[int, int]], k: int) -> list[tuple[int, int]]:
    """Take away one user or item below k at a time, counting everything anew, until there is none."""
    rows = list(rows)
    while True:
        for side in (0, 1):
            poor = [name for name in {row[side] for row in rows} if sum(row[side] == name for row in rows) < k]
            if poor:
                rows = [row for row in rows if row[side] != poor[0]]
                break
        else:
            return rows


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=70), st.integers(1, 6))
def test_the_core_is_the_one_found_by_brute_force(rows: list[tuple[int, int]], k: int) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    users, items = (np.array([row[side] for row in rows], np.int32) for side in (0, 1))
    mask, n_users, n_items = k_core(users, items, k, 8, 10)
    kept = [row for row, stays in zip(rows, mask, strict=True) if stays]
    assert kept == brute_force_core(rows, k)
    assert (n_users, n_items) == (len({user for user, _ in kept}), len({item for _, item in kept}))
    for side in (0, 1):
        assert all(sum(row[side] == name for row in kept) >= k for name in {row[side] for row in kept})


def path(n: int) -> tuple[Int32, Int32]:
    """Rows of n users and n items that hang together in a line; the first item and the last user have one row."""
    users = np.repeat(np.arange(n, dtype=np.int32), 2)[:-1]
    return users, np.append(0, np.repeat(np.arange(1, n, dtype=np.int32), 2)).astype(np.int32)


def test_a_chain_falls_row_by_row() -> None:
    """Users and items in a path: only the ends are below 2 at first, yet nothing survives."""
    n = 50
    users, items = path(n)
    assert degrees(users, n).min() == 1
    assert not k_core(users, items, 2, n, n)[0].any()
    ring = k_core(np.append(users, np.int32(n - 1)), np.append(items, np.int32(0)), 2, n, n)
    assert ring[0].all()
    assert ring[1:] == (n, n)


def test_a_round_looks_at_nobody_but_those_who_lost_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path falls in as many rounds as it has users; a look at everybody in each takes as long as their square."""
    looked = []
    unwatched = np.count_nonzero, np.flatnonzero, np.bincount, np.unique
    for name, function in zip(("count_nonzero", "flatnonzero", "bincount", "unique"), unwatched, strict=True):

        def watched(values: Any, *rest: Any, function: Any = function, **named: Any) -> Any:
            looked.append(max(len(values), named.get("minlength", 0)))
            return function(values, *rest, **named)

        monkeypatch.setattr(np, name, watched)
    users, items = path(400)
    assert not k_core(users, items, 2, 400, 400)[0].any()
    assert sum(looked) < 10 * 800


def test_degrees_add_up_over_chunks() -> None:
    column = np.arange(2 * CHUNK + 10, dtype=np.int32) % 7
    assert degrees(column, 9).tolist() == [*np.bincount(column).tolist(), 0, 0]
