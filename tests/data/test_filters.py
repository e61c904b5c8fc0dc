import datetime as dt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.data.filters import CHUNK, Rows, chunks, distinct, sort_pairs, time_order, within_years


def seconds(*when: int) -> int:
    return int(dt.datetime(*when, tzinfo=dt.UTC).timestamp())  # type: ignore[misc, arg-type]


def test_the_window_holds_both_its_years_to_the_second() -> None:
    times = np.array(
        [seconds(2013, 12, 31, 23, 59, 59), seconds(2014, 1, 1), seconds(2018, 12, 31, 23, 59, 59), seconds(2019, 1, 1)]
    )
    assert within_years(times, (2014, 2018)).tolist() == [False, True, True, False]


def test_the_window_reaches_before_1970() -> None:
    assert within_years(np.array([seconds(1969, 6, 1), seconds(1970, 1, 1)]), (1969, 1969)).tolist() == [True, False]


def test_chunks_cover_every_row_once() -> None:
    covered = [row for part in chunks(2 * CHUNK + 3) for row in (part.start, part.stop)]
    assert covered == [0, CHUNK, CHUNK, 2 * CHUNK, 2 * CHUNK, 2 * CHUNK + 3]
    assert list(chunks(0)) == []


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.integers(-3, 3), st.sampled_from([-(2**62), 2**62])), max_size=30))
def test_rows_of_one_second_keep_file_order(times: list[int]) -> None:
    by_time = sorted(range(len(times)), key=lambda row: (times[row], row))
    assert time_order(np.array(times, np.int64)).tolist() == [by_time.index(row) for row in range(len(times))]


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
