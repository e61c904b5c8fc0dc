"""A metric over seeds, methods against SAHC-NS, and both in words and as cells of a table."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple, TypeVar

from reproduction.methods import METHOD
from sahcns import Result
from sahcns.lab import Cell, Paired, equivalence, holm, number, paired_t

ALPHA = 0.05  # a difference is resolved where its p after Holm is below it
MARGIN = 0.1  # points within which two methods are equivalent
FEWEST = 3  # seeds for that
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Scores:
    """A metric of one method on one set by seed; a share, shown in percent."""

    values: Mapping[int, float]

    @classmethod
    def of(cls, runs: Mapping[int, Result], metric: str, reading: str = "best", of: str = "test") -> "Scores":
        return cls({seed: run.metric(metric, reading, of) for seed, run in sorted(runs.items())})

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return fmean(self.values.values())

    @property
    def percent(self) -> float:
        return 100 * self.mean

    @property
    def spread(self) -> float:
        """The standard deviation in percent, with n − 1; NaN for one seed."""
        return 100 * stdev(self.values.values()) if self.n > 1 else math.nan

    def __str__(self) -> str:
        """`13.24`."""
        return number(self.percent)

    def minus(self, other: "Scores") -> Paired:
        """The paired t-test over the seeds that both have."""
        shared = sorted(self.values.keys() & other.values.keys())
        return paired_t([self.values[seed] for seed in shared], [other.values[seed] for seed in shared])


class Difference(NamedTuple):
    """A method minus SAHC-NS, with its p after Holm over all that was tested together."""

    label: str
    paired: Paired
    p: float

    def resolved(self, sign: int) -> bool:
        return self.p < ALPHA and sign * self.paired.difference > 0


def against(cells: Mapping[Key, Mapping[str, Scores]], own: str = METHOD) -> dict[Key, list[Difference]]:
    """Each other method minus SAHC-NS, or another `own`, cell by cell; Holm over all. Runs in two rows are tested once."""
    tests: dict[tuple[Key, str], Paired] = {}
    for key, methods in cells.items():
        known = list[Mapping[int, float]]()
        for label, scores in methods.items():
            if own in methods and label != own and scores.values not in known:
                tests[key, label] = scores.minus(methods[own])
                known.append(scores.values)
    differences: dict[Key, list[Difference]] = {}
    for ((key, label), paired), p in zip(tests.items(), corrected(tests).values(), strict=True):
        differences.setdefault(key, []).append(Difference(label, paired, p))
    return differences


def corrected(tests: Mapping[Key, Any]) -> dict[Key, float]:
    """The p of each after Holm over all of them."""
    return dict(zip(tests, holm([one.p for one in tests.values()]), strict=True))


def equivalents(tests: Mapping[Key, Paired]) -> dict[Key, float]:
    """The p of each, after Holm over all of them, that its true difference is within `MARGIN`: two one-sided t-tests."""
    ps = [equivalence(one, MARGIN / 100) if one.n >= FEWEST else math.nan for one in tests.values()]
    return dict(zip(tests, holm(ps), strict=True))


def signs(ones: Sequence[Difference], cells: Mapping[Key, Sequence[Difference]]) -> dict[str, str]:
    """Label → `*` where its difference from SAHC-NS is resolved, `≈` where it is equivalent; Holm over all `cells`."""
    within = equivalents({id(one): one.paired for every in cells.values() for one in every})
    return {one.label: star(one.p) or "≈" * (within[id(one)] < ALPHA) for one in ones}


def stars(tests: Mapping[Key, Paired]) -> dict[Key, str]:
    """`*` where a difference is resolved; Holm over all of them."""
    return {key: star(p) for key, p in corrected(tests).items()}


def star(p: float) -> str:
    return "*" * (p < ALPHA)


def spread_cell(own: Scores, best: bool = False) -> Cell:
    """`13.24 ± 0.05`."""
    return Cell(f"{own} ± {number(own.spread)}" if own.n > 1 else str(own), "best" if best else "", hint=seeds(own.n))


def points(paired: Paired) -> str:
    """`+0.12`: the difference in percentage points."""
    return number(100 * paired.difference, sign=True)


def seeds(n: int) -> str:
    return f"{n} seed{'s' * (n != 1)}"
