"""Tables as CSV: read back by Python's own reader."""

import csv
import io

from sahcns.lab.report.as_csv import to_csv
from sahcns.lab.report.parts import Cell, Table


def read(table: Table) -> list[dict[str, str]]:
    text = to_csv(table)
    assert text.count("\r\n") == text.count("\n") - sum(str(cell).count("\n") for row in table.rows for cell in row)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_numbers_are_plain() -> None:
    table = Table(
        "one",
        "Title, not printed",
        ["Method", ">R@20", ">Difference", ">p", ">Users"],
        [
            ["sahc", Cell("13.26 ± 0.07", "best", "*", "hint"), "+0.12", "2.1e-09", "15,306"],
            ["rns", "11.22 ± 0.18", "\N{MINUS SIGN}1.92", "–", "1,234,567"],
            ["one seed", "9.10", "-0.5", "0.5", "306"],
        ],
        "caption, not printed",
    )
    first, second, third = read(table)
    assert first == {
        "Method": "sahc",
        "R@20": "13.26",
        "R@20 std": "0.07",
        "R@20 sign": "*",
        "Difference": "0.12",
        "p": "2.1e-09",
        "Users": "15306",
    }
    assert (second["R@20"], second["R@20 std"], second["R@20 sign"]) == ("11.22", "0.18", "")
    assert (second["Difference"], second["p"], second["Users"]) == ("-1.92", "", "1234567")
    assert (third["R@20"], third["R@20 std"], third["Difference"]) == ("9.10", "", "-0.5")
    for row in (first, second, third):
        for name in ("R@20", "R@20 std", "Difference", "p", "Users"):
            assert row[name] == "" or float(row[name]) is not None


def test_words_stay_words() -> None:
    words = ['a "quoted" name', "comma, here", "two\nlines", "a|b%c_d&e", "DNS(100,5)", "7, 8", "+changes"]
    table = Table("one", "", ["Name"], [[word] for word in words])
    assert [row["Name"] for row in read(table)] == words
    assert '"a ""quoted"" name"\r\n' in to_csv(table)
