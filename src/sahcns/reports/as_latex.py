"""A table in LaTeX, with booktabs, as papers print them: best in bold, second best underlined."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from sahcns.reports.parts import Cell, Table

MARKS = {"": "{}", "best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
ESCAPES = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': "''",
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
    **{sign: f"$^{{{plain}}}$" for sign, plain in zip("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789", strict=True)},
    **{sign: f"$_{{{plain}}}$" for sign, plain in zip("₊₋₀₁₂₃₄₅₆₇₈₉", "+-0123456789", strict=True)},
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].lower()}$" for sign in "αβγδζηθικμνξπρστυφχψω"},
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].capitalize()}$" for sign in "ΓΔΘΞΠΣΦΨΩ"},
    "ε": r"$\epsilon$",
    "λ": r"$\lambda$",  # which Unicode calls lamda
    "Λ": r"$\Lambda$",
}
UNDER = " · "  # `toys · R@20` stands under toys


def to_latex(table: Table, *, floating: bool = True) -> str:
    """A `table` with caption and label, or with floating=False the `tabular` alone; needs \\usepackage{booktabs}.

    The title is the caption, so a list of tables is short; what is said below the table stands there as notes.

    Neighbouring columns whose names begin alike, as `toys · R@10` and `toys · R@20`, get a common head. Where the first
    column repeats itself from row to row, as a backbone does, a rule stands between its groups and it is said once.
    """
    align = "".join("r" if column.startswith(">") else "l" for column in table.columns)
    body = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", *_heads(table.columns), r"\midrule", *_rows(table)]
    body += [r"\bottomrule", r"\end{tabular}"]
    if not floating:
        return "\n".join(body) + "\n"
    label = re.sub(r"[^a-z0-9]+", "-", table.name.lower()).strip("-")
    notes = [
        r"\par\smallskip",
        rf"\begin{{minipage}}{{\linewidth}}\footnotesize {escaped(table.caption)}\end{{minipage}}",
    ]
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{escaped(table.title or table.name)}}}",
        rf"\label{{tab:{label}}}",
        *body,
        *(notes if table.caption else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Nothing in it means anything to LaTeX; a minus before a digit is a minus."""
    one_line = " ".join(text.split())
    signs = re.sub(r"(?<![\w.)])-(?=\d)", "−", one_line)
    return "".join(ESCAPES.get(sign, sign) for sign in signs)


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


def _rows(table: Table) -> list[str]:
    firsts = [row[0].text if isinstance(row[0], Cell) else row[0] for row in table.rows if row]
    grouped = any(one == other for one, other in pairwise(firsts))
    lines = []
    for at, row in enumerate(table.rows):
        again = grouped and at > 0 and firsts[at] == firsts[at - 1]
        if grouped and at > 0 and not again:
            lines.append(r"\midrule")
        lines.append(_line("" if again and column == 0 else _cell(cell) for column, cell in enumerate(row)))
    return lines


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return _spread(cell)
    note = (
        f"$^{{{cell.note}}}$" if cell.note == "*" else rf"\textsuperscript{{{escaped(cell.note)}}}" if cell.note else ""
    )
    return MARKS[cell.mark].format(_spread(cell.text)) + note


def _spread(text: str) -> str:
    """The standard deviation in small print, as in the paper."""
    mean, sign, std = text.partition(" ± ")
    return rf"{escaped(mean)}{{\scriptsize$\pm${escaped(std)}}}" if sign else escaped(text)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
