"""What a person should use, in ten lines and one figure, each made from the runs; a line whose runs are missing is left out."""

from collections.abc import Callable, Iterator
from contextlib import suppress

from reproduction.evidence import Evidence, Lookup, NotRun, Place
from reproduction.experiments import HARD
from reproduction.methods import AT_20, BASELINES, METHOD, NAMES, NINE, RECALL
from reproduction.scores import MARGIN, Scores, against, signs
from sahcns.lab import Figure, Series, joined, number

FIGURE = "pool-sizes"
HALTED = ("DNS", METHOD)
FAILED = 0.75  # of what tuning makes of a method: below it, it has failed as published


def lines(evidence: Evidence) -> Iterator[str]:
    """At most ten."""
    for line in LINES:
        with suppress(NotRun):
            if words := line(evidence):
                yield words


def linear(evidence: Evidence) -> str:
    phrases = []
    for one in evidence.design.sets:
        if best := best_baseline(evidence, one.folder):
            tuned = _tuned(evidence)[one.name]
            first = max(tuned, key=lambda label: tuned[label].mean)
            rival = f"{first} {tuned[first]}, the first of nine samplers"
            phrases.append(f"{best[0]} has {number(100 * best[1])} on {one.name} ({rival})")
    if not phrases:
        raise NotRun("baselines")
    return f"**Begin with what needs no gradient.** Without epochs and seeds {joined(phrases)}."


def stop(evidence: Evidence) -> str:
    lost = {}
    for label in HALTED:
        best, last = (
            [
                evidence.methods(Place("table2", one.folder, reading=reading), RECALL)[label]
                for one in evidence.design.sets
            ]
            for reading in ("best", "last")
        )
        lost[label] = joined([number(one.percent - other.percent) for one, other in zip(best, last, strict=True)])
    words = " and ".join(f"{label} loses {points}" for label, points in lost.items())
    return f"**Stop on validation.** From its best epoch until patience ends {words} points of {NAMES[RECALL]}."


def hard(evidence: Evidence) -> str:
    gains = [_tuned(evidence)[one.name] for one in evidence.design.sets]
    points = joined([number(max(own[x].percent for x in HARD) - own["RNS"].percent, sign=True) for own in gains])
    return (
        f"**Take hard negatives.** The best hard sampler is {points} points above random ones, all tuned with one pool."
    )


def pool(evidence: Evidence) -> str:
    curve = {int(size): own[RECALL]["DNS"] for size, own in evidence.groups("pools").items()}
    if not curve:
        raise NotRun("pools")
    ends, top = (min(curve), max(curve)), max(curve, key=lambda size: curve[size].mean)
    low, high = (f"{curve[end]} with {end}" for end in ends)
    name = evidence.design.data(evidence.design.single).name
    tuned = [_tuned(evidence)[name][label].percent for label in HARD]
    return (
        f"**Look for the pool first.** On {name} DNS has {low} candidates, {curve[top]} with {top} and {high}. Tuned with one "
        f"pool, all eight hard samplers lie within {number(max(tuned) - min(tuned))} points there."
    )


def sampler(evidence: Evidence) -> str:
    winners, own = [], []
    for found in _tuned(evidence).values():
        first = max(found, key=lambda label: found[label].mean)
        winners.append(f"{first} {found[first]}")
        own.append(str(found[METHOD]))
    return f"**Which one matters less.** Tuned alike with one pool, {joined(winners)} lead; {METHOD} has {joined(own)}."


def simplest(evidence: Evidence) -> str:
    found: dict[str, list[str]] = {}
    for place in evidence.places("power"):
        cells = against(evidence.cells([place], AT_20))
        marks = Lookup(signs(cells.get((place, RECALL), []), cells))
        found.setdefault(marks["DNS"], []).append(evidence.name(place))
    words = [f"equivalent on {joined(found['≈'])}"] if "≈" in found else []
    words += [f"told apart on {joined(found['*'])}"] if "*" in found else []
    words += [f"not told apart on {joined(found[''])}"] if "" in found else []
    seeds = f"{evidence.design.many} seeds, {MARGIN:g} points, {NAMES[RECALL]}"
    return f"**DNS is the simplest.** With L2 and step size held, {METHOD} and it are {' and '.join(words)} ({seeds})."


def settings(evidence: Evidence) -> str:
    found = []
    for one in evidence.design.sets:
        before, after = evidence.untuned(one.folder)[RECALL], _tuned(evidence)[one.name]
        found += [
            f"{label} {before[label]} becomes {after[label]} on {one.name}"
            for label in NINE
            if before[label].mean < FAILED * after[label].mean
        ]
    return (
        f"**Trust no published setting.** Tuning decides whether some train at all: {joined(found)}." if found else ""
    )


def backbone(evidence: Evidence) -> str:
    place = next(one for one in evidence.places("table4") if one.backbone == "ngcf")
    ngcf = evidence.methods(place, RECALL)
    return f"**On NGCF take MixGCF**: {ngcf['MixGCF']} on {evidence.design.data(place.data).name}, {METHOD} {ngcf[METHOD]}."


def terms(evidence: Evidence) -> str:
    with suppress(NotRun):
        best = []
        for place in evidence.places("alike"):
            found = evidence.methods(place, RECALL)
            if found.keys() < NINE.keys():
                raise NotRun("alike")
            first = max(found, key=lambda label: found[label].mean)
            best.append(f"{first} {found[first]} ({METHOD} {found[METHOD]})")
        return f"**Search L2 and the step size with the rest.** Everything tuned, {joined(best)} lead."
    return (
        "**Search L2 and the step size with the rest**, as `sahcns tune` does: mixing in the positive "
        "[sets them in disguise](tune.md#why-l2-and-the-step-size-belong-to-it). The study holds them, so its order may change."
    )


def own_data(evidence: Evidence) -> str:
    return "**Then [compare](compare.md) on your own data**: these sets do not agree with each other."


LINES: tuple[Callable[[Evidence], str], ...] = (
    *(linear, stop, hard, pool, terms, sampler, simplest, settings, backbone, own_data),
)


def _tuned(evidence: Evidence) -> dict[str, Lookup[str, Scores]]:
    """Name of the set → the nine tuned with one pool."""
    found = {one.name: evidence.methods(Place("equal", one.folder), RECALL) for one in evidence.design.sets}
    if not all(found.values()):
        raise NotRun("equal")
    return found


def best_baseline(evidence: Evidence, folder: str) -> tuple[str, float] | None:
    """The one with the highest Recall@20 among those that were run on a set, once they are several."""
    reached = {BASELINES[key]: one["test"][RECALL] for key, one in evidence.baselines.get(folder, {}).items()}
    first = max(reached, key=lambda label: reached[label], default="")
    return (first, reached[first]) if len(reached) > 1 else None


def figure(evidence: Evidence) -> Figure:
    """Recall@20 by the size of the pool, with what has none: RNS, and the best baseline without gradient."""
    own = evidence.design.data(evidence.design.single)
    groups = {int(size): found[RECALL] for size, found in evidence.groups("pools").items()}
    series = []
    for label in HARD:
        there = {size: found[label] for size, found in groups.items() if label in found}
        series.append(Series(label, list(there), [one.percent for one in there.values()], role=NINE[label]))
    flat = {}
    with suppress(NotRun):
        flat["RNS"] = evidence.methods(Place("table2", own.folder), RECALL)["RNS"].percent
    if best := best_baseline(evidence, own.folder):
        flat[best[0]] = 100 * best[1]
    series += [
        Series(label, list(groups), [value] * len(groups), role=NINE.get(label, ""), dashed=True)
        for label, value in flat.items()
    ]
    title = f"{own.name}: {NAMES[RECALL]} by the size of the pool"
    return Figure(FIGURE, title, "candidates in the pool", f"test {NAMES[RECALL]}, %", series, x_log=True)
