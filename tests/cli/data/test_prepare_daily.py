"""`sahcns data prepare` from day to day: an empty file, times that can hardly be, and what a set replaces."""

import json
import re
from pathlib import Path

from sahcns.data import load_split
from tests.cli.conftest import Sahcns


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
    assert f"the earliest time in {tmp_path / 'c.csv'} is 1970-01-01T00:00:00Z, which is" in warnings("a", "c")
    assert json.loads((tmp_path / "set" / "manifest.json").read_text())["source"]["times"]["last"] == {
        "time": "2026-03-02T00:00:00Z",
        "file": str(tmp_path / "a.csv"),
    }


def test_what_changes_from_one_day_to_the_next_is_remarked_on(sahcns: Sahcns, tmp_path: Path) -> None:
    head, rows = (
        "user,item,time,event\n",
        [f"{k % 7},{k},{1_700_000_000 + k},{'buy' if k % 2 else 'view'}\n" for k in range(40)],
    )
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
