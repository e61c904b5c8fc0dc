"""A table in LaTeX, with booktabs, as papers print them: best in bold, second best underlined.

No table runs off the page. One wider than a column is a `table*`, which has the whole width where a page has two; one
wider than a line has its columns of words broken into lines; and what is left to do graphicx does, by scaling it down.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from sahcns.lab.report.parts import Cell, Table
from sahcns.lab.report.tables import as_cell, repeats, split_heads

APART = "\N{ZERO WIDTH SPACE}"  # between two dashes, which would be one longer dash
ESCAPES = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    APART: "{}",
    **{sign: f"${sign}$" for sign in "<>|"},
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "→": r"$\rightarrow$",
    "√": r"$\surd$",
    "≈": r"$\approx$",
    "≠": r"$\neq$",
    "∈": r"$\in$",
    "∑": r"$\sum$",
    "ℓ": r"$\ell$",
    "′": "$'$",
    **{sign: f"$^{{{plain}}}$" for sign, plain in zip("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789", strict=True)},
    **{sign: f"$_{{{plain}}}$" for sign, plain in zip("₊₋₀₁₂₃₄₅₆₇₈₉", "+-0123456789", strict=True)},
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].lower()}$" for sign in "αβγδζηθικμνξπρστυφχψω"},
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].capitalize()}$" for sign in "ΓΔΘΞΠΣΦΨΩ"},
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True)),  # for which mathematics has the Latin letters
    "Υ": r"$\Upsilon$",
    "ς": r"$\varsigma$",
    "ε": r"$\epsilon$",
    "λ": r"$\lambda$",  # which Unicode calls lamda
    "Λ": r"$\Lambda$",
}
# What pdflatex prints besides, tried letter by letter in an article with nothing but booktabs. The last line needs
# \\usepackage[T1]{fontenc}, and whoever writes such letters has it.
PRINTED = frozenset(
    "\N{NO-BREAK SPACE}¡¢£¥§©ª®°¶º¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõö÷øùúûüýÿ"
    "ĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖėĚěĜĝĞğĠġĢģĤĥĨĩĪīĬĭİıĴĵĶķĹĺĻļĽľŁłŃńŅņŇňŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽž"
    "ǍǎǏǐǑǒǓǔǦǧǨǩȘșȚțȲȳḂḃḍḞḟḠḡḥḰḱḷṃṅṇṛṣṭẎẏẐẑẞỲỳ‐‑‘’“”†‡•€™←↑↓µ"
    "«»ÐðÞþĄąĐđĘęĮįŲųŊŋ"
)
MARKS = {"": "{}", "best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
COLUMN, LINE = 300.0, 345.0  # points that fit a column of two in letters of 8 or 9, and a line of an article
LETTER, SMALL, GAP = 4.6, 3.2, 8.0  # points of a letter on average, of one in small print, and of a column's sides
WORDS = 100.0  # points that a column of words has in a table too wide, before it is broken into lines
FITTED = [
    r"\setlength{\tabcolsep}{4pt}",
    r"\providecommand{\resizebox}[3]{#3}% without \usepackage{graphicx} it stays as wide as it is",
    r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
]


def to_latex(table: Table, *, floating: bool = True) -> str:
    """A `table` with caption and label, or with floating=False the `tabular` alone; needs \\usepackage{booktabs}.

    The title is the caption, so a list of tables is short; what is said below the table stands there as notes.

    Neighbouring columns whose names begin alike, as `toys · R@10` and `toys · R@20`, get a common head. Where the first
    column repeats itself from row to row, as a backbone does, a rule stands between its groups and it is said once.
    """
    shares = _shares(table)
    align = "".join(
        f"p{{{shares[at]:.2f}\\linewidth}}" if at in shares else "r" if column.startswith(">") else "l"
        for at, column in enumerate(table.columns)
    )
    body = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", *_heads(table.columns), r"\midrule", *_rows(table, shares)]
    body += [r"\bottomrule", r"\end{tabular}"]
    missing = " ".join(letters_missing(table))
    warning = [f"% pdflatex has no {missing}: compile with lualatex or xelatex, and a font that has"] if missing else []
    if not floating:
        return "\n".join([*warning, *body]) + "\n"
    label = re.sub(r"[^a-z0-9]+", "-", table.name.lower()).strip("-")
    notes = [
        r"\par\smallskip",
        rf"\begin{{minipage}}{{\linewidth}}\footnotesize {escaped(table.caption)}\end{{minipage}}",
    ]
    place = "table*" if sum(_widths(table)) > COLUMN else "table"
    lines = [
        *warning,
        rf"\begin{{{place}}}[t]",
        r"\centering",
        rf"\caption{{{escaped(table.title or table.name)}}}",
        rf"\label{{tab:{label}}}",
        *([r"\footnotesize"] if shares else []),
        *FITTED,
        *body[:-1],
        body[-1] + "}",
        *(notes if table.caption else []),
        rf"\end{{{place}}}",
    ]
    return "\n".join(lines) + "\n"


def letters_missing(table: Table) -> str:
    """Letters of a table that pdflatex has not, each once."""
    cells = [_text(cell) for row in table.rows for cell in row]
    return not_printed(" ".join([table.title or table.name, table.caption, *table.columns, *cells]))


def _widths(table: Table) -> list[float]:
    """About how many points each column takes with letters of 10."""
    found = []
    for at, name in enumerate(split_heads(table.columns)[1]):
        texts = [name, *(_text(row[at]) for row in table.rows)]
        found.append(max(map(_points, texts)) + GAP)
    return found


def _points(text: str) -> float:
    mean, sign, std = text.partition(" ± ")
    return LETTER * len(mean) + SMALL * len(sign.strip() + std)


def _shares(table: Table) -> dict[int, float]:
    """Of a table wider than a line: which of its columns are broken into lines, and their shares of the width."""
    widths = _widths(table)
    if sum(widths) <= LINE:
        return {}
    words = {
        at: width
        for at, width in enumerate(widths)
        if width > WORDS and not table.columns[at].startswith(">") and _breaks(table, at)
    }
    room = max(LINE - sum(width for at, width in enumerate(widths) if at not in words), WORDS * len(words)) / LINE
    roots = {at: width**0.5 for at, width in words.items()}  # what is ten times as long has three times the width
    room -= len(words) * GAP / LINE
    return {at: room * root / sum(roots.values()) for at, root in roots.items()}


def _breaks(table: Table, at: int) -> bool:
    return any(" " in _text(row[at]) for row in table.rows)


def _heads(columns: Sequence[str]) -> list[str]:
    groups, names = split_heads(columns)
    if not any(group for group, _ in groups):
        return [_line(map(escaped, names))]
    above, rules, at = [], [], 1
    for group, width in groups:
        above += [rf"\multicolumn{{{width}}}{{c}}{{{escaped(group)}}}"] if group else [""] * width
        rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
        at += width
    return [_line(above), " ".join(rules), _line(map(escaped, names))]


def _rows(table: Table, broken: Mapping[int, float]) -> list[str]:
    firsts = [_text(row[0]) for row in table.rows if row]
    grouped = repeats(firsts)
    lines = []
    for at, row in enumerate(table.rows):
        again = grouped and at > 0 and firsts[at] == firsts[at - 1]
        if grouped and at > 0 and not again:
            lines.append(r"\midrule")
        cells = [
            (r"\raggedright " if column in broken else "") + _cell(as_cell(cell), table.columns[column].startswith(">"))
            for column, cell in enumerate(row)
        ]
        if again:
            cells[0] = ""
        lines.append(_line(cells, r"\tabularnewline" if broken else r"\\"))  # \raggedright has a \\ of its own
    return lines


def _text(cell: Cell | str) -> str:
    return as_cell(cell).text


def _cell(cell: Cell, right: bool) -> str:
    text = MARKS[cell.mark].format(_spread(cell.text))
    if not cell.note:
        return text
    note = f"$^{{{cell.note}}}$" if cell.note == "*" else rf"\textsuperscript{{{escaped(cell.note)}}}"
    return text + (rf"\rlap{{{note}}}" if right else note)  # hangs out, so that numbers stay aligned


def _spread(text: str) -> str:
    """The standard deviation in small print, as in the paper; `within ± 1.9` has none."""
    mean, sign, std = text.partition(" ± ")
    return rf"{escaped(mean)}{{\scriptsize$\pm${escaped(std)}}}" if sign and mean[-1:].isdigit() else escaped(text)


def _line(cells: Iterable[str], end: str = r"\\") -> str:
    line = " & ".join(cells)
    return ("{}" if line.startswith(("[", "*")) else "") + f"{line} {end}"  # else the row above takes these for its own


def escaped(text: str) -> str:
    """Nothing in it means anything to LaTeX; `code` is set as such, and a minus before a digit is a minus."""
    parts = re.split(r"`([^`]+)`", _one_line(text))
    return "".join(rf"\texttt{{{_signs(part)}}}" if at % 2 else _signs(part) for at, part in enumerate(parts))


def not_printed(text: str) -> str:
    """Letters that pdflatex has not, each once: it stops at them, and leaves them out if it is told to go on."""
    letters = dict.fromkeys(_one_line(text))
    return "".join(one for one in letters if not one.isascii() and one not in ESCAPES and one not in PRINTED)


def _one_line(text: str) -> str:
    """Composed letters, as pdflatex knows no combining accents, and macOS writes names of files with them."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _signs(text: str) -> str:
    signs = re.sub(r"(?<![\w.)-])-(?=\d)", "−", text)
    return "".join(ESCAPES.get(sign, sign) for sign in re.sub("-(?=-)", "-" + APART, signs))
