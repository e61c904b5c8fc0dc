"""Results on stdout, messages on stderr, JSON that any program reads."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sahcns.cli.console import byte_progress, rich_table, show, show_json, show_tables, table, tell, warn
from sahcns.lab.report.parts import Cell, Table


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


def test_an_id_or_a_title_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    bad, seen = "a\x1b]0;owned\x07\r\x9b2J\u202eb", r"a\x1b]0;owned\x07\r\x9b2J\u202eb"
    rows = table(bad, title=bad)
    rows.add_row(bad)
    show(rows, bad)
    show_tables([Table("t", bad, (bad,), [(bad,), (Cell(bad, note=bad),)], bad)])
    tell(bad)
    warn(bad)
    shown = "".join(capsys.readouterr())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert shown.count(seen) == 12
    show_json({bad: bad})
    shown = capsys.readouterr().out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert json.loads(shown) == {bad: bad}


def test_a_long_id_is_folded_and_never_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = table(">rank", "item", ">score")
    rows.add_row("1", "0123456789" * 6, "0.5")
    show(rows)
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "".join(re.findall(r"\d{10,}", shown)) == "0123456789" * 6


def test_progress_without_a_terminal_is_one_line_for_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress() as report:
        for done in range(0, 3001, 1000):
            report("a.zip", done, 3000)
        report("b.zip", 0, None)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "downloading a.zip (3,000 bytes)\ndownloading b.zip\n"


TABLE = Table(
    "t",
    "Recall",
    ("sampler", ">R@20"),
    [("rns", "1.00"), ("dns", Cell("2.00", "second")), ("[sahc]", Cell("3.00", "best", note="*"))],
    "In percent.",
)


def test_cells_carry_their_marks() -> None:
    made = rich_table(TABLE)
    cells = list(made.columns[1].cells)
    assert [str(cell) for cell in cells] == ["1.00", "2.00", "3.00*"]
    marks = [[(span.start, span.end, span.style) for span in cell.spans] for cell in cells]  # type: ignore[union-attr]
    assert marks == [[], [(0, 4, "underline")], [(0, 4, "bold")]]
    assert [column.justify for column in made.columns] == ["left", "right"]


def test_a_file_has_no_edge_at_which_a_table_is_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    sets = [f">some-prepared-set-{at} · R@20" for at in range(8)]
    show_tables(
        [Table("t", "", ("sampler", *sets), [("dns", *["12.34 ± 0.56"] * 8)], "means over several seeds, " * 6)]
    )
    head, _, row, *below = (line for line in capsys.readouterr().out.splitlines() if line.strip())
    assert [name for name in sets if name.removeprefix(">") in head] == sets
    assert row.count("12.34 ± 0.56") == 8
    assert [len(line) <= 120 for line in below] == [True] * 2  # words are, though
