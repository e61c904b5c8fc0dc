"""`sahcns data prepare --events`: a log of views, carts and purchases, narrowed to some of them."""

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


def test_the_manifest_has_the_filter_like_any_other(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    done = sahcns("data", "prepare", log, tmp_path / "out", "--events", "purchase", "--json")
    assert [step["step"] for step in done.json["steps"]] == [
        *("read", "events", "rating", "window", "duplicates", "k-core", "split"),
    ]
    step = done.json["steps"][1]
    assert (step["rule"], step["rows"]) == ("purchase", 60)
    assert (step["kept"], step["left_out"]) == ({"purchase": 60}, {"view": 360, "cart": 120, "": 60})
    assert done.json["recipe"]["events"] == ["purchase"]
    assert done.json["source"]["files"][0]["columns"]["event"] == "event_type"


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
    ("options", "sentence"),
    [
        (
            ["--events", "purchase,crat"],
            "LOG has no event 'crat'; there are: view (360), cart (120), purchase (60), '' (60); did you mean 'cart'?",
        ),
        (["--events", "a,,b"], "--events 'a,,b' must be kinds of events with commas between, such as purchase,cart"),
        (["--events", ""], "--events '' must be kinds of events"),
        (["--event", "cart"], "--event 'cart' names the column, and --events the kinds that are kept; give both"),
        (
            ["--events", "cart", "--event", "kind"],
            "LOG has no column 'kind' (asked for as event); its columns are: user_id, product_id, event_type, event_time",
        ),
        (["--events", "cart", "--event", "user_id"], "'user_id' cannot be both the user and the event column"),
        (
            ["--events", "cart", "--event", "0"],
            "LOG has no event column that is recognised; its columns are: event_type, user_id, product_id, event_time; "
            "name the right one with --event 'event_type'",
        ),
    ],
)
def test_every_mistake_is_one_sentence(
    sahcns: Sahcns, log: Path, tmp_path: Path, options: list[str], sentence: str
) -> None:
    assert sentence.replace("LOG", str(log)) in refused(sahcns("data", "prepare", log, tmp_path / "out", *options))
    assert not (tmp_path / "out").exists()


def test_a_named_set_has_none(sahcns: Sahcns, tmp_path: Path) -> None:
    line = ("data", "prepare", "ml-latest-small", tmp_path / "out")
    assert refused(sahcns(*line, "--events", "buy")) == (
        "ml-latest-small has no kinds of events, so --events does not apply to it"
    )
    assert "so --event does not apply to it" in refused(sahcns(*line, "--event", "type"))


def test_what_the_error_says_to_type_is_what_helps(sahcns: Sahcns, log: Path, tmp_path: Path) -> None:
    log.write_text(log.read_text().replace("event_type", "events"))
    line = ("data", "prepare", log, tmp_path / "out", "--events", "cart")
    assert "name the right one with --event 'events'" in refused(sahcns(*line))
    assert sahcns(*line, "--event", "events").code == 0


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
