"""The page in a real browser: drawn, quiet, alone, readable, and alive under mouse, finger and keys."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sahcns.lab.report.heat import contrast
from sahcns.lab.report.page import to_html
from sahcns.lab.report.parts import Cell, Report, Section, Table
from tests.lab.report.sample import FIGURES, REPORT

pytestmark = pytest.mark.browser
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A newcomer's machine may have no browser, and `make test` must pass there; CI installs one and requires these tests.
if CHROMIUM is None and os.environ.get("SAHCNS_BROWSER") != "required":
    pytest.skip("these tests open the page in Chromium, and none is installed here", allow_module_level=True)

Open = Callable[..., Any]

# What every figure must have on screen: marks that are not empty, inside the plot, and words that do not touch.
DRAWN = """() => [...document.querySelectorAll("figure.figure")].map((figure) => {
  const svg = [...figure.querySelectorAll("svg.drawing")].find((one) => one.getBoundingClientRect().width > 0);
  const frame = svg.getBoundingClientRect();
  const [left, top, right, bottom] = svg.dataset.plot.split(",").map(Number);
  const scale = frame.width / svg.viewBox.baseVal.width;
  const marks = [...svg.querySelectorAll(".series path, .series circle")].map((mark) => mark.getBBox());
  const outside = marks.filter((box) => box.x < left - 8 || box.y < top - 8 || box.x + box.width > right + 8
    || box.y + box.height > bottom + 8).length;
  const texts = [...svg.querySelectorAll("text")].filter((text) => !text.hasAttribute("transform"))
    .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
  const cut = texts.filter(({ box }) =>
    box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1);
  const touching = texts.flatMap((a, at) => texts.slice(at + 1)
    .filter((b) => a.box.left < b.box.right && b.box.left < a.box.right
      && a.box.top + 3 < b.box.bottom && b.box.top + 3 < a.box.bottom).map((b) => `${a.text} / ${b.text}`));
  const area = marks.reduce((sum, box) => sum + (box.width + 1) * (box.height + 1), 0);
  const turned = [...svg.querySelectorAll("text[transform]")].map((text) => text.getBoundingClientRect())
    .filter((box) => box.left < frame.left - 1 || box.bottom > frame.bottom + 1).length;
  return { id: figure.id, marks: marks.length, area, outside, cut: cut.map((one) => one.text), touching, turned,
    width: frame.width, scale };
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        shell = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield shell
        shell.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(to_html(REPORT), "utf-8")
    return path


@pytest.fixture(scope="module")
def visit(browser: Any, file: Path) -> Iterator[Open]:
    """Open the page; at the end of each test nothing may have been said on the console, or asked of a network."""
    opened: list[Any] = []

    def open_page(width: int = 1280, height: int = 800, **settings: Any) -> Any:
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, reduced_motion="reduce", **settings)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(file.as_uri())
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        assert page.said == []
        assert page.asked == [file.as_uri()]
        page.context.close()


@pytest.fixture(scope="module")
def desk(visit: Open) -> Any:
    return visit(color_scheme="light")


@pytest.fixture(scope="module")
def phone(visit: Open) -> Any:
    return visit(360, 740, has_touch=True, is_mobile=True, device_scale_factor=2, color_scheme="light")


@pytest.fixture(autouse=True)
def at_rest(desk: Any) -> None:
    desk.mouse.move(2, 2)


def drawing(page: Any, name: str, which: str = "wide") -> Any:
    return page.locator(f"#{name} svg.{which}")


def spot(page: Any, name: str, series: int, at: int, which: str = "wide") -> tuple[float, float]:
    """Where on the screen a point is, once its figure has been brought there."""
    here = drawing(page, name, which)
    here.scroll_into_view_if_needed()
    x, y = here.evaluate(
        """(svg, [series, at]) => {
          svg.scrollIntoView({ block: "center", behavior: "instant" });
          const [x, y] = svg.dataset.at.split("|")[series].split(" ")[at].split(",").map(Number);
          const place = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
          return [place.x, place.y];
        }""",
        [series, at],
    )
    return x, y


def tip(page: Any) -> str:
    shown = page.locator("#tip")
    return re.sub(r"\s+", " ", shown.inner_text()) if shown.is_visible() else ""


def hovered(page: Any, name: str, series: int, at: int) -> str:
    x, y = spot(page, name, series, at)
    page.mouse.move(x + 1, y + 1)
    return tip(page)


def test_no_console_no_network_no_foreign_script(desk: Any, file: Path) -> None:
    assert desk.said == []
    assert desk.asked == [file.as_uri()]
    assert desk.evaluate("window.stolen") is None
    assert desk.evaluate("document.querySelectorAll('figure.live').length") == len(FIGURES)


@pytest.mark.parametrize("device", ["desk", "phone"])
def test_every_figure_is_drawn(device: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(device).evaluate(DRAWN)
    assert len(found) == len(FIGURES)
    for figure in found:
        assert figure["cut"] == [], figure
        assert figure["turned"] == 0, figure
        assert figure["touching"] == [], figure
        if figure["id"] != "empty":
            assert figure["marks"] > 2, figure
            assert figure["area"] > 300, figure
            assert figure["outside"] == 0, figure
        assert figure["scale"] > 0.85, figure  # letters of 11.5 pixels are not made small


def test_a_phone_does_not_scroll_sideways(phone: Any) -> None:
    assert phone.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [360, 360]
    box = phone.locator("#overall .scroll")
    assert box.evaluate("one => one.scrollWidth > one.clientWidth + 100")  # the table scrolls in its own box
    box.evaluate("one => { one.scrollLeft = 400; }")
    first = phone.locator("#overall tbody th").first
    left = first.bounding_box()["x"] - box.bounding_box()["x"]
    assert left == pytest.approx(0, abs=2)  # the first column stays
    box.evaluate("one => { one.scrollLeft = 0; }")


def test_prose_is_a_list_on_a_phone_and_has_long_lines_on_a_desk(desk: Any, phone: Any) -> None:
    box = phone.locator("#claims .scroll")
    assert box.evaluate("one => one.scrollWidth <= one.clientWidth")
    cells = phone.locator("#claims tbody tr:not(.group)").first.locator("th, td")
    boxes = [cell.bounding_box() for cell in cells.all()]
    assert all(above["y"] + above["height"] <= below["y"] + 1 for above, below in pairwise(boxes))
    assert all(one["width"] > 300 for one in boxes)
    assert desk.locator('#claims td[data-name="why"]').first.bounding_box()["width"] > 450


def test_a_wide_table_is_set_smaller_before_it_scrolls(visit: Open) -> None:
    page = visit(color_scheme="light")
    for width, scrolls in ((1440, False), (1130, False), (700, True)):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.locator("#overall .scroll").evaluate("one => one.scrollWidth > one.clientWidth") == scrolls, width
    page.set_viewport_size({"width": 1130, "height": 800})
    size = page.locator("#overall table").evaluate("one => parseFloat(getComputedStyle(one).fontSize)")
    assert 12.4 < size < 14.4


@pytest.mark.parametrize("device", ["desk", "phone"])
def test_no_cell_runs_into_the_next(device: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(device)
    over = page.locator(".block tbody th").evaluate_all(
        """(heads) => heads.flatMap((head) => {
          const range = document.createRange();
          range.selectNodeContents(head);
          const room = head.getBoundingClientRect().right - range.getBoundingClientRect().right;
          return room < 0 ? [`${head.textContent}: ${room}`] : [];
        })"""
    )
    assert over == []


def test_no_width_scrolls_sideways(visit: Open) -> None:
    page = visit()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (320, 360, 561, 600, 900, 1000, 1440, 2000):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_letters_of_figures_are_large_enough_at_every_width(visit: Open) -> None:
    """On a tablet, and on a desk where the page is zoomed to twice its size, as on a phone."""
    page = visit()
    for width in (360, 561, 640, 781, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        assert min(figure["scale"] for figure in page.evaluate(DRAWN)) > 0.85, width


def test_a_figure_says_that_keys_walk_in_it(desk: Any) -> None:
    here = drawing(desk, "clock")
    assert here.get_attribute("role") == "application"  # else a screen reader keeps the arrow keys
    assert "Arrow keys" in here.get_attribute("aria-description")


def test_a_fact_with_a_long_name_leaves_room_for_what_it_says(browser: Any, tmp_path: Path) -> None:
    """A row may be called anything, and stands there with its settings."""
    (tmp_path / "long.html").write_text(to_html(replace(REPORT, facts=[("Sampler " + 90 * "x", "pool 10")])), "utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "long.html").as_uri())
    name, said = (page.evaluate(f"document.querySelector('.facts {tag}').clientWidth") for tag in ("dt", "dd"))
    page.close()
    assert 1.5 * name < said


def test_hovering_a_line_tells_all_series_at_that_x(desk: Any) -> None:
    told = hovered(desk, "curves-2", 4, 7)
    assert told.startswith("epoch 40 SAHC 0.12400 0.12300 – 0.12600")
    assert "MIXGCF 0.11600 0.11500 – 0.11800" in told
    assert told.endswith("best of seed 3")
    assert len(re.findall(r"\d – \d", told)) == 9
    assert desk.locator("#tip .name.near").inner_text() == "MIXGCF"
    assert drawing(desk, "curves-2").locator(".focus circle").count() == 9
    desk.mouse.move(2, 2)
    assert tip(desk) == ""
    assert drawing(desk, "curves-2").locator(".focus circle").count() == 0


def test_hovering_where_series_have_their_own_x(desk: Any) -> None:
    told = hovered(desk, "clock", 0, 1)
    assert told.startswith("seconds 2 DNS 0.08")
    assert "SAHC" not in told


@pytest.mark.parametrize(
    ("name", "series", "at", "told"),
    [
        (
            "metrics",
            1,
            0,
            "Recall@20 sahc 12.000 11.500 – 13.000 mixgcf 11.000 10.500 – 12.000 dns 10.000 9.5000 – 11.000",
        ),
        ("changes", 0, 1, "rns change -2.0000"),
        ("gaps", 0, 2, "gap 0.2 pools 0.30000"),
        ("hardness", 1, 2, "score 0.3 dns 0.70000 rns 0.00000"),
        ("strength", 2, 1, "layer 2, gap large mean λ 0.30000"),
        ("deltas", 0, 0, "sampler dns, set toys value -0.40000"),
        ("trials", 0, 1, "alpha 0.5 mine 0.13000 trial 1"),
    ],
)
def test_hovering_other_kinds(desk: Any, name: str, series: int, at: int, told: str) -> None:
    shown = hovered(desk, name, series, at)
    assert re.sub(r"(\.\d*?)0+\b", r"\1", shown) == re.sub(r"(\.\d*?)0+\b", r"\1", told)


def test_a_tip_stays_inside_the_window(desk: Any) -> None:
    for series, at in ((0, 0), (8, 19)):
        assert hovered(desk, "curves-2", series, at)
        box = desk.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 1280
        assert box["y"] + box["height"] <= 800


def test_the_legend_hides_and_shows(desk: Any) -> None:
    figure = desk.locator("#metrics")
    key = drawing(desk, "metrics").locator('.key[data-series="1"]')
    bars = drawing(desk, "metrics").locator('.series[data-series="1"] .bar')
    assert [bar.is_visible() for bar in bars.all()] == [True, True]
    key.click()
    assert [bar.is_visible() for bar in bars.all()] == [False, False]
    assert key.get_attribute("aria-pressed") == "false"
    assert figure.locator("svg.narrow .key.off").count() == 1  # the other drawing follows
    assert "mixgcf" not in hovered(desk, "metrics", 0, 0)
    assert key.evaluate("one => Number(getComputedStyle(one).opacity)") >= 0.65  # its name is to be read still
    assert key.locator("text").evaluate("one => getComputedStyle(one).textDecorationLine") == "line-through"
    key.press("Enter")
    assert [bar.is_visible() for bar in bars.all()] == [True, True]
    key.dblclick()
    assert drawing(desk, "metrics").locator(".series:not(.off)").count() == 2
    key.dblclick()
    assert drawing(desk, "metrics").locator(".series.off").count() == 0


def test_keys_walk_through_the_points(desk: Any) -> None:
    here = drawing(desk, "clock")
    desk.evaluate("document.activeElement.blur()")
    desk.locator("#curves-2 button.save").focus()
    desk.keyboard.press("Tab")
    assert here.evaluate("one => one === document.activeElement")
    assert tip(desk).startswith("seconds 0.5 DNS")
    desk.keyboard.press("ArrowRight")
    assert tip(desk).startswith("seconds 2 DNS")
    desk.keyboard.press("ArrowRight")  # the third is missing
    assert tip(desk).startswith("seconds 90 DNS")
    desk.keyboard.press("ArrowDown")
    assert tip(desk).startswith("seconds 100 SAHC-NS 0.13")
    assert desk.locator("#spoken").inner_text() == "seconds 100, SAHC-NS, 0.13000"
    desk.keyboard.press("Home")
    assert tip(desk).startswith("seconds 0.7")
    desk.keyboard.press("Alt+ArrowRight")  # the browser's
    assert tip(desk).startswith("seconds 0.7")
    desk.keyboard.press("Escape")
    assert tip(desk) == ""
    desk.keyboard.press("ArrowRight")
    assert tip(desk).startswith("seconds 0.5 DNS")
    desk.keyboard.press("ArrowUp")  # from the first series to the last
    assert desk.locator("#spoken").inner_text() == "seconds 0.7, SAHC-NS, last, 0.06000"
    desk.keyboard.press("Escape")


def test_a_hint_of_a_table_is_shown_on_hover_and_on_focus(desk: Any) -> None:
    cell = desk.locator("#overall td.hinted").first
    cell.hover()
    assert tip(desk) == "p = 0.01, d = 1.2"
    desk.mouse.move(2, 2)
    assert tip(desk) == ""
    cell.focus()
    assert tip(desk) == "p = 0.01, d = 1.2"
    cell.blur()
    assert tip(desk) == ""


FOCUS = """() => {
  const { tagName, cellIndex, parentElement } = document.activeElement;
  return [document.activeElement.closest("[id]")?.id, tagName.toLowerCase(), parentElement.rowIndex ?? null, cellIndex ?? null];
}"""


def test_a_table_with_hints_is_one_stop_of_the_tab_key(desk: Any) -> None:
    assert desk.locator("#overall td.hinted").count() == 9
    desk.locator(".contents a").last.focus()
    stops = []
    for key in ("Tab", "Tab", "Shift+Tab", "ArrowRight", "ArrowRight", "Tab", "Shift+Tab", "Shift+Tab"):
        desk.keyboard.press(key)
        stops.append(desk.evaluate(FOCUS))
    first, third, figure = ["overall", "td", 1, 1], ["overall", "td", 1, 3], "metrics"
    assert stops[0] == stops[2] == first
    assert stops[1][0] == stops[5][0] == figure
    assert stops[4] == stops[6] == third  # where it was left
    assert desk.evaluate("document.activeElement.matches('.contents a')")
    # a table that has none is a stop itself, to be scrolled
    assert desk.locator(".block .scroll[tabindex='0']").evaluate_all(
        "all => all.map((one) => one.parentElement.id)"
    ) == ["sets"]


GRID = Table(
    "grid",
    "Grid",
    ["backbone", "sampler", ">a", ">b", ">c"],
    [
        [backbone, name, *(Cell(f"{at}", hint=f"{backbone} {name} {at}" if at in hinted else "") for at in range(3))]
        for backbone, name, hinted in (
            ("one", "rns", (0, 2)),
            ("one", "dns", ()),
            ("one", "bns", (0,)),
            ("two", "rns", (1, 2)),
            ("two", "dns", (1,)),
        )
    ],
)


def walked(page: Any, *keys: str) -> list[str]:
    told = []
    for key in keys:
        page.keyboard.press(key)
        told.append(tip(page))
    return told


def test_keys_go_from_hint_to_hint(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "grid.html"
    path.write_text(to_html(Report("Grid", [], [Section("Grid", [GRID])])), "utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page.goto(path.as_uri())
    page.locator("#theme").focus()
    assert walked(page, "Tab", "ArrowRight", "ArrowRight", "ArrowLeft") == [
        *("one rns 0", "one rns 2", "one rns 2", "one rns 0"),
    ]
    # rows without a hint are passed over; in one with none in this column it is the nearest, and the column is kept
    assert walked(page, "End", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp") == [
        *("one rns 2", "one bns 0", "two rns 2", "two dns 1", "two dns 1", "two rns 2"),
    ]
    assert walked(page, "Home", "Control+Home", "Control+End") == ["two rns 1", "one rns 0", "two dns 1"]
    assert walked(page, "Escape", "ArrowUp") == ["", "two rns 1"]
    assert page.evaluate("scrollY") == 0
    page.evaluate("addEventListener('keydown', (event) => { window.taken = event.defaultPrevented; })")
    assert walked(page, "Alt+ArrowRight", "Shift+End", "Control+ArrowRight") == ["two rns 1"] * 3
    assert page.evaluate("window.taken") is False  # the browser's
    assert walked(page, "Control+End", "ArrowRight") == ["two dns 1"] * 2
    assert page.evaluate("window.taken") is False  # no further hint: the browser scrolls to what stands there
    page.keyboard.press("End")
    assert page.evaluate("window.taken") is True  # but not to the end of the page
    page.locator("td.hinted").first.click()
    assert walked(page, "Tab", "Shift+Tab")[1] == "one rns 0"
    page.close()


def test_a_cell_that_has_the_focus_is_seen_whole_beside_its_hint(visit: Open) -> None:
    page = visit(420, 740)
    page.locator("#overall td.hinted").first.focus()
    places = """() => {
      const cell = document.activeElement;
      return [cell, cell.parentElement.cells[0], cell.closest(".scroll"), document.getElementById("tip")]
        .map((one) => one.getBoundingClientRect().toJSON());
    }"""
    for key in ("End", *["ArrowLeft"] * 7, *["ArrowRight"] * 7):
        page.keyboard.press(key)
        page.wait_for_timeout(50)  # the hint goes along when the box has scrolled
        cell, name, box, hint = page.evaluate(places)
        assert cell["left"] >= name["right"] - 1, key  # not below the column that stays
        assert cell["right"] <= box["right"] + 1, key
        beside = hint["right"] <= cell["left"] + 1 or hint["left"] >= cell["right"] - 1
        assert beside or hint["bottom"] <= cell["top"] or hint["top"] >= cell["bottom"], key


@pytest.mark.parametrize("width", [1280, 800, 360])
def test_a_sign_that_hangs_out_is_not_below_the_frame_of_the_focus(visit: Open, width: int) -> None:
    page = visit(width)
    room = """all => all.map((cell) => {
      const sign = document.createRange();
      sign.selectNodeContents(cell.querySelector(".note"));
      return cell.getBoundingClientRect().right - 2 - sign.getBoundingClientRect().right;
    })"""
    assert min(page.locator("#overall td.hinted").evaluate_all(room)) >= 0


def test_what_a_hint_says_is_told_to_those_who_listen(desk: Any) -> None:
    listened = desk.context.new_cdp_session(desk).send("Accessibility.getFullAXTree")["nodes"]
    told = [one["description"]["value"] for one in listened if one["role"]["value"] == "cell" and "description" in one]
    assert [one for one in told if one] == [*(f"p = 0.0{at}, d = 1.2" for at in range(1, 10)), "all"]


def test_a_finger_shows_values(phone: Any) -> None:
    x, y = spot(phone, "curves-2", 0, 7, "narrow")
    phone.touchscreen.tap(x, y)
    told = tip(phone)
    assert told.startswith("epoch 40 SAHC 0.124")
    assert "RNS 0.10800 0.10700 – 0.11000" in told
    box = phone.locator("#tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


def test_saving_gives_the_drawing_as_a_file(desk: Any) -> None:
    import xml.etree.ElementTree as ElementTree

    button = desk.locator("#trials button.save")
    button.scroll_into_view_if_needed()
    with desk.expect_download() as waiting:
        button.click()
    assert waiting.value.suggested_filename == "trials.svg"
    text = Path(waiting.value.path()).read_text("utf-8")
    root = ElementTree.fromstring(text)
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "Trials"
    assert "mine" in texts
    assert "var(" not in text
    assert root.get("width") == "776"  # with a margin
    assert "aria-" not in text
    assert (root.get("viewBox") or "").startswith("-8 -34 776 ")


def colour(text: str) -> str:
    red, green, blue = (int(float(part)) for part in re.findall(r"[\d.]+", text)[:3])
    return f"#{red:02x}{green:02x}{blue:02x}"


SEEN = """() => [["h1", "color"], ["p", "color"], [".caption", "color"], ["thead th", "color"], ["a", "color"],
  ["#theme", "color"], ["dt", "color"], ["pre", "color"], ["#curves-2 svg.wide .axes text", "fill"],
  ["#curves-2 svg.wide .key text", "fill"], ["#curves-2 svg.wide .line", "stroke"],
  ["#metrics svg.wide .bar", "fill"]].map(([where, what]) => [where, getComputedStyle(document.querySelector(where))[what]])"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_can_be_read(visit: Open, theme: str) -> None:
    page = visit(color_scheme=theme)
    card = colour(page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor"))
    ground = colour(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (contrast(card, "#ffffff") < 1.2) == (theme == "light")
    for where, found in page.evaluate(SEEN):
        mark = where.endswith((".line", ".bar"))
        for behind in (card,) if mark else (card, ground):
            assert contrast(colour(found), behind) >= (3 if mark else 4.5), (where, found)
    numbers = """() => [...document.querySelectorAll('#strength svg.wide .series')].map((cell) =>
        [cell.querySelector('text'), cell.querySelector('path')].map((one) => getComputedStyle(one).fill))"""
    for text, cell in page.evaluate(numbers):
        assert contrast(colour(text), colour(cell)) >= 4.5


def test_the_reader_may_choose_the_theme(visit: Open) -> None:
    page = visit(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    line = "getComputedStyle(document.querySelector('#curves-2 svg.wide .line')).stroke"
    dark_line = page.evaluate(line)
    button = page.locator("#theme")
    assert button.inner_text() == "Light"
    button.click()
    assert button.inner_text() == "Dark"
    assert page.evaluate(ground) != dark
    assert page.evaluate(line) != dark_line
    button.click()
    assert page.evaluate(ground) == dark


def test_print_shows_everything_on_white(visit: Open) -> None:
    page = visit(color_scheme="dark")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})  # A4 less its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    assert contrast(colour(page.evaluate("getComputedStyle(document.querySelector('h1')).color")), "#ffffff") > 10
    for figure in page.evaluate(DRAWN):
        assert figure["cut"] == []
        assert 500 < figure["width"] <= 688
    tables = """() => [...document.querySelectorAll('.block table')].map((table) =>
        [table, ...table.querySelectorAll('td')].map((one) => one.getBoundingClientRect().right))"""
    for right in page.evaluate(tables):
        assert max(right) <= 689
    assert not page.locator("#theme").is_visible()
    assert page.locator("button:visible").count() == 0
    assert page.locator("pre").is_visible()
    # the name of a group is not left at the foot of a page with its rows on the next
    assert page.locator("tr.group").first.evaluate("one => getComputedStyle(one).breakAfter") == "avoid"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_scripts_everything_is_there(visit: Open) -> None:
    page = visit(java_script_enabled=False)
    assert page.locator("figure svg.wide:visible").count() == len(FIGURES)
    assert page.locator("button:visible").count() == 0
    assert page.locator("td.hinted").first.get_attribute("title") == "p = 0.01, d = 1.2"
    assert page.locator("#tip").is_hidden()
    assert page.locator(".block .scroll[tabindex='0']").count() == 3  # as nothing else leads into them
