"""Kinds of events, such as view, cart and purchase: which one each row is of, and the choice of some of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sahcns.data.filters import Mask, chunks
from sahcns.errors import DataError, nearest

FEW = 20  # kinds at most that are worth a word where nobody chose among them; a column of more may be anything


@dataclass(frozen=True, eq=False)
class Events:
    """Row e is of kind `names[codes[e]]`, or of none where that is ''; kinds differ by more than case and outer blanks.

    codes   unsigned, or int32 where kinds are very many, [E]
    """

    codes: npt.NDArray[Any]
    names: tuple[str, ...]

    def counts(self, kinds: Mask | None = None) -> dict[str, int]:
        """Rows of each kind that has some, the most frequent first; of all `kinds` [K], unless told."""
        parts = (np.bincount(self.codes[part], minlength=len(self.names)) for part in chunks(len(self.codes)))
        rows = sum(parts, np.zeros(len(self.names), np.int64))
        order = np.argsort(-rows, kind="stable")
        return {self.names[k]: int(rows[k]) for k in order if rows[k] and (kinds is None or kinds[k])}

    def among(self, wanted: Sequence[str], source: str, column: object = None) -> Mask:
        """Which kinds [K] are wanted; one that does not occur is an error that says which do."""
        counts = self.counts()
        place = {folded(name): kind for kind, name in enumerate(self.names)}
        keep = np.zeros(len(self.names), np.bool_)
        for name in wanted:
            kind = place.get(folded(name))
            if kind is None or self.names[kind] not in counts:
                within = f"the column {str(column)!r} of {source}" if column else source
                raise DataError(f"{within} has no event {name!r}; there are: {listed(counts)}{_close(name, counts)}")
            keep[kind] = True
        return keep


def folded(name: str) -> str:
    """What two spellings of one kind have in common: ` Purchase` and `purchase` are one."""
    return name.strip().casefold()


def listed(counts: Mapping[str, int]) -> str:
    """`view (8,012), cart (1,500) and 7 more`."""
    shown = ", ".join(f"{name or chr(39) * 2} ({rows:,})" for name, rows in [*counts.items()][:FEW])
    return shown if len(counts) <= FEW else f"{shown} and {len(counts) - FEW:,} more"


def no_events(source: Mapping[str, Any], name: str) -> str:
    """Why rows read from `source` have no kinds: no column of a usual name, or one that cannot be what it seems."""
    from sahcns.data.readers.naming import unrecognised

    parts = source.get("files") or ([source] if "columns" in source else [])
    without = [part for part in parts if "event" not in part.get("columns", {})]
    if "glance" in source:
        return (
            f"only {source['glance']['rows']:,} rows of {name} were looked at for kinds of events; read without glance"
        )
    if not without and parts:
        column = parts[0]["columns"]["event"]
        return (
            f"the column {column!r} of {name} holds lists or hundreds of different values, so it was not taken for kinds "
            f"of events; if it is the right one, say event={column!r}"
        )
    if not any("unused" in part for part in parts):
        return f"{name} has no columns with names, so no kinds of events to choose from; leave events out"
    where = str(without[0].get("path", name))
    if len(without) < len(parts):
        return f"{where} has no event column while other files have one; read files of one kind together"
    if without[0].get("header") is False:
        return f"{where} has no header; choose the event column by number with event= (1 is the first)"
    return unrecognised(without[0].get("unused", []), ["event"], where, [*without[0].get("columns", {}).values()])


def _close(name: str, counts: Mapping[str, int]) -> str:
    hint = nearest(name, counts)
    return f"; {hint}" if hint.startswith("did you mean") else ""
