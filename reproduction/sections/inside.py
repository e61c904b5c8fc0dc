"""Figs 1, 3 and 5, as we read them and under other readings; and what SA and HC cost."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from reproduction.evidence import Evidence, Runs
from reproduction.measurements import MODELS
from reproduction.methods import NINE
from reproduction.pace import NEAR, pace, timed_runs
from reproduction.published import EFFICIENCY, FIGURE_1A
from reproduction.readings import PoolReadings
from reproduction.sections.tables import Blocks
from reproduction.words import NAMES, RECALL
from sahcns.lab import Figure, Series, Table, diagnostics_table, paper_figures


def figure_3(evidence: Evidence) -> Blocks:
    blocks: Blocks = []
    needed = {}
    for one in evidence.design.sets:
        series = [_curve(label, runs) for label, runs in timed_runs(evidence, one.folder).items()]
        axes = "seconds of training", f"{NAMES[RECALL]} on validation, %"
        caption = "Mean over seeds, as far as all of them ran."
        title = f"{one.name}: accuracy against time"
        blocks.append(Figure(f"seconds-{one.folder}", title, *axes, series, caption=caption))
        needed[one.name] = pace(evidence, one.folder)
    rows = [[label, *(f"{own[label]:.1f}" if label in own else "–" for own in needed.values())] for label in NINE]
    caption = (
        f"Seconds of training until a run has {100 * NEAR:.0f} % of its own best {NAMES[RECALL]} on validation: epochs times "
        "the median one. Not all runs were timed with the same version of the kernels, so for orientation."
    )
    columns = ["Method", *(f">{one}" for one in needed)]
    return [*blocks, Table("seconds", "How soon each is near its best", columns, rows, caption)]


def _curve(label: str, runs: Runs) -> Series:
    length = min(len(run.history["looks"][RECALL]) for run in runs.values())
    values = 100 * np.array([run.history["looks"][RECALL][:length] for run in runs.values()])  # [seeds, looks]
    seconds = np.array([run.look_seconds[:length] for run in runs.values()])
    return Series(label, seconds.mean(0).tolist(), values.mean(0).tolist(), role=NINE[label])


def mechanisms(evidence: Evidence) -> Blocks:
    blocks: Blocks = [
        "Fig. 1 is measured on LightGCN trained with DNS, as in the paper; for Fig. 5, of which it does not say, on a "
        "model trained with SAHC-NS too. The gap of a pool is (positive − hardest candidate) / |positive| on final scores, "
        "which is our reading."
    ]
    for (data, trained), seen in evidence.inspections.items():
        where, ending = f"{evidence.design.data(data).name}, {MODELS[trained]}", f"{data}-{trained}"
        for figure in paper_figures(seen.diagnostics):
            blocks.append(replace(figure, name=f"{figure.name}-{ending}", title=f"{figure.title}: {where}"))
        table = diagnostics_table(seen.diagnostics)
        blocks.append(replace(table, name=f"diagnostics-{ending}", title=f"{where}: {table.title}"))
    return blocks


KINDS = {
    "gaps": ("Fig. 1(a): % of pools with a gap under 0.10, and over 0.20", "a gap divided by"),
    "similar": ("Fig. 1(b): % of similar pairs with |Δσ| over 0.20, and over 0.50", ""),
    "choices": ("Fig. 5(a): % change of σ, and of μ, from DNS's choice to SA's", "α"),
}


def _twins(read: PoolReadings, kind: str) -> Mapping[str, Collection[float | None]]:
    """A reading → two shares."""
    if kind == "similar":
        return {"|Δs| < 0.01": (read["over_020"], read["over_050"])}
    return {name: pair.values() for name, pair in (read["gaps"] if kind == "gaps" else read["choices"]).items()}


def other_readings(evidence: Evidence) -> Blocks:
    """Figs 1 and 5(a) by what a gap is divided by, by the age of the model, and by α."""
    blocks: Blocks = []
    for folder, readings in evidence.readings.items():
        one = evidence.design.data(folder)
        for kind, (title, head) in KINDS.items():
            by_age = {age: _twins(readings[age], kind) for age in sorted(readings)}
            rows = [
                [label, *(" / ".join(map(_percent, own[label])) for own in by_age.values())]
                for label in next(iter(by_age.values()))
            ]
            columns = [head, *(f">{age} epochs" for age in by_age)]
            paper = " (paper: {} and {})".format(*FIGURE_1A[one.like]) if kind == "gaps" and one.printed else ""
            blocks.append(Table(f"{kind}-{folder}", f"{one.name}, {title}{paper}", columns, rows))
    return blocks


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def efficiency(evidence: Evidence) -> Blocks:
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
