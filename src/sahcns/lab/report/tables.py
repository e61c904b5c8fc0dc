"""A table as HTML for the page, as Markdown as GitHub draws it, as CSV, and as LaTeX as papers print it."""

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import groupby

from sahcns.files import csv_text
from sahcns.lab.report.palette import Look, fixed_look
from sahcns.lab.report.parts import Cell, Table

UNDER = " · "  # `toys · R@20` stands under toys
SAMPLERS = ("sampler", "method")  # how the first column is called where each row is one of them
PROSE = 100  # letters from which a cell is prose
HTML_MARKS = {"": "{}", "best": "<strong>{}</strong>", "second": "<u>{}</u>"}
MARKDOWN_MARKS = {"": "{}", "best": "**{}**", "second": "<u>{}</u>"}
LATEX_MARKS = {"": "{}", "best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
SPREAD = re.compile(r"(?P<mean>[-+]?[\d.,]+(?:e[-+]?\d+)?)\s*±\s*(?P<std>[\d.,]+(?:e[-+]?\d+)?)", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE)


def _heads(columns: Sequence[str]) -> tuple[list[tuple[str, int]], list[str]]:
    """The common heads with the number of columns below each, "" for none; and each column's own name."""
    parts = [_name(column).rpartition(UNDER) for column in columns]
    groups = [(group, len(list(members))) for group, members in groupby(one[0] for one in parts)]
    return groups, [one[2] for one in parts]


def _name(column: str) -> str:
    return column.removeprefix(">")


def coded(text: str, plain: Callable[[str], str], code: Callable[[str], str]) -> str:
    """A text with its `code` set as such, and the rest as plain text, each as a language writes it."""
    return "".join((code if at % 2 else plain)(part) for at, part in enumerate(re.split(r"`([^`]+)`", text)))


# HTML


def to_html(table: Table, looks: Mapping[str, Look] | None = None) -> str:
    """A `<table>`; `looks` are those of the names that may head a row or a column.

    Where the first column groups the rows it becomes a heading over them. Neighbouring columns whose names begin alike,
    as `toys · R@10` and `toys · R@20`, get a common head.
    """
    known, grouped, whole = looks or {}, table.grouped, table.cells
    columns, rows = table.columns[grouped:], [row[grouped:] for row in whole]
    of_samplers = bool(columns) and _name(columns[0]).lower() in SAMPLERS
    prosaic = any(len(cell.text) > PROSE for row in rows for cell in row)
    # where a phone hides the heads
    named = [f' data-name="{escape(_name(column))}"' * prosaic for column in columns[1:]]
    body = []
    for at, (first, *rest) in enumerate(rows):
        if grouped and (at == 0 or whole[at][0].text != whole[at - 1][0].text):
            group = f'<th scope="rowgroup" colspan="{len(columns)}"><span>{_inner(whole[at][0])}</span></th>'
            body.append(f'<tr class="group">{group}</tr>')
        look = known.get(first.text) or (fixed_look(first.text) if of_samplers else None)
        long = ' class="long"' if len(first.text) > 28 else ""
        others = "".join(
            f"<td{_number(column)}{_hint(cell)}{data}>{_inner(cell)}</td>"
            for cell, column, data in zip(rest, columns[1:], named, strict=True)
        )
        body.append(f'<tr><th scope="row"{long}{_hint(first)}>{_swatch(look)}{_inner(first)}</th>{others}</tr>')
    groups, names = _heads(columns)
    heads = "".join(
        f'<th scope="col"{_number(column) if at else ""}>{_swatch(known.get(name))}{escape(name)}</th>'
        for at, (name, column) in enumerate(zip(names, columns, strict=True))
    )
    over = "".join(
        f'<th scope="colgroup" colspan="{width}" class="over">{escape(group)}</th>' if group else "<th></th>" * width
        for group, width in groups
    )
    overs = f'<tr class="overs">{over}</tr>' if any(group for group, _ in groups) else ""
    style = ' class="prosaic"' if prosaic else ""
    texts = [[column, *(row[at].text for row in rows)] for at, column in enumerate(columns)]
    letters = sum(min(40, max(map(len, column))) for column in texts)  # on paper a wide table is set smaller
    head = f"<thead>{overs}<tr>{heads}</tr></thead>"
    return f'<table{style} style="--letters:{letters}">{head}<tbody>{"".join(body)}</tbody></table>'


def _number(column: str) -> str:
    return ' class="number"' if column.startswith(">") else ""


def _hint(cell: Cell) -> str:
    return f' data-hint="{escape(cell.hint)}"' if cell.hint else ""


def _swatch(look: Look | None) -> str:
    """The marker of a sampler, before its name."""
    return f'<span class="swatch" style="color:{look.paint}" aria-hidden="true">{look.sign}</span>' if look else ""


def _inner(cell: Cell) -> str:
    note = f'<span class="note">{escape(cell.note)}</span>' if cell.note else ""
    mean, sign, std = cell.text.partition(" ± ")
    spread = f"<small> ± {escape(std)}</small>" if sign else ""  # in small print, as in the paper
    return HTML_MARKS[cell.mark].format(escape(mean) + spread) + note


# Markdown


def to_markdown(table: Table, *, title: bool = True) -> str:
    """Title in bold, the table, its caption; with title=False the rows alone, under their heads."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def marked(cell: Cell) -> str:
        text = MARKDOWN_MARKS[cell.mark].format(_escaped(cell.text)) if cell.text.strip() else ""
        return text + _escaped(cell.note)

    heads = line(_escaped(_name(column)) for column in table.columns)
    ruler = line("---:" if column.startswith(">") else "---" for column in table.columns)
    body = "\n".join([heads, ruler, *(line(map(marked, row)) for row in table.cells)])
    above, below = (coded(text, _escaped, "`{}`".format) if title else "" for text in (table.title, table.caption))
    return "\n\n".join(filter(None, [f"**{above}**" if above else "", body, below])) + "\n"


def _escaped(text: str) -> str:
    """Nothing in it means anything to Markdown, HTML or the table; line ends become spaces."""
    signs = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", re.sub(r"\s+", " ", text))
    return signs.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# CSV


def to_csv(table: Table) -> str:
    """RFC 4180, with plain numbers for whoever computes on; an empty cell is what was not there.

    `13.26 ± 0.07` becomes two columns, and a column's signs, such as * for significance, become one of their own.
    """
    columns: list[list[str]] = []
    for name, *cells in zip(map(_name, table.columns), *table.cells, strict=True):
        spreads = [SPREAD.fullmatch(cell.text.strip()) for cell in cells]
        means = [one["mean"] if one else cell.text for one, cell in zip(spreads, cells, strict=True)]
        columns.append([name, *map(_plain_number, means)])
        if any(spreads):
            columns.append([f"{name} std", *(_plain_number(one["std"]) if one else "" for one in spreads)])
        if any(cell.note for cell in cells):
            columns.append([f"{name} sign", *(cell.note for cell in cells)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([map(csv_text, row) for row in zip(*columns, strict=True)])
    return text.getvalue()


def _plain_number(text: str) -> str:
    """`15,306` as 15306, `+0.12` as 0.12, a typographer's minus as a minus, a lone dash as nothing."""
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if plain in ("–", "—", "-"):
        return ""
    return plain.replace(",", "").removeprefix("+") if NUMBER.fullmatch(plain) else text.strip()


# LaTeX

APART = "\N{ZERO WIDTH SPACE}"  # between two dashes, which would be one longer dash
TEXT = ("textbackslash", "textasciitilde", "textasciicircum", "textasciigrave", "ldots")
MATHEMATICS = (
    *("pm", "times", "cdot", "leq", "geq", "approx", "neq", "infty", "rightarrow", "surd", "in", "sum", "ell"),
    *("varsigma", "epsilon", "lambda", "Lambda"),  # the last two Unicode calls lamda
)
LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"${sign}$" for sign in "<>|"},
    '"': "''",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "′": "$'$",
    APART: "{}",
    **{sign: rf"\{name}{{}}" for sign, name in zip("\\~^`…", TEXT, strict=True)},
    **{sign: rf"$\{name}$" for sign, name in zip("±×·≤≥≈≠∞→√∈∑ℓςελΛ", MATHEMATICS, strict=True)},
    **{sign: f"$^{{{plain}}}$" for sign, plain in zip("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789", strict=True)},
    **{sign: f"$_{{{plain}}}$" for sign, plain in zip("₊₋₀₁₂₃₄₅₆₇₈₉", "+-0123456789", strict=True)},
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].lower()}$" for sign in "αβγδζηθικμνξπρστυφχψω"},
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].capitalize()}$" for sign in "ΓΔΘΞΠΣΥΦΨΩ"},
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True)),  # for which mathematics has the Latin letters
}
# What pdflatex prints besides, tried letter by letter in an article with nothing but booktabs. The last line needs
# \\usepackage[T1]{fontenc}, and whoever writes such letters has it.
PRINTED = frozenset(
    "\N{NO-BREAK SPACE}¡¢£¥§©ª®°¶º¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõö÷øùúûüýÿ"
    "ĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖėĚěĜĝĞğĠġĢģĤĥĨĩĪīĬĭİıĴĵĶķĹĺĻļĽľŁłŃńŅņŇňŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽž"
    "ǍǎǏǐǑǒǓǔǦǧǨǩȘșȚțȲȳḂḃḍḞḟḠḡḥḰḱḷṃṅṇṛṣṭẎẏẐẑẞỲỳ‐‑‘’“”†‡•€™←↑↓µ"
    "«»ÐðÞþĄąĐđĘęĮįŲųŊŋ"
)
# Letters in a column of two, in a line, in words before they are broken, and between columns.
COLUMN, LINE, WORDS, GAP = 65, 75, 22, 2
FITTED = [
    r"\setlength{\tabcolsep}{4pt}",
    r"\providecommand{\resizebox}[3]{#3}% without \usepackage{graphicx} it stays as wide as it is",
    r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
]


def to_latex(table: Table) -> str:
    """A `table` with booktabs; the title is its caption, and what is said below it stands there as notes.

    No table runs off the page. One wider than a column is a `table*`, which has the whole width where a page has two;
    one wider than a line has its columns of words broken into lines; and what is left to do graphicx does, by scaling it.
    A rule stands between the groups of a table, and each is named once.
    """
    groups, names = _heads(table.columns)
    rows, right = table.cells, [column.startswith(">") for column in table.columns]
    texts = [[name, *(row[at].text for row in rows)] for at, name in enumerate(names)]
    widths = [max(map(len, column)) + GAP for column in texts]
    broken = {} if sum(widths) <= LINE else _broken(widths, [" " in "".join(own[1:]) for own in texts], right)
    place = "table*" if sum(widths) > COLUMN else "table"
    align = "".join(
        f"p{{{broken[at]:.2f}\\linewidth}}" if at in broken else "r" if right[at] else "l" for at in range(len(names))
    )
    body = []
    for at, row in enumerate(rows):
        again = table.grouped and at > 0 and row[0].text == rows[at - 1][0].text
        body += [r"\midrule"] if table.grouped and at > 0 and not again else []
        cells = [r"\raggedright " * (k in broken) + _tex(cell, right[k]) for k, cell in enumerate(row)]
        body.append(_line(["" if again else cells[0], *cells[1:]], r"\tabularnewline" if broken else r"\\"))
    missing, notes = " ".join(letters_missing(table)), "\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize "
    label = re.sub(r"[^a-z0-9]+", "-", table.name.lower()).strip("-")
    lines = [
        f"% pdflatex has no {missing}: compile with lualatex or xelatex, and a font that has" if missing else "",
        rf"\begin{{{place}}}[t]",
        r"\centering",
        rf"\caption{{{tex(table.title or table.name)}}}",
        rf"\label{{tab:{label}}}",
        r"\footnotesize" if broken else "",
        *FITTED,
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        *_over(groups),
        _line(map(tex, names)),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}}",
        rf"{notes}{tex(table.caption)}\end{{minipage}}" if table.caption else "",
        rf"\end{{{place}}}",
    ]
    return "\n".join(filter(None, lines)) + "\n"


def letters_missing(table: Table) -> str:
    """Letters of a table that pdflatex has not, each once: it stops at them, and leaves them out if it is told to go on."""
    cells = [cell.text for row in table.cells for cell in row]
    letters = dict.fromkeys(_one_line(" ".join([table.title or table.name, table.caption, *table.columns, *cells])))
    return "".join(one for one in letters if not one.isascii() and one not in LATEX and one not in PRINTED)


def tex(text: str) -> str:
    """Nothing in it means anything to LaTeX; `code` is set as such, and a minus before a digit is a minus."""
    return coded(_one_line(text), _signs, lambda part: rf"\texttt{{{_signs(part)}}}")


def _one_line(text: str) -> str:
    """Composed letters, as pdflatex knows no combining accents, and macOS writes names of files with them."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _signs(text: str) -> str:
    signs = re.sub(r"(?<![\w.)-])-(?=\d)", "−", text)
    return "".join(LATEX.get(sign, sign) for sign in re.sub("-(?=-)", "-" + APART, signs))


def _broken(widths: Sequence[int], spaced: Sequence[bool], right: Sequence[bool]) -> dict[int, float]:
    """Which columns are broken into lines, and their shares of the width: ten times the letters have three times it."""
    words = [at for at, width in enumerate(widths) if width > WORDS and spaced[at] and not right[at]]
    rest = sum(width for at, width in enumerate(widths) if at not in words)
    room = (max(LINE - rest, WORDS * len(words)) - GAP * len(words)) / LINE
    return {at: room * widths[at] ** 0.5 / sum(widths[other] ** 0.5 for other in words) for at in words}


def _over(groups: Sequence[tuple[str, int]]) -> list[str]:
    """The line of common heads, and the rules below them; nothing where there are none."""
    above, rules, at = list[str](), list[str](), 1
    for group, width in groups:
        above += [rf"\multicolumn{{{width}}}{{c}}{{{tex(group)}}}"] if group else [""] * width
        rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
        at += width
    return [_line(above), " ".join(rules)] if rules else []


def _tex(cell: Cell, right: bool) -> str:
    mean, sign, std = cell.text.partition(" ± ")
    # the standard deviation in small print, as in the paper; `within ± 1.9` has none
    small = sign and mean[-1:].isdigit()
    text = LATEX_MARKS[cell.mark].format(rf"{tex(mean)}{{\scriptsize$\pm${tex(std)}}}" if small else tex(cell.text))
    note = f"$^{{{cell.note}}}$" if cell.note == "*" else rf"\textsuperscript{{{tex(cell.note)}}}"
    hanging = rf"\rlap{{{note}}}" if right else note  # so that numbers stay aligned
    return text + (hanging if cell.note else "")


def _line(cells: Iterable[str], end: str = r"\\") -> str:
    line = " & ".join(cells)
    return ("{}" if line.startswith(("[", "*")) else "") + f"{line} {end}"  # else the row above takes these for its own
