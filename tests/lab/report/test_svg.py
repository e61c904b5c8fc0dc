"""Figures as SVG: valid, within their frame, and drawn where the values say."""

import math
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise

import pytest

from sahcns.errors import SettingError
from sahcns.lab.report.layout import NARROW, WIDE, lay_out
from sahcns.lab.report.palette import LOOKS, REST, Hue
from sahcns.lab.report.parts import Figure, Kind, Series, Table
from sahcns.lab.report.scene import Dot, Group, Label, Scene, Shape, shortened, text_width, wrapped
from sahcns.lab.report.svg import outline, to_svg
from tests.lab.report.sample import (
    BARS,
    CHANGES,
    CLOCK,
    CURVES,
    DELTAS,
    EMPTY,
    EVIL,
    FIGURES,
    HEAT,
    HISTOGRAM,
    HISTOGRAMS,
)

Spot = tuple[float, float]


def groups(scene: Scene, name: str) -> list[Group]:
    return [group for group in scene.groups if group.name == name]


def shapes(scene: Scene, name: str) -> list[Shape]:
    return [item for group in scene.groups for item in group.items if isinstance(item, Shape) and item.name == name]


def there(spots: list[Spot | None]) -> list[Spot]:
    return [spot for spot in spots if spot]


def places(scene: Scene) -> list[list[Spot | None]]:
    def spot(text: str) -> Spot | None:
        if text == "-":
            return None
        x, y = map(float, text.split(","))
        return x, y

    return [[spot(text) for text in series.split()] for series in scene.data["at"].split("|")]


def plot(scene: Scene) -> tuple[float, ...]:
    return tuple(map(float, scene.data["plot"].split(",")))


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_it_is_well_formed_and_nothing_leaves_the_frame(figure: Figure, width: float) -> None:
    scene = lay_out(figure, width)
    root = ElementTree.fromstring(to_svg(figure, width))
    assert root.get("viewBox") == f"0 0 {width:.0f} {scene.height:.2f}".rstrip("0").rstrip(".")
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert " ".join(texts).startswith(figure.title)
    for group in scene.groups:
        for item in group.items:
            points = [point for run in item.runs for point in run] if isinstance(item, Shape) else [item.at]
            for x, y in points:
                assert -0.01 <= x <= width + 0.01, item
                assert -0.01 <= y <= scene.height + 0.01, item
            if isinstance(item, Label) and not item.turned:
                wide = text_width(item.text, item.size)
                start = item.at[0] - wide * {"start": 0, "middle": 0.5, "end": 1}[item.anchor]
                assert start >= -1, item
                assert start + wide <= width + 1, item


@pytest.mark.parametrize("figure", [one for one in FIGURES if one is not EMPTY], ids=lambda figure: figure.name)
def test_every_value_has_its_mark_in_the_plot(figure: Figure) -> None:
    scene = lay_out(figure)
    left, top, right, bottom = plot(scene)
    for series, found in zip(figure.series, places(scene), strict=True):
        assert len(found) == len(series.y)
        for value, spot in zip(series.y, found, strict=True):
            assert (spot is None) == math.isnan(value)
            if spot:
                assert left - 0.1 <= spot[0] <= right + 0.1
                assert top - 0.1 <= spot[1] <= bottom + 0.1


def test_a_line_goes_through_its_points_and_higher_is_up() -> None:
    scene = lay_out(CURVES)
    found = places(scene)
    for line, spots in zip(shapes(scene, "line"), found, strict=True):
        assert [(round(x, 1), round(y, 1)) for x, y in line.runs[0]] == spots
    rns, sahc = there(found[0]), there(found[8])
    assert rns[0][0] < rns[-1][0]
    assert rns[0][1] > rns[-1][1]
    assert sahc[0][1] < rns[0][1]


def test_a_band_lies_around_its_line() -> None:
    scene = lay_out(CURVES)
    (area,) = shapes(scene, "band")[0].runs
    (line,) = shapes(scene, "line")[0].runs
    upper, lower = area[: len(line)], area[len(line) :][::-1]
    for (x, y), above, below in zip(line, upper, lower, strict=True):
        assert above[0] == below[0] == x
        # 0.001 below and 0.002 above the mean
        assert below[1] - y == pytest.approx((y - above[1]) / 2)


def test_a_missing_value_breaks_the_line() -> None:
    line = shapes(lay_out(CLOCK), "line")[0]
    assert [len(run) for run in line.runs] == [2, 1]


def test_a_log_axis_spaces_by_ratio() -> None:
    scene = lay_out(replace(CLOCK, series=[Series("a", [1, 10, 100], [1, 2, 3])]))
    a, b, c = there(places(scene)[0])
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.2)


def test_bars_stand_on_zero_side_by_side() -> None:
    scene = lay_out(BARS)
    bars = [shape.runs[0] for shape in shapes(scene, "bar")]
    bottom = plot(scene)[3]
    assert all(max(y for _, y in bar) == pytest.approx(bottom) for bar in bars)
    spans = sorted((min(x for x, _ in bar), max(x for x, _ in bar)) for bar in bars)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    heights = [bottom - min(y for _, y in bar) for bar in bars[:2]]
    assert heights[0] / heights[1] == pytest.approx(2.0)  # 10 and 5


def test_a_bar_below_zero_hangs() -> None:
    scene = lay_out(CHANGES)
    up, down, _ = (shape.runs[0] for shape in shapes(scene, "bar"))
    zero = max(y for _, y in up)
    assert min(y for _, y in down) == pytest.approx(zero)
    assert max(y for _, y in down) > zero
    # sahc and rns are samplers and have their colour here too
    hues = [group.hue for group in groups(scene, "series")]
    assert hues[:2] == [LOOKS["sahc"].hue, LOOKS["rns"].hue]
    assert hues[2] == REST[0].hue


def dots(scene: Scene) -> list[Dot]:
    return [
        item
        for group in groups(scene, "series")
        for item in group.items
        if isinstance(item, Dot) and item.paint == "hue"
    ]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_change_of_nothing_is_seen(width: float) -> None:
    """Every bar that goes up, down or nowhere has its own marker at its value, in front of its whisker."""
    changes = {"dns": [0.2, 0.0], "rns": [0.0, -0.3], "sahc": [-0.001, 0.1]}
    series = [Series(n, ["R", "N"], y, [v - 0.1 for v in y], [v + 0.1 for v in y], n) for n, y in changes.items()]
    scene = lay_out(Figure("d", "Changes", "", "points", series, kind="bar"), width)
    found = {dot.at: dot for dot in dots(scene)}
    for name, spots in zip(changes, places(scene), strict=True):
        for x, y in there(spots):
            dot = next(dot for at, dot in found.items() if at == pytest.approx((x, y), abs=0.06))
            assert (dot.marker, dot.hollow) == (LOOKS[name].marker, LOOKS[name].hollow)
            assert dot.radius > 3
    for group in groups(scene, "series"):
        assert isinstance(group.items[-1], Dot)


def test_a_whisker_across_zero_makes_it_a_change() -> None:
    series = [Series(name, ["a"], [0.2], [-0.1], [0.5], name) for name in ("dns", "rns")]
    scene = lay_out(Figure("d", "", "", "", series, kind="bar"))
    assert [dot.at[1] for dot in dots(scene)] == pytest.approx([there(one)[0][1] for one in places(scene)], abs=0.06)


def test_a_bar_too_low_for_its_marker_has_it_above() -> None:
    series = [Series(name, ["a"], [value], role=name) for name, value in (("dns", 10.0), ("rns", 0.2), ("sahc", 9.0))]
    scene = lay_out(Figure("d", "", "", "", series, kind="bar"))
    [low] = dots(scene)  # the others have theirs inside, in the colour of the ground
    [(x, y)] = there(places(scene)[1])
    assert low.marker == LOOKS["rns"].marker
    assert low.at[0] == pytest.approx(x, abs=0.06)
    assert y - 12 < low.at[1] < y - 4


def test_whiskers_reach_from_low_to_high() -> None:
    scene = lay_out(BARS)
    stem = shapes(scene, "whisker")[0].runs[0]
    bar = shapes(scene, "bar")[0].runs[0]
    bottom, top = plot(scene)[3], min(y for _, y in bar)
    unit = (bottom - top) / 10
    assert [bottom - y for _, y in stem] == pytest.approx([9.5 * unit, 11 * unit])


def test_a_histogram_touches_and_several_are_outlines() -> None:
    bars = [shape.runs[0] for shape in shapes(lay_out(HISTOGRAM), "bar")]
    assert len(bars) == 4
    gaps = [after[0][0] - before[1][0] for before, after in pairwise(bars)]
    assert all(gap == pytest.approx(1, abs=0.01) for gap in gaps)
    rns, dns = shapes(lay_out(HISTOGRAMS), "bar")
    assert [len(run) for run in rns.runs] == [10]  # up, four tops of two corners, down
    assert [len(run) for run in dns.runs] == [6, 4]  # a bin is missing between
    base = rns.runs[0][0][1]
    assert sum(y == base for _, y in rns.runs[0]) == 4  # both ends, and the bin with nothing in it


def test_heat_maps_have_a_cell_a_value() -> None:
    scene = lay_out(HEAT)
    cells = shapes(scene, "cell")
    assert len(cells) == 5
    texts = [item.text for group in groups(scene, "series") for item in group.items if isinstance(item, Label)]
    assert texts == ["0.100", "0.500", "0.200", "0.050", "0.300"]
    colours = [group.hue.light for group in groups(scene, "series") if group.hue]
    assert colours[texts.index("0.500")] == "#0d4a8f"
    assert colours[texts.index("0.050")] == "#eaf1fa"


def test_a_value_that_is_not_final_is_hatched_and_has_no_colour() -> None:
    rows = [
        HEAT.series[0],
        replace(HEAT.series[1], partial=[True, False]),
        replace(HEAT.series[2], partial=[True, False]),
    ]
    scene = lay_out(replace(HEAT, series=rows, partial_label="cut off"))
    cells = groups(scene, "series")
    hatched = [any(isinstance(item, Shape) and item.name == "hatch" for item in cell.items) for cell in cells]
    assert hatched == [False, False, True, True, False]
    assert cells[0].hue == Hue("#eaf1fa", "#1f2a3a")  # the least of those that are final, though 0.05 is less
    texts = [item for cell in cells for item in cell.items if isinstance(item, Label)]
    assert [text.paint for text in texts] == ["on-hue", "on-hue", "muted", "muted", "on-hue"]
    for cell in cells[2:4]:
        edge, lines = (item for item in cell.items if isinstance(item, Shape))
        (left, top), (right, bottom) = edge.runs[0][0], edge.runs[0][2]
        assert all(left <= x <= right and top <= y <= bottom for line in lines.runs for x, y in line)
    told = [item.text for group in scene.groups for item in group.items if isinstance(item, Label)]
    assert told.count("cut off") == 1
    final = lay_out(replace(HEAT, partial_label="cut off"))
    assert not shapes(final, "hatch")  # nothing to explain
    with pytest.raises(SettingError, match="1 values of partial for 2 of x"):
        replace(HEAT.series[0], partial=[True])


def test_values_of_both_signs_have_zero_in_the_middle() -> None:
    minus, plus, _, nothing = (group.hue.light for group in groups(lay_out(DELTAS), "series") if group.hue)
    assert nothing == "#f2f2f0"
    assert minus == "#b35806"
    assert plus not in (minus, nothing)


def test_one_sampler_twice_is_told_apart() -> None:
    scene = lay_out(CLOCK)
    keys = groups(scene, "key")
    assert len({key.hue for key in keys}) == 2
    lines = shapes(scene, "line")
    assert [bool(line.dash) for line in lines] == [False, False, True]
    twice = replace(CLOCK, series=[replace(one, dashed=False) for one in CLOCK.series])
    assert [bool(line.dash) for line in shapes(lay_out(twice), "line")] == [False, False, True]
    dots = [item for group in groups(lay_out(twice), "key") for item in group.items if isinstance(item, Dot)]
    assert [dot.hollow for dot in dots] == [False, False, True]


def test_a_dash_can_be_seen_in_the_key() -> None:
    """A whole dash and a whole gap on either side of the marker, or a dashed line's key looks like any other."""
    keys = groups(lay_out(CLOCK), "key")
    dashed = [key for key in keys for item in key.items if isinstance(item, Shape) and item.dash]
    assert len(dashed) == 1
    (line,) = (item for item in dashed[0].items if isinstance(item, Shape))
    (dot,) = (item for item in dashed[0].items if isinstance(item, Dot))
    beside = dot.at[0] - dot.radius - line.runs[0][0][0]
    assert beside >= sum(line.dash)


@pytest.mark.parametrize("kind", ["line", "scatter", "bar"])
@pytest.mark.parametrize("role", ["sahc", "rns", "mine", ""])
def test_many_series_of_one_sampler_are_told_apart(kind: Kind, role: str) -> None:
    series = [Series(f"setting {at}", ["a", "b"], [1, at], role=role) for at in range(7)]
    scene = lay_out(Figure("f", "F", "x", "y", series, kind=kind))
    signs = set()
    for key in groups(scene, "key"):
        dash = [item.dash for item in key.items if isinstance(item, Shape)]
        (dot,) = (item for item in key.items if isinstance(item, Dot))
        signs.add((key.hue, str(dash), dot.marker, dot.hollow))
    assert len(signs) == 7
    assert len({key.hue for key in groups(scene, "key")}) == (1 if role else 7)


def test_a_key_names_each_series_and_one_alone_needs_none() -> None:
    keys = groups(lay_out(CURVES), "key")
    names = [item.text for key in keys for item in key.items if isinstance(item, Label)]
    assert names == [series.name for series in CURVES.series]
    assert not groups(lay_out(HISTOGRAM), "key")


def test_nothing_to_draw_says_so() -> None:
    assert "no values" in to_svg(EMPTY)
    bare = Figure("bare", "Bare", "x", "y", [])
    assert "no values" in to_svg(bare)
    ElementTree.fromstring(to_svg(replace(bare, kind="heat")))


def test_names_are_escaped() -> None:
    text = to_svg(replace(CLOCK, title=EVIL, x_label=EVIL, series=[replace(CLOCK.series[0], name=EVIL)]))
    assert "<script" not in text
    assert "<img" not in text
    ElementTree.fromstring(text)


def test_colours_are_fixed_and_offered_to_a_page() -> None:
    text = to_svg(CLOCK)
    assert "var(" not in text
    assert f'stroke="{LOOKS["sahc"].hue.light}"' in text
    assert re.search(r'class="line stroke-hue"', text)


def test_drawing_twice_gives_the_same() -> None:
    assert to_svg(CURVES) == to_svg(CURVES)


def test_texts_are_measured_shortened_and_wrapped() -> None:
    assert text_width("iii") < text_width("mmm")
    assert shortened("short", 100) == "short"
    cut = shortened("a sampler with settings alpha=0.3", 100)
    assert text_width(cut) <= 100
    assert cut.startswith("a s")
    assert cut.endswith("0.3")
    assert "…" in cut
    lines = wrapped("one two three four five", 60)
    assert " ".join(lines) == "one two three four five"
    assert len(lines) > 1
    assert wrapped("", 60) == []


def test_markers_are_centred_and_of_like_size() -> None:
    for marker in {look.marker for look in LOOKS.values()} - {"circle"}:
        corners = [point for run in outline(marker, (100, 50), 10) for point in run]
        assert sum(x for x, _ in corners) / len(corners) == pytest.approx(100, abs=0.5)
        assert sum(y for _, y in corners) / len(corners) == pytest.approx(50, abs=0.5)
        assert 8 < max(math.dist(corner, (100, 50)) for corner in corners) < 16


def test_parts_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(SettingError, match="series 'a': 1 values of y for 2 of x"):
        Series("a", [1, 2], [1])
    with pytest.raises(SettingError, match="series 'a': 1 values of hints for 2 of x"):
        Series("a", [1, 2], [1, 2], hints=["one"])
    with pytest.raises(SettingError, match="low and high are given together"):
        Series("a", [1], [1], low=[0])
    with pytest.raises(SettingError, match="table 't': row 1 has 1 cells for 2 columns"):
        Table("t", "T", ["a", "b"], [["x"]])
