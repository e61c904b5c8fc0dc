"""A report as one HTML page that needs nothing else: no network, no font, no library, and no script to be read."""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files

from sahcns.lab.report.frame import variant_look
from sahcns.lab.report.page_figure import figure_html
from sahcns.lab.report.page_table import table_html
from sahcns.lab.report.palette import THEMES, Look, Theme, looks_of
from sahcns.lab.report.parts import Figure, Report, Section, Table
from sahcns.version import __version__

FACTS = "How this was made"
NO_BREAK = "\N{NO-BREAK SPACE}"
PAINTS = ("surface", "ink", "muted", "grid", "rule", "hue", "on-hue")


def to_html(report: Report) -> str:
    """The page. It follows the system's light or dark, fits a phone, and prints with all that matters in it."""
    script = files("sahcns.lab.report").joinpath("chart.js").read_text("utf-8")
    style = themes() + files("sahcns.lab.report").joinpath("style.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Even if a text slipped through unescaped, a browser would run no script but ours and load nothing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="generator" content="sahcns {__version__}">\n'
        f'<title>{escape(report.title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n{_body(report)}\n"
        '<div id="tip" aria-hidden="true" hidden></div><div id="spoken" class="spoken" aria-live="polite"></div>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def looks_in(report: Report) -> dict[str, Look]:
    """A look for every role in a report, the same in all its figures."""
    return looks_of(series.role for figure in figures_of(report) for series in figure.series if series.role)


def figures_of(report: Report) -> list[Figure]:
    return [block for section in report.sections for block in section.blocks if isinstance(block, Figure)]


def tables_of(report: Report) -> list[Table]:
    return [block for section in report.sections for block in section.blocks if isinstance(block, Table)]


def unique_names(names: Iterable[str]) -> list[str]:
    """Names fit for files and anchors, none twice: letters, digits, dots and dashes."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "part"
        free = (plain if at == 1 else f"{plain}-{at}" for at in range(1, len(found) + 2))
        found.append(next(one for one in free if one not in found))
    return found


def themes() -> str:
    """The colours as CSS: light, dark where the system or the reader wants it, and always light on paper."""
    dark = _theme("dark", ":root[data-theme=dark]")
    system = _theme("dark", ":root:not([data-theme=light])")
    paints = "".join(f".fill-{one}{{fill:var(--{one})}}.stroke-{one}{{stroke:var(--{one})}}\n" for one in PAINTS)
    return (
        f"{_theme('light', ':root')}@media screen{{\n{dark}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{\n{system}}}\n{paints}"
    )


def _theme(theme: Theme, root: str) -> str:
    colours = "".join(f"--{name}:{colour};" for name, colour in THEMES[theme].items())
    return (
        f"{root}{{color-scheme:{theme};{colours}}}\n{root} svg g{{--hue:var(--{theme});--on-hue:var(--on-{theme})}}\n"
    )


def _body(report: Report) -> str:
    looks = looks_in(report)
    named = {
        one.name: variant_look(looks[one.role], one.variant)
        for figure in figures_of(report)
        for one in figure.series
        if one.role
    }
    titles = [section.title for section in report.sections] + ([FACTS] if report.facts else [])
    blocks = [block.name for section in report.sections for block in section.blocks if not isinstance(block, str)]
    anchors = unique_names(["tip", "spoken", "theme", *titles, *blocks])[3:]
    parts = iter(anchors[len(titles) :])
    sections = "\n".join(
        _section(section, anchor, looks, named, parts)
        for section, anchor in zip(report.sections, anchors, strict=False)
    )
    summary = "".join(f"<p>{_prose(text)}</p>" for text in report.summary)
    facts = _facts(report, anchors[len(titles) - 1]) if report.facts else ""
    return (
        f'<div class="sheet">\n<header><div class="top"><h1>{escape(report.title)}</h1>'
        '<button type="button" id="theme" aria-label="change between light and dark" hidden></button></div>'
        f'<div class="summary">{summary}</div></header>\n{_contents(titles, anchors)}'
        f"<main>\n{sections}\n{facts}</main>\n<footer>sahcns {__version__}</footer>\n</div>"
    )


def _contents(titles: list[str], anchors: list[str]) -> str:
    if len(titles) < 3:
        return ""
    entries = "".join(
        f'<li><a href="#{anchor}">{escape(title)}</a></li>' for title, anchor in zip(titles, anchors, strict=False)
    )
    return f'<nav class="contents" aria-label="contents"><ul>{entries}</ul></nav>\n'


def _section(
    section: Section, anchor: str, looks: dict[str, Look], named: dict[str, Look], names: Iterable[str]
) -> str:
    upcoming = iter(names)
    made = []
    for block in section.blocks:
        if isinstance(block, str):
            made.append(f"<p>{_prose(block)}</p>")
        elif isinstance(block, Table):
            made.append(table_html(block, named, next(upcoming), _prose(block.caption)))
        else:
            made.append(figure_html(block, looks, next(upcoming), _prose(block.caption)))
    return f'<section id="{anchor}"><h2>{escape(section.title)}</h2>\n' + "\n".join(made) + "</section>"


def _facts(report: Report, anchor: str) -> str:
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{_fact(value)}</dd>" for name, value in report.facts)
    return f'<section id="{anchor}"><h2>{FACTS}</h2>\n<dl class="facts card">{entries}</dl></section>\n'


def _fact(value: str) -> str:
    """A command, or anything in lines, keeps them and is set like in a terminal, no option broken at its dashes."""
    if "\n" in value or re.match(r"(\$ )?sahcns [a-z]", value):
        words = re.split(r"(\s+)", value)
        kept = (f'<span class="word">{escape(w)}</span>' if "-" in w and len(w) < 36 else escape(w) for w in words)
        return f"<pre>{''.join(kept)}</pre>"
    return _prose(value)


def _prose(text: str) -> str:
    """Text with its `code` set as such, and nothing else in it obeyed; `95 %` and `p < 0.05` are not broken into lines."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(f"<code>{escape(part)}</code>" if at % 2 else escape(_kept(part)) for at, part in enumerate(parts))


def _kept(text: str) -> str:
    return re.sub(r"(?<=\w) ([<>=±×]) (?=[-+\d])|(?<=\d) (?=%)", lambda found: found[0].replace(" ", NO_BREAK), text)
