"""Figs 1, 3 and 5, as we read them and under other readings; and what SA and HC cost."""

from collections.abc import Iterable
from dataclasses import replace

from reproduction.evidence import Evidence
from reproduction.measurements import MODELS
from reproduction.methods import NAMES, NINE, RECALL
from reproduction.published import EFFICIENCY, FIGURE_1A
from reproduction.reasons import NEAR, pace
from reproduction.sections.tables import Blocks
from sahcns.lab import Table, comparison_figures, diagnostics_table, paper_figures


def figure_3(evidence: Evidence) -> Blocks:
    """Accuracy against time, as `sahcns compare` draws it."""
    figures = comparison_figures(evidence.labelled("table2"), metrics=[RECALL])
    needed = {one.name: pace(evidence, one.folder) for one in evidence.design.sets}
    rows = [[label, *(f"{own[label]:.1f}" if label in own else "–" for own in needed.values())] for label in NINE]
    caption = (
        f"Seconds of training until a run has {100 * NEAR:.0f} % of its own best {NAMES[RECALL]} on validation: epochs times "
        "the median one. Not all runs were timed with the same version of the kernels, so for orientation."
    )
    table = Table(
        "seconds", "How soon each is near its best", ["Method", *(f">{one}" for one in needed)], rows, caption
    )
    return [*(one for one in figures if one.name.startswith("seconds")), table]


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


def other_readings(evidence: Evidence) -> Blocks:
    """Figs 1 and 5(a) by what a gap is divided by, by the age of the model, and by α."""
    blocks: Blocks = []
    for folder, readings in evidence.readings.items():
        one, rows = evidence.design.data(folder), dict[str, list[str]]()
        for _, read in sorted(readings.items()):
            halves = read["over_020"], read["over_050"]
            pairs: dict[str, Iterable[float | None]] = {
                **{f"Fig. 1(a), a gap divided by {how}": own.values() for how, own in read["gaps"].items()},
                "Fig. 1(b)": halves,
                **{f"Fig. 5(a), α = {alpha}": own.values() for alpha, own in read["choices"].items()},
            }
            for label, pair in pairs.items():
                rows.setdefault(label, [label]).append(" / ".join(map(_percent, pair)))
        paper = " (paper: {} and {})".format(*FIGURE_1A[one.like]) if one.printed else ""
        caption = (
            f"Fig. 1(a): % of pools with a gap under 0.10, and over 0.20{paper}. Fig. 1(b): % of similar pairs with |Δσ| over "
            "0.20, and over 0.50. Fig. 5(a): % change of σ, and of μ, from DNS's choice to SA's."
        )
        columns = ["Reading", *(f">{age} epochs" for age in sorted(readings))]
        title = f"{one.name}: by what a gap is divided by, the age of the model, and α"
        blocks.append(Table(f"readings-{folder}", title, columns, list(rows.values()), caption))
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
