"""Fig. 4: how much α, λmax and the size of the pool matter to SAHC-NS."""

from collections.abc import Sequence

from reproduction.beside import READINGS
from reproduction.evidence import Evidence
from reproduction.experiments import Row
from reproduction.leading import AT_20
from reproduction.sections.peaks import peaks_table
from reproduction.sections.standing import unfinished
from reproduction.sections.tuning import parts_in_words
from sahcns.lab import Figure, Section, Series, Summary, Table, listed, long_name, number

ARGUMENTS = {"alpha": "α", "lambda_max": "λmax", "pool": "N"}
AXES = {
    "alpha": "α, the weight of the discrepancy",
    "lambda_max": "λmax, the largest share of the positive",
    "pool": "N, candidates in the pool",
}


def sweep(
    evidence: Evidence, data: str, argument: str, metric: str, reading: str = "best", of: str = "test"
) -> dict[float, Summary]:
    """Value of the argument → the metric over seeds, for what was run."""
    found = {}
    for row in evidence.rows("figure4"):
        if (row.data, row.group) == (data, argument) and row.sampler is not None:
            own = evidence.cell("figure4", row, metric, reading, of)
            if own is not None:
                found[float(row.sampler[argument])] = own
    return found


def figure_4_section(evidence: Evidence) -> Section:
    found: list[str | Table | Figure] = [
        *unfinished(evidence, "figure4"),
        *parts_in_words(evidence, evidence.design.pair),
    ]
    peaks = peaks_table(
        {
            (evidence.design.data(data).name, letter, metric): sweep(evidence, data, argument, metric)
            for data in evidence.design.pair
            for metric in AT_20
            for argument, letter in ARGUMENTS.items()
        }
    )
    found += [peaks] if peaks else []
    for data in evidence.design.pair:
        for argument in ARGUMENTS:
            for metric in AT_20:
                drawn = _drawn(evidence, data, argument, metric)
                found += [drawn] if drawn else []
    return Section("Fig. 4: α, λmax and N", found)


def _drawn(evidence: Evidence, data: str, argument: str, metric: str) -> Figure | None:
    name, letter = evidence.design.data(data).name, ARGUMENTS[argument]
    series = []
    for reading, words in READINGS.items():
        found = sweep(evidence, data, argument, metric, reading)
        if len(found) > 1:  # one point is no course
            series.append(_series(words, found, dashed=reading == "last"))
    if not series:
        return None
    fixed = _others(
        next(row for row in evidence.rows("figure4") if (row.data, row.group) == (data, argument)), argument
    )
    return Figure(
        f"figure-4-{argument}-{metric}-{data}",
        f"{name}: {long_name(metric)} against {letter}",
        AXES[argument],
        f"test {long_name(metric)}, %",
        series,
        caption=f"Mean over seeds; the band is one standard deviation. {fixed}.",
        x_log=argument == "pool",
    )


def _series(words: str, found: dict[float, Summary], dashed: bool) -> Series:
    cells: Sequence[Summary] = list(found.values())
    spread = [100 * one.std if one.n > 1 else 0.0 for one in cells]
    y = [100 * one.mean for one in cells]
    banded = any(one.n > 1 for one in cells)
    return Series(
        words,
        list(found),
        y,
        [mean - std for mean, std in zip(y, spread, strict=True)] if banded else (),
        [mean + std for mean, std in zip(y, spread, strict=True)] if banded else (),
        role="sahc",
        dashed=dashed,
        hints=[f"{one.n} seeds, {listed(one.seeds)}" for one in cells],
    )


def _others(row: Row, argument: str) -> str:
    assert row.sampler is not None
    return ", ".join(
        f"{letter} = {number(row.sampler[name], 1) if name != 'pool' else row.sampler[name]}"
        for name, letter in ARGUMENTS.items()
        if name != argument
    )
