"""Each fault is one sentence that names file, line, value and remedy; lenient skips and counts the row instead."""

import json
import time
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from sahcns.data.interactions import NAT
from sahcns.data.readers import read
from sahcns.errors import DataError, SettingError
from tests.data.readers.soundness import assert_sound, pairs, values

HEADER = "user_id,item_id,rating,timestamp"
ROWS = [f"{k % 50},{k % 31},4.5,{978300760 + k}" for k in range(5000)]


def with_line(folder: Path, number: int, line: str | bytes, header: str = HEADER, rows: list[str] = ROWS) -> Path:
    """A sound file of 5,001 lines but for one."""
    lines = [text.encode() for text in (header, *rows)]
    lines[number - 1] = line.encode() if isinstance(line, str) else line
    path = folder / "ratings.csv"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize(
    ("line", "reason", "sentence"),
    [
        ("1,2,3,4,5,6,7,8,9,10", "wrong number of fields", "10 fields where the header has 4"),
        (",2,3,978300760", "empty user id", "the user id is empty"),
        ("1,  ,3,978300760", "empty item id", "the item id is empty"),
        ("NaN,2,3,978300760", "empty user id", "user id 'NaN' among whole numbers stands for a missing id"),
        ("1,99999999999999999999,3,978300760", "item id beyond 64 bits", "item id '99999999999999999999' does not fit"),
        ("1,2,good,978300760", "rating not a number", "rating 'good' is not a number; correct it, leave ratings out"),
        ("1,2,1e39,978300760", "rating not finite", "rating '1e39' is not a finite number"),
        ("1,2,3,yesterday", "time not understood", "time 'yesterday' cannot be read as seconds since 1970"),
        (
            "1,2,3,978300760000",
            "time in another unit",
            "time '978300760000' does not fit the others, which are seconds",
        ),
        ("1,2,3,2018-01-05", "time in another unit", "time '2018-01-05' does not fit the others"),
        (HEADER, "header again", "the header stands here a second time"),
        ('1,"2,3,978300760', "broken quotes", "the quotes do not match"),
        ('1,"2"x,3,978300760', "broken quotes", "the quotes do not match"),
        ("1,2\r,3,978300760", "stray carriage return", "a carriage return stands within the line"),
        (b"1,\xe9,3,978300760", "not UTF-8", "byte 0xe9 is not UTF-8 text; say what it is, such as encoding="),
    ],
)
def test_a_faulty_row(tmp_path: Path, line: str | bytes, reason: str, sentence: str) -> None:
    path = with_line(tmp_path, 4812, line)
    with pytest.raises(DataError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line 4,812: {sentence}")
    assert message.endswith("or read with lenient to skip such rows")
    assert "\n" not in message
    made = read(path, lenient=True)
    assert_sound(made)
    assert len(made) == 4999
    skipped = made.source["skipped"]
    assert isinstance(skipped, dict)
    assert list(skipped) == [reason]
    assert skipped[reason]["rows"] == 1
    assert skipped[reason]["first_line"] == 4812
    assert skipped[reason]["file"] == str(path)


def test_lenient_counts_each_row_once_and_by_reason(tmp_path: Path) -> None:
    path = tmp_path / "file"
    rows = ["1,2,5", "1,,bad", ",,", "1,2", "7,8,x", "", "7,9,inf", "7,9,4", "8,NaN,1", "NaN,NaN,1"]
    path.write_text("\n".join(["user,item,rating", *rows]))
    made = read(path, lenient=True, lenient_limit=0.8)
    assert_sound(made)
    skipped = made.source["skipped"]
    assert isinstance(skipped, dict)
    assert {reason: found["rows"] for reason, found in skipped.items()} == {
        "wrong number of fields": 1,
        "empty user id": 2,
        "empty item id": 2,
        "rating not a number": 1,
        "rating not finite": 1,
    }
    assert made.source["rows_read"] == 9
    assert made.user_ids.kind == made.item_ids.kind == "int"


def test_rows_of_each_file_after_skipping(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("user,item\n1,2\nNaN,2\n3,3\n")
    (tmp_path / "b").write_text("user,item\nnull,2\n5,NaN\n6,4\n")
    made = read([tmp_path / "a", tmp_path / "b"], lenient=True)
    assert_sound(made)
    assert [entry["rows"] for entry in made.source["files"]] == [2, 1]


def test_everything_skipped_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("user,item,rating\n1,2,a\n1,3,b\n")
    with pytest.raises(DataError, match=r"2 rating not a number \(first: line 2 of"):
        read(path, lenient=True, lenient_limit=1.0)


def test_a_share_of_lost_rows_that_is_plainly_wrong_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("user,item\n1,2\n1,3\n,4\n,5\n,6\n")
    with pytest.raises(DataError, match="3 of the 5 rows"):
        read(path, lenient=True)
    assert len(read(path, lenient=True, lenient_limit=0.6)) == 2
    with pytest.raises(SettingError, match="lenient_limit"):
        read(path, lenient=True, lenient_limit=60)


def test_a_rating_or_a_time_that_is_missing_is_kept(tmp_path: Path) -> None:
    """As long as no step needs it; whether the file says so by nothing, NaN or null."""
    (tmp_path / "csv").write_text("user,item,rating,time\n1,2,,10\n1,3,NaN,\n2,3,4,30\n")
    rows: list[dict[str, object]] = [{"rating": None, "time": 10}, {"rating": float("nan")}, {"rating": 4, "time": 30}]
    ids = [(1, 2), (1, 3), (2, 3)]
    (tmp_path / "jsonl").write_text(
        "\n".join(json.dumps({"user": user, "item": item} | row) for (user, item), row in zip(ids, rows, strict=True))
    )
    for name, first in (("csv", 2), ("jsonl", 1)):
        made = read(tmp_path / name)
        assert_sound(made)
        assert pairs(made) == ids
        assert values(made.times) == [10, NAT, 30]
        assert made.source["times"]["last"]["time"] == "1970-01-01T00:00:30Z"
        missing = made.source["missing"]
        assert {role: (entry["rows"], entry["first_line"]) for role, entry in missing.items()} == {
            "rating": (2, first),
            "time": (1, first + 1),
        }


def test_the_encoding_that_is_told(tmp_path: Path) -> None:
    text = "user,item,title\nJosé,2,Crème\nZoë,3,Brûlée\n"
    for encoding in ("latin-1", "utf-16", "cp1252", "utf-8"):
        (tmp_path / "file").write_bytes(text.encode(encoding))
        made = read(tmp_path / "file", encoding=encoding, title="title")
        assert pairs(made) == [("José", 2), ("Zoë", 3)]
        assert made.titles is not None
        assert made.titles[1] == "Brûlée"
    (tmp_path / "file").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match="file is not text in utf-8"):
        read(tmp_path / "file", encoding="utf-8")
    with pytest.raises(SettingError, match="'latin9000'"):
        read(tmp_path / "file", encoding="latin9000")


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (b"", {}, "is empty"),
        (b"\n \n\n", {}, "holds nothing but blank lines"),
        (b"user,item\n", {}, "holds no rows"),
        (
            b"usr_id,item\n1,2\n",
            {},
            "no user column that is recognised; its columns are: usr_id, item; name .* user='usr_id'",
        ),
        (
            b"user,item\n1,2\n",
            {"rating": "rtng"},
            "no column 'rtng' .asked for as rating.; its columns are: user, item",
        ),
        (b"user,item,rating\n1,2,3\n", {"rating": "ratting"}, "did you mean 'rating'"),
        (b"user\titem\n1\t2\n", {"delimiter": ","}, "line 1: the delimiter ','"),
        (b"abc\ndef\n", {}, "line 1: no delimiter found in 'abc'"),
        (b"user,item,item\n1,2,3\n", {}, "line 1: the column name 'item' occurs 2 times; rename one"),
        (b"1,2,3,4,5\n1,2,3,4,5\n", {}, "5 columns and no header; choose the columns by number"),
        (b"1,2\n3,4\n", {"user": 3}, "2 columns; user=3 is not one of them"),
        (b"PK\x03\x04rest", {}, "is a zip archive"),
        ("user,item\n1,2\n".encode("utf-16"), {}, "is UTF-16 text"),
        (b"user,item\r1,2\r3,4\r", {}, "ends its lines with a carriage return only"),
        (b"<!DOCTYPE html><html></html>", {}, "is a web page"),
        (b'[{"user": 1}]', {}, "is one JSON list; write one object a line"),
        (b"\x00\x01\x02 \x00", {}, "is binary, not text"),
        (b"1,2\n", {"format": "amazon"}, "no line is a JSON object"),
        (b"1,2\n", {"format": "parquet"}, "is damaged or not a Parquet file"),
        (b"user,item\n1,2\n", {"title": "name"}, "no column 'name' .asked for as title."),
        (b"1,2\n3,4\n", {"title": "name"}, "no column 'name' .asked for as title."),
    ],
)
def test_a_faulty_file(tmp_path: Path, text: bytes, options: dict[str, object], sentence: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(text)
    for lenient in (False, True):
        with pytest.raises(DataError, match=sentence):
            read(path, lenient=lenient, **options)  # type: ignore[arg-type]


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text("1::2::3::4\n")
    with pytest.raises(DataError, match=r"rating\.dat does not exist; did you mean ratings\.dat\?"):
        read(tmp_path / "rating.dat")
    for place in (tmp_path, tmp_path / "other.csv"):
        with pytest.raises(DataError, match=rf"{place}.*ratings\.dat"):
            read(place)
    with pytest.raises(DataError, match=f"no folder {tmp_path / 'none'}"):
        read(tmp_path / "none" / "ratings.dat")


def test_a_fault_hidden_by_another_row(tmp_path: Path) -> None:
    """One row a field short and one a field long: the fields add up, the rows do not."""
    path = tmp_path / "file"
    path.write_text("1,2,3,4\n1,2,3\n1,2,3,4,5\n1,2,3,4\n")
    with pytest.raises(DataError, match="line 2: 3 fields where the other rows have 4"):
        read(path)
    assert read(path, lenient=True).source["rows_skipped"] == 2


def test_faults_in_json_lines(tmp_path: Path) -> None:
    good = '{"user_id": "u", "item_id": "i", "rating": 4}'
    bad = {
        "not JSON": ['{"user_id": "u", "item', "[" * 100_000],
        "not an object": ["[1, 2]", "null"],
        "no item field": ['{"user_id": "u", "rating": 4}'],
        "empty user id": [
            '{"user_id": null, "item_id": "i", "rating": 4}',
            '{"user_id": " ", "item_id": "i", "rating": 4}',
        ],
        "user of a wrong type": [
            '{"user_id": {"a": 1}, "item_id": "i", "rating": 4}',
            '{"user_id": 1.5, "item_id": "i", "rating": 4}',
        ],
        "item id beyond 64 bits": ['{"user_id": "u", "item_id": 99999999999999999999, "rating": 4}'],
        "rating of a wrong type": ['{"user_id": "u", "item_id": "i", "rating": true}'],
        "rating not a number": ['{"user_id": "u", "item_id": "i", "rating": "good"}'],
        "rating not finite": [
            '{"user_id": "u", "item_id": "i", "rating": 1e999}',
        ],
        "not UTF-8": ['{"user_id": "\\ud800", "item_id": "i", "rating": 4}'],
    }
    for reason, lines in bad.items():
        for line in lines:
            path = tmp_path / "file"
            path.write_text("\n".join([good, line, good]))
            with pytest.raises(DataError, match="file, line 2: "):
                read(path)
            made = read(path, lenient=True)
            assert_sound(made)
            assert len(made) == 2
            assert made.source["skipped"].keys() == {reason}


def test_many_quotes_that_do_not_close_take_linear_time(tmp_path: Path) -> None:
    """Each of these leaves a quoted field open, and the next one opens another; all of it took minutes."""
    path = tmp_path / "file"
    rows = [f'u{k}","i{k},3,{k}' for k in range(10_000)]
    path.write_text("\n".join(["user,item,rating,time", *rows, "a,b,4,7", "c,d,4,7"]) + "\n")
    before = time.process_time()
    made = read(path, lenient=True, lenient_limit=1)
    assert pairs(made) == [("a", "b"), ("c", "d")]
    assert made.source["rows_skipped"] == 10_000
    assert time.process_time() - before < 10


def test_text_that_is_not_unicode_and_a_panic_are_data_errors(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": ["a", "b\ud800"], "item": [1, 2]}, dtype=object)
    with pytest.raises(DataError, match=r"frame, row 2: 'b\\ud800' in column 'user'"):
        read(frame)
    moments = pl.Series([0, 2**63 - 1]).cast(pl.Datetime("ms"))  # polars panics when it writes the last one out
    with pytest.raises(DataError, match="the polars frame, rows 1 to 2"):
        read(pl.DataFrame({"user": [1, 2], "item": [1, 2], "time": moments}))
    path = tmp_path / "file"
    path.write_text("".join(json.dumps({"user": k % 3, "item": k, "note\udc80": 1}) + "\n" for k in range(9)))
    assert read(path).source["files"][0]["unused"] == []
    path.write_text('{"user\\ud800": 1, "item": 2}\n')
    with pytest.raises(DataError, match="no user column"):
        read(path)
    for encoding in ("base64", "\0"):
        with pytest.raises(SettingError, match="encoding"):
            read(path, encoding=encoding)
