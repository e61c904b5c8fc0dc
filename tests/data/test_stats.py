"""The figures of a set counted by hand, as a table, and as a picture."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from sahcns.data import Split, plot_degrees, statistics, statistics_table
from sahcns.data.stats import degree_counts
from sahcns.errors import SahcnsError, SettingError


def small() -> Split:
    """3 users, 4 items: user 0 has 4 rows, user 1 has 2, user 2 only a test row; item 3 never trains."""
    return Split.from_pairs([[0, 0], [0, 1], [1, 0]], valid=[[0, 2], [1, 2]], test=[[0, 3], [2, 1]])


def test_the_figures_of_a_set_counted_by_hand() -> None:
    figures = statistics(small())
    assert (figures["users"], figures["items"], figures["interactions"]) == (3, 4, 7)
    assert figures["density"] == pytest.approx(7 / 12)
    assert figures["parts"] == {
        "train": {"interactions": 3, "users": 2, "items": 2},
        "valid": {"interactions": 2, "users": 2, "items": 1},
        "test": {"interactions": 2, "users": 2, "items": 2},
    }
    degrees = figures["user_degrees"]  # 4, 2, 1
    assert (degrees["min"], degrees["median"], degrees["mean"], degrees["max"]) == (1, 2.0, 2.33, 4)
    assert (degrees["25%"], degrees["75%"]) == (1.5, 3.0)
    assert list(degrees) == ["min", "5%", "25%", "median", "mean", "75%", "95%", "99%", "max"]
    assert figures["item_degrees"]["max"] == 2
    assert figures["users_without_train"] == 1
    assert figures["users_without_valid"] == 1
    assert figures["users_without_test"] == 1
    assert figures["items_without_train"] == 2
    assert figures["fingerprint"] == small().fingerprint
    assert json.loads(json.dumps(figures)) == figures


def test_the_table_shows_table_one_and_what_never_trains() -> None:
    console = Console(width=80)
    with console.capture() as captured:
        console.print(statistics_table(statistics(small()), "tiny"))
    text = captured.get()
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines()]
    assert ["train", "2", "2", "3"] in lines
    assert ["all", "3", "4", "7"] in lines
    assert ["user", "1", "1.1", "1.5", "2", "2.3", "3", "3.8", "4.0", "4"] in lines
    assert "density 58.3333%" in text
    assert "of the users, 1 have no valid items, 1 have no test items" in text
    assert "never in training: 1 users, 2 items" in text
    assert small().fingerprint in text


def test_a_set_without_valid_or_test_rows() -> None:
    figures = statistics(Split.from_pairs([[0, 0]]))
    assert (figures["users_without_valid"], figures["users_without_test"]) == (1, 1)
    assert figures["parts"]["test"] == {"interactions": 0, "users": 0, "items": 0}


@pytest.mark.parametrize(("ending", "first"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")])
def test_the_degrees_are_drawn(tmp_path: Path, ending: str, first: bytes) -> None:
    drawn = plot_degrees(small(), tmp_path / "deep" / f"degrees.{ending}", title="tiny").read_bytes()
    assert drawn.startswith(first)
    if ending == "svg":
        assert b"3 users, median 2" in drawn
        assert b"4 items, median 2" in drawn


def test_degree_counts() -> None:
    values, exactly, at_least = degree_counts(np.array([3, 1, 1, 7]))
    assert (values.tolist(), exactly.tolist(), at_least.tolist()) == ([1, 3, 7], [2, 1, 1], [4, 2, 1])


def test_a_plot_that_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match=r"degrees\.doc"):
        plot_degrees(small(), tmp_path / "degrees.doc")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(SahcnsError, match=r"sahcns\[report\]"):
        plot_degrees(small(), tmp_path / "degrees.png")
