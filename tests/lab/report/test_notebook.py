"""What a notebook shows of a figure, a table and a report, and what they are in a list."""

from xml.etree import ElementTree

from sahcns.lab.report.as_markdown import to_markdown
from sahcns.lab.report.parts import Report, Table
from sahcns.lab.report.svg import to_svg
from tests.lab.report.sample import CURVES

TABLE = Table("best", "At a pool of 20", ["sampler", ">Recall@20"], [["DNS", "13.5"], ["SAHC-NS", "13.6"]])


def test_a_figure_is_drawn() -> None:
    drawn = CURVES._repr_svg_()
    assert drawn.startswith("<svg ")  # a prologue within a page of HTML is shown as text
    assert to_svg(CURVES).endswith(drawn)
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_table_is_set() -> None:
    assert TABLE._repr_markdown_() == to_markdown(TABLE)


def test_in_a_list_each_is_a_line() -> None:
    assert repr([CURVES, TABLE, Report("Two samplers", [], [])]) == (
        "[Figure('curves', line, 9 series), Table('best', 2 rows of 2 columns), Report('Two samplers', 0 sections)]"
    )
