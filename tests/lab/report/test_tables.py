"""Tables as HTML, Markdown, CSV and LaTeX; figures as tables of their values."""

import csv
import io
import re

import pytest

from sahcns.lab.report.palette import LOOKS
from sahcns.lab.report.parts import Cell, Table
from sahcns.lab.report.tables import letters_missing, tex, to_csv, to_html, to_latex, to_markdown
from tests.lab.report.sample import CLOUD, CURVES, HEAT, REPORT, TABLE


def test_a_whole_table_in_markdown() -> None:
    rows: list[list[Cell | str]] = [
        ["rns", "11.22 ± 0.18"],
        ["dns", Cell("13.10 ± 0.07", "second", hint="not printed")],
        ["sahc", Cell("13.26 ± 0.07", "best", "*")],
        ["", Cell("", "best")],
    ]
    made = Table("one", "Toys, lightgcn", ["Method", ">R@20"], rows, "Percent of `k`.")
    assert to_markdown(made) == (
        "**Toys, lightgcn**\n\n"
        "| Method | R@20 |\n"
        "| --- | ---: |\n"
        "| rns | 11.22 ± 0.18 |\n"
        "| dns | <u>13.10 ± 0.07</u> |\n"
        "| sahc | **13.26 ± 0.07**\\* |\n"
        "|  |  |\n\n"
        "Percent of `k`.\n"
    )
    assert getattr(made, "_repr_markdown_")() == to_markdown(made)  # what a notebook shows
    assert to_markdown(made, title=False).startswith("| Method | R@20 |\n")
    assert "Percent" not in to_markdown(made, title=False)


def test_no_sign_in_a_cell_means_anything_to_markdown() -> None:
    made = to_markdown(Table("t", "", ["Name|s", ">%"], [["a|b_c*d`e[f]<g>&h\\i", "~1\n2~"]]), title=False)
    head, _, row = made.splitlines()
    assert head == "| Name\\|s | % |"
    assert row == "| a\\|b\\_c\\*d\\`e\\[f\\]&lt;g&gt;&amp;h\\\\i | \\~1 2\\~ |"


def read(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(table), newline="")))


def test_numbers_in_csv_are_plain() -> None:
    columns = ["Method", ">R@20", ">Difference", ">p", ">Users"]
    rows: list[list[Cell | str]] = [
        ["sahc", Cell("13.26 ± 0.07", "best", "*", "hint"), "+0.12", "2.1e-09", "15,306"],
        ["rns", "11.22 ± 0.18", "\N{MINUS SIGN}1.92", "–", "1,234,567"],
        ["one seed", "9.10", "-0.5", "0.5", "306"],
    ]
    first, second, third = read(Table("one", "not printed", columns, rows, "not printed"))
    assert first == {
        "Method": "sahc",
        "R@20": "13.26",
        "R@20 std": "0.07",
        "R@20 sign": "*",
        "Difference": "0.12",
        "p": "2.1e-09",
        "Users": "15306",
    }
    assert (second["Difference"], second["p"], second["Users"], second["R@20 sign"]) == ("-1.92", "", "1234567", "")
    assert (third["R@20"], third["R@20 std"], third["Difference"]) == ("9.10", "", "-0.5")


def test_words_in_csv_stay_words() -> None:
    words = ['a "quoted" name', "comma, here", "two\nlines", "a|b%c_d&e", "DNS(100,5)", "7, 8", "1+2"]
    table = Table("one", "", ["Name"], [[word] for word in words])
    assert [row["Name"] for row in read(table)] == words
    assert '"a ""quoted"" name"\r\n' in to_csv(table)


def test_no_cell_of_a_csv_table_begins_a_formula() -> None:
    words = ["=1+1", "+x", "-x|y", "@a", "-2.5", "+3"]
    found = [row["Name"] for row in read(Table("one", "", ["Name"], [[word] for word in words]))]
    assert found == ["'=1+1", "'+x", "'-x|y", "'@a", "-2.5", "3"]


def test_html_marks_notes_and_hints() -> None:
    made = to_html(TABLE)
    cell = '<td class="number" data-hint="p = 0.01, d = 1.2"><strong>13.26<small> ± 0.12</small></strong>'
    assert f'{cell}<span class="note">*</span></td>' in made
    assert '<td class="number"><u>12.66<small> ± 0.10</small></u></td>' in made
    assert '<th scope="col" class="number">R@10 Toys</th>' in made
    assert "<script" not in made
    assert "<img" not in made


def test_a_sampler_in_a_table_has_the_look_of_its_curve() -> None:
    table = Table("t", "T", ["sampler", ">My SAHC"], [["My SAHC", "1"], ["dns", "2"], ["other", "3"]])
    made = to_html(table, {"My SAHC": LOOKS["sahc"]})
    rows = re.findall(r'<th scope="row">(.*?)</th>', made)
    assert ["var(--sahc)" in rows[0], "var(--dns)" in rows[1], rows[2]] == [True, True, "other"]
    assert "var(--sahc)" in made[: made.index("</thead>")]
    # a row of something else may be called like a sampler
    assert '<th scope="row">popularity</th>' in to_html(Table("t", "T", ["what"], [["popularity"]]))


def test_rows_of_one_kind_and_columns_of_one_set_have_a_common_head() -> None:
    columns = ["backbone", "sampler", ">toys · R@10", ">toys · R@20", ">yelp · R@20", "remark"]
    rows = [
        ["lightgcn", "dns", "1", "2", "3", ""],
        ["lightgcn", "sahc", "4", "5", "6", ""],
        ["ngcf", "dns", *"789", "x"],
    ]
    made = to_html(Table("t", "T", columns, rows))
    assert re.findall(r'colspan="(\d)" class="over">(\w+)<', made) == [("2", "toys"), ("1", "yelp")]
    assert re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', made) == ["sampler", "R@10", "R@20", "R@20", "remark"]
    assert re.findall(r'scope="rowgroup" colspan="5"><span>(\w+)<', made) == ["lightgcn", "ngcf"]


def test_the_values_of_a_figure_are_a_table() -> None:
    curves = CURVES.values()
    assert list(curves.columns) == ["epoch", *(f">{series.name}" for series in CURVES.series)]
    assert curves.rows[7][:2] == ["40", "0.108 (0.107 – 0.11); best of seed 3"]
    assert HEAT.values().rows[1] == ["large", "0.5", "–", "0.3"]
    assert CLOUD.values().rows[1] == ["mine", "0.5", "0.13; trial 1"]


def body(table: Table) -> list[str]:
    """The lines of the tabular after its beginning."""
    made = to_latex(table)
    return made[made.index(r"\toprule") : made.index(r"\bottomrule")].splitlines()[1:]


def test_a_whole_table_in_latex() -> None:
    rows: list[list[Cell | str]] = [
        ["rns", "11.22 ± 0.18", "-0.30"],
        ["sahc", Cell("13.26 ± 0.07", "best", "*"), Cell("7.63", "second", "a")],
    ]
    made = to_latex(Table("Toys 1", "Toys", ["Method", ">R@20", ">Gain"], rows, "In %."))
    assert made.splitlines() == [
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
    ]
    bare = to_latex(Table("lonely", "", ["Method"], [["rns"]]))
    assert r"\caption{lonely}" in bare  # a number needs words beside it
    assert "minipage" not in bare


def test_in_latex_sets_head_their_columns_and_backbones_are_said_once() -> None:
    columns = ["Backbone", "Method", ">toys · R@10", ">toys · R@20", ">yelp_1 · R@10"]
    rows = [[backbone, method, "1", "2", "3"] for backbone in ("ngcf", "simgcl") for method in ("rns", "dns")]
    assert body(Table("t", "", columns, rows)) == [
        r" &  & \multicolumn{2}{c}{toys} & \multicolumn{1}{c}{yelp\_1} \\",
        r"\cmidrule(lr){3-4} \cmidrule(lr){5-5}",
        r"Backbone & Method & R@10 & R@20 & R@10 \\",
        r"\midrule",
        r"ngcf & rns & 1 & 2 & 3 \\",
        r" & dns & 1 & 2 & 3 \\",
        r"\midrule",
        r"simgcl & rns & 1 & 2 & 3 \\",
        r" & dns & 1 & 2 & 3 \\",
    ]


@pytest.mark.parametrize(
    ("cells", "lines"),
    [
        (["a", "b"], [r"a \\", r"b \\"]),
        (["[a]", "*b"], [r"{}[a] \\", r"{}*b \\"]),  # else they would be options of the row above
        (["within ± 1.9", "2 ± 1.9"], [r"within $\pm$ 1.9 \\", r"2{\scriptsize$\pm$1.9} \\"]),  # no number, no spread
    ],
)
def test_rows_in_latex(cells: list[str], lines: list[str]) -> None:
    assert body(Table("t", "", ["R"], [[cell] for cell in cells])) == [r"R \\", r"\midrule", *lines]


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
    assert tex(text) == latex


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


def test_letters_that_pdflatex_has_not_are_named() -> None:
    table = Table("t", "Müller λ – ‘ł’", ["電影", ">ж"], [["電", Cell("ß", note="*")]], "±")
    assert letters_missing(table) == "電影ж"
    told = "% pdflatex has no 電 影 ж: compile with lualatex or xelatex, and a font that has"
    assert to_latex(table).splitlines()[0] == told
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
