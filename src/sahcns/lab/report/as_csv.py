"""A table as CSV (RFC 4180): plain numbers, for whoever computes on.

`13.26 ± 0.07` becomes two columns, and a column's signs, such as * for significance, become one of their own.
"""

import csv
import io
import re

from sahcns.lab.report.parts import Cell, Table

SPREAD = re.compile(r"(?P<mean>[-+]?[\d.,]+(?:e[-+]?\d+)?)\s*±\s*(?P<std>[\d.,]+(?:e[-+]?\d+)?)", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE)


def to_csv(table: Table) -> str:
    """Lines end in CRLF. Numbers have neither sign of thousands nor of plus; an empty cell is what was not there."""
    columns: list[list[str]] = []
    for at, head in enumerate(table.columns):
        name = head.removeprefix(">")
        given = [row[at] for row in table.rows]
        cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in given]
        spreads = [SPREAD.fullmatch(cell.text.strip()) for cell in cells]
        means = [one["mean"] if one else cell.text for one, cell in zip(spreads, cells, strict=True)]
        columns.append([name, *map(_plain, means)])
        if any(spreads):
            columns.append([f"{name} std", *(_plain(one["std"]) if one else "" for one in spreads)])
        if any(cell.note for cell in cells):
            columns.append([f"{name} sign", *(cell.note for cell in cells)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(zip(*columns, strict=True))
    return text.getvalue()


def _plain(text: str) -> str:
    """`15,306` as 15306, `+0.12` as 0.12, a typographer's minus as a minus, a lone dash as nothing."""
    told = text.strip().replace("\N{MINUS SIGN}", "-")
    if told in ("–", "—", "-"):
        return ""
    return told.replace(",", "").removeprefix("+") if NUMBER.fullmatch(told) else text.strip()
