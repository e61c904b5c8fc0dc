"""The committed pages are what the results in the tree give, and the program stands on public names alone."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import sahcns
import sahcns.lab
from reproduction.evidence import Evidence
from reproduction.pages import does_it_hold, page, results_page
from reproduction.sections import use
from reproduction.tests.tiny import ALL, TINY, fill, in_the_tree

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "make"), [("results.md", results_page), ("does-it-hold.md", does_it_hold)])
def test_the_page_is_what_the_results_give(name: str, make: Callable[[Evidence], Iterator[str]]) -> None:
    """If it is not: make results"""
    assert (ROOT / "docs" / name).read_text("utf-8") == page(make(in_the_tree()))


def test_the_figure_shows_the_means_of_the_runs() -> None:
    """If it does not: make results"""
    figure = use.figure(in_the_tree())
    text = (ROOT / "docs" / f"{use.FIGURE}.svg").read_text("utf-8")
    lines = dict(re.findall(r's: ([^";]+)"[^>]* d="M([^"]+)"', text))
    assert lines.keys() == {series.name for series in figure.series}
    heights = [float(point.split(",")[1]) for series in figure.series for point in lines[series.name].split("L")]
    values = [value for series in figure.series for value in series.y]
    assert np.polyval(np.polyfit(heights, values, 1), heights) == pytest.approx(values, abs=0.005)  # one scale for all


@pytest.mark.parametrize("part", ALL)
def test_a_page_says_what_there_is(part: str, tmp_path: Path) -> None:
    """Of any part alone, and of one method of it."""
    assert page(
        results_page(Evidence.of(fill(tmp_path / "few", TINY, parts=[part], keep=lambda row, _: row.label == "DNS")))
    )
    evidence = Evidence.of(fill(tmp_path / "all", TINY, parts=[part]))
    text = page(results_page(evidence))
    assert "Not finished" in text
    assert ("pool-sizes.svg" in text) == bool(evidence.runs["pools"])


def test_what_to_use_is_said_first_in_ten_lines_at_most() -> None:
    lines = list(use.lines(in_the_tree()))
    assert 5 <= len(lines) <= 10
    assert all(line.startswith("**") for line in lines)


@pytest.mark.parametrize(
    "path", [*(ROOT / "reproduction").glob("*.py"), *(ROOT / "reproduction" / "sections").glob("*.py")]
)
def test_only_public_names_are_used(path: Path) -> None:
    public = {"sahcns": {*sahcns.__all__, "lab"}, "sahcns.lab": set(sahcns.lab.__all__)}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert not [one.name for one in node.names if one.name.startswith("sahcns.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sahcns":
            assert {one.name for one in node.names} <= public[node.module or ""]
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("sahcns", "lab")
        ):
            assert node.attr in public["sahcns" if node.value.id == "sahcns" else "sahcns.lab"]
