"""Times of every kind end as the same seconds, and a column keeps to one unit."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sahcns.data import Recipe, prepare
from sahcns.data.readers import read
from sahcns.data.readers.times import TimeParser, parse_iso
from sahcns.data.recipe import SplitRule
from sahcns.errors import DataError, SettingError
from tests.data.hand_made import interactions
from tests.data.readers.soundness import assert_sound, pairs


def seconds(values: list[object], unit: str = "auto") -> list[int]:
    clock = TimeParser(unit)
    found, unread, other = clock.seconds(pl.Series(values))
    assert not unread.any()
    assert not other.any()
    return list(map(int, found))


@pytest.mark.parametrize(
    ("unit", "factor"), [("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6), ("nanoseconds", 10**9)]
)
def test_unit_shows_in_the_size(unit: str, factor: int) -> None:
    clock = TimeParser()
    values = pl.Series([978300760 * factor + factor // 2, 0, 1600000000 * factor])
    found, unread, other = clock.seconds(values)
    assert found.tolist() == [978300760, 0, 1600000000]
    assert not (unread | other).any()
    assert clock.name() == unit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2018-07-07", 1530921600),
        ("2018-07-07 22:09:11", 1531001351),
        ("2018-07-07T22:09:11", 1531001351),
        ("2018-07-07T22:09:11Z", 1531001351),
        ("2018-07-07T22:09:11.999", 1531001351),
        ("2018-07-07 22:09:11+02:00", 1530994151),
        ("2018-07-07 22:09:11 UTC", 1531001351),
        ("20180707", 1530921600),
        ("1969-12-31 23:59:59", -1),
        ("1969-12-31T23:59:59.5", -1),
    ],
)
def test_iso_texts(text: str, expected: int) -> None:
    assert parse_iso("05/01/2018") is None
    assert seconds([text, text]) == [expected, expected]
    assert seconds([text, "2000-01-01", " 2000-01-01T00:00 "]) == [expected, 946684800, 946684800]


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.String])
def test_dates_written_as_numbers(kind: type[pl.DataType]) -> None:
    """Seconds since 1970 would all lie in August of that year, in the right order, and nobody would notice."""
    clock = TimeParser()
    values = pl.Series([20240113, 19991231, 20240229])
    found, unread, other = clock.seconds(values.cast(pl.Int64).cast(kind))
    assert found.tolist() == [1705104000, 946598400, 1709164800]
    assert not (unread | other).any()
    assert clock.name() == "iso"
    assert clock.seconds(pl.Series([978300760]))[2].tolist() == [True]  # seconds among dates are of another kind
    assert clock.seconds(pl.Series([20240231]))[2].tolist() == [True]


@given(st.lists(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)), min_size=1, max_size=8))
def test_polars_and_python_read_dates_alike(moments: list[datetime]) -> None:
    exact = [
        int((moment.replace(microsecond=0, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
        for moment in moments
    ]
    for layout in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"):
        texts = [moment.strftime(layout).zfill(len("2018-07-07 22:09:11") + layout.endswith("Z")) for moment in moments]
        assert seconds(list(texts)) == exact
        assert [(parse_iso(text) or (None,))[0] for text in texts] == exact
    for mark, digits, end in product(" T", ("milliseconds", "microseconds"), ("", "Z")):
        clock, texts = TimeParser(), [moment.isoformat(mark, digits) + end for moment in moments]
        found, unread, other = clock.seconds(pl.Series(texts))
        assert not (unread | other).any()
        assert clock.past is not None
        shown = 1000 if digits == "milliseconds" else 1
        past = [moment.microsecond // shown * shown * 1000 for moment in moments]
        assert [*zip(found.tolist(), clock.past.tolist(), strict=True)] == [*zip(exact, past, strict=True)]
        assert [parse_iso(text) for text in texts] == [(*each, end == "Z") for each in zip(exact, past, strict=True)]


MOMENTS = st.datetimes(min_value=datetime(1960, 1, 1), max_value=datetime(2200, 1, 1))
SINCE_1970: dict[str, Callable[[int], float]] = {  # microseconds as they are written in each unit
    "ms": lambda micros: micros // 1000,
    "us": lambda micros: micros,
    "ns": lambda micros: micros * 1000 + 1,
    "s": lambda micros: float(micros // 1000) / 1000,
}


@pytest.mark.parametrize("unit", SINCE_1970)
@pytest.mark.parametrize("kind", [None, pl.String])
@given(moments=st.lists(MOMENTS, min_size=1, max_size=8))
def test_what_is_past_the_second_is_kept(unit: str, kind: type[pl.DataType] | None, moments: list[datetime]) -> None:
    micros = [(moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) for moment in moments]
    numbers = pl.Series([SINCE_1970[unit](each) for each in micros])
    clock = TimeParser(unit)
    found, unread, other = clock.seconds(numbers if kind is None else numbers.cast(kind))
    assert not (unread | other).any()
    assert clock.past is not None
    smallest = {"ms": 10**6, "us": 10**3, "ns": 1, "s": 10**6}[unit]
    for k, each in enumerate(micros):
        exact = (each * 1000 + (unit == "ns")) // smallest * smallest
        told = int(found[k]) * 10**9 + int(clock.past[k])
        assert abs(told - exact) <= (2000 if unit == "s" else 0)  # of a float as large as this


def iso(milliseconds: int) -> str:
    return (datetime(2026, 3, 31) + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")


START = int(datetime(2026, 3, 31, tzinfo=UTC).timestamp())
WRITTEN: dict[str, Callable[[int], str]] = {
    "s": lambda ms: f"{START + ms / 1000:.3f}",
    "ms": lambda ms: f"{START * 1000 + ms}",
    "us": lambda ms: f"{START * 10**6 + ms * 1000}",
    "ns": lambda ms: f"{START * 10**9 + ms * 10**6}",
    "iso": lambda ms: iso(ms),
    "iso, some shorter": lambda ms: iso(ms).removesuffix(".000") + "+00:00",
    "iso, zoned": lambda ms: f"{iso(ms)}Z",
    "%d.%m.%Y %H:%M:%S%.f": lambda ms: f"31.03.2026 00:00:{iso(ms)[-6:]}",
}


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("split", ["time", "time-user", "leave-last-out"])
def test_rows_of_one_second_are_split_by_their_fraction(tmp_path: Path, how: str, split: SplitRule) -> None:
    """Rows in no order, all within two seconds, some of one moment, some that cannot be used."""
    moments = [900, 1001, 0, 500, 500, 999, 250, 1000, 1, 3, 2, 998]
    rows = [(k % 2, k, moment) for k, moment in enumerate(moments)]
    lines = [f"{user},{item},{WRITTEN[how](moment)}\n" for user, item, moment in rows]
    spoilt = [f"{user},{item},{WRITTEN[how](moment)}\n" for user, item, moment in ((3, "", 7), ("NaN", 5, 8))]
    lines[2:2], lines[7:7] = spoilt, ["5,6,never\n"]
    (tmp_path / "log.csv").write_text("user,item,time\n" + "".join(lines))
    raw = read(tmp_path / "log.csv", lenient=True, time_unit=how if "%" in how else "auto")
    assert_sound(raw)
    assert pairs(raw) == [(user, item) for user, item, _ in rows]
    recipe = Recipe(split=split, ratios=(0.5, 0.25, 0.25))
    by_time = sorted(rows, key=lambda row: row[2])  # which leaves rows of one moment as they are
    exact = prepare(interactions([row[:2] for row in by_time], times=range(len(rows))), recipe)
    assert prepare(raw, recipe).fingerprint == exact.fingerprint
    whole = interactions([row[:2] for row in rows], times=[moment // 1000 for *_, moment in rows])
    assert prepare(whole, recipe).fingerprint != exact.fingerprint  # so the fraction was needed


@pytest.mark.parametrize("text", ["1772400000123", "2026-03-01T21:20:00.123"])
def test_typed_times_of_one_file_say_nothing_of_how_another_writes_them(tmp_path: Path, text: str) -> None:
    moments = [datetime(2026, 3, 1), datetime(2026, 3, 2)]
    pl.DataFrame({"user": [1, 2], "item": [3, 4], "time": moments}).write_parquet(tmp_path / "typed")
    (tmp_path / "text").write_text(f"user,item,time\n5,6,{text}\n")
    for names in (("typed", "text"), ("text", "typed")):
        made = read([tmp_path / name for name in names])
        assert made.times is not None
        assert sorted(made.times.tolist()) == [1772323200, 1772400000, 1772409600]
        assert made.source["time_unit"] == ("iso" if "-" in text else "milliseconds")
    assert read(tmp_path / "typed").source["time_unit"] == "iso"


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Asia/Kolkata"])
def test_tables_keep_what_is_past_the_second(unit: Literal["ms", "us", "ns"], zone: str | None) -> None:
    moments = [datetime(2026, 3, 31, 10, 0, 0, 250_000), datetime(1969, 12, 31, 23, 59, 59, 999_000)]
    column = pl.Series(moments).cast(pl.Datetime(unit)).dt.replace_time_zone("UTC")
    column = column.dt.replace_time_zone(None) if zone is None else column.dt.convert_time_zone(zone)
    made = read(pl.DataFrame({"user": [1, 1], "item": [1, 2], "time": column}))
    assert made.times is not None
    assert made.nanoseconds is not None
    assert made.times.tolist() == [START + 36_000, -1]
    assert made.nanoseconds.tolist() == [250_000_000, 999_000_000]


@pytest.mark.parametrize(
    ("layout", "texts", "expected"),
    [
        ("%d.%m.%Y", ["31.03.2026", " 1.4.2026 "], ["2026-03-31T00:00:00", "2026-04-01T00:00:00"]),
        ("%m/%d/%Y %H:%M", ["12/1/2010 8:26", "03/31/2026 14:05"], ["2010-12-01T08:26:00", "2026-03-31T14:05:00"]),
        ("%Y%m%d", ["20260331", "19991231"], ["2026-03-31T00:00:00", "1999-12-31T00:00:00"]),
        (
            "%d.%m.%Y %H:%M %z",
            ["31.03.2026 01:30 +0200", "31.03.2026 01:30 +0000"],
            ["2026-03-30T23:30:00", "2026-03-31T01:30:00"],
        ),
    ],
)
def test_dates_as_a_layout_says(tmp_path: Path, layout: str, texts: list[str], expected: list[str]) -> None:
    (tmp_path / "log.csv").write_text("user,item,date\n" + "".join(f"{k},{k},{text}\n" for k, text in enumerate(texts)))
    made = read(tmp_path / "log.csv", time_unit=layout)
    assert made.times is not None
    assert made.times.astype("datetime64[s]").astype(str).tolist() == expected
    assert made.source["time_unit"] == f"{layout} (as told)"


def test_dates_that_are_not_as_the_layout_says(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item,date\n1,1,31.03.2026\n2,2,2026-03-31\n")
    with pytest.raises(DataError, match=r"line 3: time '2026-03-31'.*%d\.%m\.%Y"):
        read(tmp_path / "log.csv", time_unit="%d.%m.%Y")
    with pytest.raises(DataError, match=r"line 2: time '31\.03\.2026' .* say how they are written with time_unit="):
        read(tmp_path / "log.csv")
    with pytest.raises(SettingError, match="time_unit is '%H:%M', which has no year; say how dates are written"):
        read(tmp_path / "log.csv", time_unit="%H:%M")


@pytest.mark.parametrize(
    ("times", "offered"),
    [
        (("9.3.2026 14:05", "31.03.2026 14:05"), "time_unit='%d.%m.%Y %H:%M'"),
        (("3/9/2026 2:05 PM", "3/31/2026 11:05 AM"), "time_unit='%m/%d/%Y %I:%M %p'"),
        (("2026/03/09", "2026/03/10"), "time_unit='%Y/%m/%d'"),
        (("3/4/26", "5/6/26"), "time_unit='%d/%m/%y', or time_unit='%m/%d/%y'"),
        (("last week", "31.03.2026"), "time_unit='%d.%m.%Y' or alike"),
    ],
)
def test_other_dates_are_refused_with_the_layout_that_fits(
    tmp_path: Path, times: tuple[str, str], offered: str
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,date\n" + "".join(f"u{k},i,{time}\n" for k, time in enumerate(times)))
    with pytest.raises(DataError) as refused:
        read(path)
    assert f"written with {offered}, or read with lenient" in str(refused.value)
    if offered.endswith(("%M'", "%p'", "%d'")):
        assert read(path, time_unit=offered.split("'")[1]).times is not None


def dated(tmp_path: Path, *times: str, name: str = "log.csv") -> Path:
    rows = "".join(f"{k},{k},{time}\n" for k, time in enumerate(times))
    (tmp_path / name).write_text("user,item,date\n" + rows)
    return tmp_path / name


def zones(source: Any, **options: Any) -> Any:
    return read(source, **options).source.get("zones")


def test_both_are_counted_and_the_first_of_each_is_named(tmp_path: Path) -> None:
    times = (
        "2026-03-31 10:00:00",
        "2026-03-31",
        "2026-03-31T10:00:00+02:00",
        "2026-03-31 10:00:00 UTC",
        "2026-03-30T10",
    )
    made = read(dated(tmp_path, *times))
    file = str(tmp_path / "log.csv")
    assert made.source["zones"] == {
        "with": {"rows": 2, "file": file, "first_line": 4, "example": "'2026-03-31T10:00:00+02:00'"},
        "without": {"rows": 3, "file": file, "first_line": 2, "example": "'2026-03-31 10:00:00'"},
    }
    assert made.times is not None
    hours = (made.times - int(datetime(2026, 3, 31, tzinfo=UTC).timestamp())) / 3600
    assert hours.tolist() == [10, 0, 8, 10, -14]


def test_typed_columns_of_two_files(tmp_path: Path) -> None:
    moments = [datetime(2026, 3, 31, 10)]
    bare = pl.DataFrame({"user": [1], "item": [1], "date": moments})
    bare.write_parquet(tmp_path / "a.parquet")
    bare.with_columns(pl.col("date").dt.replace_time_zone("Europe/Berlin")).write_parquet(tmp_path / "b.parquet")
    made = read([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert made.times is not None
    assert made.times[0] - made.times[1] == 7200
    found: Any = made.source["zones"]
    assert (found["with"]["rows"], found["without"]["rows"]) == (1, 1)
    assert zones(tmp_path / "b.parquet") is None
