"""Fig. 3: Recall@20 on validation against the seconds of training."""

import numpy as np

from reproduction.evidence import Evidence, Runs
from reproduction.methods import NINE
from reproduction.scores import NAMES, RECALL
from reproduction.seconds import NEAR, pace, timed_runs
from reproduction.sections import Blocks, unfinished
from sahcns.lab import Figure, Section, Series, Table


def figure_3_section(evidence: Evidence) -> Section:
    blocks: Blocks = unfinished(evidence, "table2")
    sets = {one.name: one.folder for one in evidence.design.sets if timed_runs(evidence, one.folder)}
    for name, data in sets.items():
        series = [_curve(label, runs) for label, runs in timed_runs(evidence, data).items()]
        title, caption = f"{name}: accuracy against time", "Mean over seeds, as far as all of them ran."
        axes = "seconds of training", f"{NAMES[RECALL]} on validation, %"
        blocks.append(Figure(f"seconds-{data}", title, *axes, series, caption=caption))
    if sets:
        needed = {name: pace(evidence, data) for name, data in sets.items()}
        rows = [
            [label, *(f"{own[label]:.1f}" if label in own else "–" for own in needed.values())]
            for label in NINE
            if any(label in own for own in needed.values())
        ]
        caption = (
            f"Seconds of training until a run has {100 * NEAR:.0f} % of its own best {NAMES[RECALL]} on validation: epochs "
            "times the median one. Not all runs were timed with the same version of the kernels, so for orientation."
        )
        blocks.append(
            Table(
                "seconds", "How soon each is near its best", ["Method", *(f">{one}" for one in needed)], rows, caption
            )
        )
    return Section("Fig. 3: accuracy against time", blocks)


def _curve(label: str, runs: Runs) -> Series:
    length = min(len(run.history["looks"][RECALL]) for run in runs.values())
    values = 100 * np.array([run.history["looks"][RECALL][:length] for run in runs.values()])  # [seeds, looks]
    seconds = np.array([run.look_seconds[:length] for run in runs.values()])
    return Series(label, seconds.mean(0).tolist(), values.mean(0).tolist(), role=NINE[label])
