"""`sahcns data prepare` of a shop's log: kinds of events, an empty day, odd times, and what a set replaces."""

import json
import re
from pathlib import Path

import pytest

from sahcns.data import load_split
from tests.cli.conftest import Sahcns, refused

KINDS = ("view", "view", "View", "view", "view", "view", "cart", "cart", "purchase", "")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Twenty users and thirty items; of each ten rows six are views, two carts, one a purchase, one has no kind."""
    rows = (
        f"u{k % 20:02},i{(k * 7 + k // 20) % 30:02},{KINDS[k // 20 % 10]},{1_767_225_600 + k}\n" for k in range(600)
    )
    path = tmp_path / "log.csv"
    path.write_text("user_id,product_id,event_type,event_time\n" + "".join(rows))
    return path


def test_the_kinds_that_stay_and_those_that_go_are_counted(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    done = sahcns("data", "prepare", log, tmp_path / "out", "--events", "purchase, CART", "--unseen", "drop")
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert ["events", "purchase,", "CART", "20", "26", "180"] in rows
    assert "\nevents kept: cart (120), purchase (60) · left out: view (360), '' (60)\n" in done.out
    split = load_split(tmp_path / "out")
    assert split.manifest["recipe"]["events"] == ["purchase", "CART"]  # type: ignore[index]
    assert len(split.aside) == 0
    assert sum(map(len, split.parts().values())) <= 180


def test_without_the_option_one_remark_says_that_all_count_alike(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    for rest in ((), ("--json",)):
        done = sahcns("data", "prepare", log, tmp_path / "out", *rest)
        assert done.code == 0
        assert done.err.splitlines() == [
            f"{log} was read with user = user_id, item = product_id, time = event_time; not used: event_type",
            "all kinds of event_type count alike: view (360), cart (120), purchase (60), '' (60); "
            "--events KIND,… keeps some of them",
        ]
    assert done.json["steps"][1]["rule"] == "off, 4 kinds alike"
    assert done.json["recipe"]["events"] is None


def test_files_that_come_split_are_taken_whole(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    for name, part in (("a", lines[:400]), ("b", lines[:1] + lines[400:])):
        (tmp_path / f"{name}.csv").write_text("".join(part))
    line = ("data", "prepare", tmp_path / "a.csv", tmp_path / "out", "--test", tmp_path / "b.csv", "--overlap", "drop")
    done = sahcns(*line)
    assert done.code == 0
    assert "not used: event_type" in done.err
    assert "alike" not in done.err
    assert "are taken as they are, so --events does not apply" in refused(sahcns(*line, "--events", "cart"))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--events", "purchase,crat"], "'crat'"),
        (["--events", "a,,b"], "--events ('a', '', 'b')"),
        (["--event", "cart"], "--event 'cart'"),
        (["--events", "cart", "--event", "kind"], "'kind'"),
        (["--events", "cart", "--event", "0"], "--event 'event_type'"),
    ],
)
def test_every_mistake_is_one_sentence(
    sahcns: Sahcns, log: Path, tmp_path: Path, options: list[str], named: str
) -> None:
    assert named in refused(sahcns("data", "prepare", log, tmp_path / "out", *options))
    assert not (tmp_path / "out").exists()


def test_what_was_only_viewed_can_be_recommended(sahcns: Sahcns, tmp_path: Path) -> None:
    """And what was bought cannot: not being set aside is what makes the difference to a low rating."""
    bought = [f"u{u},i{(u + step) % 6},buy,5\n" for u in range(6) for step in range(3)]
    log = tmp_path / "log.csv"
    log.write_text("user,item,event,rating\nu0,i4,view,5\nu0,i5,buy,1\n" + "".join(bought))
    prepared = ("data", "prepare", log, tmp_path / "shop", "--events", "buy", "--min-rating", "3", "--ratios", "1:0:0")
    assert sahcns(*prepared).code == 0
    trained = ("train", tmp_path / "shop", "--whole", "--epochs", "1", "--batch", "8", "--set", "backbone.dim=4")
    assert sahcns(*trained, "--device", "cpu", "--out", tmp_path / "run").code == 0
    done = sahcns("recommend", tmp_path / "run", "--user", "u0", "-k", "6", "--json")
    assert done.code == 0, done.err
    assert {one["item"] for one in done.json["users"][0]["items"]} == {"i3", "i4"}


def test_an_empty_file_among_several(sahcns: Sahcns, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,item\n" + "".join(f"{k % 7},{k % 8}\n" for k in range(56)))
    (tmp_path / "nothing.csv").touch()
    (tmp_path / "blank.csv").write_text("\n\n")
    files = [str(tmp_path / "nothing.csv"), str(log), str(tmp_path / "blank.csv"), str(tmp_path / "set")]
    refused = sahcns("data", "prepare", *files)
    assert refused.code == 2
    assert (
        "nothing.csv is empty; check the download or the command that wrote it, or add --lenient to leave"
        in refused.err
    )
    done = sahcns("data", "prepare", *files, "--lenient")
    assert done.code == 0
    assert re.findall(r"(\w+)\.csv is empty, and was left out", done.err) == ["nothing", "blank"]
    alone = sahcns("data", "prepare", str(log), str(tmp_path / "alone"))
    assert alone.err == ""
    assert load_split(tmp_path / "set").fingerprint == load_split(tmp_path / "alone").fingerprint
    for several in (files[:1], [files[0], files[2]]):
        refused = sahcns("data", "prepare", *several, str(tmp_path / "none"), "--lenient")
        assert refused.code == 2
        assert " empty; check the " in refused.err
    refused = sahcns("data", "prepare", *files, "--lenient", "--title", files[0])  # titles are no day of several
    assert (refused.code, "nothing.csv is empty; check the download" in refused.err) == (2, True)


def test_times_that_can_hardly_be_are_warned_of(sahcns: Sahcns, tmp_path: Path) -> None:
    rows = {"a": ["2026-03-01", "2026-03-02"], "b": ["2999-01-01", "2026-03-03"], "c": ["1970-01-01"]}
    for name, times in rows.items():
        lines = "".join(f"{name},{k},{time}\n" for k, time in enumerate(times))
        (tmp_path / f"{name}.csv").write_text(f"user,item,time\n{lines}")

    def warnings(*names: str) -> str:
        return sahcns("data", "prepare", *(str(tmp_path / f"{name}.csv") for name in names), str(tmp_path / "set")).err

    assert "time" not in warnings("a")
    assert f"the latest time in {tmp_path / 'b.csv'} is 2999-01-01T00:00:00Z, still to come" in warnings("a", "b")
    assert f"the earliest time in {tmp_path / 'c.csv'} is 1970-01-01T00:00:00Z, which" in warnings("a", "c")
    assert json.loads((tmp_path / "set" / "manifest.json").read_text())["source"]["times"]["last"] == {
        "time": "2026-03-02T00:00:00Z",
        "file": str(tmp_path / "a.csv"),
    }


def test_what_changes_from_one_day_to_the_next_is_remarked_on(sahcns: Sahcns, tmp_path: Path) -> None:
    head = "user,item,time,event\n"
    rows = [f"{k % 7},{k},{1_700_000_000 + k},{'buy' if k % 2 else 'view'}\n" for k in range(40)]
    (tmp_path / "all.csv").write_text(head + "".join(rows))
    (tmp_path / "new.csv").write_text(head + "".join(rows[30:]))
    (tmp_path / "text.csv").write_text(head + "".join([*rows, "A17,3,1700000000,buy\n"]))

    def told(name: str, *options: str) -> str:
        return sahcns("data", "prepare", str(tmp_path / name), str(tmp_path / "set"), *options).err

    assert "before" not in told("all.csv", "--events", "buy", "--split", "time")
    assert "before" not in told("all.csv", "--events", "buy", "--split", "time")
    assert "set was prepared otherwise before: events buy, now none, split time, now random\n" in told("all.csv")
    assert "ratios 0.8:0.1:0.1, now 8.0:1.0:1.0\n" in told("all.csv", "--ratios", "8:1:1")
    told("all.csv")
    assert "held 40 pairs of 7 users and 40 items before, and has fewer now; files replace" in told("new.csv")
    assert "user ids were numbers before and are texts now" in told("text.csv")


def test_returns_weights_and_an_encoding(sahcns: Sahcns, tmp_path: Path) -> None:
    rows = "".join(f"Zoë{k % 5},{k % 7},{-2 if k == 34 else 2},3.5,2026-01-{k % 28 + 1:02}\n" for k in range(35))
    (tmp_path / "orders.csv").write_bytes(("customer,sku,qty,unit,date\n" + rows).encode("latin-1"))
    line = ("data", "prepare", tmp_path / "orders.csv", tmp_path / "shop", "--price", "unit", "--ratios", "1:0:0")
    assert "--encoding" in refused(sahcns(*line))
    done = sahcns(*line, "--encoding", "latin-1", "--weight", "price", "--half-life", "30")
    assert done.code == 0, done.err
    assert ["returns", "1", "taken", "back", "5", "7", "34"] in [row.split() for row in done.out.splitlines()]
    split = load_split(tmp_path / "shop")
    assert split.train.weights is not None
    assert abs(float(split.train.weights.mean()) - 1) < 1e-6
    assert split.user_ids.find("Zoë1") is not None
    (tmp_path / "few.csv").write_text("user,item\n1,2\n,3\n,4\n")
    few = ("data", "prepare", tmp_path / "few.csv", tmp_path / "few", "--lenient")
    assert "--lenient-limit 0.5" in refused(sahcns(*few))
    assert sahcns(*few, "--lenient-limit", "0.7", "--ratios", "1:0:0").code == 0
