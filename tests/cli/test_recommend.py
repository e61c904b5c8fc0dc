"""Recommendations by the ids and titles of the data: for users, for new people, and as files."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from sahcns.backbones import LightGCN
from sahcns.baselines import ItemKNN
from sahcns.data import Recipe, Split, prepare
from sahcns.data.ids import Id, Texts
from sahcns.model import Recommender, fit
from sahcns.model.choice import fit_baseline
from sahcns.samplers import RNS
from sahcns.training import Protocol
from tests.cli.conftest import Sahcns, refused
from tests.data.hand_made import interactions
from tests.model.films import films, trained_on_films
from tests.model.test_recommender import made


@pytest.fixture(scope="module")
def model() -> Recommender:
    return trained_on_films()


@pytest.fixture
def run(model: Recommender, tmp_path: Path) -> Path:
    return model.save(tmp_path / "run")


def file(tmp_path: Path, text: str, name: str = "new.csv") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_the_table_has_rank_id_title_and_score(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    done = sahcns("recommend", run, "--user", "p03", "-k", "3")
    assert (done.code, done.err) == (0, "")
    lines = [line.rstrip() for line in done.out.splitlines()]
    assert lines[0] == "for user p03"
    assert lines[1].split() == ["rank", "item", "title", "score"]
    best = model.recommend(["p03"], 3)[0]
    assert lines[3].split() == ["1", str(best[0].item), "Film", str(best[0].item), "☕", f"{best[0].score:.4f}"]
    assert len(lines) == 6


def test_odd_people_are_shown_odd_films(sahcns: Sahcns, run: Path) -> None:
    """The model learnt the structure, and ids are not mixed up on the way: users in any order, each with their own."""
    found = sahcns("recommend", run, "--user", "p05", "--user", "p02", "-k", "3", "--exclude", "nothing", "--json").json
    assert [entry["user"] for entry in found["users"]] == ["p05", "p02"]
    for entry, kind in zip(found["users"], (1, 0), strict=True):
        assert [row["rank"] for row in entry["items"]] == [1, 2, 3]
        assert {row["item"] % 2 for row in entry["items"]} == {kind}
        assert all(row["title"] == f"Film {row['item']} ☕" for row in entry["items"])


def test_only_what_may_be_shown(sahcns: Sahcns, model: Recommender, tmp_path: Path) -> None:
    shelves = Texts.of("Odd" if one % 2 else "Even" for one in range(20))
    run = replace(model, categories=shelves).save(tmp_path / "shelved")
    asked = ("recommend", run, "--user", "p05", "--exclude", "nothing", "--json")
    items = [row["item"] for row in sahcns(*asked, "--category", "odd", "-k", "5").json["users"][0]["items"]]
    assert items == [one.item for one in model.recommend(["p05"], 5, exclude="nothing", only=range(101, 120, 2))[0]]
    shown = sahcns(*asked, "--only", "104", "--only", "107", "--only", "109", "--without", "109").json["users"][0][
        "items"
    ]
    assert {row["item"] for row in shown} == {104, 107}
    assert "'Odd'" in refused(sahcns(*asked, "--category", "oddly"))


def test_lists_of_everyone_are_the_same_when_resumed(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    asked = ("recommend", run, "--everyone", "-k", "3", "--without", "104", "--to")
    once, resumed = tmp_path / "once.csv", tmp_path / "resumed.csv"
    assert sahcns(*asked, once).code == sahcns(*asked, resumed, "--resume").code == 0
    assert once.read_text() == resumed.read_text()
    assert "--resume" in refused(sahcns("recommend", run, "--popular", "--resume"))


@pytest.mark.parametrize("asked", [("--having", "101"), ("--similar-to", "104"), ("--popular",)])
def test_a_baseline_answers_where_nobody_of_the_data_is_asked_for(
    sahcns: Sahcns, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    run = Recommender.of(**fit_baseline(films(), ItemKNN())).save(tmp_path / "knn")
    done = sahcns("recommend", run, *asked, "-k", "3")
    assert (done.code, len(done.out.splitlines())) == (0, 6)


def test_similar_and_popular_items_and_somebody_new(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    asked = ("--similar-to", "104", "--having", "101", "--having", "103", "--popular", "-k", "4")
    found = sahcns("recommend", run, *asked, "--json").json
    assert found["users"] == []
    lists = [found["similar"][0]["items"], found["new"][0]["items"], found["popular"]]
    expected = [model.similar_items(104, 4), model.recommend_new([101, 103], 4), model.popular(4)]
    assert [[row["item"] for row in rows] for rows in lists] == [[one.item for one in items] for items in expected]
    best = expected[0][0].item
    fewer = sahcns("recommend", run, *asked, "--without", best, "--json").json
    for rows in (fewer["similar"][0]["items"], fewer["new"][0]["items"], fewer["popular"]):
        assert best not in [row["item"] for row in rows]
    shown = sahcns("recommend", run, *asked, "--user", "p03").out
    headings = ("for user p03", "for somebody who has 101, 103", "what most people have", "like item 104, Film 104 ☕")
    assert sorted(headings, key=shown.index) == list(headings)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--user", "p99"], "user 'p99'"),
        (["--user", "p03", "--user", "me"], "user 'me'"),
        (["--user", "p\udcff"], "user 'p\\udcff'"),
        (["--similar-to", "7"], "item '7' is not in the data (ids run from 100 to 119)"),
        (["--having", "7"], "item '7'"),
        ([], "--user ID, --everyone, --having ITEM, --for FILE"),
        (["--everyone"], "--everyone goes with --to"),
        (["--having", "101", "--to", "a.csv"], "--to writes the lists of users"),
        (["--everyone", "--user", "p03", "--to", "a.csv"], "--to writes the lists of users"),
        (["--everyone", "--to", "a.xlsx"], "'a.xlsx' must end in .csv, .jsonl or .parquet"),
        (["--for", "new.csv"], "--for goes with --to"),
        (["--for", "new.csv", "--everyone", "--to", "a.csv"], "--to writes the lists of users"),
        (["--for", "new.csv", "--to", "a.csv", "--read", "item"], "--read 'item'"),
        (["--for", "new.csv", "--to", "a.csv", "--read", "itm=2"], "'itm'; did you mean 'item'"),
        (["--for", "new.csv", "--to", "a.csv", "--read", "header=1"], "header is true or false"),
        (["--user", "p03", "--read", "item=2"], "--for"),
        (["--user", "p03", "-k", "0"], "'-k'"),
        (["--user", "p03", "--exclude", "seen"], "exclude='seen'"),
    ],
)
def test_a_mistake_is_one_sentence(sahcns: Sahcns, run: Path, arguments: list[str], names: str) -> None:
    assert names in refused(sahcns("recommend", run, *arguments))


def test_everyone_s_lists_in_a_file(sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path) -> None:
    done = sahcns("recommend", run, "--everyone", "-k", "3", "--to", tmp_path / "all.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"72 rows for 24 users written to {tmp_path / 'all.csv'}\n"
    lines = (tmp_path / "all.csv").read_text("utf-8").splitlines()
    assert lines[0] == "user,rank,item,title,score,source"
    assert lines[1].split(",")[:3] == ["p00", "1", str(model.recommend(["p00"])[0][0].item)]
    some = sahcns("recommend", run, "--user", "p03", "-k", "3", "--to", tmp_path / "one.jsonl", "--json").json
    assert some == {"file": str(tmp_path / "one.jsonl"), "users": 1, "rows": 3}


def test_without_titles_and_with_users_about_whom_nothing_was_learnt(sahcns: Sahcns, tmp_path: Path) -> None:
    split = Split.from_pairs([[0, 0], [1, 1]], valid=[[2, 1], [3, 0]], n_items=4)
    run = fit(split, LightGCN(dim=2), RNS(), protocol=Protocol(epochs=1), device="cpu").recommender.save(tmp_path / "r")
    known = sahcns("recommend", run, "--user", "0")
    assert (known.err, known.out.splitlines()[1].split()) == ("", ["rank", "item", "score"])
    asked = ("recommend", run, "--user", "0", "--user", "2")
    assert "for user 2, of whom nothing was learnt: " in sahcns(*asked).out
    assert [one["source"] for one in sahcns(*asked, "--json").json["users"]] == ["model", "fold-in"]
    assert sahcns("recommend", run, "--everyone", "--to", tmp_path / "all.csv").code == 0
    assert "fold-in" in (tmp_path / "all.csv").read_text("utf-8")


def test_ids_and_titles_are_shown_as_they_are(sahcns: Sahcns, tmp_path: Path) -> None:
    """Square brackets are no markup and colons no pictures, in the heading and in the rows."""
    ids = ("[/x]", "a:100:b", "[red]c")
    rows: list[tuple[Id, Id]] = [(user, item) for user in ids for item in ids]
    run = made(prepare(interactions(rows), Recipe(ratios=(4, 1, 1)))).save(tmp_path / "run")
    done = sahcns("recommend", run, *(word for user in ids for word in ("--user", user)), "--exclude", "nothing")
    lines = [line.rstrip() for line in done.out.splitlines()]
    for user in ids:
        assert f"for user {user}" in lines
        assert sum(line.split()[1:2] == [user] for line in lines) == len(ids)


def test_nothing_left_to_show_and_an_item_that_is_not_there(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    left = [word for film in range(100, 120) for word in ("--without", str(film))]
    done = sahcns("recommend", run, "--user", "p03", *left)
    assert (done.code, done.out) == (0, "for user p03: no item is left to show\n")
    for rest in ((), ("--to", tmp_path / "one.csv")):
        done = sahcns("recommend", run, "--user", "p03", "--without", "7", *rest)
        assert (done.code, done.err.startswith("warning: --without 7:")) == (0, True)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_letters_that_the_terminal_does_not_have(run: Path, encoding: str) -> None:
    """A title with a cup in it, into a pipe that knows no cups: escaped where people read, and JSON that stays exact."""
    code = (
        "from contextlib import suppress; from sahcns.cli import main\n"
        "for rest in ([], ['--json']):\n"
        f"    with suppress(SystemExit): main(['recommend', {str(run)!r}, '--user', 'p03', '-k', '1', *rest])\n"
        "    print('=====')"
    )
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    table, values, _ = done.stdout.decode(encoding).split("=====\n")
    title = json.loads(values)["users"][0]["items"][0]["title"]
    assert title.endswith(" ☕")
    assert title.replace("☕", r"\u2615") in table


def test_a_sigterm_leaves_nothing_beside_the_file(run: Path, tmp_path: Path) -> None:
    code = (
        "import os, signal; from sahcns.cli import main; from sahcns.model import Recommender\n"
        "Recommender.ranked = lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)\n"
        f"main(['recommend', {str(run)!r}, '--everyone', '--to', {str(tmp_path / 'lists.csv')!r}])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_each_new_person_gets_the_list_that_they_would_get_alone(
    sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path
) -> None:
    given = file(tmp_path, "user,item\nzoe,101\nann,104\nann,106\nann,104\np03,119\n")
    done = sahcns("recommend", run, "--for", given, "-k", "3", "--to", tmp_path / "lists.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"9 rows for 3 people written to {tmp_path / 'lists.csv'}\n"
    found = pl.read_csv(tmp_path / "lists.csv")
    assert found.columns == ["user", "rank", "item", "title", "score", "source"]
    for person, having in (("ann", [104, 106]), ("p03", [119]), ("zoe", [101])):  # p03 is judged by the file alone
        rows = found.filter(pl.col("user") == person)
        alone = model.recommend_new(having, 3)
        assert rows["item"].to_list() == [one.item for one in alone]
        assert rows["score"].to_list() == pytest.approx([one.score for one in alone], abs=1e-5)


def test_what_the_model_does_not_know_is_counted_and_named(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    rows = "".join(f"ann,new{k}\n" for k in range(7)) + "bob,new3\neve,new3\neve,101\nann,102\nkim,new6\n"
    line = ("recommend", run, "--for", file(tmp_path, "customer,sku\n" + rows), "-k", "2", "--to", tmp_path / "a.jsonl")
    done = sahcns(*line)
    assert done.out.startswith("4 rows for 2 people written to ")
    items, people = done.err.splitlines()
    assert items.startswith(f"warning: 7 items of {tmp_path / 'new.csv'}, in 10 rows, ")
    assert items.endswith("new3, new6, new0, new1, new2 and 2 more")
    assert people.startswith("warning: 2 people, bob first, have no item")
    told = sahcns(*line, "--json").json
    assert (told["users"], told["rows"], told["left_out"]) == (2, 4, ["bob", "kim"])
    assert {one["item"]: one["rows"] for one in told["unknown"]}["new3"] == 3
    other = refused(sahcns("recommend", run, "--for", file(tmp_path, "user,item\n1,tea\n"), "--to", tmp_path / "b.csv"))
    assert "'tea'" in other
    assert not (tmp_path / "b.csv").exists()


def test_files_of_every_kind_several_and_a_pipe(sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path) -> None:
    lines = file(tmp_path, "7 101 103 105\n8 104\n9\n", "lines.txt")
    done = sahcns("recommend", run, "--for", lines, "--read", "format=adjacency", "-k", "1", "--to", tmp_path / "a.csv")
    assert done.err.startswith(f"1 line of {lines} ")
    expected = [(7, model.recommend_new([101, 103, 105], 1)[0].item), (8, model.recommend_new([104], 1)[0].item)]
    assert pl.read_csv(tmp_path / "a.csv").select("user", "item").rows() == expected
    pl.DataFrame({"user": [7, 7, 7], "item": [101, 103, 105]}).write_parquet(tmp_path / "one.parquet")
    both = ("--for", tmp_path / "one.parquet", "--for", file(tmp_path, "user,item\n8,104\n"))
    assert sahcns("recommend", run, *both, "-k", "1", "--to", tmp_path / "b.csv").code == 0
    assert pl.read_csv(tmp_path / "b.csv").select("user", "item").rows() == expected
    rows = "user,item\n" + "".join(f"p{k},{101 + k % 19}\n" for k in range(800))
    line = ["recommend", str(run), "--for", "/dev/stdin", "-k", "1", "--to", str(tmp_path / "c.csv")]
    subprocess.run([sys.executable, "-m", "sahcns", *line], input=rows.encode(), check=True)
    assert pl.read_csv(tmp_path / "c.csv")["user"].n_unique() == 800


def test_how_a_file_is_read_is_said_in_options(sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path) -> None:
    given = file(tmp_path, "when;who;what;rating;type\nlast week;ann;101;none;view\n")
    line = ("recommend", run, "-k", "1", "--to", tmp_path / "a.csv", "--for")
    sentence = refused(sahcns(*line, given))
    assert "--read user= and --read item=" in sentence
    assert "--read header=false" in sentence
    done = sahcns(*line, given, "--read", "user=who", "--read", "item=what")
    assert (done.code, "user = who, item = what" in done.err) == (0, True)
    assert pl.read_csv(tmp_path / "a.csv")["item"].to_list() == [model.recommend_new([101], 1)[0].item]
    broken = file(tmp_path, "user,item\nann,101\nbob\n")
    assert "--read lenient=true" in refused(sahcns(*line, broken))
    assert "line 3" in sahcns(*line, broken, "--read", "lenient=true").err
    assert "--read header=true" in sahcns(*line, file(tmp_path, "ann,101\nbob,102\n")).err
