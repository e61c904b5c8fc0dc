"""Tables in Markdown."""

from sahcns.lab.report.as_markdown import to_markdown
from sahcns.lab.report.parts import Cell, Table


def table(*cells: Cell | str, columns: tuple[str, ...] = ("Method", ">R@20"), caption: str = "") -> Table:
    rows = [cells[at : at + len(columns)] for at in range(0, len(cells), len(columns))]
    return Table("one", "Toys, lightgcn", columns, rows, caption)


def test_a_whole_table() -> None:
    made = table(
        *("rns", "11.22 ± 0.18"),
        *("dns", Cell("13.10 ± 0.07", "second", hint="not printed")),
        *("sahc", Cell("13.26 ± 0.07", "best", "*")),
        caption="Percent.",
    )
    assert to_markdown(made) == (
        "**Toys, lightgcn**\n\n"
        "| Method | R@20 |\n"
        "| --- | ---: |\n"
        "| rns | 11.22 ± 0.18 |\n"
        "| dns | <u>13.10 ± 0.07</u> |\n"
        "| sahc | **13.26 ± 0.07**\\* |\n\n"
        "Percent.\n"
    )
    assert to_markdown(made, title=False).startswith("| Method | R@20 |\n")
    assert "Percent" not in to_markdown(made, title=False)


def test_no_sign_in_a_cell_means_anything() -> None:
    made = to_markdown(table("a|b_c*d`e[f]<g>&h\\i", "~1\n2~", columns=("Name|s", ">%")), title=False)
    head, _, row = made.splitlines()
    assert head == "| Name\\|s | % |"
    assert row == "| a\\|b\\_c\\*d\\`e\\[f\\]&lt;g&gt;&amp;h\\\\i | \\~1 2\\~ |"


def test_nothing_is_marked_in_an_empty_cell() -> None:
    assert to_markdown(table("rns", Cell("", "best")), title=False).splitlines()[2] == "| rns |  |"


def test_code_in_a_caption_is_code() -> None:
    made = to_markdown(table("rns", "1", caption="The next `a_b --out` tries *d_z* ` again."))
    assert made.endswith("\n\nThe next `a_b --out` tries \\*d\\_z\\* \\` again.\n")
