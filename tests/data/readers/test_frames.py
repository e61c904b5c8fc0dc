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
from tests.data.readers.soundness import assert_sound, pairs, values

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
    assert values(made.ratings) == TABLE["rating"]
    assert values(made.times) == TABLE["timestamp"]
    assert values(made.titles) == ["a", "b", "c"]
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
    assert values(made.times) == [1515146400, 1515196800]


def test_dates_and_zones() -> None:
    made = read(pl.DataFrame({"user": [1], "item": [3], "date": [date(2018, 1, 5)]}))
    assert values(made.times) == [1515110400]
    zoned = pd.DataFrame(
        {"user": [1], "item": [3], "time": pd.to_datetime(["2018-01-05 12:00"]).tz_localize("Europe/Paris")}
    )
    made = read(zoned)
    assert values(made.times) == [1515150000]


@pytest.mark.parametrize(
    ("table", "reason", "sentence"),
    [
        ({"user": [1, None, 3]}, "empty user id", "row 2: the user id is empty"),
        ({"user": [1.0, float("nan"), 3.0]}, "empty user id", "row 2: the user id is empty"),
        ({"user": [1.0, 2.5, 3.0]}, "user id not a whole number", "row 2: user id '2.5' is not a whole number"),
        ({"user": ["a", " ", "b"]}, "empty user id", "row 2: the user id is empty"),
        ({"rating": [1.0, float("inf"), 2.0]}, "rating not finite", "row 2: rating 'inf' is not a finite number"),
        ({"rating": ["1", "x", "2"]}, "rating not a number", "row 2: rating 'x' is not a number"),
        ({"time": [1500000000, 1500000000000, 1500000002]}, "time in another unit", "row 2: time '1500000000000'"),
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


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (pd.DataFrame({"user": [1], "b": [2]}), "user, b.*item="),
        (pl.DataFrame({"user": [[1]], "item": [2]}), "'user' is of type List"),
        (pl.DataFrame({"user": [b"\xff"], "item": [2]}), "'user' is of type Binary"),
        (pl.DataFrame({"user": [1], "item": [2], "time": [datetime(2026, 3, 1).time()]}), "time=0"),
        (pl.DataFrame({"user": pl.Series([1, 2**63], dtype=pl.UInt64), "item": [1, 2]}), "row 2.*9223372036854775808"),
        (pl.DataFrame({"user": [], "item": []}), "no rows"),
        (pd.DataFrame(np.ones((1, 3)), columns=["user", "item", "user"]), "occurs 2 times"),
        (pd.DataFrame(TABLE).set_index(["user", "item"]), r"index is 'user', 'item'.*reset_index"),
    ],
)
def test_faulty_tables(frame: Any, named: str) -> None:
    with pytest.raises(DataError, match=named):
        read(frame)


def test_pandas_texts_are_those_of_each_row() -> None:
    """Texts, categories and nullable numbers go by their distinct values; what only equals another does not."""
    ids = ["b", "a", "b", "c", "a"]
    for users in (pd.Series(ids), pd.Series(ids, dtype=object), pd.Series(ids, dtype="category")):
        assert [user for user, _ in pairs(read(pd.DataFrame({"user": users, "item": range(5)})))] == ids
    assert pairs(read(pl.DataFrame({"user": ["zoë".encode(), b"007"], "item": [b"x", b"x"]})))[0] == ("zoë", "x")
    numbers = pd.DataFrame({"user": pd.array([9, 7, 9], dtype="Int64"), "item": pd.Categorical([30, 20, 30])})
    assert pairs(read(numbers)) == [(9, 30), (7, 20), (9, 30)]
    mixed = pd.DataFrame({"user": pd.Series([1, "1", True, "x", 1.0], dtype=object), "item": range(5)})
    assert [user for user, _ in pairs(read(mixed))] == ["1", "1", "True", "x", "1.0"]
    gaps = pd.DataFrame({"user": ["a", None, "b", "c"], "item": pd.array([1, 2, None, 3], dtype="Int64")})
    made = read(gaps, lenient=True)
    assert pairs(made) == [("a", 1), ("c", 3)]
    assert made.source["rows_skipped"] == 2
