"""Tables as HTML, Markdown and CSV; figures as tables of their values."""

import csv
import io
import re

from sahcns.lab.report.palette import LOOKS
from sahcns.lab.report.parts import Cell, Table
from sahcns.lab.report.tables import data_table, to_csv, to_html, to_markdown
from tests.lab.report.sample import CLOUD, CURVES, HEAT, TABLE


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
    words = ['a "quoted" name', "comma, here", "two\nlines", "a|b%c_d&e", "DNS(100,5)", "7, 8", "+changes"]
    table = Table("one", "", ["Name"], [[word] for word in words])
    assert [row["Name"] for row in read(table)] == words
    assert '"a ""quoted"" name"\r\n' in to_csv(table)


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
    curves = data_table(CURVES)
    assert list(curves.columns) == ["epoch", *(f">{series.name}" for series in CURVES.series)]
    assert curves.rows[7][:2] == ["40", "0.108 (0.107 – 0.11); best of seed 3"]
    assert data_table(HEAT).rows[1] == ["large", "0.5", "–", "0.3"]
    assert data_table(CLOUD).rows[1] == ["mine", "0.5", "0.13; trial 1"]
