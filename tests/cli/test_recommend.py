"""Recommendations by the ids and titles of the data."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sahcns.backbones import LightGCN
from sahcns.data import Recipe, Split, prepare
from sahcns.data.ids import Id
from sahcns.model import Recommender
from sahcns.samplers import RNS
from sahcns.training import Protocol, fit
from tests.cli.conftest import Sahcns, refused
from tests.data.hand_made import interactions
from tests.model.films import films
from tests.model.test_recommender import made


@pytest.fixture(scope="module")
def model() -> Recommender:
    protocol = Protocol(epochs=40, batch=32, learning_rate=0.05, evaluate_every=20)
    return fit(films(), LightGCN(dim=8, depth=2), RNS(), protocol=protocol, device="cpu").recommender


@pytest.fixture
def run(model: Recommender, tmp_path: Path) -> Path:
    return model.save(tmp_path / "run")


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


def test_what_is_known_is_left_out_as_told(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    row = int(model.user_ids.encode(["p05"])[0])
    everything = set(model.item_ids.decode(model.known(row).tolist()))
    trained = set(model.item_ids.decode(model.known(row, "train").tolist()))
    assert trained < everything
    for exclude, expected in (("known", everything), ("train", trained), ("nothing", set[int]())):
        asked = ("--user", "p05", "-k", "100", "--exclude", exclude, "--json")
        items = {entry["item"] for entry in sahcns("recommend", run, *asked).json["users"][0]["items"]}
        assert items == set(range(100, 120)) - expected


def test_similar_items(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    found = sahcns("recommend", run, "--similar-to", "104", "-k", "4", "--json").json
    assert found["users"] == []
    assert found["similar"][0]["item"] == 104
    assert [row["item"] for row in found["similar"][0]["items"]] == [one.item for one in model.similar_items(104, 4)]
    assert {row["item"] % 2 for row in found["similar"][0]["items"]} == {0}
    both = sahcns("recommend", run, "--similar-to", "104", "--user", "p03", "-k", "2").out
    assert both.index("for user p03") < both.index("like item 104, Film 104 ☕")


def test_without_titles_there_is_no_column_for_them(sahcns: Sahcns, tmp_path: Path) -> None:
    split = Split.from_pairs([[0, 0], [1, 1], [2, 0]], valid=[[0, 1]], n_items=4)
    fit(split, LightGCN(dim=2), RNS(), protocol=Protocol(epochs=1), device="cpu").recommender.save(tmp_path / "run")
    lines = sahcns("recommend", tmp_path / "run", "--user", "2").out.splitlines()
    assert lines[1].split() == ["rank", "item", "score"]
    assert sahcns("recommend", tmp_path / "run", "--user", "2", "--json").json["users"][0]["user"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--user", "p99"], "user 'p99' is not in the data; did you mean 'p"),
        (["--user", "p03", "--user", "me"], "user 'me' is not in the data"),
        (["--similar-to", "7"], "item '7' is not in the data (ids run from 100 to 119)"),
        ([], "nobody to recommend to: give --user ID, --everyone, --having ITEM, --for FILE,"),
        (["--everyone"], "--everyone goes with --to FILE, such as --to lists.csv"),
        (["--having", "101", "--to", "a.csv"], "--to writes the lists of users: those of --user, or --everyone"),
        (["--everyone", "--user", "p03", "--to", "a.csv"], "--to writes the lists of users"),
        (["--everyone", "--to", "a.xlsx"], "'a.xlsx' must end in .csv, .jsonl or .parquet"),
        (["--for", "new.csv"], "--for goes with --to FILE, such as --to lists.csv"),
        (["--for", "new.csv", "--everyone", "--to", "a.csv"], "--to writes the lists of users"),
        (["--for", "new.csv", "--to", "a.csv", "--exclude", "train"], "--exclude is for users of the model"),
        (["--for", "new.csv", "--to", "a.csv", "--read", "item"], "--read 'item' must be NAME=VALUE, such as user="),
        (["--for", "new.csv", "--to", "a.csv", "--read", "itm=2"], "--read 'itm=2': a file is not read by 'itm'; did"),
        (["--for", "new.csv", "--to", "a.csv", "--read", "header=1"], "--read 'header=1': header is true or false"),
        (["--user", "p03", "--read", "item=2"], "--read says how the file of --for is read, and there is none"),
        (["--having", "7"], "item '7' is not in the data (ids run from 100 to 119)"),
        (["--user", "p\udcff"], "user 'p\\udcff' is not in the data"),
        (["--user", "p03", "-k", "0"], "invalid value for '-k'"),
        (["--user", "p03", "--exclude", "seen"], "exclude='seen' must be one of known, train, nothing"),
    ],
)
def test_a_mistake_is_one_sentence(sahcns: Sahcns, run: Path, arguments: list[str], sentence: str) -> None:
    assert refused(sahcns("recommend", run, *arguments)).startswith(sentence)


def test_no_run(sahcns: Sahcns, tmp_path: Path) -> None:
    assert "is not a trained model" in refused(sahcns("recommend", tmp_path, "--user", "1"))


def test_somebody_new_is_known_by_what_they_have(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    found = sahcns("recommend", run, "--having", "101", "--having", "103", "-k", "3", "--json").json
    assert found["new"][0]["having"] == ["101", "103"]
    items = [row["item"] for row in found["new"][0]["items"]]
    assert items == [one.item for one in model.recommend_new([101, 103], 3)]
    shown = sahcns("recommend", run, "--having", "101", "--having", "103", "-k", "1").out.splitlines()
    assert shown[0].rstrip() == "for somebody who has 101, 103"
    fewer = sahcns("recommend", run, "--having", "101", "--having", "103", "--without", items[0], "-k", "2", "--json")
    assert [row["item"] for row in fewer.json["new"][0]["items"]] == items[1:]


def test_items_alike_leave_out_what_nobody_is_to_be_shown(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    items = [one.item for one in model.similar_items(104, 4)]
    found = sahcns("recommend", run, "--similar-to", "104", "--without", items[0], "-k", "3", "--json").json
    assert [row["item"] for row in found["similar"][0]["items"]] == items[1:]


def test_what_most_people_have(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    found = sahcns("recommend", run, "--popular", "-k", "3", "--json").json["popular"]
    assert [(row["item"], row["score"]) for row in found] == [(one.item, one.score) for one in model.popular(3)]
    heading, names, _, first, *_ = sahcns("recommend", run, "--popular", "-k", "3").out.splitlines()
    assert heading.rstrip() == "what most people have"
    assert (names.split()[-1], first.split()[-1]) == ("people", f"{model.popular(1)[0].score:.0f}")


def test_everyone_s_lists_in_a_file(sahcns: Sahcns, run: Path, model: Recommender, tmp_path: Path) -> None:
    done = sahcns("recommend", run, "--everyone", "-k", "3", "--to", tmp_path / "all.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"72 rows for 24 users written to {tmp_path / 'all.csv'}\n"
    lines = (tmp_path / "all.csv").read_text("utf-8").splitlines()
    assert lines[0] == "user,rank,item,title,score"
    assert lines[1].split(",")[:3] == ["p00", "1", str(model.recommend(["p00"])[0][0].item)]
    some = sahcns("recommend", run, "--user", "p03", "-k", "3", "--to", tmp_path / "one.jsonl", "--json").json
    assert some == {"file": str(tmp_path / "one.jsonl"), "users": 1, "rows": 3}


def test_a_user_nothing_was_learnt_about_is_remarked_on(sahcns: Sahcns, tmp_path: Path) -> None:
    split = Split.from_pairs([[0, 0], [1, 1]], valid=[[2, 1], [3, 0]], n_items=4)
    fit(split, LightGCN(dim=2), RNS(), protocol=Protocol(epochs=1), device="cpu").recommender.save(tmp_path / "run")
    assert sahcns("recommend", tmp_path / "run", "--user", "0").err == ""
    one = sahcns("recommend", tmp_path / "run", "--user", "0", "--user", "2")
    assert one.code == 0
    assert one.err.startswith("warning: user 2 has no training pair, so nothing was learnt about them; --having ITEM")
    all_of_them = sahcns("recommend", tmp_path / "run", "--everyone", "--to", tmp_path / "all.csv")
    assert all_of_them.err.startswith("warning: 2 users, 2 among them, have no training pair")


def test_ids_and_titles_are_shown_as_they_are(sahcns: Sahcns, tmp_path: Path) -> None:
    """Square brackets are no markup and colons no pictures, in the heading and in the rows."""
    ids = ("[/x]", "a:100:b", "[red]c")
    rows: list[tuple[Id, Id]] = [(user, item) for user in ids for item in ids]
    split = prepare(interactions(rows), Recipe(ratios=(4, 1, 1)))
    fit(split, LightGCN(dim=2), RNS(), protocol=Protocol(epochs=1), device="cpu").recommender.save(tmp_path / "run")
    told = [word for user in ids for word in ("--user", user)]
    done = sahcns("recommend", tmp_path / "run", *told, "--exclude", "nothing")
    assert done.code == 0
    for user in ids:
        assert f"for user {user}\n" in "\n".join(line.rstrip() for line in done.out.splitlines()) + "\n"
        assert sum(line.split()[1:2] == [user] for line in done.out.splitlines()) == len(ids)


def test_a_user_who_has_everything_is_told_of(sahcns: Sahcns, run: Path, model: Recommender) -> None:
    left = [word for film in range(100, 120) for word in ("--without", str(film))]
    done = sahcns("recommend", run, "--user", "p03", *left)
    assert (done.code, done.out) == (0, "for user p03: no item is left to show\n")
    assert sahcns("recommend", run, "--user", "p03", *left, "--json").json["users"][0]["items"] == []


def test_more_than_there_are_costs_nothing(sahcns: Sahcns, run: Path) -> None:
    for asked in (("--user", "p03", "--exclude", "nothing"), ("--having", "101"), ("--similar-to", "101")):
        assert "119" in sahcns("recommend", run, *asked, "-k", "1000000000000").out


def test_an_item_to_leave_out_that_is_not_there_is_remarked_on(sahcns: Sahcns, run: Path, tmp_path: Path) -> None:
    for rest in ((), ("--to", tmp_path / "one.csv")):
        done = sahcns("recommend", run, "--user", "p03", "--without", "7", *rest)
        assert done.code == 0
        assert done.err == "warning: --without 7: there is no such item in the data, so it is never shown anyway\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_letters_that_the_terminal_does_not_have(run: Path, encoding: str) -> None:
    """A title with a cup in it, into a pipe that knows no cups: escaped where people read, and JSON that stays exact."""
    told = []
    for rest in ([], ["--json"]):
        line = ["recommend", str(run), "--user", "p03", "-k", "1", *rest]
        done = subprocess.run(
            [sys.executable, "-c", f"from sahcns.cli import main; main({line})"],
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        told.append(done.stdout.decode(encoding))
    title = json.loads(told[1])["users"][0]["items"][0]["title"]
    assert title.endswith(" ☕")
    assert title.replace("☕", r"\u2615") in told[0]


def test_a_sigterm_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    run = made(films()).save(tmp_path / "run")
    code = (
        "import os, signal; from sahcns.cli import main; from sahcns.model import Recommender\n"
        "Recommender.ranked = lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)\n"
        f"main(['recommend', {str(run)!r}, '--everyone', '--to', {str(tmp_path / 'lists.csv')!r}])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
