"""Dates that say their zone beside dates that do not: taken together, and said."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sahcns.data.readers.faults import Lines, Where, shown

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]
NAMES = {True: "with", False: "without"}


@dataclass
class Zones:
    """How many rows there are of either kind, and where each stands first."""

    found: dict[str, dict[str, object]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=lambda: {"with": 0, "without": 0})

    def note(self, zoned: Mask, good: Mask, times: "pl.Series", lines: Lines, where: Where) -> None:
        """`zoned` and `good` [n]: which rows say their zone, and which are kept."""
        for kind, name in NAMES.items():
            rows = good & (zoned == kind)
            count = int(np.count_nonzero(rows))
            if count and name not in self.found:
                first = int(rows.argmax())
                self.found[name] = {
                    "file": where.name,
                    "first_line": int(lines[first]),
                    "example": shown(str(times[first])),
                }
            self.rows[name] += count

    def mixed(self) -> dict[str, dict[str, object]] | None:
        """`{"with": …, "without": …}`, each with its rows and the first of them, where there are both."""
        if len(self.found) < len(NAMES):
            return None
        return {name: {"rows": self.rows[name], **self.found[name]} for name in NAMES.values()}
