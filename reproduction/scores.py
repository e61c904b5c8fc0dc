"""A metric over seeds, the difference of two methods, and both as cells of a table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sahcns.lab import Cell, Paired, paired_t

ALPHA = 0.05  # a difference is resolved where its p after Holm is below it
METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
RECALL, NDCG = AT_20 = METRICS[2:]
NAMES = {"recall@10": "Recall@10", "ndcg@10": "NDCG@10", RECALL: "Recall@20", NDCG: "NDCG@20"}
READINGS = {"best": "best epoch", "last": "where it stopped"}
"""A run is read at the best validation epoch, which is the headline, and at the epoch where training stopped."""


@dataclass(frozen=True)
class Scores:
    """A metric of one method on one set by seed; a share, shown in percent."""

    values: Mapping[int, float]

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.values.values())))

    @property
    def std(self) -> float:
        """With n − 1; NaN for one seed."""
        return float(np.std(list(self.values.values()), ddof=1)) if self.n > 1 else float("nan")

    @property
    def percent(self) -> float:
        return 100 * self.mean

    def __str__(self) -> str:
        """`13.24`."""
        return number(self.percent)

    def minus(self, other: "Scores") -> Paired:
        """The paired t-test over the seeds that both have."""
        shared = sorted(self.values.keys() & other.values.keys())
        return paired_t([self.values[seed] for seed in shared], [other.values[seed] for seed in shared])


def spread_cell(own: Scores | None, best: bool = False) -> Cell:
    """`13.24 ± 0.05`, a dash for what was not run."""
    if own is None:
        return Cell("–", hint="not run")
    return Cell(
        f"{own} ± {number(100 * own.std)}" if own.n > 1 else str(own), "best" if best else "", hint=seeds(own.n)
    )


def twin_cell(recall: Scores | None, ndcg: Scores | None, notes: tuple[str, str] = ("", "")) -> Cell:
    """`13.24 / 7.65`: Recall@20 and NDCG@20, each with its note."""
    if recall is None or ndcg is None:
        return Cell("–", hint="not run")
    spread = f"± {number(100 * recall.std)} / {number(100 * ndcg.std)} over " if recall.n > 1 else ""
    return Cell(f"{recall}{notes[0]} / {ndcg}", note=notes[1], hint=f"{spread}{seeds(recall.n)}")


def difference_cell(paired: Paired, holm: float) -> Cell:
    """`+0.12*`, in points, with its interval and p as a hint."""
    hint = paired.why or f"95 % {interval(paired)}; p {chance(paired.p)}, after Holm {chance(holm)}; n = {paired.n}"
    return Cell(points(paired), note="*" if holm < ALPHA else "", hint=hint)


def points(paired: Paired) -> str:
    """`+0.12`: the difference in percentage points."""
    return number(100 * paired.difference, sign=True)


def interval(paired: Paired) -> str:
    """`+0.05 to +0.20`: of 95 %, in points."""
    return f"{number(100 * paired.low, sign=True)} to {number(100 * paired.high, sign=True)}"


def number(value: float, digits: int = 2, sign: bool = False) -> str:
    """`13.26`, with sign `+13.26`, zero always without; a dash for what is not a number."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text if float(text) else text.lstrip("+-")  # no -0.00


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def chance(p: float) -> str:
    """A p-value with two digits that count: `0.031`, `2.1e-09`."""
    return "–" if p != p else f"{p:.2g}"


def seeds(n: int) -> str:
    return f"{n} seed{'s' * (n != 1)}"
