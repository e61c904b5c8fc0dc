"""A report as one HTML page that asks nothing of a network; it opens with the answer, and folds the rest."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from sahcns.errors import SahcnsError
from sahcns.lab.report.palette import COLOURS, Look, drawn_series, looks_of
from sahcns.lab.report.parts import Figure, Report, Table, unique_names
from sahcns.lab.report.tables import coded
from sahcns.lab.report.tables import to_html as table_html
from sahcns.version import __version__

FACTS, FINDINGS = "How this was made", "Findings"
RESERVED = ("tip", "theme", "all", "answer")  # anchors of the page's own
BOTH = "Bold is the best, underlined the second best."
INSTALL = "To see it drawn: `pip install 'sahcns[report]'`."
WIDE = 6  # columns that a table may have beside a figure
LEAD, LOW = 270, 190  # pixels of the first figure's height, beside a table and above a wide one
Block = str | Table | Figure
Draw = Callable[..., dict[str, Any]]


def to_html(report: Report) -> str:
    """The page. It follows the system's light or dark, fits a phone, and prints.

    Without altair its figures are their values in tables, and a sentence says what to install.
    """
    draw, script = _drawing()
    opening = report.opening()
    verdict = report.verdict or re.split(r"(?<=[.!?])\s+(?=[A-Z])", next(iter(report.summary), ""), maxsplit=1)[0]
    contents: list[tuple[str, list[Block]]] = [(FINDINGS, [text for text in report.summary if text != verdict])]
    for section in report.sections:
        contents.append((section.title, [one for one in section.blocks if not any(one is led for led in opening)]))
    blocks: list[Table | Figure] = [*report.figures(), *report.tables()]
    titles = [*(title for title, _ in contents), FACTS]
    names = unique_names([*RESERVED, *titles, *(block.name for block in blocks)])[len(RESERVED) :]
    writer = _Writer(report, draw, dict(zip(map(id, blocks), names[len(titles) :], strict=True)))
    insides = [("\n".join(map(writer.html, part)), _counts(part)) for _, part in contents] + [(_facts(report), "")]
    parts = [part for part in zip(names, titles, insides, strict=False) if part[2][0]]
    low = any(isinstance(block, Table) and len(block.columns) > WIDE for block in opening)
    return Template(_text_of("page.html")).substitute(
        # Even if a text slipped through unescaped, a browser would run no script but ours and load nothing.
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=__version__,
        title=escape(report.title),
        style=themes() + _text_of("style.css"),
        contents="".join(f'<li><a href="#{anchor}">{escape(title)}</a></li>' for anchor, title, _ in parts),
        verdict=prose(verdict),
        opening="\n".join(writer.html(block, LOW if low else LEAD) for block in opening),
        sections="\n".join(
            f'<details class="section" id="{anchor}"{" open" * (len(parts) < 3 or title == FINDINGS)}><summary>'
            f"<h2>{escape(title)}</h2><small>{counts}</small></summary>\n<div>{inside}</div></details>"
            for anchor, title, (inside, counts) in parts
        ),
        script=script,
    )


def can_draw() -> bool:
    """Whether altair and vl-convert are installed."""
    return _drawing()[0] is not None


def looks_in(report: Report) -> dict[str, Look]:
    """A look for every role in a report, the same in all its figures."""
    return looks_of(series.role for figure in report.figures() for series in figure.series if series.role)


def themes() -> str:
    """The colours as variables of CSS, each light and dark; the style says which of the two it is."""
    return f":root{{{''.join(f'--{name}:light-dark({light},{dark});' for name, (light, dark) in COLOURS.items())}}}\n"


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


class _Writer:
    """Blocks as HTML, with what is the same for all of a page: looks, anchors, and what draws."""

    def __init__(self, report: Report, draw: Draw | None, anchors: Mapping[int, str]):
        self.draw, self.anchors, self.looks = draw, anchors, looks_in(report)
        self.named = {
            series.name: look
            for figure in report.figures()
            for series, look in drawn_series(figure, self.looks)
            if series.role and figure.kind != "scatter"  # whose series are states, such as complete
        }

    def html(self, block: Block, lead: int = 0) -> str:
        """A paragraph, or a card; `lead` is the height of a figure on the first screen."""
        if isinstance(block, str):
            return f"<p>{prose(block)}</p>"
        tag, kind, inside = "figure", "card" + " lead" * bool(lead), ""
        if isinstance(block, Table):
            tag, inside = "div", _scroll(block, self.named) + _caption(block.caption, _key(block))
            kind += " wide" * (len(block.columns) > WIDE)
        elif self.draw is None:
            inside = _scroll(block.values()) + _caption(block.caption, INSTALL)
        else:
            inside = (
                f'<div class="chart" role="img" aria-label="{escape(block.title)}"></div>'
                f"{_caption(block.caption, block.partial_note)}"
                f'<details class="data"><summary>Data</summary>{_scroll(block.values())}</details>'
                '<button type="button" class="save" hidden>Save as SVG</button>'
                '<script type="application/json">'
                f"{safe_json(self.draw(block, self.looks, height=lead or 300))}</script>"
            )
        title = f"<h3>{escape(block.title)}</h3>" if block.title else ""
        return f'<{tag} class="{kind}" id="{self.anchors[id(block)]}">{title}{inside}</{tag}>'


def _counts(blocks: Sequence[Block]) -> str:
    """`2 tables, 3 figures`: what a folded section holds."""
    counts = {kind: sum(isinstance(block, kind) for block in blocks) for kind in (Table, Figure)}
    return ", ".join(f"{n} {kind.__name__.lower()}{'s' * (n > 1)}" for kind, n in counts.items() if n)


def _key(table: Table) -> str:
    marks = {cell.mark for row in table.cells for cell in row}
    return BOTH if {"best", "second"} <= marks and "bold" not in table.caption.lower() else ""


def _caption(*texts: str) -> str:
    """Folded by the script where it would push the answer off the first screen."""
    words = " ".join(filter(None, texts))
    return f'<details class="caption" open><summary>Notes</summary><p>{prose(words)}</p></details>' if words else ""


def _scroll(table: Table, named: Mapping[str, Look] | None = None) -> str:
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
    unbroken = re.compile(r"(?<=\w) ([<>=±×]) (?=[-+\d])|(?<=\d) (?=%)")

    def plain(part: str) -> str:
        return escape(unbroken.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), part))

    return coded(text, plain, lambda part: f"<code>{escape(part)}</code>")


def safe_json(value: object) -> str:
    """JSON that cannot end the script element it stands in, whatever the names in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)
