"""Every run in one row, for whoever computes on in pandas or R."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sahcns.lab.grid.result import Result
from sahcns.lab.report.parts import Table

LEFT_OUT = ("format", "format_version", "history")


def runs_table(results: Sequence[Result]) -> Table:
    """A column is named by the way to its value in the run's JSON file: `test.best.recall@20`, `sampler.alpha`.

    Values are those of the file, shares as shares; what a run does not have is empty. The course of training is left out.
    """
    flat = [dict(_leaves(result.to_dict())) for result in results]
    parts = [part for part in results[0].to_dict() if part not in LEFT_OUT] if results else []
    found = dict.fromkeys(name for one in flat for name in one)
    columns = [name for part in parts for name in found if name.partition(".")[0] == part]
    rows = [[_text(one.get(name)) for name in columns] for one in flat]
    return Table("runs", "Every run", columns, rows)


def _leaves(values: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            if name not in LEFT_OUT:
                yield from _leaves(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value


def _text(value: Any) -> str:
    """As in JSON; a list of words with semicolons between."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)
