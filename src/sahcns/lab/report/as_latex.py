"""A table in LaTeX, with booktabs, as papers print them: best in bold, second best underlined.

No table runs off the page. One wider than a column is a `table*`, which has the whole width where a page has two; one
wider than a line has its columns of words broken into lines; and what is left to do graphicx does, by scaling it down.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise

from sahcns.lab.report.latex_text import escaped, not_printed
from sahcns.lab.report.parts import Cell, Table
from sahcns.lab.report.scene import text_width

MARKS = {"": "{}", "best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
UNDER = " · "  # `toys · R@20` stands under toys
COLUMN, LINE = 300.0, 345.0  # points that fit a column of two in letters of 8 or 9, and a line of an article
SIZE, GAP = 8.0, 8.0  # letters of 10 points are as wide as those of 8 that text_width knows; a column's sides
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
    told = [f"% pdflatex has no {missing}: compile with lualatex or xelatex, and a font that has"] if missing else []
    if not floating:
        return "\n".join([*told, *body]) + "\n"
    label = re.sub(r"[^a-z0-9]+", "-", table.name.lower()).strip("-")
    notes = [
        r"\par\smallskip",
        rf"\begin{{minipage}}{{\linewidth}}\footnotesize {escaped(table.caption)}\end{{minipage}}",
    ]
    place = "table*" if sum(_widths(table)) > COLUMN else "table"
    lines = [
        *told,
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
    for at, column in enumerate(table.columns):
        texts = [column.removeprefix(">").rpartition(UNDER)[2], *(_text(row[at]) for row in table.rows)]
        found.append(max(map(_points, texts)) + GAP)
    return found


def _points(text: str) -> float:
    mean, sign, std = text.partition(" ± ")
    return text_width(mean, SIZE) + text_width(sign.strip() + std, SIZE * 0.7)


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
    names = [column.removeprefix(">") for column in columns]
    groups = [name.partition(UNDER)[0] if UNDER in name else "" for name in names]
    if not any(groups):
        return [_line(map(escaped, names))]
    above, rules, at = [], [], 1
    for group, members in groupby(groups):
        width = len(list(members))
        above += [rf"\multicolumn{{{width}}}{{c}}{{{escaped(group)}}}"] if group else [""] * width
        rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
        at += width
    below = [name.partition(UNDER)[2] if UNDER in name else name for name in names]
    return [_line(above), " ".join(rules), _line(map(escaped, below))]


def _rows(table: Table, broken: Mapping[int, float]) -> list[str]:
    firsts = [_text(row[0]) for row in table.rows if row]
    grouped = any(one == other for one, other in pairwise(firsts))
    lines = []
    for at, row in enumerate(table.rows):
        again = grouped and at > 0 and firsts[at] == firsts[at - 1]
        if grouped and at > 0 and not again:
            lines.append(r"\midrule")
        cells = [
            (r"\raggedright " if column in broken else "") + _cell(cell, table.columns[column].startswith(">"))
            for column, cell in enumerate(row)
        ]
        if again:
            cells[0] = ""
        lines.append(_line(cells, r"\tabularnewline" if broken else r"\\"))  # \raggedright has a \\ of its own
    return lines


def _text(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def _cell(cell: Cell | str, right: bool) -> str:
    if isinstance(cell, str):
        return _spread(cell)
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
