from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.data.filters import Int32, Rows, distinct, k_core, sort_pairs, time_order

SECOND = st.one_of(st.integers(-2, 2), st.sampled_from([-(2**62), 2**62]))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(SECOND, st.sampled_from([0, 1, 2, 10**9 - 1])), max_size=30))
def test_rows_of_one_second_go_by_what_is_past_it(moments: list[tuple[int, int]]) -> None:
    by_time = sorted(range(len(moments)), key=lambda row: (*moments[row], row))
    times = np.array([second for second, _ in moments], np.int64)
    places = time_order(times, np.array([past for _, past in moments], np.int32)).tolist()
    assert places == [by_time.index(row) for row in range(len(moments))]


@pytest.mark.parametrize("largest", [5, 2**31 - 1], ids=["packed", "more than 64 bits"])
@pytest.mark.parametrize("timed", [True, False])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_repeated_pairs_keep_the_row_a_loop_would_keep(data: st.DataObject, largest: int, timed: bool) -> None:
    number = st.sampled_from([0, 1, 2, largest])
    rows = data.draw(st.lists(st.tuples(number, number), max_size=40))
    when = data.draw(st.permutations(range(len(rows)))) if timed else []
    columns = [np.array([row[k] for row in rows], np.int32) for k in (0, 1)]
    if timed and rows:
        when = [place + (largest - len(rows) if largest > 5 else 0) for place in when]
    ordered = sort_pairs(Rows(columns[0], columns[1], np.array(when, np.int32) if timed else None))

    expected = sorted((*row, when[k]) if timed else (*row, 0) for k, row in enumerate(rows))
    assert triples(ordered) == expected
    for keep in ("first", "last", "none"):
        oracle: dict[object, tuple[int, int, int]] = {}
        for k, (user, item, place) in enumerate(expected):
            pair = (user, item) if keep != "none" else k
            if keep != "first" or pair not in oracle:
                oracle[pair] = (user, item, place)
        assert triples(ordered.keep(distinct(ordered, keep))) == sorted(oracle.values())


def triples(rows: Rows) -> list[tuple[int, int, int]]:
    when = np.zeros(len(rows), np.int32) if rows.when is None else rows.when
    return list(zip(rows.users.tolist(), rows.items.tolist(), when.tolist(), strict=True))


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
