"""From a shop's export to lists and to a running server, by somebody who has the file and nothing else."""

import json
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

from sahcns.model import Recommender
from tests.cli.conftest import Sahcns, refused
from tests.cli.short_runs import served
from tests.orders import write_orders

SHORT = ("--epochs", "3", "--device", "cpu")


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_orders(tmp_path_factory.mktemp("shop") / "orders.csv", 4000)


def test_two_commands_lead_from_the_file_to_an_answer_of_the_server(
    sahcns: Sahcns, orders: Path, tmp_path: Path
) -> None:
    assert sahcns("train", orders, "--out", tmp_path / "model").code == 0
    customer = pl.read_csv(orders, infer_schema=False)["Customer No."].mode().sort()[0]
    with served(tmp_path / "model") as (told, _):
        connection = HTTPConnection(told["url"].removeprefix("http://"), timeout=60)
        connection.request("GET", f"/recommend?user={quote(customer)}&k=5")
        [answer] = json.loads(connection.getresponse().read())["users"]
        connection.close()
    model = Recommender.load(tmp_path / "model")
    assert [one["item"] for one in answer["items"]] == [one.item for one in model.recommend([customer], 5)[0]]
    assert answer["source"] == "model"


def test_it_says_what_it_guessed_how_it_did_and_what_is_kept(sahcns: Sahcns, orders: Path, tmp_path: Path) -> None:
    done = sahcns("train", orders, *SHORT, "--save", "ease", "--out", tmp_path / "model")
    assert done.code == 0
    assert "user = Customer No., item = article, time = ordered_at" in done.err
    model = Recommender.load(tmp_path / "model")
    assert f"{len(model.user_ids):,} customers, {len(model.item_ids):,} articles, " in done.err
    judged = model.record["judged"]
    for one in judged["candidates"]:
        assert any(f"{100 * one['recall@20']:.2f}" in line and f"{100 * one['ndcg@20']:.2f}" in line for line in done.out.splitlines())  # fmt: skip  # noqa: E501
    assert judged["why"] in done.out
    assert (judged["kept"], model.record["baseline"]["name"]) == ("ease", "ease")
    for command in ("inspect", "evaluate"):
        refused(sahcns(command, tmp_path / "model"))
    refused(sahcns("diff", tmp_path / "model", tmp_path / "model"))
    refused(sahcns("train", "--config", tmp_path / "model", "--out", tmp_path / "again"))


def test_options_override_the_preset_and_the_record_has_them(sahcns: Sahcns, orders: Path, tmp_path: Path) -> None:
    said = ("--sampler", "dns", "--set", "backbone.dim=8", "--batch", "64", "--seed", "5", "--save", "model", "--json")
    done = sahcns("train", orders, *SHORT, *said, "--out", tmp_path / "model")
    record = done.json
    assert done.code == 0
    assert (record["sampler"]["name"], record["backbone"]["dim"], record["seed"]) == ("dns", 8, 5)
    assert (record["protocol"]["batch"], record["judged"]["kept"]) == (64, "model")
    assert record["protocol"]["epochs"] <= 3


def test_lists_for_everybody_come_straight_from_the_file(sahcns: Sahcns, tmp_path: Path) -> None:
    given = tmp_path / "log.csv"
    rows = [f"{person},{thing}\n" for person in range(12) for thing in range(10) if (person + thing) % 3]
    given.write_text("wer,was\n" + "".join(rows))
    done = sahcns("recommend", given, "--read", "user=wer", "--read", "item=was", "-k", "3", "--to", tmp_path / "a.csv")
    assert (done.code, "as there are no times" in done.err) == (0, True)
    assert pl.read_csv(tmp_path / "a.csv")["user"].n_unique() == 12
    one = sahcns("recommend", given, "--read", "user=wer", "--read", "item=was", "--user", "7", "-k", "2", "--json")
    assert len(one.json["users"][0]["items"]) == 2


def test_a_pattern_and_a_folder_of_parquet_files_are_orders_too(sahcns: Sahcns, orders: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    table = pl.read_csv(orders, infer_schema=False)
    for part in range(3):
        table[part::3].write_parquet(tmp_path / "logs" / f"{part}.parquet")
    lists = []
    for place in (tmp_path / "logs", tmp_path / "logs" / "*.parquet"):
        done = sahcns("train", place, *SHORT, "--save", "popular", "--out", tmp_path / "model")
        assert done.code == 0, done.err
        lists.append(Recommender.load(tmp_path / "model").popular(5))
    assert lists[0] == lists[1]
    assert lists[0]
    assert sahcns("recommend", tmp_path / "logs", "--popular", "--read", "user=nobody").code == 2


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--whole"], "--whole"),
        (["--save", "eas"], "'ease'"),
        (["--read", "usr=x"], "'user'"),
        (["--read", "user=nobody"], "'nobody'"),
        (["--sampler", "sach"], "'sahc'"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_written(
    sahcns: Sahcns, orders: Path, tmp_path: Path, options: list[str], names: str
) -> None:
    done = sahcns("train", orders, "--out", tmp_path / "model", *options, "--json")
    assert done.code == 2
    assert names in done.err.splitlines()[-1]
    assert not (tmp_path / "model").exists()


def test_options_of_a_file_are_refused_elsewhere(sahcns: Sahcns, tmp_path: Path) -> None:
    for option in (["--save", "ease"], ["--read", "user=x"]):
        assert option[0] in refused(sahcns("train", "ml-latest-small", "--out", tmp_path / "m", *option))
    (tmp_path / "few.csv").write_text("user,item\na,1\nb,2\n")
    assert "few.csv" in refused(sahcns("train", tmp_path / "few.csv", "--out", tmp_path / "m"))
