"""Figures as Vega-Lite: what is drawn are the values, and files look alike."""

import struct
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import pytest

from sahcns.errors import SahcnsError, SettingError
from sahcns.lab.report.chart import save, specification, to_svg
from sahcns.lab.report.page import to_html
from sahcns.lab.report.palette import COLOURS
from sahcns.lab.report.parts import Figure, Report, Section, Series, Table
from tests.lab.report.sample import BARS, CHANGES, CLOCK, CURVES, DELTAS, EVIL, FIGURES, HEAT, HISTOGRAM, HISTOGRAMS


def rows(figure: Figure, name: str = "rows") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = specification(figure)["datasets"][name]
    return found


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_figure_is_valid_and_drawn(figure: Figure) -> None:
    altair.Chart.from_dict(specification(figure))  # refuses what the schema does not know
    svg = ElementTree.fromstring(to_svg(figure))
    texts = ["".join(element.itertext()) for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert figure.title in texts
    if figure.name == "empty":
        assert "no values yet" in texts
    else:
        assert figure.x_label in texts or not figure.x_label
        assert len(rows(figure)) == sum(len(series.x) for series in figure.series)
    assert "var(" not in to_svg(figure)


def test_rows_are_the_values_and_what_is_missing_is_null() -> None:
    found = rows(CLOCK)
    assert [row["y"] for row in found[:4]] == [0.05, 0.08, None, 0.12]
    assert found[0]["x"] == 0.5
    assert [(row["low"], row["high"]) for row in rows(CURVES)[:1]] == [pytest.approx((0.1, 0.103))]
    logged = Figure("f", "F", "x", "y", [Series("a", [0, 1, 10], [1, 0, 5])], x_log=True)
    assert [row["x"] for row in rows(logged)] == [None, 1, 10]


def scales(figure: Figure, channel: str) -> list[Any]:
    return [
        layer["encoding"][channel]["scale"] for layer in specification(figure)["layer"] if channel in layer["encoding"]
    ]


def test_a_sampler_has_its_colour_and_a_further_series_another_marker_and_dashes() -> None:
    assert scales(CLOCK, "fill")[0]["range"] == ["var(--dns)", "var(--sahc)", "var(--surface)"]
    assert scales(CLOCK, "stroke")[-1]["range"] == ["var(--dns)", "var(--sahc)", "var(--sahc)"]
    assert [row["s"] for row in rows(CLOCK) if row.get("d")] == ["SAHC-NS, last"] * 4
    svg = to_svg(CLOCK)
    assert COLOURS["sahc"][0] in svg
    assert COLOURS["dns"][0] in svg


def test_words_below_bars_that_are_samplers_have_their_colours() -> None:
    assert [row["c"] for row in rows(CHANGES)] == ["var(--sahc)", "var(--rns)", "var(--sa-only)"]
    assert [row["c"] for row in rows(BARS)][::2] == ["var(--dns)", "var(--mixgcf)", "var(--sahc)"]


def test_a_histogram_has_bins_and_several_are_outlines_that_fall_to_zero() -> None:
    assert [row["mid"] for row in rows(HISTOGRAM)] == pytest.approx([0.05, 0.15, 0.25, 0.35])
    dns = [(row["x"], row["y"]) for row in rows(HISTOGRAMS, "steps") if row["s"] == "dns"]
    assert dns == [(0.0, 0.1), (0.1, 0.2), (0.2, 0.0), (0.3, 0.7), (pytest.approx(0.4), 0.0)]


def test_a_value_that_is_not_final_has_no_part_in_the_colours_of_a_heat_map() -> None:
    partial = [HEAT.series[0], HEAT.series[1], replace(HEAT.series[2], partial=[True, False])]
    figure = replace(HEAT, series=partial, partial_label="cut off")
    assert scales(HEAT, "opacity")[0]["domain"] == [0.05, 0.5]
    assert scales(figure, "opacity")[0]["domain"] == [0.1, 0.5]
    assert "cut off" in to_svg(figure)
    assert "cut off" not in to_svg(replace(HEAT, partial_label="cut off"))
    assert scales(DELTAS, "opacity")[0]["domain"] == [0.0, 0.4]  # by size, since the sign has the colour
    assert COLOURS["below"][0] in to_svg(DELTAS)


def test_names_are_text() -> None:
    svg = to_svg(replace(CLOCK, title=EVIL, x_label=EVIL, series=[replace(CLOCK.series[0], name=EVIL)]))
    assert "<script" not in svg
    assert "<img" not in svg
    ElementTree.fromstring(svg)


def test_files_of_each_kind(tmp_path: Path) -> None:
    for svg in (save(CLOCK, tmp_path / "new" / "clock.svg").read_text("utf-8"), getattr(CLOCK, "_repr_svg_")()):
        assert svg.startswith("<svg")
    data = save(CLOCK, tmp_path / "clock.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">I", data[16:20])[0] == pytest.approx(2 * 760, abs=2)
    narrow = save(CLOCK, tmp_path / "narrow.png", width=340).read_bytes()
    assert struct.unpack(">I", narrow[16:20])[0] == pytest.approx(2 * 340, abs=2)
    assert save(CLOCK, tmp_path / "clock.pdf").read_bytes().startswith(b"%PDF")
    assert save(CLOCK, tmp_path / "again.png").read_bytes() == data
    with pytest.raises(SettingError, match=r"clock\.gif"):
        save(CLOCK, tmp_path / "clock.gif")


def test_without_altair_a_page_has_tables_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "sahcns.lab.report.chart")
    with pytest.raises(SahcnsError, match=r"sahcns\[report\]"):
        getattr(HEAT, "_repr_svg_")()
    page = to_html(Report("r", ["one"], [Section("s", [HEAT, Table("t", "T", ["a"], [["x"]])])]))
    assert "sahcns[report]" in page
    assert "<td" in page
    assert len(page) < 100_000


def test_parts_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(SettingError, match="series 'a': 1 values of y for 2 of x"):
        Series("a", [1, 2], [1])
    with pytest.raises(SettingError, match="1 values of partial for 2 of x"):
        replace(HEAT.series[0], partial=[True])
    with pytest.raises(SettingError, match="0 values of high for 1 of x"):
        Series("a", [1], [1], low=[0])
    with pytest.raises(SettingError, match="table 't': row 1"):
        Table("t", "T", ["a", "b"], [["x"]])
