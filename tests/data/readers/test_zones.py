"""Dates with a zone beside dates without: read as before, and counted where there are both."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sahcns.data.readers import opening, read


def written(tmp_path: Path, *times: str, name: str = "log.csv") -> Path:
    rows = "".join(f"{k},{k},{time}\n" for k, time in enumerate(times))
    (tmp_path / name).write_text("user,item,date\n" + rows)
    return tmp_path / name


def zones(source: Any, **options: Any) -> Any:
    return read(source, **options).source.get("zones")


@pytest.mark.parametrize(
    "times",
    [
        ("2026-03-31", "2026-03-31 10:00:00", "20260331", "2026-03-31T10:00"),
        ("2026-03-31T10:00:00Z", "2026-03-31T10:00:00Z"),
        ("2026-03-31T10:00:00Z", "2026-03-31 10:00:00 UTC", "2026-03-31T10+02:00", "2026-03-31T10:00:00.5-05:30"),
        ("1500000000", "1500000001"),
    ],
)
def test_one_kind_is_no_news(tmp_path: Path, times: tuple[str, ...]) -> None:
    assert "zones" not in read(written(tmp_path, *times)).source


def test_both_are_counted_and_the_first_of_each_is_named(tmp_path: Path) -> None:
    times = (
        "2026-03-31 10:00:00",
        "2026-03-31",
        "2026-03-31T10:00:00+02:00",
        "2026-03-31 10:00:00 UTC",
        "2026-03-30T10",
    )
    made = read(written(tmp_path, *times))
    file = str(tmp_path / "log.csv")
    assert made.source["zones"] == {
        "with": {"rows": 2, "file": file, "first_line": 4, "example": "'2026-03-31T10:00:00+02:00'"},
        "without": {"rows": 3, "file": file, "first_line": 2, "example": "'2026-03-31 10:00:00'"},
    }
    assert made.times is not None
    hours = (made.times - int(datetime(2026, 3, 31, tzinfo=UTC).timestamp())) / 3600
    assert hours.tolist() == [10, 0, 8, 10, -14]


@pytest.mark.parametrize(
    ("times", "counts"),
    [
        (("2026-03-31T10:00:00Z", "2026-03-31 10:00:00 "), (1, 1)),  # as wide as each other
        (("2026-03-31 10:00:00", "2026-03-31T10+02:00", "2026-03-31 10:00:00"), (1, 2)),
    ],
)
def test_both_of_one_width(tmp_path: Path, times: tuple[str, ...], counts: tuple[int, int]) -> None:
    found = zones(written(tmp_path, *times))
    assert (found["with"]["rows"], found["without"]["rows"]) == counts


def test_rows_that_are_skipped_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        "user,item,date\na,x,2026-03-31T10:00:00Z\n,x,2026-03-31 10:00:00\nb,x,yesterday\nc,x,2026-04-01T10:00:00Z\n"
    )
    assert zones(tmp_path / "log.csv", lenient=True) is None


def test_over_files_and_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "CHUNK", 100)
    first = written(tmp_path, *["2026-03-31T10:00:00Z"] * 20)
    second = written(tmp_path, *["2026-03-31 10:00:00"] * 20, name="later.csv")
    found = zones([first, second])
    assert (found["with"]["rows"], found["without"]["rows"]) == (20, 20)
    assert (found["without"]["file"], found["without"]["first_line"]) == (str(second), 2)


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
