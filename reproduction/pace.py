"""Fig. 3: who has reached what on validation after how many seconds of training."""

from statistics import fmean

from reproduction.evidence import Evidence, Lookup, Runs
from reproduction.methods import UNTUNED
from reproduction.words import RECALL
from sahcns import Result

NEAR = 0.99  # of a run's best, which is as good as reached


def timed_runs(evidence: Evidence, data: str) -> Lookup[str, Runs]:
    """Method → its runs of Table II whose seconds may be compared: those that shared the machine with the fewest."""
    rows = {row.label: runs for row, runs in evidence.runs["table2"] if row.data == data and row.label != UNTUNED}
    least = min((run.processes for runs in rows.values() for run in runs.values()), default=1)
    alone = {label: {s: run for s, run in runs.items() if run.processes == least} for label, runs in rows.items()}
    return Lookup({label: runs for label, runs in alone.items() if runs})


def best_until(run: Result, when: float) -> float:
    """The best Recall@20 on validation of a run's first so many seconds."""
    looks = zip(run.history["looks"][RECALL], run.look_seconds, strict=True)
    return max((value for value, at in looks if at <= when), default=0.0)


def pace(evidence: Evidence, data: str) -> dict[str, float]:
    """Method → seconds until a run has come near to its own best, on average; the quickest first."""

    def seconds(run: Result) -> float:
        looks = run.history["looks"][RECALL]
        return run.look_seconds[next(at for at, value in enumerate(looks) if value >= NEAR * max(looks))]

    needed = {label: fmean(map(seconds, runs.values())) for label, runs in timed_runs(evidence, data).items()}
    return dict(sorted(needed.items(), key=lambda one: one[1]))
