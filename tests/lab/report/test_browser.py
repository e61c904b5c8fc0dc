"""The page in a real browser: quiet, alone, drawn, readable on a desk, a phone and paper."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sahcns.lab.report.page import to_html
from tests.browser import Open, visiting
from tests.browser import browser as browser
from tests.lab.report.sample import FIGURES, REPORT

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(to_html(REPORT), "utf-8")
    return path


@pytest.fixture(scope="module")
def visit(browser: Any, file: Path) -> Iterator[Open]:
    with visiting(
        browser,
        lambda url: url == file.as_uri() or url.startswith("blob:"),
        reduced_motion="reduce",
        color_scheme="light",
    ) as open_url:
        yield partial(open_url, file.as_uri())


def unfold(page: Any) -> None:
    """Open every section and wait until what is in it is drawn."""
    page.locator("#all").click()
    for figure in page.locator("figure").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".chart svg").wait_for()


@pytest.fixture(scope="module")
def desk(visit: Open) -> Any:
    page = visit()
    unfold(page)
    return page


@pytest.fixture(scope="module")
def phone(visit: Open) -> Any:
    return visit(390, 844, has_touch=True, is_mobile=True, device_scale_factor=2)


def test_the_answer_is_on_the_first_screen(visit: Open) -> None:
    page = visit()
    page.locator(".opening svg").wait_for()
    for part in (".verdict", ".opening figure", ".opening > div .scroll"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 800, part
    assert page.locator("details.section[open]").count() == 1  # the findings


def test_every_figure_is_drawn_and_no_foreign_script_runs(desk: Any) -> None:
    marks = desk.evaluate(
        """() => [...document.querySelectorAll("figure")].map((figure) => [figure.id,
          figure.querySelectorAll("svg :is(.mark-symbol, .mark-rect, .mark-line) path, svg .mark-text text").length])"""
    )
    assert len(marks) == len(FIGURES)
    assert all(count for _, count in marks), marks
    assert desk.evaluate("window.stolen") is None


@pytest.mark.parametrize("width", [320, 390, 700, 1000, 1280, 1920])
def test_no_width_scrolls_sideways(desk: Any, width: int) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    desk.wait_for_timeout(200)  # charts follow the window
    assert desk.evaluate("document.documentElement.scrollWidth") <= width
    for box in (chart.bounding_box() for chart in desk.locator(".chart svg").all()):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    desk.set_viewport_size({"width": 1280, "height": 800})


def test_hovering_tells_the_nearest_value(desk: Any) -> None:
    chart = desk.locator("#curves-2 .chart svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    desk.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5)
    tip = desk.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    words = re.sub(r"\s+", " ", tip.inner_text())
    assert re.match(r"[A-Z-]+ epoch \d+ Recall@20 0\.\d+ \(0\.\d+ – 0\.\d+\)", words)
    desk.mouse.move(2, 2)


def test_a_click_in_the_legend_dims_the_others(desk: Any) -> None:
    def dimmed() -> int:
        lines = desk.locator("#curves-2 .mark-line path")
        return sum(float(line.get_attribute("opacity") or 1) < 0.5 for line in lines.all())

    assert dimmed() == 0
    key = desk.locator("#curves-2 svg text", has_text=re.compile("^SAHC$"))
    key.scroll_into_view_if_needed()
    box = key.bounding_box()
    desk.mouse.click(box["x"] + 4, box["y"] + 4)
    desk.wait_for_timeout(100)
    assert dimmed() == 8


def test_contents_stay_in_view_and_open_what_they_lead_to(visit: Open, phone: Any) -> None:
    page = visit()
    page.locator("nav a", has_text="Diagnostics").click()
    page.locator("#diagnostics[open] svg").first.wait_for()
    assert page.locator("#diagnostics").bounding_box()["y"] < 400
    assert page.locator("nav a").first.bounding_box()["y"] >= 0
    assert not phone.locator("nav a").first.is_visible()
    phone.locator("nav summary").click()
    phone.locator("nav a", has_text="Curves").click()
    phone.locator("#curves[open] svg").first.wait_for()
    assert not phone.locator("nav a").first.is_visible()
    assert phone.locator("nav").bounding_box()["y"] == 0
    assert phone.evaluate("document.documentElement.scrollWidth") == 390


def test_hints_of_a_table_by_mouse_and_keys(desk: Any) -> None:
    cells, tip = desk.locator("#overall [data-hint]"), desk.locator("#tip")
    cells.nth(1).hover()
    assert tip.inner_text() == "p = 0.02, d = 1.2"
    desk.mouse.move(2, 2)
    assert not tip.is_visible()
    cells.first.focus()
    desk.keyboard.press("ArrowRight")
    assert tip.inner_text() == "p = 0.02, d = 1.2"
    assert cells.evaluate_all("cells => cells.filter((cell) => cell.tabIndex === 0).length") == 1
    desk.keyboard.press("Escape")
    assert not tip.is_visible()


def test_dark_by_the_system_and_by_the_reader(visit: Open) -> None:
    page = visit()
    page.locator(".opening svg").wait_for()

    def colours() -> list[str]:
        found: list[str] = page.evaluate(
            """() => [getComputedStyle(document.body).backgroundColor,
              getComputedStyle(document.querySelector(".opening .role-legend-label text")).fill]"""
        )
        return found

    light = colours()
    page.locator("#theme").click()
    dark = colours()
    assert [a != b for a, b in zip(light, dark, strict=True)] == [True, True]
    page.locator("#theme").click()
    assert colours() == light
    page.emulate_media(color_scheme="dark")
    assert colours() == light  # the reader has chosen
    page.locator("#theme").click()
    page.emulate_media(media="print")
    assert colours()[1] == light[1]  # paper is light


def test_saving_gives_a_drawing_that_stands_alone(desk: Any) -> None:
    with desk.expect_download() as waiting:
        desk.locator("#clock .save").click()
    text = Path(waiting.value.path()).read_text("utf-8")
    assert waiting.value.suggested_filename == "clock.svg"
    assert "Recall@20 over time" in text
    assert "var(" not in text


def test_print_shows_everything(visit: Open) -> None:
    page = visit()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(0)
    assert page.locator(".chart svg").count() == len(FIGURES)
    assert all(one.is_visible() for one in page.locator("table:not(.data table), figure").all())
    assert not page.locator("nav").is_visible()


def test_without_scripts_the_values_are_there(browser: Any, file: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(file.as_uri())
    page.locator(".opening .data summary").click()
    assert "Recall@20" in page.locator(".opening .data table").inner_text()
    page.context.close()
