"""Results on stdout, messages on stderr, JSON that any program reads."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sahcns.cli.console import byte_progress, show, show_json, table, tell, warn


@dataclass(frozen=True)
class Point:
    x: int
    at: Path


def test_json_is_plain_and_strict(capsys: pytest.CaptureFixture[str]) -> None:
    value = {
        "point": Point(1, Path("/a")),
        "array": np.arange(3),
        "number": np.float32(0.5),
        "nan": float("nan"),
        "inf": [float("inf"), 2.5],
        "title": "Amélie",
        7: (1, None, True),
    }
    show_json(value)
    shown = capsys.readouterr().out
    assert "Amélie" in shown
    assert json.loads(shown, parse_constant=lambda name: pytest.fail(name)) == {
        "point": {"x": 1, "at": "/a"},
        "array": [0, 1, 2],
        "number": 0.5,
        "nan": None,
        "inf": [None, 2.5],
        "title": "Amélie",
        "7": [1, None, True],
    }


def test_words_are_printed_as_they_are_and_never_folded(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/a/[red]/" + "long/" * 60
    show(path)
    tell(path)
    warn(path)
    shown = capsys.readouterr()
    assert shown.out == f"{path}\n"
    assert shown.err == f"{path}\nwarning: {path}\n"


def test_cells_and_titles_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """An id in square brackets is no markup, which may even be an error, and one between colons no picture."""
    rows = table("id", title="for [/x] a:100:b")
    rows.add_row("[red]x, as wide as the title :tea:")
    show(rows)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "for [/x] a:100:b"
    assert lines[-1] == "[red]x, as wide as the title :tea:"


def test_a_long_id_is_folded_and_never_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = table(">rank", "item", ">score")
    rows.add_row("1", "0123456789" * 6, "0.5")
    show(rows)
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "".join(re.findall(r"\d{10,}", shown)) == "0123456789" * 6


def test_a_table_sets_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table("name", ">users")
    rows.add_row("a", "1")
    rows.add_row("b", "1,000")
    show(rows)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "name   users"
    assert lines[2:] == ["a          1", "b      1,000"]


def test_progress_without_a_terminal_is_one_line_for_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress() as report:
        for done in range(0, 3001, 1000):
            report("a.zip", done, 3000)
        report("b.zip", 0, None)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "downloading a.zip (3,000 bytes)\ndownloading b.zip\n"


def test_no_progress_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress():
        pass
    assert capsys.readouterr() == ("", "")
