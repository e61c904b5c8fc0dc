"""The page as text: everything in it, nothing from elsewhere, nothing obeyed that a name might contain."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from sahcns.lab.report.page import figures_of, looks_in, tables_of, to_html, unique_names
from sahcns.lab.report.page_figure import safe_json
from sahcns.lab.report.palette import LOOKS, THEMES
from sahcns.lab.report.parts import Cell, Mark, Report, Section, Table
from tests.lab.report.sample import CLOUD, CURVES, EVIL, FIGURES, HEAT, REPORT, TABLE

VOID = {"meta", "link", "br", "img", "path", "circle"}


class Reader(HTMLParser):
    """Elements with their attributes, and the text in each; complains of what is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.found if name == tag]

    def texts_of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


@pytest.fixture(scope="module")
def page() -> str:
    return to_html(REPORT)


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    return Reader(page)


def test_it_is_whole_and_closed(page: str, read: Reader) -> None:
    assert page.startswith("<!doctype html>")
    assert read.texts_of("h1") == [REPORT.title]
    assert read.texts_of("h2") == [*(section.title for section in REPORT.sections), "How this was made"]
    titles = [one.title for one in tables_of(REPORT)] + [one.title for one in figures_of(REPORT)]
    assert sorted(read.texts_of("h3")) == sorted(titles)
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in read.of("meta")


def test_it_asks_for_nothing_from_elsewhere(page: str, read: Reader) -> None:
    for tag, attributes in read.found:
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    assert not re.search(r"@import|url\(|@font-face", page)
    policy = next(one["content"] for one in read.of("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy


def test_names_are_text_and_nothing_else(page: str, read: Reader) -> None:
    assert read.of("img") == []
    scripts = [attributes.get("type", "") for attributes in read.of("script")]
    assert scripts == ["application/json"] * len(FIGURES) + [""]
    assert not any(name.startswith("on") for _, attributes in read.found for name in attributes)
    assert "window.stolen" not in "".join(re.findall(r"<script>(.*?)</script>", page, re.DOTALL))
    for tag in ("p", "th", "dd"):
        assert EVIL in [text.replace("\N{NO-BREAK SPACE}", " ") for text in read.texts_of(tag)]


def test_json_cannot_end_its_element() -> None:
    nasty = ["</script>", "<!--", "&amp;", "\u2028", 'quote"']
    text = safe_json(nasty)
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == nasty


def test_the_values_for_the_script_are_those_of_the_figure(page: str) -> None:
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    by_name = {values["name"]: values for values in map(json.loads, found)}
    assert set(by_name) == {figure.name for figure in FIGURES} - {"curves"} | {"curves-2"}  # a section has that anchor
    curves = by_name["curves-2"]
    assert [one["name"] for one in curves["series"]] == [one.name for one in CURVES.series]
    assert curves["series"][0]["points"][0] == ["5", "0.10100", "0.10000 – 0.10300"]
    assert curves["series"][0]["points"][7] == ["40", "0.10800", "0.10700 – 0.11000", "best of seed 3"]
    assert by_name["strength"]["series"][1]["points"] == [["small", "0.20000"], ["large", "–"]]
    assert by_name["trials"]["series"][1]["name"] == EVIL


def test_each_figure_is_drawn_twice_and_told_once_as_a_table(page: str, read: Reader) -> None:
    drawings = [one["class"] for one in read.of("svg") if "drawing" in one.get("class", "")]
    assert drawings == ["drawing wide", "drawing narrow"] * len(FIGURES)
    assert len(read.of("details")) == len(FIGURES)
    figure = page[page.index('id="curves-2"') :]
    data = figure[figure.index("<details>") : figure.index("</details>")]
    assert "<td>0.10800 (0.10700 – 0.11000); best of seed 3</td>" in data
    assert data.count("<tr>") == 21
    assert 'aria-label="data of Recall@20 over epochs"' in data
    cloud = page[page.index('id="trials"') :]
    assert '<th scope="row">mine</th><td>0.5</td><td>0.13000; trial 1</td>' in cloud


def test_tables_mark_note_and_hint(page: str) -> None:
    table = page[page.index('id="overall"') : page.index("</table>")]
    assert (
        '<td class="number hinted" title="p = 0.01, d = 1.2"><strong>13.26<small> ± 0.12</small></strong>'
        '<span class="note">*</span></td>' in table
    )
    assert '<td class="number"><u>12.66<small> ± 0.10</small></u></td>' in table
    assert '<th scope="col" class="number">R@10 Toys</th>' in table
    assert ">DNS</th>" in table
    assert "Bold is the best, underlined the second best." in page
    for said in (replace(TABLE, caption="Best in bold."), Table("t", "T", ["a"], [[Cell("x", "best")]])):
        assert "Bold is the best" not in to_html(Report("r", [], [Section("s", [said])]))


def test_a_sampler_in_a_table_has_the_colour_of_its_curve() -> None:
    series = replace(CURVES.series[0], name="My SAHC", role="sahc")
    table = Table("t", "T", ["sampler", ">My SAHC"], [["My SAHC", "1"], ["dns", "2"], ["other", "3"]])
    page = to_html(Report("r", [], [Section("s", [table, replace(CURVES, series=[series])])]))
    rows = re.findall(r'<th scope="row">(.*?)</th>', page)[:3]
    assert LOOKS["sahc"].hue.light in rows[0]
    assert LOOKS["dns"].hue.light in rows[1]
    assert rows[2] == "other"
    head = page[page.index("<thead>") : page.index("</thead>")]
    assert LOOKS["sahc"].hue.light in head
    # a row of something else may be called like a sampler
    other = to_html(Report("r", [], [Section("s", [Table("t", "T", ["what"], [["popularity"]])])]))
    assert '<th scope="row">popularity</th>' in other


def test_a_table_may_have_no_title_and_its_first_column_stands_left() -> None:
    page = to_html(Report("r", [], [Section("s", [Table("t", "", [">trial", ">value"], [["0", "1"]])])]))
    assert "<h3>" not in page
    assert '<th scope="col">trial</th><th scope="col" class="number">value</th>' in page


def test_a_strange_sampler_looks_alike_in_all_figures(page: str) -> None:
    looks = looks_in(REPORT)
    assert looks["mine"] != looks[EVIL]
    assert f"--light:{looks['mine'].hue.light};--dark:{looks['mine'].hue.dark}" in page


def test_contents_lead_to_sections(read: Reader) -> None:
    targets = [one["href"].removeprefix("#") for one in read.of("a")]
    assert targets == ["results", "curves", "diagnostics", "search-more", "how-this-was-made"]
    ids = [attributes["id"] for _, attributes in read.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert set(targets) < set(ids)


def test_a_short_report_has_no_contents_and_no_facts() -> None:
    read = Reader(to_html(Report("r", ["one"], [Section("s", ["text"])])))
    assert read.of("nav") == []
    assert read.texts_of("h2") == ["s"]
    assert read.of("dl") == []


def test_facts_are_readable(page: str) -> None:
    assert "<dt>protocol</dt><dd>batch 2048, at most 300 epochs</dd>" in page
    assert "<dd>sahcns 0.4.0, torch 2.9</dd>" in page
    command = re.search(r"<dt>command</dt><dd><pre>(.*?)</pre>", page, re.DOTALL)
    assert command
    assert re.sub("<.*?>", "", command[1]) == REPORT.facts[2][1]


def test_code_in_prose() -> None:
    page = to_html(Report("r", ["use `sahcns <x>` or ` alone"], []))
    assert "<p>use <code>sahcns &lt;x&gt;</code> or ` alone</p>" in page


def test_a_number_stays_with_its_sign_but_not_in_code() -> None:
    page = to_html(Report("r", ["95 % at p < 0.05, α = 0.3 and 8 × 2, but a < b; `x = 1`, 5 % so"], []))
    said = "95~% at p~&lt;~0.05, α~=~0.3 and 8~×~2, but a &lt; b; <code>x = 1</code>, 5~% so"
    assert f"<p>{said}</p>".replace("~", "\N{NO-BREAK SPACE}") in page


def test_a_table_of_prose_names_its_cells_and_others_do_not(page: str) -> None:
    claims = page[page.index('id="claims"') :].partition("</table>")[0]
    assert 'data-name="verdict">not resolved</td>' in claims
    assert 'title="all" data-name="verdict">holds</td>' in claims
    assert page.count("data-name=") == 6  # three rows of verdict and why


def test_both_themes_are_there_and_paper_is_light(page: str) -> None:
    style = page[page.index("<style>") : page.index("</style>")]
    assert style.count(f"--ink:{THEMES['dark']['ink']}") == 2  # by the system and by the reader
    assert style.count(f"--ink:{THEMES['light']['ink']}") == 1
    for at in (match.start() for match in re.finditer("color-scheme:dark;", style)):
        assert "@media screen" in style[:at].rsplit("}\n}", 1)[-1]


def test_names_become_anchors_and_files() -> None:
    assert unique_names(["R@20 / Toys", "r-20-toys", "../../etc", "", "<b>"]) == [
        *("r-20-toys", "r-20-toys-2", "etc", "part", "b")
    ]


def test_a_wide_table_says_how_wide_it_is() -> None:
    """Print sets the letters by it."""
    wide = Table("t", "T", ["a", *[">R@20 of a set"] * 30], [["x", *["13.26 ± 0.12"] * 30]])
    found = [
        float(re.findall(r"--em:([\d.]+)", to_html(Report("r", [], [Section("s", [table])])))[0])
        for table in (TABLE, wide)
    ]
    assert found[1] > 200 > found[0] > 60


def test_bold_numbers_and_markers_need_room_too() -> None:
    """Else a table is cut off at the right in a window that has room for it."""

    def wide(mark: Mark, head: str) -> float:
        table = Table("t", "T", [head, *[">R"] * 12], [["DNS", *[Cell("13.26 ± 0.12", mark)] * 12]])
        return float(re.findall(r"--em:([\d.]+)", to_html(Report("r", [], [Section("s", [table])])))[0])

    assert wide("best", "a") > 1.05 * wide("second", "a")
    assert wide("", "Method") > wide("", "a") + 2


def test_a_page_is_the_same_each_time(page: str) -> None:
    assert to_html(REPORT) == page


def test_rows_of_one_kind_and_columns_of_one_set_have_a_common_head() -> None:
    table = Table(
        "t",
        "T",
        ["backbone", "sampler", ">toys · R@10", ">toys · R@20", ">yelp · R@20", "remark"],
        [
            ["lightgcn", "dns", "1", "2", "3", ""],
            ["lightgcn", "sahc", "4", "5", "6", ""],
            ["simgcl", "dns", "7", "8", "9", "late"],
        ],
    )
    page = to_html(Report("r", [], [Section("s", [table])]))
    table_of_page = page[page.index("<table>") : page.index("</table>")]
    assert re.findall(r'<th scope="colgroup" colspan="(\d)" class="over">(\w+)</th>', table_of_page) == [
        *(("2", "toys"), ("1", "yelp"))
    ]
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', table_of_page)
    assert heads == ["sampler", "R@10", "R@20", "R@20", "remark"]
    assert re.findall(r'<th scope="rowgroup" colspan="5"><span>(\w+)</span></th>', table_of_page) == [
        "lightgcn",
        "simgcl",
    ]
    assert [row.count("<td") for row in table_of_page.split("<tr>")[2:]] == [4, 4, 4]
    assert LOOKS["sahc"].hue.light in table_of_page


def test_words_may_be_cells_without_more() -> None:
    table = Table("t", "T", ["a", "b"], [[Cell("x", hint="why"), "y"]])
    page = to_html(Report("r", [], [Section("s", [table, HEAT, CLOUD])]))
    assert '<th scope="row" class="hinted" title="why">x</th><td>y</td>' in page
