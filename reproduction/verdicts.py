"""What became of a claim: a verdict for each place where it can be checked, and one for all of them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from reproduction.design import DataSet
from reproduction.evidence import NotRun
from reproduction.methods import METHOD
from reproduction.scores import ALPHA, MARGIN, Difference, Scores, against, corrected, equivalents, points, seeds
from sahcns.lab import Paired, chance, holm

Verdict = Literal["holds", "does not hold", "equivalent", "not resolved", "not run yet"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
UNRESOLVED: Verdict = "not resolved"
EQUIVALENT: Verdict = "equivalent"
POINTS = 5.0  # how far a measured share may be from a printed one and still be called the same


class Instance(NamedTuple):
    """One place where a claim can be checked."""

    where: str  # "Amazon-toys, Recall@20"
    paper: str
    ours: str
    verdict: Verdict


def overall(instances: Sequence[Instance]) -> Verdict:
    """A claim fails where it fails anywhere, and holds where it holds everywhere; so does equivalence."""
    verdicts = {one.verdict for one in instances}
    if verdicts <= {"not run yet"}:
        return "not run yet"
    if "does not hold" in verdicts:
        return "does not hold"
    return next(iter(verdicts)) if len(verdicts) == 1 else UNRESOLVED


def counted(instances: Sequence[Instance]) -> str:
    """`holds in 3, not resolved in 5 of 8`."""
    counts = Counter(one.verdict for one in instances)
    words = [f"{verdict} in {counts[verdict]}" for verdict in VERDICTS if counts[verdict]]
    return f"{', '.join(words)} of {len(instances)}"


class Comparison(NamedTuple):
    """A paired difference that a claim wants to be above 0; in shares, shown in percent."""

    where: str
    paper: str
    who: str  # "SAHC-NS 13.24, DNS 13.32"
    paired: Paired


def above(comparisons: Sequence[Comparison]) -> list[Instance]:
    """Holds where the difference is above 0 and resolved, fails where it is below 0 and resolved; Holm over all of them.

    One that is not resolved is equivalent where it is resolved to be within `MARGIN`; Holm over all of them again.
    """
    tests = dict(enumerate(one.paired for one in comparisons))
    ps, within = corrected(tests), equivalents(tests)
    return [
        Instance(
            one.where,
            one.paper,
            _in_words(one.who, one.paired, ps[at], within[at]),
            resolved(one.paired, ps[at], within[at]),
        )
        for at, one in enumerate(comparisons)
    ]


def resolved(paired: Paired, p: float, within: float) -> Verdict:
    """Of a difference that should be above 0, with its p and that of equivalence after Holm."""
    if not p < ALPHA:
        return EQUIVALENT if within < ALPHA else UNRESOLVED
    return "holds" if paired.difference > 0 else "does not hold"


class Race(NamedTuple):
    """SAHC-NS and all others in one cell."""

    where: str
    paper: str
    methods: Mapping[str, Scores]
    before: str = ""


def first(races: Sequence[Race], own: str = METHOD) -> list[Instance]:
    """Holds where SAHC-NS, or another `own`, is ahead of the strongest rival, fails where one is ahead of it, if resolved.

    To be first it must beat the strongest, whoever that is, so one test a cell is corrected over the cells. The strongest
    of many equals is the luckiest, so that it is behind any of them is corrected over all rivals of all cells. Where
    neither is resolved, it is equivalent if it is within `MARGIN` of the strongest.
    """
    behind = against(dict(enumerate(race.methods for race in races)), own)
    if len(behind) < len(races):  # nobody to race against
        raise NotRun(races[0].where)
    order = [sorted(behind[at], key=_strength, reverse=True) for at in range(len(races))]
    ps = holm([rivals[0].paired.p for rivals in order])
    within = equivalents({at: rivals[0].paired for at, rivals in enumerate(order)})
    instances = []
    for at, (race, rivals) in enumerate(zip(races, order, strict=True)):
        shown, verdict = rivals[0]._replace(p=ps[at]), "holds" if ps[at] < ALPHA else UNRESOLVED
        if not shown.paired.difference < 0:
            lost = [one for one in rivals if one.resolved(+1)]
            shown, verdict = (lost or rivals)[0], "does not hold" if lost else UNRESOLVED
        if verdict == UNRESOLVED and within[at] < ALPHA:
            verdict = EQUIVALENT
        rival = race.methods[shown.label]
        who = f"{race.before}{own} {race.methods[own]}, {shown.label} {rival}"
        ours = _in_words(who, race.methods[own].minus(rival), shown.p, within[at])
        instances.append(Instance(race.where, race.paper, ours, verdict))
    return instances


def _strength(rival: Difference) -> float:
    """Over the seeds that both have."""
    return -math.inf if math.isnan(rival.paired.difference) else rival.paired.difference


def _in_words(who: str, paired: Paired, p: float, within: float = math.nan) -> str:
    """`SAHC-NS 13.24, DNS 13.32: -0.08 (5 seeds, p 0.041 after Holm)`, with the p of equivalence where that decides."""
    alike = f", within {MARGIN:g} points p {chance(within)}" * (not p < ALPHA and within < ALPHA)
    return f"{who}: {points(paired)} ({seeds(paired.n)}, {paired.why or f'p {chance(p)} after Holm'}{alike})"


def judged(one: DataSet, where: str, paper: str, ours: str, holds: bool, numbers: bool = False) -> Instance:
    """A cell without a test; a number printed for a set is neither confirmed nor refuted by another set."""
    verdict: Verdict = "holds" if holds else "does not hold"
    return Instance(where, paper, ours, UNRESOLVED if numbers and one.printed and not one.same else verdict)


def near(one: DataSet, where: str, paper: float, ours: float) -> Instance:
    """Holds where a share in percent is no farther from the paper's than `POINTS`."""
    return judged(one, where, f"{paper:.2f} %", f"{ours:.2f} %", abs(ours - paper) <= POINTS, numbers=True)
