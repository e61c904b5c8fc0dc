"""Rows sorted on disk make the same prepared folder as rows in memory, to the last byte."""

import datetime as dt
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sahcns.data import Recipe, prepare, prepare_given, save_split
from sahcns.data.readers import on_disk, read, read_stored
from sahcns.data.stored import Stored
from sahcns.errors import DataError, SahcnsError, SettingError

pytest.importorskip("duckdb")
ROWS = 700


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So small that many parts are written, and that users begin in one block and end in the next."""
    for module in ("sahcns.data.stored", "sahcns.data.readers.on_disk"):
        monkeypatch.setattr(f"{module}.BLOCK", 48)


def log(**changes: Any) -> pl.DataFrame:
    """A made-up log: pairs that repeat, returns, ties in time, three kinds of events."""
    rng = np.random.default_rng(5)
    start = int(dt.datetime(2014, 6, 1, tzinfo=dt.UTC).timestamp())
    columns = {
        "user": rng.zipf(1.4, ROWS) % 50,
        "item": rng.zipf(1.3, ROWS) % 40 - 3,
        "rating": rng.integers(1, 11, ROWS) / 2,
        "time": start + rng.integers(0, 700, ROWS) * 86_400,
        "event": rng.choice(["view", "cart", " Cart"], ROWS),
        "quantity": rng.choice([-1, 1, 2, 0.3], ROWS, p=[0.1, 0.4, 0.3, 0.2]),
        "price": rng.integers(1, 1000, ROWS) / 100,
    }
    return pl.DataFrame({**columns, **changes})


def folders(source: Any, recipe: Recipe, home: Path, **reading: Any) -> list[dict[str, bytes]]:
    """What stands in the prepared folders of both ways."""
    found = []
    for name, way in (("memory", read), ("disk", read_stored)):
        place = save_split(prepare(way(source, **reading), recipe), home / name)
        found.append({path.name: path.read_bytes() for path in place.iterdir()})
    return found


def same(source: Any, recipe: Recipe, home: Path, **reading: Any) -> dict[str, bytes]:
    in_memory, sorted_on_disk = folders(source, recipe, home, **reading)
    assert in_memory["manifest.json"].decode() == sorted_on_disk["manifest.json"].decode()
    assert in_memory == sorted_on_disk
    return in_memory


RECIPES: dict[str, dict[str, Any]] = {
    "random": {"seed": 3},
    "random, rows": {"duplicates": "none", "core": 3},
    "random-user": {"split": "random-user", "core": 4, "unseen": "drop"},
    "time": {"split": "time", "unseen": "drop"},
    "time, last": {"split": "time", "duplicates": "last", "core": 3, "years": (2014, 2014)},
    "time-user, rows": {"split": "time-user", "duplicates": "none"},
    "leave-last-out": {"split": "leave-last-out", "min_rating": 2.5},
    "rating, window": {"min_rating": 3, "years": (2014, 2015), "core": 2},
    "events": {"events": ("cart",), "split": "time-user"},
    "weight rows": {"weight": "rows", "half_life": 100},
    "weight quantity": {"weight": "quantity", "half_life": 30, "split": "time"},
    "weight price": {"weight": "price", "duplicates": "last", "core": 2},
    "weight rating": {"weight": "rating", "split": "leave-last-out", "half_life": 50, "duplicates": "none"},
}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_both_ways_are_one(recipe: dict[str, Any], tmp_path: Path) -> None:
    log().write_parquet(tmp_path / "log.parquet")
    same(tmp_path / "log.parquet", Recipe(**recipe), tmp_path, price="price")


def texts(table: pl.DataFrame) -> pl.DataFrame:
    names = ["é", "Zoë", "a b", "'quoted'", "ß", "日本", "007", "7", "A", "a"]
    user = [f"{names[user % 10]}{user // 10}" for user in table["user"].to_list()]
    return table.with_columns(user=pl.Series(user), item=pl.format("sku-{}", "item"))


def gaps(table: pl.DataFrame) -> pl.DataFrame:
    row = pl.int_range(pl.len())
    return table.with_columns(pl.when(row % 9 != 4).then("rating"), pl.when(row % 11 != 5).then("time"))


TABLES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "texts": texts,
    "numbers as texts": lambda table: table.with_columns(pl.col("user", "item").cast(pl.String)),
    "large numbers": lambda table: table.with_columns(pl.col("user", "item") * 10**16),
    "a text at last": lambda table: table.with_columns(
        user=pl.when(pl.int_range(pl.len()) < ROWS - 3).then(pl.col("user").cast(pl.String)).otherwise(pl.lit("x1"))
    ),
    "fractions of a second": lambda table: table.with_columns(
        time=pl.from_epoch("time").dt.replace_time_zone("UTC") + pl.duration(milliseconds=pl.col("item") * 100 + 300)
    ),
    "fractions late": lambda table: table.with_columns(
        time=pl.from_epoch("time")
        + pl.duration(milliseconds=pl.when(pl.int_range(pl.len()) > 600).then(250).otherwise(0))
    ),
    "missing": gaps,
    "bare": lambda table: table.select("user", "item"),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("change", TABLES.values(), ids=TABLES)
def test_both_ways_read_alike(change: Callable[[pl.DataFrame], pl.DataFrame], kind: str, tmp_path: Path) -> None:
    table = change(log())
    (tmp_path / "logs").mkdir()
    for part in range(3):  # names and order differ
        path = tmp_path / "logs" / f"{3 - part}.{kind}"
        getattr(table[part * 250 : part * 250 + 250], f"write_{kind}")(path)
    recipe = Recipe(core=2, split="time-user" if "time" in table.columns else "random")
    same(str(tmp_path / "logs" / f"*.{kind}"), recipe, tmp_path, lenient=True)


@pytest.mark.parametrize("recipe", [{"min_rating": 2, "split": "time"}, {"weight": "rating", "half_life": 9}])
def test_rows_that_lack_what_a_step_needs_are_counted_alike(recipe: dict[str, Any], tmp_path: Path) -> None:
    table = gaps(log()).sort("user", maintain_order=True)  # so that blocks lack one or the other first
    table.write_parquet(tmp_path / "log.parquet")
    made = same(tmp_path / "log.parquet", Recipe(**recipe), tmp_path, lenient=True)
    assert made["manifest.json"].count(b" without ") == 2


def test_titles_and_rows_that_cannot_be_used_are_the_same(tmp_path: Path) -> None:
    table = log(title=[f"Title {row % 40}" for row in range(ROWS)]).cast(pl.String)
    path = tmp_path / "log.csv"
    table.write_csv(path)
    path.write_text(path.read_text().replace("2014", "x", 1) + "only one field\n,3,,,,,,\n")
    made = same(path, Recipe(), tmp_path, lenient=True, title="title")
    assert b"only one field" in made["manifest.json"]
    assert "item_titles.utf8.npy" in made


def test_errors_are_the_same_and_leave_nothing_behind(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    faults: dict[str, dict[str, Any]] = {
        "user,item\n" + "1,2\n" * 60 + "NaN,3\n": {},
        "user,item,rating\n" + "1,2,3\n" * 60 + "2,2,five\n": {},
        "user,item,time\n" + "1,2,2014-01-01\n" * 60 + "2,2,\n": {"split": "time"},
        "user,item,rating\n1,2,3\n": {"min_rating": 4},
        "user,item\n1,2\n": {"core": 2},
        "user,item\n": {},
    }
    for text, recipe in faults.items():
        (tmp_path / "log.csv").write_text(text)
        said = []
        for way in (read, lambda path: read_stored(path, scratch=scratch)):
            with pytest.raises(DataError) as error:
                prepare(way(tmp_path / "log.csv"), Recipe(**recipe))
            said.append(str(error.value))
        del error
        assert said[0] == said[1]
    assert not [*scratch.iterdir()]


def test_what_it_cannot_do_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item\n1,2\nNaN,3\n")
    with pytest.raises(SettingError, match=r"log\.csv, line 3: user id 'NaN'.* engine='polars'"):
        read_stored(path, lenient=True)
    path.write_text("user,item\n1,2\n")
    stored: Any = read_stored(path)
    with pytest.raises(SettingError, match="Stored"):
        prepare_given(stored, None, stored)
    with pytest.raises(SettingError, match="memory='much'"):
        read_stored(path, memory="much")
    with pytest.raises(DataError, match="nowhere"):
        read_stored(path, scratch=tmp_path / "nowhere")
    full = read_stored(path)
    full.scratch.folder.rename(tmp_path / "elsewhere")  # as good as full
    with pytest.raises(DataError, match="scratch="):
        full.scratch.write("part.parquet", pl.DataFrame({"a": [1]}))
    with pytest.raises(DataError, match="memory="):
        full.places(1)
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(SahcnsError, match=r"sahcns\[duckdb\]"):
        read_stored(path)


def test_memory_holds_a_block_and_not_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No block is larger than two, but for users who are; and every part is written as soon as it is there."""
    log().write_parquet(tmp_path / "log.parquet")
    held = []
    write = on_disk.DiskCollector._write

    def noted(self: on_disk.DiskCollector) -> None:
        held.append(self.size - self.on_disk)
        write(self)

    monkeypatch.setattr(on_disk.DiskCollector, "_write", noted)
    stored = read_stored(tmp_path / "log.parquet", memory="200MB", scratch=tmp_path)
    assert isinstance(stored, Stored)
    assert max(held) <= 48 < ROWS == sum(held) == len(stored)
    blocks = [(rows.users, rows.columns) for rows in stored.blocks({"row", "time"})]
    assert max(len(users) for users, _ in blocks) <= max(
        96, int(np.bincount(np.concatenate([u for u, _ in blocks])).max())
    )
    assert sum(len(users) for users, _ in blocks) == ROWS
    assert all(before[-1] < after[0] for (before, _), (after, _) in pairwise(blocks))
    assert all(set(columns) == {"row", "time"} for _, columns in blocks)
