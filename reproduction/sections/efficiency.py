"""The efficiency paragraph: what SA and HC add to an epoch."""

from collections.abc import Sequence

from reproduction.evidence import Evidence
from reproduction.published import EFFICIENCY
from reproduction.sections.standing import unfinished
from sahcns.lab import Cell, Cost, Figure, Section, Series, Table


def efficiency_section(evidence: Evidence) -> Section:
    found: list[str | Table | Figure] = [*unfinished(evidence, "efficiency")]
    if evidence.costs:
        found += [_table(evidence), _figure(evidence)]
    return Section("Efficiency", found)


def _table(evidence: Evidence) -> Table:
    rows: list[list[Cell | str]] = []
    devices = sorted({one.device for costs in evidence.costs.values() for one in costs})
    fewest = min(len(one.rounds) for costs in evidence.costs.values() for one in costs)
    turns = f"; medians of {fewest} rounds or more of all three in turn" if fewest > 1 else ""
    for data, costs in evidence.costs.items():
        one = evidence.design.data(data)
        ours = _ours(costs)
        theirs = EFFICIENCY[one.like] if one.printed else None
        printed = [theirs.dns, theirs.sa, theirs.sahc, theirs.extra, None, theirs.epoch] if theirs else [None] * 6
        rows.append([one.name, "paper", *(_ms(value) for value in printed), f"{theirs.share:.2f} %" if theirs else "–"])
        rows.append([one.name, "ours", *(_ms(value) for value in ours), f"{100 * costs[-1].extra_share:.2f} %"])
    return Table(
        "efficiency",
        "The sampler's forward pass, milliseconds an epoch",
        [
            *("Data", "", ">DNS", ">with SA", ">with SA and HC", ">added by both"),
            *(">epoch, DNS", ">epoch, SAHC-NS", ">added, of an epoch"),
        ],
        rows,
        f"Ours on {' and '.join(devices)}. Forward is scoring the pool, choosing, putting the negative together and its loss, "
        f"each timed alone; an epoch is whole, as training runs it, with the backward pass{turns}. The paper's epochs hold a "
        "candidate loop in Python, so its shares are of much longer epochs. On a GPU SAHC-NS chooses and calibrates in one "
        "kernel made for it, and DNS chooses in one; SA alone looks up what it chose in further steps, which take longer than "
        "HC does.",
    )


def _figure(evidence: Evidence) -> Figure:
    names = ["DNS", "with SA", "with SA and HC"]
    series = []
    for data, costs in evidence.costs.items():
        name = evidence.design.data(data).name
        series.append(Series(name, names, [1000 * one.forward for one in costs]))
    return Figure(
        "efficiency",
        "The sampler's forward pass",
        "",
        "milliseconds an epoch",
        series,
        kind="bar",
        caption="All steps of an epoch together. What was timed is said below the table; the paper's times stand there.",
    )


def _ours(costs: Sequence[Cost]) -> list[float]:
    return [*(one.forward for one in costs), costs[-1].extra, costs[0].epoch, costs[-1].epoch]


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{1000 * value:,.1f}"
