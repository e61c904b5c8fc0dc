"""Fig. 3: who has reached what on validation after how many seconds of training."""

from collections.abc import Mapping
from statistics import fmean

import numpy as np

from reproduction.evidence import Evidence, Lookup, Runs
from reproduction.methods import METHOD, NINE
from reproduction.scores import NAMES, RECALL, Scores
from reproduction.sections import Blocks
from sahcns import Result
from sahcns.lab import Figure, Series, Table

NEAR = 0.99  # of a run's best, which is as good as reached


def timed_runs(evidence: Evidence, data: str) -> Lookup[str, Runs]:
    """Method → its runs of Table II whose seconds may be compared: those that shared the machine with the fewest."""
    rows = {row.label: runs for row, runs in evidence.runs("table2") if row.data == data}
    least = min((run.processes for runs in rows.values() for run in runs.values()), default=1)
    alone = {label: {s: run for s, run in runs.items() if run.processes == least} for label, runs in rows.items()}
    return Lookup({label: runs for label, runs in alone.items() if runs})


def scores_so_far(evidence: Evidence, data: str) -> tuple[float, Mapping[str, Scores]]:
    """The second at which SAHC-NS has its best epoch, and Recall@20 on validation of each method until then."""
    runs = timed_runs(evidence, data)
    when = fmean(_seconds_to_best(run) for run in runs[METHOD].values())
    return when, {
        method: Scores({seed: _best_until(run, when) for seed, run in sorted(own.items())})
        for method, own in runs.items()
    }


def pace(evidence: Evidence, data: str) -> dict[str, float]:
    """Method → seconds until a run has come near to its own best, on average; the quickest first."""
    needed = {
        method: fmean(_seconds_to_near(run) for run in runs.values())
        for method, runs in timed_runs(evidence, data).items()
    }
    return dict(sorted(needed.items(), key=lambda one: one[1]))


def _looks(run: Result) -> list[float]:
    return [float(value) for value in run.history["looks"][RECALL]]


def _seconds_to_best(run: Result) -> float:
    epochs: list[int] = run.history["looks"]["epoch"]
    return run.look_seconds[epochs.index(run.best_epoch)]


def _seconds_to_near(run: Result) -> float:
    looks = _looks(run)
    return run.look_seconds[next(at for at, value in enumerate(looks) if value >= NEAR * max(looks))]


def _best_until(run: Result, when: float) -> float:
    return max((value for value, at in zip(_looks(run), run.look_seconds, strict=True) if at <= when), default=0.0)


def figure_3_blocks(evidence: Evidence) -> Blocks:
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
