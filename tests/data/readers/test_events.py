"""Kinds of events: the same from every format, and never a reason to refuse a file that nobody asks for them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sahcns.data.readers import opening, read
from sahcns.data.readers.collect import MOST_KINDS
from sahcns.errors import DataError, SettingError
from tests.data.readers.soundness import assert_sound, kinds, pairs

ROWS = [
    ("ann", "tea", "view"),
    ("ann", "rye", "cart"),
    ("bob", "tea", ""),
    ("bob", "jam", " View "),
    ("eve", "jam", "buy"),
]
FOUND = ["view", "cart", "", "view", "buy"]


def frame(name: str = "event_type", rows: list[tuple[str, str, str]] = ROWS) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["user", "item", name], orient="row")


def written(folder: Path, ending: str, table: pl.DataFrame) -> Path:
    path = folder / f"log.{ending}"
    write: dict[str, Callable[[], object]] = {
        "csv": lambda: table.write_csv(path),
        "tsv": lambda: table.write_csv(path, separator="\t"),
        "quoted.csv": lambda: table.with_columns(note=pl.lit('a, "b"')).write_csv(path),
        "jsonl": lambda: table.write_ndjson(path),
        "parquet": lambda: table.write_parquet(path),
    }
    write[ending]()
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "quoted.csv", "jsonl", "parquet"])
def test_every_format(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, ending, frame())
    made = read(path)
    assert_sound(made)
    assert kinds(made) == FOUND
    assert made.source["columns"]["event"] == "event_type"
    assert made.events is not None
    assert made.events.codes.dtype == np.uint8
    assert made.events.counts() == {"view": 2, "cart": 1, "": 1, "buy": 1}
    left = read(path, event=0)
    assert left.events is None
    assert "event_type" in left.source["files"][0]["unused"]
    assert pairs(left) == pairs(made) == [(user, item) for user, item, _ in ROWS]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_every_library(library: Callable[[Any], Any]) -> None:
    table = {"user": ["a", "b", "c"], "item": [1, 2, 3], "action": ["Buy", None, "buy"]}
    assert kinds(read(library(table))) == ["Buy", "", "Buy"]
    assert kinds(read(library({**table, "action": [4, 1, 4]}))) == ["4", "1", "4"]
    assert kinds(read(library({**table, "action": [4.0, float("nan"), 1.0]}))) == ["4", "", "1"]
    assert kinds(read(library({**table, "action": [True, False, True]}), event="action"))[0].lower() == "true"  # type: ignore[index]


def test_a_kind_is_called_as_it_is_written_most_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written_so = ["BUY", "view", "buy", "Buy ", "buy", "View", "view", "buy ", "buy"]
    rows = [(f"u{k}", f"i{k}", kind) for k, kind in enumerate(written_so)]
    for size in (opening.CHUNK, 24):
        monkeypatch.setattr(opening, "CHUNK", size)
        made = read(written(tmp_path, "csv", frame(rows=rows)))
        assert made.events is not None
        assert made.events.counts() == {"buy": 6, "view": 3}


def test_any_other_name_has_to_be_told() -> None:
    assert read(frame("what")).events is None
    assert kinds(read(frame("what"), event="what")) == FOUND
    assert kinds(read(frame("what"), event=3)) == FOUND
    with pytest.raises(DataError, match=r"'wat'.*'what'"):
        read(frame("what"), event="wat")
    with pytest.raises(SettingError, match="'user' cannot be both the user and the event column"):
        read(frame("what"), event="user")


def test_by_number_where_there_is_no_header(tmp_path: Path) -> None:
    """As Taobao's log has it: user, item, category, behaviour, time."""
    path = tmp_path / "log.csv"
    path.write_text("".join(f"{k % 3},{k},7,{'pv' if k % 2 else 'buy'},{1_511_544_070 + k}\n" for k in range(8)))
    made = read(path, user=1, item=2, event=4, time="5")
    assert kinds(made) == ["buy", "pv"] * 4
    assert made.times is not None
    path.write_text("".join(f"{k % 3},{k},{'pv' if k % 2 else 'buy'},{1_511_544_070 + k}\n" for k in range(8)))
    made = read(path, event=3)
    assert kinds(made) == ["buy", "pv"] * 4
    assert (made.ratings, made.times is None) == (None, False)


def test_whatever_stands_in_a_json_field(tmp_path: Path) -> None:
    values = ["buy", 3, 3.5, True, None, ["a", 1], {"k": "é"}]
    lines = [json.dumps({"user": "u", "item": k, "event": value}) for k, value in enumerate(values)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, json.dumps({"user": "u", "item": 9}), ""]))
    assert kinds(read(path)) == ["buy", "3", "3.5", "true", "", '["a", 1]', '{"k": "é"}', ""]
    path.write_text('{"user": "u", "item": "i", "event": "\\ud83d"}\n{"user": 3, "item": "j", "event": "x"}\n')
    assert len(read(path)) == 2


def test_rows_that_are_skipped_take_their_kind_with_them(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,event\n1,b,x\n,b,y\nNaN,c,z\n2,d,x\n3,e,w\n")
    made = read(path, lenient=True)
    assert_sound(made)
    assert kinds(made) == ["x", "x", "w"]
    assert made.events is not None
    assert made.events.counts() == {"x": 2, "w": 1}


def test_a_column_of_hundreds_is_let_go_unless_it_was_told(tmp_path: Path) -> None:
    rows = [(f"u{k}", f"i{k}", f"kind {k}") for k in range(MOST_KINDS + 1)]
    assert read(frame(rows=rows)).events is None
    assert read(frame(rows=rows[:MOST_KINDS])).events is not None
    made = read(frame(rows=rows), event="event_type")
    assert kinds(made) == [kind for *_, kind in rows]
    assert made.events is not None
    assert made.events.codes.dtype == np.uint16
    many = [(f"u{k}", f"i{k}", f"kind {k}") for k in range((1 << 16) + 5)]
    assert kinds(read(frame(rows=many), event="event_type")) == [kind for *_, kind in many]


def test_one_file_without_the_column_leaves_it_out(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("user,item,event\na,b,view\n")
    second.write_text("user,item\nc,d\n")
    for several in ([first, second], [second, first]):
        made = read(several)
        assert len(made) == 2
        assert made.events is None
    with pytest.raises(DataError, match=r"b\.csv has no column 'event'"):
        read([first, second], event="event")
    second.write_text("user,item,action\nc,d,view\n")
    with pytest.raises(DataError, match=r"b\.csv has 'action' as its event column and .*a\.csv has 'event'"):
        read([first, second])
