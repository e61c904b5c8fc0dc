"""Tables keep the types of their columns, whichever library holds them."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sahcns.data.readers import read
from sahcns.errors import DataError
from tests.data.readers.soundness import assert_sound, pairs

TABLE = {
    "user": [7, 5, 7],
    "item": ["007", "7", "x"],
    "rating": [4.5, 3.0, 0.5],
    "timestamp": [978300760, 978300761, 978300762],
    "title": ["a", "b", "c"],
}
KINDS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda table: pd.DataFrame(table),
    "polars": lambda table: pl.DataFrame(table),
    "polars lazy": lambda table: pl.LazyFrame(table),
    "pyarrow": lambda table: pa.table(table),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_library(kind: str) -> None:
    made = read(KINDS[kind](TABLE), title="title")
    assert_sound(made)
    assert pairs(made) == [(7, "007"), (5, "7"), (7, "x")]
    assert made.ratings is not None
    assert made.ratings.tolist() == TABLE["rating"]
    assert made.times is not None
    assert made.times.tolist() == TABLE["timestamp"]
    assert made.titles is not None
    assert [made.titles[k] for k in range(3)] == ["a", "b", "c"]
    assert made.source["format"] == f"{kind.split()[0]} frame"


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table"  # no ending, and a name with a bracket would be no pattern
    pl.DataFrame(TABLE).write_parquet(path)
    made = read(path, title="title")
    assert_sound(made)
    assert pairs(made) == [(7, "007"), (5, "7"), (7, "x")]
    assert made.source["format"] == "parquet"
    assert made.titles is not None
    assert len(made.source["files"][0]["sha256"]) == 64
    odd = tmp_path / "a[1]*.parquet"
    pl.DataFrame(TABLE).write_parquet(odd)
    assert len(read(odd)) == 3
    with pytest.raises(DataError, match="is a Parquet file, not csv"):
        read(path, format="csv")


def test_text_in_a_table_stays_text() -> None:
    made = read(pl.DataFrame({"user": ["1", "2"], "item": [1, 2]}))
    assert pairs(made) == [("1", 1), ("2", 2)]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, 2.0]),
        pd.Series([1, 2], dtype="Int64"),
        pd.Series([1, 2], dtype="uint8"),
        pd.Series([1, 2], dtype=object),
        pd.Series([1, 2], dtype="category"),
    ],
)
def test_pandas_numbers_of_any_kind(column: "pd.Series[int]") -> None:
    made = read(pd.DataFrame({"user": column, "item": ["a", "b"]}))
    assert pairs(made) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    "times",
    [
        [datetime(2018, 1, 5, 10), datetime(2018, 1, 6)],
        [datetime(2018, 1, 5, 10, tzinfo=UTC), datetime(2018, 1, 6, tzinfo=UTC)],
        ["2018-01-05 10:00:00", "2018-01-06 00:00:00"],
        [1515146400.5, 1515196800.0],
        [1515146400000, 1515196800000],
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_times_of_any_kind(kind: str, times: list[object]) -> None:
    made = read(KINDS[kind]({"user": [1, 2], "item": [3, 4], "time": times}))
    assert made.times is not None
    assert made.times.tolist() == [1515146400, 1515196800]


def test_dates_and_zones() -> None:
    made = read(pl.DataFrame({"user": [1], "item": [3], "date": [date(2018, 1, 5)]}))
    assert made.times is not None
    assert made.times.tolist() == [1515110400]
    zoned = pd.DataFrame(
        {"user": [1], "item": [3], "time": pd.to_datetime(["2018-01-05 12:00"]).tz_localize("Europe/Paris")}
    )
    made = read(zoned)
    assert made.times is not None
    assert made.times.tolist() == [1515150000]


@pytest.mark.parametrize(
    ("table", "reason", "sentence"),
    [
        ({"user": [1, None, 3]}, "empty user id", "row 2: the user id is empty"),
        ({"user": [1.0, float("nan"), 3.0]}, "empty user id", "row 2: the user id is empty"),
        ({"user": [1.0, 2.5, 3.0]}, "user id not whole", "row 2: user id '2.5' is not a whole number"),
        ({"user": ["a", " ", "b"]}, "empty user id", "row 2: the user id is empty"),
        ({"rating": [1.0, float("inf"), 2.0]}, "rating not finite", "row 2: rating 'inf' is not a finite number"),
        ({"rating": [1.0, None, 2.0]}, "empty rating", "row 2: the rating is empty"),
        ({"rating": ["1", "x", "2"]}, "rating not a number", "row 2: rating 'x' is not a number"),
        ({"time": [1500000000, 1500000000000, 1500000002]}, "time in another unit", "row 2: time '1500000000000'"),
        ({"time": [1500000000, None, 1500000002]}, "empty time", "row 2: the time is empty"),
    ],
)
def test_faulty_rows(table: dict[str, list[object]], reason: str, sentence: str) -> None:
    frame = pl.DataFrame({"user": [1, 2, 3], "item": [4, 5, 6]} | table)
    with pytest.raises(DataError, match=f"the polars frame, {sentence}"):
        read(frame)
    made = read(frame, lenient=True)
    assert_sound(made)
    assert len(made) == 2
    assert made.source["skipped"].keys() == {reason}


def test_unsigned_beyond_64_bits() -> None:
    frame = pl.DataFrame({"user": pl.Series([1, 2**63], dtype=pl.UInt64), "item": [1, 2]})
    with pytest.raises(DataError, match="row 2: user id '9223372036854775808' needs over 64 bits"):
        read(frame)


def test_faulty_tables(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"the pandas frame has no item column that is recognised; its columns are: user, b; "
        r"name the right one with item=$",  # and nothing about a first line
    ):
        read(pd.DataFrame({"user": [1], "b": [2]}))
    with pytest.raises(DataError, match="the user column 'user' is of type List"):
        read(pl.DataFrame({"user": [[1]], "item": [2]}))
    with pytest.raises(DataError, match=r"'user' is of type Binary; convert it to numbers or text first$"):
        read(pl.DataFrame({"user": [b"\xff"], "item": [2]}))
    clock = pl.DataFrame({"user": [1], "item": [2], "time": [datetime(2026, 3, 1, 10).time()]})
    with pytest.raises(
        DataError, match=r"type Time; convert it to numbers or text first, or leave it out with time=0$"
    ):
        read(clock)
    assert pairs(read(clock, time=0)) == [(1, 2)]
    with pytest.raises(DataError, match="the frame holds no rows"):
        read(pl.DataFrame({"user": [], "item": []}))
    with pytest.raises(
        DataError, match="title='nome' is neither a file nor a column of the polars frame; did you mean 'name'"
    ):
        read(pl.DataFrame({"user": [1], "item": [2], "name": ["x"]}), title="nome")
    with pytest.raises(DataError, match="occurs 2 times"):
        read(pd.DataFrame(np.ones((1, 3)), columns=["user", "item", "user"]))
    (tmp_path / "cut").write_bytes(b"PAR1....")
    with pytest.raises(DataError, match="is damaged or not a Parquet file"):
        read(tmp_path / "cut")


def test_texts_that_are_bytes() -> None:
    """As some writers of Parquet leave them."""
    assert pairs(read(pl.DataFrame({"user": ["zoë".encode(), b"007"], "item": [b"x", b"x"]}))) == [
        ("zoë", "x"),
        ("007", "x"),
    ]


def test_pandas_texts_are_those_of_each_row() -> None:
    """Texts, categories and nullable numbers go by their distinct values; what only equals another does not."""
    ids = ["b", "a", "b", "c", "a"]
    for users in (pd.Series(ids), pd.Series(ids, dtype=object), pd.Series(ids, dtype="category")):
        assert [user for user, _ in pairs(read(pd.DataFrame({"user": users, "item": range(5)})))] == ids
    numbers = pd.DataFrame({"user": pd.array([9, 7, 9], dtype="Int64"), "item": pd.Categorical([30, 20, 30])})
    assert pairs(read(numbers)) == [(9, 30), (7, 20), (9, 30)]
    mixed = pd.DataFrame({"user": pd.Series([1, "1", True, "x", 1.0], dtype=object), "item": range(5)})
    assert [user for user, _ in pairs(read(mixed))] == ["1", "1", "True", "x", "1.0"]
    gaps = pd.DataFrame({"user": ["a", None, "b"], "item": pd.array([1, 2, None], dtype="Int64")})
    made = read(gaps, lenient=True)
    assert pairs(made) == [("a", 1)]
    assert made.source["rows_skipped"] == 2


def test_titles_of_a_frame_by_a_name_in_another_case() -> None:
    made = read(pd.DataFrame(TABLE), title="Title")
    assert made.titles is not None
    assert made.source["unused"] == []


def test_an_index_of_pandas_is_no_column() -> None:
    frame = pd.DataFrame(TABLE).set_index(["user", "item"])
    with pytest.raises(DataError, match=r"its index is 'user', 'item': pass frame.reset_index\(\)"):
        read(frame)
    assert len(read(frame.reset_index()).users) == 3
    with pytest.raises(DataError) as refused:
        read(pd.DataFrame({"a": [1], "b": [2]}))
    assert "index" not in str(refused.value)
