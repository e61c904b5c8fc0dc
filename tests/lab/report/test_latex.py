"""Tables in LaTeX."""

import re

import pytest

from sahcns.lab.report.latex import escaped, letters_missing, to_latex
from sahcns.lab.report.parts import Cell, Table
from tests.lab.report.sample import REPORT


def test_a_whole_table() -> None:
    rows: list[list[Cell | str]] = [
        ["rns", "11.22 ± 0.18", "-0.30"],
        ["sahc", Cell("13.26 ± 0.07", "best", "*"), Cell("7.63", "second", "a")],
    ]
    made = to_latex(Table("Toys 1", "Toys", ["Method", ">R@20", ">Gain"], rows, "In %."))
    assert made == "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering",
            r"\caption{Toys}",
            r"\label{tab:toys-1}",
            r"\setlength{\tabcolsep}{4pt}",
            r"\providecommand{\resizebox}[3]{#3}% without \usepackage{graphicx} it stays as wide as it is",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            r"\begin{tabular}{lrr}",
            r"\toprule",
            r"Method & R@20 & Gain \\",
            r"\midrule",
            r"rns & 11.22{\scriptsize$\pm$0.18} & $-$0.30 \\",
            r"sahc & \textbf{13.26{\scriptsize$\pm$0.07}}\rlap{$^{*}$} & \underline{7.63}\rlap{\textsuperscript{a}} \\",
            r"\bottomrule",
            r"\end{tabular}}",
            r"\par\smallskip",
            r"\begin{minipage}{\linewidth}\footnotesize In \%.\end{minipage}",
            r"\end{table}",
            "",
        ]
    )
    assert to_latex(Table("t", "Toys", ["Method"], [["rns"]]), floating=False).startswith(r"\begin{tabular}{l}")
    bare = to_latex(Table("lonely", "", ["Method"], [["rns"]]))
    assert r"\caption{lonely}" in bare  # a number needs words beside it
    assert "minipage" not in bare


def test_sets_head_their_columns_and_backbones_are_said_once() -> None:
    columns = ["Backbone", "Method", ">toys · R@10", ">toys · R@20", ">yelp_1 · R@10"]
    rows = [[backbone, method, "1", "2", "3"] for backbone in ("ngcf", "simgcl") for method in ("rns", "dns")]
    lines = to_latex(Table("t", "", columns, rows), floating=False).splitlines()
    assert lines[2:6] == [
        r" &  & \multicolumn{2}{c}{toys} & \multicolumn{1}{c}{yelp\_1} \\",
        r"\cmidrule(lr){3-4} \cmidrule(lr){5-5}",
        r"Backbone & Method & R@10 & R@20 & R@10 \\",
        r"\midrule",
    ]
    assert lines[6:11] == [
        r"ngcf & rns & 1 & 2 & 3 \\",
        r" & dns & 1 & 2 & 3 \\",
        r"\midrule",
        r"simgcl & rns & 1 & 2 & 3 \\",
        r" & dns & 1 & 2 & 3 \\",
    ]


def test_rows_that_do_not_repeat_have_no_rules_between() -> None:
    made = to_latex(Table("t", "", ["Method", ">R"], [["a", "1"], ["b", "2"], ["c", "3"]]), floating=False)
    assert made.count(r"\midrule") == 1


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a_b & c%", r"a\_b \& c\%"),
        ("$5 #1 {x}", r"\$5 \#1 \{x\}"),
        ("~/x^2\\y", r"\textasciitilde{}/x\textasciicircum{}2\textbackslash{}y"),
        ('a|b "c"', "a$|$b ''c''"),
        ("p < 0.05 – α ≥ -1", r"p $<$ 0.05 -- $\alpha$ $\geq$ $-$1"),
        ("dns-50, 8-1", "dns-50, 8-1"),
        ("y⁺ - y⁻ of 10²", r"y$^{+}$ - y$^{-}$ of 10$^{2}$"),
        ("|Δσ| ≈ Ω₁, Λ ≠ λω", r"$|$$\Delta$$\sigma$$|$ $\approx$ $\Omega$$_{1}$, $\Lambda$ $\neq$ $\lambda$$\omega$"),
        ("two\nlines", "two lines"),
        ("Mu\u0308ller", "Müller"),  # as macOS writes it in names of files
        ("the next `a_b --out` does", r"the next \texttt{a\_b -{}-out} does"),
        ("a---b, --1", "a-{}-{}-b, -{}-1"),
        ("ΑΩ Υ ος", r"A$\Omega$ $\Upsilon$ o$\varsigma$"),
    ],
)
def test_special_signs_are_printed_as_they_are(text: str, latex: str) -> None:
    assert escaped(text) == latex


def test_no_special_sign_is_left_bare() -> None:
    nasty = "".join(map(chr, range(32, 127)))
    bare = re.sub(r"\\[a-z]+\{\}|\\[&%$#_{}]|\$[<>|]\$", "", escaped(nasty))
    assert not set(bare) & set('\\&%$#_{}~^"<>|')


def test_a_table_wider_than_a_column_has_the_whole_page() -> None:
    def of_sets(count: int) -> list[str]:
        rows = [["sahc", *["11.22 ± 0.18"] * 4 * count]]
        return to_latex(Table("t", "", ["Method", *[">R@20"] * 4 * count], rows)).splitlines()

    assert [of_sets(1)[0], of_sets(1)[-1]] == [r"\begin{table}[t]", r"\end{table}"]
    assert [of_sets(3)[0], of_sets(3)[-1]] == [r"\begin{table*}[t]", r"\end{table*}"]


def test_prose_is_broken_into_lines() -> None:
    rows = [["1", "not resolved", "Who leads by a few hundredths of a point changes with the split. " * 4]]
    made = to_latex(Table("t", "", ["at", "verdict", "why"], rows))
    share = re.search(r"\{llp\{([\d.]+)\\linewidth\}\}", made)
    assert share
    assert 0.5 < float(share[1]) < 0.8
    assert r"1 & not resolved & \raggedright Who leads" in made
    assert made.count(r"\tabularnewline") == 1  # \raggedright has a \\ of its own
    word = [["1", "2", "a" * 300]]
    assert "p{" not in to_latex(Table("t", "", ["at", "verdict", "why"], word))


def test_a_row_that_begins_like_an_option_is_none() -> None:
    made = to_latex(Table("t", "", ["Method", ">R"], [["[a]", "1"], ["*b", "2"]]), floating=False)
    assert made.splitlines()[4:6] == [r"{}[a] & 1 \\", r"{}*b & 2 \\"]


def test_only_a_number_has_a_spread() -> None:
    made = to_latex(Table("t", "", [">R"], [["within ± 1.9"], ["2 ± 1.9"]]), floating=False)
    assert made.splitlines()[4:6] == [r"within $\pm$ 1.9 \\", r"2{\scriptsize$\pm$1.9} \\"]


def test_letters_that_pdflatex_has_not_are_named() -> None:
    table = Table("t", "Müller λ – ‘ł’", ["電影", ">ж"], [["電", Cell("ß", note="*")]], "±")
    assert letters_missing(table) == "電影ж"
    told = "% pdflatex has no 電 影 ж: compile with lualatex or xelatex, and a font that has"
    assert to_latex(table).splitlines()[0] == told
    assert to_latex(table, floating=False).splitlines()[0] == told
    assert not letters_missing(Table("t", "", ["Müller"], [["α"]]))


@pytest.mark.parametrize("table", REPORT.tables(), ids=lambda table: table.name)
def test_braces_environments_and_columns_fit_together(table: Table) -> None:
    made = to_latex(table)
    bare = re.sub(r"\\[{}$&]", "", made)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    opened: list[str] = []
    for edge, name in re.findall(r"\\(begin|end)\{([\w*]+)\}", made):
        assert edge == "begin" or opened.pop() == name
        opened += [name] if edge == "begin" else []
    assert opened == []
    rows = [line for line in bare.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in rows} == {len(table.columns) - 1}
    assert made.isascii()
