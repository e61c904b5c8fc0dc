"""Fig. 3 near its top."""

from reproduction.sections.figure_3 import near_the_top, times_table
from sahcns.lab.report.parts import Cell, Figure, Series

FIGURE = Figure(
    "seconds here",
    "Over time",
    "seconds",
    "%",
    [
        Series("good", [1.0, 2.0, 3.0], [5.0, 9.5, 10.0], [4.0, 9.4, 9.9], [6.0, 9.6, 10.1], hints=["a", "b", "c"]),
        Series("late", [1.0, 2.0, 3.0], [5.0, 9.1, 9.2]),
        Series("poor", [1.0, 2.0, 3.0], [3.0, 3.1, 8.9]),
    ],
)


def test_only_what_is_near_the_highest_is_drawn() -> None:
    (near,) = near_the_top(FIGURE)
    assert [(one.name, one.x, one.y) for one in near.series] == [
        ("good", [2.0, 3.0], [9.5, 10.0]),
        ("late", [2.0, 3.0], [9.1, 9.2]),
    ]
    assert (near.series[0].low, near.series[0].high, near.series[0].hints) == ([9.4, 9.9], [9.6, 10.1], ["b", "c"])
    assert near.caption.endswith(" poor never gets there.")
    assert near.name != FIGURE.name


def test_nothing_to_draw_gives_no_figure() -> None:
    assert near_the_top(Figure("f", "F", "x", "y", [])) == []
    assert near_the_top(Figure("f", "F", "x", "y", [Series("one", [1.0], [2.0])])) == []


def test_how_soon_each_is_near_the_top() -> None:
    (table,) = times_table({"here": FIGURE, "there": Figure("f", "F", "x", "y", [Series("good", [4.0], [1.0])])})
    rows = {row[0]: [one.text if isinstance(one, Cell) else one for one in row[1:]] for row in table.rows}
    assert rows["good"] == ["2.00", "10.00", "4.00", "1.00"]
    assert rows["late"] == ["never", "9.20", "–", "–"]
    assert times_table({}) == []
