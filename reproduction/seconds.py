"""Fig. 3 in numbers: who has reached what on validation after how many seconds of training."""

from statistics import fmean

from reproduction.evidence import Evidence, Runs
from reproduction.methods import METHOD
from reproduction.scores import RECALL, Scores
from sahcns import Result

NEAR = 0.99  # of a run's best, which is as good as reached


def timed_runs(evidence: Evidence, data: str) -> dict[str, Runs]:
    """Method → its runs of Table II whose seconds may be compared: those that shared the machine with the fewest."""
    rows = {row.label: runs for row, runs in evidence.runs("table2") if row.data == data}
    least = min((run.processes for runs in rows.values() for run in runs.values()), default=1)
    alone = {label: {s: run for s, run in runs.items() if run.processes == least} for label, runs in rows.items()}
    return {label: runs for label, runs in alone.items() if runs}


def scores_so_far(evidence: Evidence, data: str) -> tuple[float, dict[str, Scores]]:
    """The second at which SAHC-NS has its best epoch, and Recall@20 on validation of each method until then."""
    runs = timed_runs(evidence, data)
    if METHOD not in runs:
        return 0.0, {}
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
