"""A report as one HTML page that asks nothing of a network; it opens with the answer, and folds the rest."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from sahcns.errors import SahcnsError
from sahcns.lab.report.palette import COLOURS, Look, drawn_series, looks_of
from sahcns.lab.report.parts import Cell, Figure, Report, Table, unique_names
from sahcns.lab.report.tables import data_table, frame_note
from sahcns.lab.report.tables import to_html as table_html
from sahcns.version import __version__

FACTS, FINDINGS = "How this was made", "Findings"
BOTH = "Bold is the best, underlined the second best."
NO_BREAK = "\N{NO-BREAK SPACE}"
Draw = Callable[..., dict[str, Any]]
WIDE = 6  # columns that a table may have beside a figure
LEAD, LOW = 270, 190  # pixels of the first figure's height, beside a table and above a wide one


def to_html(report: Report) -> str:
    """The page. It follows the system's light or dark, fits a phone, and prints.

    Without altair its figures are their values in tables, and a sentence says what to install.
    """
    draw, script = _drawing()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Even if a text slipped through unescaped, a browser would run no script but ours and load nothing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="generator" content="sahcns {__version__}">\n'
        f'<title>{escape(report.title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{themes()}{_text_of('style.css')}</style>\n</head>\n<body>\n{_body(report, draw)}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def can_draw() -> bool:
    """Whether altair and vl-convert are installed."""
    return _drawing()[0] is not None


def looks_in(report: Report) -> dict[str, Look]:
    """A look for every role in a report, the same in all its figures."""
    return looks_of(series.role for figure in report.figures() for series in figure.series if series.role)


def themes() -> str:
    """The colours as variables of CSS: light, dark where the system or the reader wants it, and always light on paper."""

    def variables(theme: str, place: int) -> str:
        return f"color-scheme:{theme};" + "".join(f"--{name}:{both[place]};" for name, both in COLOURS.items())

    return (
        f":root{{{variables('light', 0)}}}\n@media screen{{:root[data-theme=dark]{{{variables('dark', 1)}}}}}\n"
        "@media screen and (prefers-color-scheme:dark){"
        f":root:not([data-theme=light]){{{variables('dark', 1)}}}}}\n"
    )


def _drawing() -> tuple[Draw | None, str]:
    """What makes specifications of figures, and the page's script: with Vega in it, or without where altair is missing."""
    glue = _text_of("page.js")
    try:
        from sahcns.lab.report.chart import CONFIG, script, specification
    except SahcnsError:
        return None, glue
    light = {name: both[0] for name, both in COLOURS.items()}
    bundle = script().replace("</script", "<\\/script")
    return specification, f"{bundle};const CONFIG={json.dumps(CONFIG)},LIGHT={json.dumps(light)};\n{glue}"


def _text_of(name: str) -> str:
    return files("sahcns.lab.report").joinpath(name).read_text("utf-8")


def _body(report: Report, draw: Draw | None) -> str:
    blocks: list[Table | Figure] = [*report.figures(), *report.tables()]
    opening = report.opening()
    height = LOW if any(isinstance(block, Table) and len(block.columns) > WIDE for block in opening) else LEAD
    titles = [FINDINGS, *(section.title for section in report.sections), FACTS]
    names = unique_names(["tip", "theme", "all", "answer", *titles, *(block.name for block in blocks)])[4:]
    anchors = dict(zip(map(id, blocks), names[len(titles) :], strict=True))
    looks = looks_in(report)
    named = {
        series.name: look
        for figure in report.figures()
        for series, look in drawn_series(figure, looks)
        if series.role and figure.kind != "scatter"  # whose series are states, such as complete
    }

    def block_html(block: str | Table | Figure, *, lead: bool = False) -> str:
        if isinstance(block, str):
            return f"<p>{prose(block)}</p>"
        drawn = (
            _table(block, named) if isinstance(block, Table) else _figure(block, looks, draw, height if lead else 300)
        )
        tag, kind = "div" if isinstance(block, Table) else "figure", " lead" * lead
        kind += " wide" * (isinstance(block, Table) and len(block.columns) > WIDE)
        title = f"<h3>{escape(block.title)}</h3>" if block.title else ""
        return f'<{tag} class="card{kind}" id="{anchors[id(block)]}">{title}{drawn}</{tag}>'

    verdict = report.verdict or re.split(r"(?<=[.!?])\s+(?=[A-Z])", next(iter(report.summary), ""), maxsplit=1)[0]
    contents: list[list[str | Table | Figure]] = [[text for text in report.summary if text != verdict]]
    contents += [
        [one for one in section.blocks if not any(one is led for led in opening)] for section in report.sections
    ]
    insides = ["\n".join(map(block_html, part)) for part in contents] + [_facts(report)]
    parts = [part for part in zip(names, titles, insides, [*map(_counts, contents), ""], strict=False) if part[2]]
    entries = "".join(f'<li><a href="#{anchor}">{escape(title)}</a></li>' for anchor, title, *_ in parts)
    folds = "\n".join(_fold(*part, unfolded=len(parts) < 3 or part[1] == FINDINGS) for part in parts)
    lead = "\n".join(block_html(block, lead=True) for block in opening)
    return (
        '<nav aria-label="contents"><details open><summary>Contents</summary>'
        f'<ul><li><a href="#answer">Answer</a></li>{entries}</ul></details>'
        '<div><button type="button" id="all" hidden>Open all</button>'
        '<button type="button" id="theme" aria-label="change between light and dark" hidden></button></div></nav>\n'
        f'<main>\n<section id="answer"><h1>{escape(report.title)}</h1><p class="verdict">{prose(verdict)}</p>\n'
        f'<div class="opening">{lead}</div></section>\n{folds}\n<footer>sahcns {__version__}</footer></main>\n'
        '<div id="tip" role="status" hidden></div>'
    )


def _fold(anchor: str, title: str, inside: str, counts: str, *, unfolded: bool) -> str:
    head = f"<summary><h2>{escape(title)}</h2><small>{counts}</small></summary>"
    return f'<details class="section" id="{anchor}"{" open" * unfolded}>{head}\n<div>{inside}</div></details>'


def _counts(blocks: Sequence[str | Table | Figure]) -> str:
    """`2 tables, 3 figures`: what a folded section holds."""
    counts = {
        name: sum(isinstance(block, kind) for block in blocks) for name, kind in (("table", Table), ("figure", Figure))
    }
    return ", ".join(f"{number} {name}{'s' * (number > 1)}" for name, number in counts.items() if number)


def _table(table: Table, named: Mapping[str, Look]) -> str:
    marks = {cell.mark for row in table.rows for cell in row if isinstance(cell, Cell)}
    key = BOTH if {"best", "second"} <= marks and "bold" not in table.caption.lower() else ""
    return _scroll(table, named) + _caption(table.caption, key)


def _figure(figure: Figure, looks: Mapping[str, Look], draw: Draw | None, height: int) -> str:
    data = _scroll(data_table(figure), {})
    if draw is None:
        return data + _caption(figure.caption, "To see it drawn: `pip install 'sahcns[report]'`.")
    return (
        f'<div class="chart" role="img" aria-label="{escape(figure.title)}"></div>'
        f"{_caption(figure.caption, frame_note(figure))}"
        f'<details class="data"><summary>Data</summary>{data}</details>'
        '<button type="button" class="save" hidden>Save as SVG</button>'
        f'<script type="application/json">{safe_json(draw(figure, looks, height=height))}</script>'
    )


def _caption(*texts: str) -> str:
    """Folded by the script where it would push the answer off the first screen."""
    words = " ".join(filter(None, texts))
    return f'<details class="caption" open><summary>Notes</summary><p>{prose(words)}</p></details>' if words else ""


def _scroll(table: Table, named: Mapping[str, Look]) -> str:
    """A box in which a wide table scrolls."""
    label = escape(table.title or table.name)
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">{table_html(table, named)}</div>'


def _facts(report: Report) -> str:
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{_fact(value)}</dd>" for name, value in report.facts)
    return f'<dl class="card">{entries}</dl>' if entries else ""


def _fact(value: str) -> str:
    """A command, or anything in lines, keeps them and is set like in a terminal."""
    return f"<pre>{escape(value)}</pre>" if "\n" in value or re.match(r"(\$ )?sahcns [a-z]", value) else prose(value)


def prose(text: str) -> str:
    """Text with its `code` set as such, and nothing else in it obeyed; `95 %` and `p < 0.05` are not broken into lines."""

    def kept(part: str) -> str:
        return re.sub(
            r"(?<=\w) ([<>=±×]) (?=[-+\d])|(?<=\d) (?=%)", lambda found: found[0].replace(" ", NO_BREAK), part
        )

    parts = re.split(r"`([^`]+)`", text)
    return "".join(f"<code>{escape(part)}</code>" if at % 2 else escape(kept(part)) for at, part in enumerate(parts))


def safe_json(value: object) -> str:
    """JSON that cannot end the script element it stands in, whatever the names in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
