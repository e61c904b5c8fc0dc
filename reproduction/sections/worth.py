"""Table III as what it is about: what each variant loses against the whole of SAHC-NS, ours beside the paper's."""

from collections.abc import Mapping

from reproduction.beside import FAR, Printed
from reproduction.leading import AT_20
from reproduction.methods import METHOD
from reproduction.sections.against import difference_cell
from sahcns.lab import Board, Cell, Table, adjusted, joined, long_name, number, pairs, short_name


def worth_table(board: Board, printed: Mapping[str, Printed]) -> Table | None:
    """A row for each variant; `printed` is by name of the set. None where there is nothing to hold against."""
    found = pairs(board, AT_20, METHOD)
    if not found:
        return None
    cells = {(one.first.method, one.data, one.metric): (one, p) for one, p in zip(found, adjusted(found), strict=True)}
    places = list(dict.fromkeys((data, metric) for _, data, metric in cells))
    rows: list[list[Cell | str]] = []
    for method in dict.fromkeys(method for method, _, _ in cells):
        line: list[Cell | str] = [method]
        for data, metric in places:
            theirs = _printed(printed[data], method, metric)
            own = cells.get((method, data, metric))
            line.append("–" if theirs is None else number(theirs, sign=True))
            line.append("–" if own is None else difference_cell(own[0].paired, own[1]))
        rows.append(line)
    columns = ["Method"]
    columns += [f">{data}, {short_name(metric)} · {who}" for data, metric in places for who in ("paper", "ours")]
    return Table(
        "table-3-worth",
        f"What each variant is short of {METHOD}",
        columns,
        rows,
        f"The variant minus {METHOD}, in percentage points; ours at the best validation epoch. Below 0 the whole is better. "
        "* p < 0.05 in a paired t-test over seeds, after Holm over this table, with its interval on hover; the paper prints "
        "no spread, so its differences are not tested.",
    )


def departures_in_words(board: Board, printed: Mapping[str, Printed]) -> list[str]:
    """Where a variant's distance from SAHC-NS is another than the paper's by more than a tenth of what it prints."""
    told: dict[str, list[str]] = {}
    for one in pairs(board, AT_20, METHOD):
        theirs = _printed(printed[one.data], one.first.method, one.metric)
        if theirs is None:
            continue
        ours = 100 * one.paired.difference
        if abs(ours - theirs) > FAR * printed[one.data][METHOD, one.metric][0]:
            where = f"{one.data}, {long_name(one.metric)}"
            by = f"{number(ours, sign=True)} here and {number(theirs, sign=True)} in the paper ({where})"
            told.setdefault(one.first.method, []).append(by)
    return [f"Far from the paper: {method} against {METHOD}, {joined(by)}, in points." for method, by in told.items()]


def _printed(printed: Printed, method: str, metric: str) -> float | None:
    if (method, metric) not in printed or (METHOD, metric) not in printed:
        return None
    return printed[method, metric][0] - printed[METHOD, metric][0]
