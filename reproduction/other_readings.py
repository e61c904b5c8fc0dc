"""Where Figs 1 and 5(a) differ from ours: whether another reading of what the paper leaves open would explain it."""

from collections.abc import Callable, Iterator, Mapping
from statistics import fmean

from reproduction.design import DataSet
from reproduction.evidence import Evidence
from reproduction.published import FIGURE_1A, FIGURE_1B, FIGURE_5A, MEAN_HARDNESS, hardness_kept
from sahcns.lab import PoolReadings

UNTESTED = "Not tested yet: `sahcns reproduce … --only mechanisms` does it."
Readings = dict[int, PoolReadings]
"""Of one set: epochs that the model was trained for → what was read."""


def on_printed(evidence: Evidence) -> dict[str, tuple[DataSet, Readings]]:
    """By folder, the sets that the paper prints numbers for and that were read."""
    found = {}
    for folder in evidence.design.pair:
        one = evidence.design.data(folder)
        if one.printed and evidence.readings.get(folder):
            found[folder] = one, evidence.readings[folder]
    return found


def pools_otherwise(evidence: Evidence) -> str:
    """Fig. 1(a): the nearest of all normalisers and ages of the model, the same on every set."""
    sets = on_printed(evidence)
    if not sets:
        return UNTESTED

    def distance(how: tuple[str, int]) -> float:
        return fmean(gap for one, readings in sets.values() for gap in _from_1a(one, readings[how[1]], how[0]))

    tried = [(name, age) for age in _ages(sets) for name in next(iter(sets.values()))[1][age].gaps]
    name, age = min(tried, key=distance)
    told = "; ".join(
        f"{one.name} {100 * readings[age].gaps[name].near:.1f} % and {100 * readings[age].gaps[name].far:.1f} %"
        for one, readings in sets.values()
    )
    return (
        f"Tested with {len(tried)} readings ({len({name for name, _ in tried})} ways to take a gap, models of "
        f"{_listed(_ages(sets))} epochs): the nearest takes gaps {_taken(name)}, after {_epochs(age)}, and gives {told}, on "
        f"average {distance((name, age)):.1f} points away."
    )


def similar_otherwise(evidence: Evidence) -> str:
    """Fig. 1(b): how the shares change with the age of the model."""
    sets = on_printed(evidence)
    if not sets:
        return UNTESTED
    told = []
    for one, readings in sets.values():
        seen = [
            f"{100 * found.over_020:.0f} % and {100 * found.over_050:.0f} % after {_epochs(age)}"
            for age, found in sorted(readings.items())
            if found.over_020 is not None and found.over_050 is not None
        ]
        told.append(f"{one.name} {', '.join(seen) or 'has no such pairs'}")
    most, quarter = FIGURE_1B
    return f"Tested on models of several ages (the paper: > {most:.0f} % and about {quarter:.0f} %): {'; '.join(told)}."


def choice_otherwise(evidence: Evidence) -> str:
    """Fig. 5(a): the α, and the age of the model, that come nearest to the printed rise."""
    sets = on_printed(evidence)
    if not sets:
        return UNTESTED
    told = []
    for one, readings in sets.values():
        tried = [
            (abs(100 * chosen.sigma - FIGURE_5A[one.like]), alpha, age, 100 * chosen.sigma, 100 * chosen.mu)
            for age, found in readings.items()
            for alpha, chosen in found.choices.items()
            if chosen.sigma is not None and chosen.mu is not None
        ]
        if tried:
            _, alpha, age, sigma, mu = min(tried)
            kept = "within" if hardness_kept(mu) else "not within"
            told.append(
                f"{one.name} α = {alpha} after {_epochs(age)}: σ {sigma:+.1f} % (the paper {FIGURE_5A[one.like]:+.1f} %), "
                f"μ {mu:+.1f} %, {kept} the paper's {MEAN_HARDNESS} %"
            )
    return f"Tested with every α of the grid on models of several ages; the nearest: {'; '.join(told) or 'none'}."


def tested(words: str, test: Callable[[Evidence], str]) -> Callable[[Evidence], str]:
    """A reason, and what became of testing it."""
    return lambda evidence: f"{words} {test(evidence)}"


def _from_1a(one: DataSet, found: PoolReadings, name: str) -> Iterator[float]:
    """Points between the shares and the printed ones."""
    near, far = FIGURE_1A[one.like]
    yield abs(100 * found.gaps[name].near - near)
    yield abs(100 * found.gaps[name].far - far)


def _ages(sets: Mapping[str, tuple[DataSet, Readings]]) -> list[int]:
    """Those that all sets were read at."""
    return sorted(set.intersection(*(set(readings) for _, readings in sets.values())))


def _taken(name: str) -> str:
    """`divided by both scores`, `of cosines`."""
    undivided = "none, "
    return name.removeprefix(undivided) if name.startswith(undivided) else f"divided by {name}"


def _epochs(age: int) -> str:
    return f"{age} epoch{'s' * (age > 1)}"


def _listed(ages: list[int]) -> str:
    return ", ".join(map(str, ages))
