"""Whatever the bytes, a reader gives sound interactions or a SahcnsError: never a crash, never a silent drop."""

import gzip
import json
import lzma
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sahcns.data.readers import FORMATS, delimited, opening, read
from sahcns.errors import SahcnsError
from tests.data.readers.soundness import assert_sound, kinds, pairs

quickly = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
JSON = [
    json.dumps(
        {"reviewerID": f"A{k % 3}", "asin": f"B{k}", "overall": 4.0, "unixReviewTime": 1400000000 + k, "text": 'x"'}
    )
    for k in range(6)
]
YELP = [
    json.dumps({"user_id": f"u{k % 3}", "business_id": f"b{k}", "stars": 5, "date": f"2018-01-0{k + 1} 10:00:00"})
    for k in range(6)
]
EVENTS = [json.dumps({"user": f"u{k % 3}", "item": k, "event": ["view", "Buy", 3, None][k % 4]}) for k in range(6)]
SAMPLES: dict[str, bytes] = {
    "csv": b"user_id,item_id,rating,timestamp\n1,10,4.5,978300760\n2,11,3.0,978300761\n1,12,0.5,978300762\n",
    "csv quoted": b'user,item,rating\n"a,1","x ""y""",4\n"b\n2",z,5\n"a,1",z,1\n',
    "csv text": "user;item;date\nä;007;2018-01-05\nb;7;2018-01-06\n".encode(),
    "csv events": b"user,item,event_type\n1,10,view\n2,11,Buy\n1,12,\n2,12, buy\n",
    "movielens": b"1::1193::5::978300760\n1::661::3::978302109\n2::914::3::978301968\n",
    "inter": b"user_id:token\titem_id:token\ttimestamp:float\n1\t2\t9.78e8\n1\t3\t978300761.5\n",
    "pairs": b"0 5\n0 6\n1 5\n2 7\n",
    "adjacency": b"0 1 2 3\n1 2\n2\n3 0 1\n",
    "amazon": "\n".join(JSON).encode() + b"\n",
    "yelp": "\n".join(YELP).encode() + b"\n",
    "jsonl": "\n".join(EVENTS).encode() + b"\n",
    "gzip": gzip.compress(b"user_id,item_id\n" + b"".join(b"%d,%d\n" % (k % 7, k) for k in range(200)), mtime=0),
    "xz": lzma.compress(b"0 5\n0 6\n1 5\n2 7\n" * 40),
}


@st.composite
def mutated(draw: st.DrawFn, valid: bytes) -> bytes:
    """A valid file with some bytes changed, cut out, put in, or repeated."""
    data = bytearray(valid)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        size = draw(st.integers(1, 12))
        match draw(st.sampled_from(["change", "cut", "put", "repeat", "end"])):
            case "change":
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case "cut":
                del data[at : at + size]
            case "put":
                data[at:at] = draw(
                    st.sampled_from(
                        [b'"', b"\n", b"\r\n", b",", b"\t", b"::", b"NaN", b"\xff", b"-", b"9" * 22, b"{", b"1e999"]
                    )
                    | st.binary(max_size=6)
                )
            case "repeat":
                data[at:at] = data[at : at + size] * draw(st.integers(1, 3))
            case "end":
                del data[at:]
    return bytes(data)


def sound_or_refused(path: Path, data: bytes, **options: object) -> None:
    path.write_bytes(data)
    try:
        made = read(path, **options)  # type: ignore[arg-type]
    except SahcnsError as error:
        one_sentence = "\n" not in str(error)
    else:
        one_sentence = True
        assert_sound(made)
    assert one_sentence


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data(), lenient=st.booleans())
@quickly
def test_mutated_files(tmp_path: Path, name: str, data: st.DataObject, lenient: bool) -> None:
    told = data.draw(st.sampled_from(["auto", name if name in FORMATS else "auto"]))
    sound_or_refused(tmp_path / "file", data.draw(mutated(SAMPLES[name])), format=told, lenient=lenient)


@given(
    data=st.binary(max_size=200),
    told=st.sampled_from(FORMATS),
    lenient=st.booleans(),
    header=st.sampled_from([None, True, False]),
)
@quickly
def test_random_bytes(tmp_path: Path, data: bytes, told: str, lenient: bool, header: bool | None) -> None:
    sound_or_refused(tmp_path / "file", data, format=told, lenient=lenient, header=header)


@given(
    text=st.text(alphabet=st.sampled_from('0123456789,;:\t |"\n\r-+.abé{}[]'), max_size=120),
    told=st.sampled_from(FORMATS[:-1]),
    delimiter=st.sampled_from([None, ",", "::", " ", "\t", ", "]),
    lenient=st.booleans(),
    unit=st.sampled_from(["auto", "s", "ms", "iso"]),
    offset=st.sampled_from([None, "auto", 3]),
)
@quickly
def test_random_tables(
    tmp_path: Path, text: str, told: str, delimiter: str | None, lenient: bool, unit: str, offset: int | str | None
) -> None:
    options = {"format": told, "delimiter": delimiter, "lenient": lenient, "time_unit": unit, "items_offset": offset}
    sound_or_refused(tmp_path / "file", text.encode(), **options)


@given(data=st.data())
@quickly
def test_mutated_parquet(tmp_path: Path, data: st.DataObject) -> None:
    table = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "b", "c"], "rating": [1.0, 2.0, 3.0]})
    table.write_parquet(tmp_path / "good.parquet", compression="uncompressed")
    sound_or_refused(tmp_path / "file", data.draw(mutated((tmp_path / "good.parquet").read_bytes())))


CELL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.dates(),
    st.binary(max_size=2),
)
COLUMN = st.one_of(
    st.lists(CELL, min_size=4, max_size=4),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
    st.lists(st.none() | st.floats(), min_size=4, max_size=4),
    st.lists(st.none() | st.text(max_size=3), min_size=4, max_size=4),
    st.lists(st.none() | st.datetimes(), min_size=4, max_size=4),
)


@given(
    columns=st.tuples(COLUMN, COLUMN, COLUMN, COLUMN, COLUMN),
    event=st.sampled_from([None, "event", 0]),
    lenient=st.booleans(),
    library=st.sampled_from(["pandas", "polars"]),
)
@settings(quickly, max_examples=100)
def test_random_frames(columns: tuple[list[object], ...], event: str | int | None, lenient: bool, library: str) -> None:
    table = dict(zip(["user", "item", "rating", "time", "event"], columns, strict=True))
    if library == "pandas":
        frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in table.items()})
    else:
        try:
            frame = pl.DataFrame({name: pl.Series(values, strict=False) for name, values in table.items()})
        except (TypeError, OverflowError, ValueError, pl.exceptions.PolarsError):
            return  # polars itself cannot hold these values
    try:
        made = read(frame, lenient=lenient, event=event)
    except SahcnsError:
        return
    assert_sound(made)


WRITTEN: dict[str, dict[str, object]] = {
    "csv": {"delimiter": ",", "header": True},
    "csv quoted": {"format": "csv", "delimiter": ",", "header": True},
    "csv text": {"format": "csv", "delimiter": ";", "header": True},
    "csv events": {"format": "csv", "delimiter": ",", "header": True},
    "movielens": {"delimiter": "::", "header": False},
    "pairs": {},
    "adjacency": {},
    "amazon": {},
    "yelp": {},
    "jsonl": {},
}


@given(data=st.data())
@quickly
def test_pieces_give_the_same_rows(tmp_path: Path, data: st.DataObject) -> None:
    """The same rows, faults and counts whether a file arrives whole or, after a sound start, in small pieces."""
    name = data.draw(st.sampled_from(list(WRITTEN)))
    start = SAMPLES[name]
    rows = start[start.find(b"\n") + 1 :]
    path = tmp_path / "file"
    path.write_bytes(start * 2 + data.draw(mutated(rows * 6)))
    whole = outcome(path, {"format": name, **WRITTEN[name]})
    before, opening.CHUNK = opening.CHUNK, data.draw(st.integers(len(start), 2 * len(start)))
    try:
        pieces = outcome(path, {"format": name, **WRITTEN[name]})
    finally:
        opening.CHUNK = before
    assert whole == pieces


def outcome(path: Path, options: dict[str, object]) -> object:
    made = read(path, lenient=True, lenient_limit=1.0, **options)  # type: ignore[arg-type]
    numbers = [
        None if column is None else list(map(repr, column)) for column in (made.ratings, made.times, made.nanoseconds)
    ]
    return pairs(made), numbers, kinds(made), made.source["skipped"], made.source.get("missing")


PLAIN = "1,2,3,7,007,+7,-7,-0,0,00,7.0,1e3,a,b,é,NaN,inf,null,0.5,.5,5.,1_0,978300760,978300760123,2018-01-05"
ODD = [" 7", "7 ", "", " ", "4,5", "2018-01-05 10:00:00", "9" * 20, "9223372036854775807", "a b", '"', 'x"y', "\u0661"]
FIELD = st.sampled_from([*PLAIN.split(","), *ODD])


@given(
    rows=st.lists(st.tuples(FIELD, FIELD, FIELD, FIELD, FIELD), min_size=1, max_size=8),
    ragged=st.lists(st.tuples(FIELD, FIELD, FIELD), max_size=1),
    mark=st.sampled_from([",", "\t", "::", ";"]),
    wide=st.integers(2, 5),
)
@settings(quickly, max_examples=150)
def test_both_ways_read_the_same(
    tmp_path: Path, rows: list[tuple[str, ...]], ragged: list[tuple[str, ...]], mark: str, wide: int
) -> None:
    """polars and the line-by-line reading agree on every row, id, number and fault."""
    path = tmp_path / "file"
    lines = [mark.join(row[:wide]) for row in rows] + [mark.join(row) for row in ragged]
    path.write_text("\n".join([mark.join(["user", "item", "event", "rating", "time"][:wide]), *lines]) + "\n")
    options = {"format": "csv", "delimiter": mark, "header": True}

    def both() -> object:
        try:
            return outcome(path, options)
        except SahcnsError as error:
            return str(error)

    fast = both()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "parse_fast", lambda *_: None)
        assert both() == fast
