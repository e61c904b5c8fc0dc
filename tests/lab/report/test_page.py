"""The page as text: the answer first, everything in it, nothing from elsewhere, nothing obeyed that a name might contain."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from sahcns.lab.report.page import safe_json, to_html
from sahcns.lab.report.parts import Report, unique_names
from tests.lab.report.sample import BARS, CLOUD, CURVES, EVIL, FIGURES, REPORT, TABLE

VOID = {"meta", "link", "br", "img"}


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
    assert read.texts_of("h2") == ["Findings", *(section.title for section in REPORT.sections), "How this was made"]
    titles = [one.title for one in REPORT.tables()] + [one.title for one in REPORT.figures()]
    assert sorted(read.texts_of("h3")) == sorted(titles)
    assert to_html(REPORT) == page


def test_it_opens_with_the_answer() -> None:
    def opening(report: Report) -> str:
        return to_html(report).partition('<section id="answer">')[2].partition("</section>")[0]

    first = opening(replace(REPORT, summary=["Mine is best. It is not resolved."]))
    assert '<p class="verdict">Mine is best.</p>' in first
    assert re.findall(r"<h3>(.*?)</h3>", first) == [BARS.title, TABLE.title]
    chosen = opening(replace(REPORT, verdict="It holds.", lead=[CURVES]))
    assert '<p class="verdict">It holds.</p>' in chosen
    assert re.findall(r"<h3>(.*?)</h3>", chosen) == [CURVES.title]
    alone = replace(CLOUD, title="nowhere else")
    assert to_html(replace(REPORT, lead=[alone])).count("<h3>nowhere else</h3>") == 1
    assert to_html(Report("r", ["one"], [])).partition("<script>")[0].count("<p>") == 0  # and not said again below


def test_it_asks_for_nothing_from_elsewhere(page: str, read: Reader) -> None:
    for tag, attributes in read.found:
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    assert not re.search(r"@import|url\(|@font-face", page[: page.index("</style>")])
    policy = next(one["content"] for one in read.of("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert re.search(r"script-src 'sha256-[^']+'$", policy)  # and no 'unsafe-eval'


def test_names_are_text_and_nothing_else(page: str, read: Reader) -> None:
    assert read.of("img") == []
    scripts = [attributes.get("type", "") for attributes in read.of("script")]
    assert scripts == ["application/json"] * len(FIGURES) + [""]
    assert not any(name.startswith("on") for _, attributes in read.found for name in attributes)
    assert "window.stolen" not in page.rpartition("<script>")[2]
    for tag in ("p", "th", "dd"):
        assert EVIL in [text.replace("\N{NO-BREAK SPACE}", " ") for text in read.texts_of(tag)]


def test_json_cannot_end_its_element() -> None:
    nasty = ["</script>", "<!--", "&amp;", "\u2028", 'quote"']
    text = safe_json(nasty)
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == nasty


def test_contents_lead_to_sections_and_no_anchor_is_there_twice(read: Reader) -> None:
    targets = [one["href"].removeprefix("#") for one in read.of("a")]
    assert targets == [*("answer", "findings", "results", "curves", "diagnostics", "search-more", "how-this-was-made")]
    ids = [attributes["id"] for _, attributes in read.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert set(targets) < set(ids)


def test_facts_and_prose_are_readable(page: str) -> None:
    assert "<dt>protocol</dt><dd>batch 2048, at most 300 epochs</dd>" in page
    assert f"<dt>command</dt><dd><pre>{REPORT.facts[2][1]}</pre>" in page
    made = to_html(Report("r", ["use `sahcns <x>`: 95 % at p < 0.05, but a < b; `x = 1`"], []))
    words = "use <code>sahcns &lt;x&gt;</code>: 95~% at p~&lt;~0.05, but a &lt; b; <code>x = 1</code>"
    assert words.replace("~", "\N{NO-BREAK SPACE}") in made


def test_names_become_anchors_and_files() -> None:
    names = ["R@20 / Toys", "r-20-toys", "../../etc", "", "<b>"]
    assert unique_names(names) == ["r-20-toys", "r-20-toys-2", "etc", "part", "b"]
