"""Figs 1 and 5, as we read them and under other readings; and what SA and HC cost."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from reproduction.evidence import Evidence
from reproduction.mechanism_checks import MODELS
from reproduction.published import EFFICIENCY, FIGURE_1A
from reproduction.readings import PoolReadings
from reproduction.sections import Blocks
from sahcns.lab import Inspection, Table, diagnostics_table, paper_figures


def mechanisms_blocks(evidence: Evidence) -> Blocks:
    blocks: Blocks = [
        "Fig. 1 is measured on LightGCN trained with DNS, as in the paper; for Fig. 5, of which it does not say, on a "
        "model trained with SAHC-NS too. The gap of a pool is (positive − hardest candidate) / |positive| on final scores, "
        "which is our reading."
    ]
    for (data, trained), inspection in evidence.inspections.items():
        blocks += _figures(f"{evidence.design.data(data).name}, {MODELS[trained]}", f"{data}-{trained}", inspection)
    return blocks


def _figures(where: str, ending: str, inspection: Inspection) -> Blocks:
    table = diagnostics_table(inspection.diagnostics)
    return [
        *(
            replace(figure, name=f"{figure.name}-{ending}", title=f"{figure.title}: {where}")
            for figure in paper_figures(inspection.diagnostics)
        ),
        replace(table, name=f"diagnostics-{ending}", title=f"{where}: {table.title}"),
    ]


Twin = tuple[float | None, float | None]


def other_readings_blocks(evidence: Evidence) -> Blocks:
    """Figs 1 and 5(a) by what a gap is divided by, by the age of the model, and by α."""
    blocks: Blocks = []
    for folder, readings in evidence.readings.items():
        one = evidence.design.data(folder)
        printed = one.printed and one.like in FIGURE_1A
        paper = " (paper: {} and {})".format(*FIGURE_1A[one.like]) if printed else ""
        blocks += [
            _by_age(
                f"gaps-{folder}",
                f"{one.name}, Fig. 1(a): % of pools with a gap under 0.10, and over 0.20{paper}",
                "a gap divided by",
                readings,
                lambda read: {name: (100 * gap.near, 100 * gap.far) for name, gap in read.gaps.items()},
            ),
            _by_age(
                f"similar-{folder}",
                f"{one.name}, Fig. 1(b): % of similar pairs with |Δσ| over 0.20, and over 0.50",
                "",
                readings,
                lambda read: {"|Δs| < 0.01": (_percent(read.over_020), _percent(read.over_050))},
            ),
            _by_age(
                f"choices-{folder}",
                f"{one.name}, Fig. 5(a): % change of σ, and of μ, from DNS's choice to SA's",
                "α",
                readings,
                lambda read: {alpha: (_percent(own.sigma), _percent(own.mu)) for alpha, own in read.choices.items()},
            ),
        ]
    return blocks


def _by_age(
    name: str,
    title: str,
    head: str,
    readings: Mapping[int, PoolReadings],
    lines: Callable[[PoolReadings], Mapping[str, Twin]],
) -> Table:
    """A row for each reading, a column for each age of the model."""
    by_age = {age: lines(readings[age]) for age in sorted(readings)}
    labels = next(iter(by_age.values()))
    rows = [
        [
            label,
            *(" / ".join("–" if value is None else f"{value:.1f}" for value in own[label]) for own in by_age.values()),
        ]
        for label in labels
    ]
    return Table(name, title, [head, *(f">{age} epochs" for age in by_age)], rows)


def efficiency_blocks(evidence: Evidence) -> Blocks:
    """What SA and HC add to an epoch."""
    rows = []
    for data, costs in evidence.costs.items():
        one = evidence.design.data(data)
        if one.printed:
            theirs = EFFICIENCY[one.like]
            times = [theirs.dns, theirs.sa, theirs.sahc, theirs.extra, None, theirs.epoch]
            rows.append([one.name, "paper", *map(_milliseconds, times), f"{theirs.share:.2f} %"])
        times = [*(cost.forward for cost in costs), costs[-1].extra, costs[0].epoch, costs[-1].epoch]
        rows.append([one.name, "ours", *map(_milliseconds, times), f"{100 * costs[-1].extra_share:.2f} %"])
    columns = ["Data", "", ">DNS", ">with SA", ">with SA and HC", ">added by both", ">epoch, DNS", ">epoch, SAHC-NS"]
    devices = " and ".join(sorted({cost.device for costs in evidence.costs.values() for cost in costs}))
    caption = (
        f"Ours on {devices}. Forward is scoring the pool, choosing, putting the negative together and its loss, each timed "
        "alone; an epoch is whole, with the backward pass, the median of several rounds in turn. The paper's epochs hold a "
        "candidate loop in Python, so its shares are of much longer epochs."
    )
    title = "The sampler's forward pass, milliseconds an epoch"
    return [Table("efficiency", title, [*columns, ">added, of an epoch"], rows, caption)]


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{1000 * value:,.1f}"


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
