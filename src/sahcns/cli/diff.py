"""`sahcns diff`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sahcns.cli.console import Json, show, show_json, table
from sahcns.cli.options import argument

if TYPE_CHECKING:
    from sahcns.lab.comparison.diff import Measured

RunPath = Annotated[Path, argument("A result of `sahcns compare` (a JSON file), or a trained model's folder.", "RUN")]
SHOWN = ("recall@", "ndcg@")


def command(first: RunPath, second: RunPath, json: Json = False) -> None:
    """How two runs differ: settings, protocol, data, versions, machine; then the metrics of both.

    Says whether the two may stand in one table, which they may if they agree in data, mask, monitor and kernels.

    Examples: sahcns diff study/runs/lightgcn-dns-s2020-1f3a9c04de.json study/runs/lightgcn-sahc-s2020-62b08a77f1.json
              sahcns diff runs/first runs/second --json
    """
    from sahcns.lab.comparison.diff import apart, differences, measured, read_run

    one, other = read_run(first), read_run(second)
    entries, values, reasons = differences(one, other), measured(one, other), apart(one, other)
    if json:
        metrics = [{**value.__dict__, "difference": value.difference} for value in values]
        show_json({"first": first, "second": second, "differences": entries, "apart": reasons, "metrics": metrics})
        return
    if entries:
        rows = table("", "", "first", "second")
        for at, entry in enumerate(entries):
            again = at > 0 and entries[at - 1].section == entry.section
            rows.add_row("" if again else entry.section, entry.name, _word(entry.first), _word(entry.second))
        show(rows, "")
    else:
        show("nothing that was put in differs", "")
    if values:
        show(_metrics(values), "", "in percent; the difference is second - first")
    else:
        show("nothing was measured of both: a run with --whole holds nothing out")
    if reasons:
        show(f"not for one table: {'; '.join(reasons)}")
    else:
        show("data, mask, monitor and kernels agree: the two may stand in one table")


def _metrics(values: "list[Measured]") -> Any:
    rows = table("part", "epoch", "metric", ">first", ">second", ">difference")
    before = ("", "")
    for value in values:
        if value.name.startswith(SHOWN):
            where = (value.part, value.reading)
            numbers = (f"{100 * value.first:.2f}", f"{100 * value.second:.2f}", f"{100 * value.difference:+.2f}")
            rows.add_row(*(("", "") if where == before else where), value.name, *numbers)
            before = where
    return rows


def _word(value: object) -> str:
    """A long digest is cut, nothing is a dash."""
    text = "-" if value is None else str(value)
    return f"{text[:12]}…" if len(text) > 40 and " " not in text else text
