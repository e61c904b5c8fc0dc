"""Many new people from a file: the lists that each would get alone, and a word on all that the model cannot use."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from sahcns.model import Recommender
from tests.cli.conftest import Sahcns, refused
from tests.model.films import films
from tests.model.test_recommender import made


@pytest.fixture
def model() -> Recommender:
    return made(films())


@pytest.fixture
def run(model: Recommender, tmp_path: Path) -> Path:
    return model.save(tmp_path / "run")


def file(tmp_path: Path, text: str, name: str = "new.csv") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_everybody_gets_the_list_that_they_would_get_alone(
    sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path
) -> None:
    given = file(tmp_path, "user,item\nzoe,101\nann,104\nann,106\nann,104\np03,119\n")
    done = sahcns("recommend", run, "--for", given, "-k", "3", "--to", tmp_path / "lists.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"9 rows for 3 people written to {tmp_path / 'lists.csv'}\n"
    found = pl.read_csv(tmp_path / "lists.csv")
    assert found.columns == ["user", "rank", "item", "title", "score"]
    for person, having in (("ann", [104, 106]), ("p03", [119]), ("zoe", [101])):  # p03 is judged by the file alone
        rows = found.filter(pl.col("user") == person)
        alone = model.recommend_new(having, 3)
        assert rows["item"].to_list() == [one.item for one in alone]
        assert rows["score"].to_list() == pytest.approx([one.score for one in alone], abs=1e-5)
    left = sahcns("recommend", run, "--for", given, "-k", "3", "--to", tmp_path / "b.csv", "--without", alone[0].item)
    assert left.code == 0
    assert alone[0].item not in pl.read_csv(tmp_path / "b.csv")["item"].to_list()


def test_what_the_model_does_not_know_is_counted_and_named(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    rows = "".join(f"ann,new{k}\n" for k in range(7)) + "bob,new3\neve,new3\neve,101\nann,102\nkim,new6\n"
    line = ("recommend", run, "--for", file(tmp_path, "customer,sku\n" + rows), "-k", "2", "--to", tmp_path / "a.jsonl")
    done = sahcns(*line)
    assert done.code == 0
    assert done.out.startswith("4 rows for 2 people written to ")
    assert done.err.splitlines() == [
        f"warning: 7 items of {tmp_path / 'new.csv'}, in 10 rows, are not known to the model and were left aside: "
        "new3, new6, new0, new1, new2 and 2 more",
        "warning: 2 people, bob first, have no item that the model knows, so there is no list for them; --popular lists "
        "what most people have",
    ]
    told = sahcns(*line, "--json").json
    assert (told["users"], told["rows"], told["left_out"]) == (2, 4, ["bob", "kim"])
    assert {one["item"]: one["rows"] for one in told["unknown"]}["new3"] == 3


def test_one_of_each_is_said_as_one(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    given = file(tmp_path, "user,item\n1,101\n2,7\n")
    done = sahcns("recommend", run, "--for", given, "--to", tmp_path / "a.csv")
    assert done.err.splitlines() == [
        f"warning: 1 item of {given}, in 1 row, is not known to the model and was left aside: 7",
        "warning: 2 has no item that the model knows, so there is no list for them; --popular lists what most people have",
    ]


def test_ids_of_another_kind_are_an_error(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    given = file(tmp_path, "user,item\n1,tea\n2,milk\n")
    sentence = refused(sahcns("recommend", run, "--for", given, "--to", tmp_path / "a.csv"))
    assert sentence.startswith(
        f"nobody in {given} has an item that the model knows: items there are such as 'milk', and"
    )
    assert "in the model such as 100; give ids as they stand in the data" in sentence
    assert not (tmp_path / "a.csv").exists()


def test_files_of_every_kind_and_several(sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path) -> None:
    lines = file(tmp_path, "7 101 103 105\n8 104\n9\n", "lines.txt")
    done = sahcns("recommend", run, "--for", lines, "--read", "format=adjacency", "-k", "1", "--to", tmp_path / "a.csv")
    assert done.err == f"1 line of {lines} named somebody without any item\n"
    expected = [(7, model.recommend_new([101, 103, 105], 1)[0].item), (8, model.recommend_new([104], 1)[0].item)]
    assert pl.read_csv(tmp_path / "a.csv").select("user", "item").rows() == expected
    pl.DataFrame({"user": [7, 7, 7], "item": [101, 103, 105]}).write_parquet(tmp_path / "one.parquet")
    both = ("--for", tmp_path / "one.parquet", "--for", file(tmp_path, "user,item\n8,104\n"))
    assert sahcns("recommend", run, *both, "-k", "1", "--to", tmp_path / "b.csv").code == 0
    assert pl.read_csv(tmp_path / "b.csv").select("user", "item").rows() == expected


def test_columns_of_any_name_and_what_else_is_there_does_not_count(
    sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path
) -> None:
    given = file(tmp_path, "when;who;what;rating;type\nlast week;ann;101;none;view\n")
    line = ("recommend", run, "--for", given, "-k", "1", "--to", tmp_path / "a.csv")
    sentence = refused(sahcns(*line))
    assert "has no user and no item column that is recognised" in sentence
    assert "name the right ones with --read user= and --read item=" in sentence
    assert "or pass --read header=false if" in sentence
    done = sahcns(*line, "--read", "user=who", "--read", "item=what")
    assert done.err == f"{given} was read with user = who, item = what; not used: when, rating, type\n"
    assert pl.read_csv(tmp_path / "a.csv")["item"].to_list() == [model.recommend_new([101], 1)[0].item]


def test_a_row_that_cannot_be_used(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    given = file(tmp_path, "user,item\nann,101\nbob\n")
    line = ("recommend", run, "--for", given, "-k", "1", "--to", tmp_path / "a.csv")
    assert refused(sahcns(*line)).endswith("correct it, or add --read lenient=true to skip such rows")
    done = sahcns(*line, "--read", "lenient=true")
    assert done.out.startswith("1 row for 1 person written to ")
    assert done.err.startswith("skipped 1 row: wrong number of fields (first in line 3")


def test_a_file_without_a_header_is_remarked_on(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    given = file(tmp_path, "ann,101\nbob,102\n")
    done = sahcns("recommend", run, "--for", given, "-k", "1", "--to", tmp_path / "a.csv")
    assert "if its first line names the columns, say --read header=true" in done.err
    assert sahcns("recommend", run, "--for", tmp_path / "none.csv", "--to", tmp_path / "a.csv").code == 2


def test_baskets_from_a_pipe(run: Path, tmp_path: Path) -> None:
    rows = "user,item\n" + "".join(f"p{k},{101 + k % 19}\n" for k in range(800))
    line = ["recommend", str(run), "--for", "/dev/stdin", "-k", "1", "--to", str(tmp_path / "lists.csv")]
    subprocess.run([sys.executable, "-m", "sahcns", *line], input=rows.encode(), check=True)
    assert pl.read_csv(tmp_path / "lists.csv")["user"].n_unique() == 800
