"""A report's table in the terminal."""

import dataclasses

import pytest

from sahcns.cli.console import rich_table, show_tables
from sahcns.lab.report.parts import Cell, Table

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


def test_tables_stand_one_below_the_other(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    show_tables([TABLE, TABLE])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    once = ["Recall", "sampler    R@20", "───────────────", "rns        1.00", "dns        2.00", "[sahc]    3.00*"]
    assert [line for line in lines if line] == [*once, "In percent.", *once, "In percent."]


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


def test_a_long_caption_is_broken_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    show_tables([dataclasses.replace(TABLE, caption="means over several seeds, " * 6)])
    caption = capsys.readouterr().out.splitlines()[7:]
    assert len(caption) == 4
    assert all(line.rstrip().endswith(("means", "over", "several", "seeds,")) for line in caption)
