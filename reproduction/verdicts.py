"""What became of a claim: a verdict for each place where it can be checked, and one for all of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reproduction.scores import ALPHA, chance, points, seeds
from sahcns.lab import Paired, holm

Verdict = Literal["holds", "does not hold", "not resolved", "not run yet"]
VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "not resolved", "not run yet")
UNRESOLVED: Verdict = "not resolved"


@dataclass(frozen=True)
class Instance:
    """One place where a claim can be checked."""

    where: str  # "Amazon-toys, Recall@20"
    paper: str
    ours: str
    verdict: Verdict


def overall(instances: Sequence[Instance]) -> Verdict:
    """A claim fails where it fails anywhere, and holds where it holds everywhere."""
    verdicts = {one.verdict for one in instances}
    if verdicts <= {"not run yet"}:
        return "not run yet"
    if "does not hold" in verdicts:
        return "does not hold"
    return "holds" if verdicts == {"holds"} else "not resolved"


def counted(instances: Sequence[Instance]) -> str:
    """`holds in 3, not resolved in 5 of 8`."""
    counts = Counter(one.verdict for one in instances)
    words = [f"{verdict} in {counts[verdict]}" for verdict in VERDICTS if counts[verdict]]
    return f"{', '.join(words)} of {len(instances)}"


@dataclass(frozen=True)
class Comparison:
    """A paired difference that a claim wants to be above 0; in shares, shown in percent."""

    where: str
    paper: str
    who: str  # "SAHC-NS 13.24, DNS 13.32"
    paired: Paired


def above(comparisons: Sequence[Comparison]) -> list[Instance]:
    """Holds where the difference is above 0 and resolved, fails where it is below 0 and resolved; Holm over all of them."""
    ps = holm([one.paired.p for one in comparisons])
    return [
        Instance(one.where, one.paper, f"{one.who}: {_difference(one.paired, p)}", resolved(one.paired, p))
        for one, p in zip(comparisons, ps, strict=True)
    ]


def resolved(paired: Paired, p: float) -> Verdict:
    """Of a difference that should be above 0, with its p after Holm."""
    if not p < ALPHA:
        return UNRESOLVED
    return "holds" if paired.difference > 0 else "does not hold"


@dataclass(frozen=True)
class Race:
    """A method against each of its rivals in one cell; in shares, shown in percent."""

    where: str
    paper: str
    own: str  # "SAHC-NS 13.24"
    rivals: Mapping[str, Paired]  # "DNS 13.32" → own − rival, the strongest first


def first(races: Sequence[Race]) -> list[Instance]:
    """Holds where the method is ahead of the strongest rival, fails where a rival is ahead of it, each if resolved.

    To be first it must beat the strongest, whoever that is, so one test a cell is corrected over the cells. The strongest
    of many equals is the luckiest, so that it is behind any of them is corrected over all rivals of all cells.
    """
    ahead = holm([next(iter(race.rivals.values())).p for race in races])
    behind = iter(holm([paired.p for race in races for paired in race.rivals.values()]))
    instances = []
    for race, p in zip(races, ahead, strict=True):
        ps = {name: next(behind) for name in race.rivals}
        name, paired = next(iter(race.rivals.items()))
        verdict: Verdict = "holds" if p < ALPHA else UNRESOLVED
        if not paired.difference > 0:
            lost = [rival for rival, one in race.rivals.items() if one.difference < 0 and ps[rival] < ALPHA]
            name = lost[0] if lost else name
            p, paired, verdict = ps[name], race.rivals[name], "does not hold" if lost else UNRESOLVED
        instances.append(Instance(race.where, race.paper, f"{race.own}, {name}: {_difference(paired, p)}", verdict))
    return instances


def _difference(paired: Paired, p: float) -> str:
    return f"{points(paired)} ({seeds_and_p(paired, p)})"


def seeds_and_p(paired: Paired, p: float) -> str:
    """`5 seeds, p 0.041 after Holm`."""
    return f"{seeds(paired.n)}, {paired.why or f'p {chance(p)} after Holm'}"


def within(where: str, paper: float, ours: float, tolerance: float) -> Instance:
    """Holds where a share in percent is no farther from the paper's than `tolerance`."""
    verdict: Verdict = "holds" if abs(ours - paper) <= tolerance else "does not hold"
    return Instance(where, f"{paper:.2f} %", f"{ours:.2f} %", verdict)
