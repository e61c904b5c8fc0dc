"""What is wrong with a row: an error that names it, or, when lenient, a count that ends up in the manifest."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sahcns.errors import DataError

WIDEST = 60


def shown(value: object) -> str:
    """A value for a message: quoted, on one line, cut when it is long."""
    text = repr(value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


class EmptyFile(DataError):
    """A file without a single row or header; among several, a day on which nothing happened."""

    def __init__(self, sentence: str, name: object = None) -> None:
        super().__init__(sentence)
        self.name = str(name)


@dataclass
class Faults:
    """The rows that cannot be used; `rows_read` counts them and the good ones alike."""

    lenient: bool
    rows_read: int = 0
    skipped: dict[str, dict[str, object]] = field(default_factory=dict)

    @property
    def rows_skipped(self) -> int:
        return sum(self.count(reason) for reason in self.skipped)

    def count(self, reason: str) -> int:
        rows = self.skipped[reason]["rows"]
        assert isinstance(rows, int)
        return rows

    def row(self, where: "Where", line: int, wrong: "Wrong", *, value: object = "", rows: int = 1) -> None:
        """Refuse one row (or `rows` alike, the first on `line`): raise, or count it under its reason."""
        if not self.lenient:
            raise DataError(f"{where.at(line)}: {wrong.what}; {wrong.remedy}, or read with lenient to skip such rows")
        reason = wrong.reason
        if reason in self.skipped:
            self.skipped[reason]["rows"] = self.count(reason) + rows
        else:
            self.skipped[reason] = {"rows": rows, "file": where.name, "first_line": line, "example": shown(value)}

    def summary(self) -> str:
        """`3 ragged row (first: line 7 of a.csv), …`."""
        return ", ".join(
            f"{found['rows']} {reason} (first: line {found['first_line']} of {found['file']})"
            for reason, found in self.skipped.items()
        )


class Wrong(NamedTuple):
    """A fault of a row: the reason it is counted under, what is wrong in words, and what to do about it."""

    reason: str
    what: str
    remedy: str = "correct it"


@dataclass(frozen=True)
class Where:
    """Which file, and whether its rows are counted as lines of text or as rows of a table."""

    name: str
    counted: str = "line"

    def at(self, line: int) -> str:
        return f"{self.name}, {self.counted} {line:,}"


Lines = Sequence[int] | npt.NDArray[np.int64]
