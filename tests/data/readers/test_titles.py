"""Titles and categories: MovieLens' own files beside the ratings, another file, or a column."""

import json
from pathlib import Path

import polars as pl

from sahcns.data.interactions import Interactions
from sahcns.data.readers import read


def titles(made: Interactions) -> dict[int | str, str]:
    assert made.titles is not None
    return {made.item_ids[k]: made.titles[k] for k in range(len(made.item_ids))}


def categories(made: Interactions) -> dict[int | str, str]:
    assert made.categories is not None
    return {made.item_ids[k]: made.categories[k] for k in range(len(made.item_ids))}


def test_movielens_1m(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text("1::10::5::978300760\n1::20::4::978300761\n2::30::4::978300761\n")
    text = "10::Léon (1994)::Crime\n20::Odd :: Title (1990)::Drama|War\n99::Never (2000)::Drama\n"
    (tmp_path / "movies.dat").write_bytes(text.encode("latin-1"))
    made = read(tmp_path / "ratings.dat")
    assert titles(made) == {10: "Léon (1994)", 20: "Odd :: Title (1990)", 30: ""}
    assert categories(made) == {10: "Crime", 20: "Drama|War", 30: ""}
    record = made.source["titles"]
    assert isinstance(record, dict)
    assert record["encoding"] == "latin-1"
    assert record["items_with_title"] == 2


def test_movielens_100k(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("1\t10\t5\t978300760\n1\t20\t4\t978300761\n")
    (tmp_path / "u.item").write_bytes('10|Die "x" Frau (1990)|01-Jan-1990||http://x|0|1\n20|Café|x\n'.encode("latin-1"))
    assert titles(read(tmp_path / "u.data")) == {10: 'Die "x" Frau (1990)', 20: "Café"}


def test_movielens_csv(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,10,5,978300760\n1,20,4,978300761\n")
    (tmp_path / "movies.csv").write_text(
        'movieId,title,genres\n10,"American President, The (1995)",Comedy\n20,Café,x\n', "utf-8"
    )
    assert titles(read(tmp_path / "ratings.csv")) == {10: "American President, The (1995)", 20: "Café"}
    (tmp_path / "clicks.csv").write_text("user,item\n1,10\n")
    assert read(tmp_path / "clicks.csv").titles is None  # not MovieLens' columns


def test_a_named_file_a_column_and_json(tmp_path: Path) -> None:
    path = tmp_path / "clicks.csv"
    path.write_text("user,item,label\n1,a,Apple\n1,b,Bean\n2,a,Other\n")
    names = tmp_path / "names.tsv"
    names.write_text("name\titem_id\nAnna\ta\nBob\tb\n")
    assert titles(read(path, title=names)) == {"a": "Anna", "b": "Bob"}
    assert titles(read(path, title="label")) == {"a": "Apple", "b": "Bean"}
    bare = tmp_path / "bare.csv"
    bare.write_text("a;Anna\nb;Bob\n\nonly\n")
    made = read(path, title=bare)
    assert titles(made) == {"a": "Anna", "b": "Bob"}
    assert made.source["titles"]["rows_unusable"] == 1
    rows = tmp_path / "rows.json"
    rows.write_text("\n".join(json.dumps({"user_id": "u", "asin": k, "about": f"is {k}", "rating": 1}) for k in "ab"))
    assert titles(read(rows, title="about")) == {"a": "is a", "b": "is b"}
    meta = tmp_path / "meta.json"
    meta.write_text(json.dumps({"asin": "a", "title": "\ud800x"}) + '\n{"asin": "b"}\n{broken\n')
    assert titles(read(rows, title=meta)) == {"a": "?x", "b": ""}


def test_titles_under_the_numbers_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("0 2\n1 3\n")
    (tmp_path / "names").write_text("2,two\n3,three\n")
    assert titles(read(tmp_path / "pairs", items_offset="auto", title=tmp_path / "names")) == {0: "two", 1: "three"}


def test_a_column_of_a_spreadsheet(tmp_path: Path) -> None:
    """Named as the other columns may be, whatever its case; below the line for Excel; its line ends are blanks."""
    path = tmp_path / "shop.csv"
    path.write_bytes(b'sep=;\r\nuser;item;Product Name\r\nann;x;"Green;\r\n tea"\r\nbob;y;Coffee\r\n')
    made = read(path, title="product name")
    assert titles(made) == {"x": "Green; tea", "y": "Coffee"}
    assert made.source["files"][0]["unused"] == []


def written(frame: pl.DataFrame, folder: Path) -> list[Path | pl.DataFrame]:
    """A table in every format, and as it is."""
    csv, jsonl, parquet = (folder / f"log.{ending}" for ending in ("csv", "jsonl", "parquet"))
    frame.write_csv(csv)
    frame.write_ndjson(jsonl)
    frame.write_parquet(parquet)
    return [csv, jsonl, parquet, frame]


def test_the_first_title_that_is_not_empty_wins_in_every_format(tmp_path: Path) -> None:
    """Logs often leave it out here and there; the same rows have the same titles in CSV, JSON lines, Parquet and a frame."""
    frame = pl.DataFrame(
        {"user": [1, 2, 3, 4], "item": [7, 7, 7, 8], "title": ["", "Tea", "Green tea", None]},
        schema_overrides={"title": pl.String},
    )
    for source in written(frame, tmp_path):
        assert titles(read(source, title="title")) == {7: "Tea", 8: ""}
    january, february = tmp_path / "january.csv", tmp_path / "february.csv"
    january.write_text("user,item,title\n1,7,\n2,8,Cup\n")
    february.write_text("user,item,title\n1,7,Tea\n2,8,Mug\n")
    assert titles(read([january, february], title="title")) == {7: "Tea", 8: "Cup"}


def test_categories_of_an_item_file(tmp_path: Path) -> None:
    """By their usual names; several of one item stand between bars, and MovieLens' words for none are none."""
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating\n1,10,5\n1,20,4\n2,30,1\n")
    (tmp_path / "movies.csv").write_text(
        "movieId,title,genres\n10,Alien,Horror|Sci-Fi\n20,Blank,(no genres listed)\n30,Twice,Drama ; War;Drama\n"
    )
    made = read(tmp_path / "ratings.csv")
    assert categories(made) == {10: "Horror|Sci-Fi", 20: "", 30: "Drama|War"}
    assert made.source["titles"]["items_with_category"] == 2
    (tmp_path / "orders.csv").write_text("customer,sku,type\nann,a,purchase\nbob,b,view\n")
    (tmp_path / "types.csv").write_text("sku,Product Type\na,tea\n")
    alone = read(tmp_path / "orders.csv", title=tmp_path / "types.csv")
    assert categories(alone) == {"a": "tea", "b": ""}
    assert alone.titles is None
    (tmp_path / "meta.json").write_text(json.dumps({"sku": "b", "name": "Bun", "categories": [["food", "bread"]]}))
    assert categories(read(tmp_path / "orders.csv", title=tmp_path / "meta.json")) == {"a": "", "b": "food|bread"}


def test_categories_beside_a_column_of_titles(tmp_path: Path) -> None:
    """In every format; the column of events, which may have the same name, holds none."""
    columns: dict[str, list[object]] = {"user": [1, 2, 3], "item": [7, 7, 8], "title": ["Tea", "", "Cup"]}
    frame = pl.DataFrame(columns | {"type": ["view"] * 3, "genre": ["", "x", "y"]})
    for source in written(frame, tmp_path):
        assert categories(read(source, title="title")) == {7: "x", 8: "y"}
    for source in written(frame.drop("genre"), tmp_path):
        assert read(source, title="title").categories is None
