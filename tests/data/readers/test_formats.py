"""Every format, told by its content, gives the rows that were written."""

import json
from pathlib import Path

import numpy as np
import pytest

from sahcns.data.readers import read
from sahcns.errors import DataError, SettingError
from tests.data.readers.soundness import assert_sound, pairs, values


def written(folder: Path, text: str | bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("mark", "told"),
    [(",", ","), ("\t", "\t"), (";", ";"), ("|", "|"), ("::", "::"), (" ", " "), (", ", ","), ("\x01", "\x01")],
)
@pytest.mark.parametrize("header", [True, False])
def test_any_delimiter_with_and_without_header(tmp_path: Path, mark: str, told: str, header: bool) -> None:
    rows = [("7", "30", "4.5", "978300760"), ("5", "31", "3", "978300761"), ("7", "31", "0.5", "978300762")]
    lines = [mark.join(row) for row in rows]
    if header:
        lines.insert(0, mark.join(["user_id", "item_id", "rating", "timestamp"]))
    made = read(written(tmp_path, "\n".join(lines) + "\n"))
    assert_sound(made)
    assert pairs(made) == [(7, 30), (5, 31), (7, 31)]
    assert values(made.ratings) == [4.5, 3.0, 0.5]
    assert values(made.times) == [978300760, 978300761, 978300762]
    assert made.source["delimiter"] == told
    assert made.source["header"] is header


@pytest.mark.parametrize(
    "names",
    [
        ("userId", "movieId", "rating", "timestamp"),
        ("reviewerID", "asin", "overall", "unixReviewTime"),
        ("UID", "Product ID", "Score", "t_dat"),
    ],
)
def test_usual_names_in_any_order(tmp_path: Path, names: tuple[str, str, str, str]) -> None:
    user, item, rating, time = names
    text = f"{time},note,{rating},{item},{user}\n978300760,x,4,30,7\n978300761,y,5,31,8\n"
    made = read(written(tmp_path, text))
    assert pairs(made) == [(7, 30), (8, 31)]
    assert values(made.ratings) == [4, 5]
    assert made.source["columns"] == {"user": user, "item": item, "rating": rating, "time": time}


def test_the_line_that_tells_excel_the_delimiter(tmp_path: Path) -> None:
    made = read(written(tmp_path, "sep=;\r\nuser;item\r\n7;30,5\r\n8;31\r\n"))
    assert pairs(made) == [(7, "30,5"), (8, "31")]
    with pytest.raises(DataError, match="line 4: the item id is empty"):
        read(written(tmp_path, "sep=;\nuser;item\n7;30\n8;\n"))


def test_a_spreadsheet_with_line_ends_inside_quotes(tmp_path: Path) -> None:
    row = '00{0};0{0};"Tea ""No {0}"";\r\nfine";1,50;2026-03-0{0}\r\n'
    text = "Customer Number;Product\xa0Number;Product Name;Amount;Order Date\r\n" + "".join(
        row.format(k) for k in range(1, 8)
    )
    made = read(written(tmp_path, b"\xef\xbb\xbf" + text.encode()))
    assert_sound(made)
    assert pairs(made) == [(f"00{k}", f"0{k}") for k in range(1, 8)]
    assert made.times is not None


def test_columns_by_name_by_number_and_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "song,listener,rating,date\n1,2,3,2018-01-05\n4,5,6,2018-01-06\n")
    assert pairs(read(path, user="listener", item="song", rating=0, time=0)) == [(2, 1), (5, 4)]
    made = read(path, user=2, item="1", rating="rating", time=0)
    assert pairs(made) == [(2, 1), (5, 4)]
    assert made.times is None
    assert made.ratings is not None
    headless = written(tmp_path, "9,1,2\n9,4,5\n", "headless")
    assert pairs(read(headless, user=3, item=2, rating=0)) == [(2, 1), (5, 4)]


def test_words_above_dates_are_a_header(tmp_path: Path) -> None:
    """Else the first line is taken for a row, whose date cannot be read."""
    path = written(tmp_path, "shopper,thing,when\nann,tea,2026-03-01\nbob,rye,2026-03-02\n")
    with pytest.raises(DataError, match=r"shopper, thing, when.*user='shopper' and item="):
        read(path)
    assert pairs(read(path, user="shopper", item="thing")) == [("ann", "tea"), ("bob", "rye")]
    path = written(tmp_path, "customer,what they took\nann,tea\nbob,rye\n")  # one known name is enough
    with pytest.raises(DataError, match="customer, what they took"):
        read(path)
    bare = read(written(tmp_path, "ann,tea,2026-03-01\nbob,rye,2026-03-02\n"))
    assert len(bare) == 2
    assert bare.ratings is None
    assert bare.times is not None
    ids = read(written(tmp_path, "ann,book\nbob,book\n"))  # a known name that is a value too is no header
    assert pairs(ids) == [("ann", "book"), ("bob", "book")]


def test_ids_are_numbers_only_when_all_are_plain_numbers(tmp_path: Path) -> None:
    made = read(written(tmp_path, "user,item\n-7,007\n12,7\n5,8\n"))
    assert made.user_ids.kind == "int"
    assert made.item_ids.kind == "text"
    assert pairs(made) == [(-7, "007"), (12, "7"), (5, "8")]
    for odd in ("+7", "7.0", "1e3", "-0", " 7", "7 ", "٧", "0x7"):
        made = read(written(tmp_path, f"user,item\n1,{odd}\n1,2\n"), delimiter=",")
        assert sorted(map(str, made.item_ids.decode([0, 1]))) == sorted([odd, "2"]), odd
        assert made.item_ids.kind == "text", odd


def test_numbers_turn_to_text_when_a_text_comes_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sahcns.data.readers.opening.CHUNK", 64)
    rows = [(str(k % 9), str(k)) for k in range(60)] + [("x", "007")] + [(str(k), str(k)) for k in range(40)]
    made = read(written(tmp_path, "user,item\n" + "".join(f"{u},{i}\n" for u, i in rows)))
    assert_sound(made)
    assert pairs(made) == rows


def test_recbole_inter(tmp_path: Path) -> None:
    text = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\ta\t4\t9.783e8\n2\tb\t5\t978300761.5\n"
    made = read(written(tmp_path, text))
    assert made.source["format"] == "inter"
    assert made.source["columns"] == {"user": "user_id", "item": "item_id", "rating": "rating", "time": "timestamp"}
    assert pairs(made) == [(1, "a"), (2, "b")]
    assert values(made.times) == [978300000, 978300761]


def test_adjacency(tmp_path: Path) -> None:
    made = read(written(tmp_path, "0 10 11 12\n2 10\n1\n3 11 10 \n"))
    assert_sound(made)
    assert made.source["format"] == "adjacency"
    assert pairs(made) == [(0, 10), (0, 11), (0, 12), (2, 10), (3, 11), (3, 10)]
    files = made.source["files"]
    assert isinstance(files, list)
    assert files[0]["lines_without_items"] == 1
    assert pairs(read(written(tmp_path, "a x y\nb x z\n"), format="adjacency")) == [
        *[("a", "x"), ("a", "y"), ("b", "x"), ("b", "z")]
    ]


def test_pairs_and_offset(tmp_path: Path) -> None:
    path = written(tmp_path, "0 3\n1  4\n2\t3\n1 5\n")
    assert pairs(read(path)) == [(0, 3), (1, 4), (2, 3), (1, 5)]
    assert read(path).source["format"] == "pairs"
    for offset in (3, "3", "auto"):
        made = read(path, items_offset=offset)
        assert pairs(made) == [(0, 0), (1, 1), (2, 0), (1, 2)]
        assert made.source["items_offset"] == 3
    counted_from_one = read(written(tmp_path, "1 3\n2 4\n1 4\n"), items_offset="auto")
    assert pairs(counted_from_one) == [(1, 1), (2, 2), (1, 2)]
    assert read(written(tmp_path, "1 1\n2 1\n"), items_offset="auto").source["items_offset"] == 0
    with pytest.raises(DataError, match="users end at 1 and items begin at 5"):
        read(written(tmp_path, "0 5\n1 6\n"), items_offset="auto")
    with pytest.raises(DataError, match="'x' is text"):
        read(written(tmp_path, "user,item\n0,x\n1,y\n"), items_offset=3)


def test_amazon_and_yelp_and_other_json_lines(tmp_path: Path) -> None:
    amazon = [
        {"overall": 5.0, "reviewerID": "A1", "asin": "0001", "unixReviewTime": 1514764800, "reviewText": 'a "b"\n'},
        {"overall": 2.0, "reviewerID": "A2", "asin": "B2", "unixReviewTime": 1514764801, "style": {"asin": "no"}},
    ]
    made = read(written(tmp_path, "".join(json.dumps(row) + "\n" for row in amazon)))
    assert_sound(made)
    assert made.source["format"] == "amazon"
    assert pairs(made) == [("A1", "0001"), ("A2", "B2")]
    assert values(made.ratings) == [5, 2]
    yelp = [{"user_id": "u", "business_id": f"b{k}", "stars": k, "date": f"2018-07-0{k} 22:09:11"} for k in (3, 1)]
    made = read(written(tmp_path, "\n".join(json.dumps(row) for row in yelp)))
    assert made.source["format"] == "yelp"
    assert values(made.times) == [1530655751, 1530482951]
    other = [{"user_id": 5, "parent_asin": "7", "rating": "4", "timestamp": 1588687728923}]
    made = read(written(tmp_path, json.dumps(other[0])))
    assert made.source["format"] == "jsonl"
    assert pairs(made) == [(5, "7")]  # JSON knows numbers from text
    assert values(made.times) == [1588687728]


def test_several_files_are_one_set(tmp_path: Path) -> None:
    first = written(tmp_path, "user,item\n1,b\n2,a\n", "first")
    second = written(tmp_path, "item;user\nc;1\n", "second")
    made = read([first, second])
    assert_sound(made)
    assert pairs(made) == [(1, "b"), (2, "a"), (1, "c")]
    files = made.source["files"]
    assert isinstance(files, list)
    assert [entry["rows"] for entry in files] == [2, 1]
    rated = written(tmp_path, "user,item,rating\n1,b,3\n", "rated")
    with pytest.raises(DataError, match="rated has a rating column while the files before it have none"):
        read([first, rated])


def test_a_larger_table_comes_back_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sahcns.data.readers.opening.CHUNK", 1 << 16)
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 3000, 20_000), rng.integers(10**9, 10**9 + 500, 20_000)
    ratings, times = rng.integers(1, 11, 20_000) / 2, rng.integers(10**9, 2 * 10**9, 20_000)
    table = zip(users.tolist(), items.tolist(), ratings.tolist(), times.tolist(), strict=True)
    made = read(written(tmp_path, "".join(f"{u},{i},{r},{t}\n" for u, i, r, t in table)))
    assert_sound(made)
    assert isinstance(made.user_ids.values, np.ndarray)
    assert isinstance(made.item_ids.values, np.ndarray)
    assert np.array_equal(made.user_ids.values[made.users], users)
    assert np.array_equal(made.item_ids.values[made.items], items)
    assert made.ratings is not None
    assert np.array_equal(made.ratings, ratings.astype(np.float32))
    assert made.times is not None
    assert np.array_equal(made.times, times)


def test_settings_are_checked(tmp_path: Path) -> None:
    path = written(tmp_path, "user,item\n1,2\n")
    with pytest.raises(SettingError, match="format is 'cvs'; did you mean 'csv'"):
        read(path, format="cvs")
    with pytest.raises(SettingError, match="time_unit is 'sec'"):
        read(path, time_unit="sec")
    with pytest.raises(SettingError, match="items_offset is -1"):
        read(path, items_offset=-1)
    with pytest.raises(SettingError, match="delimiter is ''"):
        read(path, delimiter="")
    with pytest.raises(SettingError, match=r"ndarray.*polars\.DataFrame\("):
        read(np.zeros((3, 2), np.int64))
    with pytest.raises(SettingError, match="empty list"):
        read([])
    with pytest.raises(SettingError, match="'user' cannot be both the user and the item column"):
        read(path, item="user")
