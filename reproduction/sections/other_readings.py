"""Figs 1 and 5(a) under other readings: what a gap is divided by, how long the model was trained, which α."""

from collections.abc import Callable

from reproduction.evidence import Evidence
from reproduction.other_readings import choice_otherwise, pools_otherwise, similar_otherwise
from reproduction.published import FIGURE_1A, FIGURE_1B, FIGURE_5A, MEAN_HARDNESS
from sahcns.lab import Cell, Figure, PoolReadings, Section, Table


def other_readings_section(evidence: Evidence) -> Section:
    if not evidence.readings:
        return Section("Figs 1 and 5 under other readings", [pools_otherwise(evidence)])
    found: list[str | Table | Figure] = [
        "The paper says neither what it divides a gap by, nor how long the models of its Figs 1 and 5 were trained, nor the α "
        "of Fig. 5. Here all of that is varied, on LightGCN trained with DNS for so many epochs, without early stopping.",
        pools_otherwise(evidence),
        similar_otherwise(evidence),
        choice_otherwise(evidence),
    ]
    for folder, readings in evidence.readings.items():
        one = evidence.design.data(folder)
        near, far = FIGURE_1A.get(one.like, (None, None)) if one.printed else (None, None)
        printed = f" (the paper: {near} and {far})" if near is not None else ""
        found.append(
            _table(
                f"gaps-{folder}",
                f"{one.name}, Fig. 1(a): % of pools with a gap under 0.10, and over 0.20{printed}",
                "a gap divided by",
                readings,
                lambda read: {name: (100 * gap.near, 100 * gap.far) for name, gap in read.gaps.items()},
            )
        )
        most, quarter = FIGURE_1B
        printed = f" (the paper: more than {most:.0f}, about {quarter:.0f})" if one.printed else ""
        found.append(
            _table(
                f"similar-{folder}",
                f"{one.name}, Fig. 1(b): % of similar pairs with |Δσ| over 0.20, and over 0.50{printed}",
                "",
                readings,
                lambda read: {"|Δs| < 0.01": (_percent(read.over_020), _percent(read.over_050))},
            )
        )
        printed = f" (the paper: {FIGURE_5A[one.like]:+.2f}, within {MEAN_HARDNESS})" if one.printed else ""
        found.append(
            _table(
                f"choices-{folder}",
                f"{one.name}, Fig. 5(a): % change of σ, and of μ, from DNS's choice to SA's{printed}",
                "α",
                readings,
                lambda read: {
                    alpha: (_percent(chosen.sigma), _percent(chosen.mu)) for alpha, chosen in read.choices.items()
                },
            )
        )
    return Section("Figs 1 and 5 under other readings", found)


Line = tuple[float | None, float | None]


def _table(
    name: str,
    title: str,
    head: str,
    readings: "dict[int, PoolReadings]",
    lines: Callable[[PoolReadings], dict[str, Line]],
) -> Table:
    """A row for each reading, a column for each age of the model."""
    ages = sorted(readings)
    by_age = {age: lines(readings[age]) for age in ages}
    rows: list[list[Cell | str]] = [
        [label, *(" / ".join(map(_shown, by_age[age][label])) for age in ages)] for label in by_age[ages[0]]
    ]
    return Table(name, title, [head, *(f">{age} epoch{'s' * (age > 1)}" for age in ages)], rows)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
