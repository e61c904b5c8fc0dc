"""What other settings do: of the baselines in the searches and once they are tuned, of SAHC-NS from value to value."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import median

from reproduction.evidence import Evidence
from reproduction.methods import RIVALS, Settings
from reproduction.sections.figure_4 import sweep
from sahcns.lab import number

UNTESTED = "Not tested yet: `sahcns reproduce … --only tuning` does it."
TOO_FEW = "Not tested: the search has too few trials for it."
ENOUGH = 10  # trials of a set
METRIC = "recall@20"

Kinds = Mapping[str, Callable[[Settings], bool]]

BETAS: Kinds = {
    "β up to 1": lambda own: own["beta"] <= 1,
    "1 to 5": lambda own: 1 < own["beta"] <= 5,
    "above 5": lambda own: own["beta"] > 5,
}
SCHEDULES: Kinds = {
    "α fixed at 1": lambda own: own["schedule"] == "fixed" and own["alpha"] == 1,
    "fixed below 1": lambda own: own["schedule"] == "fixed" and own["alpha"] < 1,
    "rising": lambda own: own["schedule"] == "warmup",
    "falling": lambda own: own["schedule"] == "cooldown",
}


def searched(sampler: str, kinds: Kinds) -> Callable[[Evidence], str]:
    """`Tested in the search, Recall@20 on validation: Amazon-toys (49 trials) β up to 1: 7.84 to 11.59, …`."""

    def test(evidence: Evidence) -> str:
        told, nothing = [], UNTESTED
        for one in evidence.design.sets:
            search = evidence.searches.get(one.folder)
            trials = [] if search is None else search.complete(sampler)
            if len(trials) < ENOUGH:
                if search is not None and trials and search.finished(sampler):
                    nothing = TOO_FEW
                continue
            reached = {
                words: sorted(100 * (trial.value or 0.0) for trial in trials if kind(trial.settings))
                for words, kind in kinds.items()
            }
            ranges = ", ".join(f"{words}: {_range(values)}" for words, values in reached.items() if values)
            told.append(f"{one.name} ({len(trials)} trials{_random(evidence, one.folder)}) {ranges}")
        return f"Tested in the search, Recall@20 on validation: {'; '.join(told)}." if told else nothing

    return test


def gained(evidence: Evidence) -> str:
    """What the others gain by tuning and an equal pool, from the most on: `Amazon-toys DENS +9.50, …`."""
    told = []
    for one in evidence.design.sets:
        printed = {row.label: row for row in evidence.rows("table2") if row.data == one.folder}
        gains = {}
        for row in evidence.rows("equal"):
            if row.data == one.folder and row.sampler is not None and row.sampler["name"] in RIVALS:
                after, before = evidence.cell("equal", row, METRIC), evidence.cell("table2", printed[row.label], METRIC)
                if after is not None and before is not None and after.n and before.n:
                    gains[row.label] = 100 * (after.mean - before.mean)
        if gains:
            ordered = sorted(gains, key=lambda label: -gains[label])
            told.append(f"{one.name} {', '.join(f'{label} {number(gains[label], sign=True)}' for label in ordered)}")
    return f"Measured, in points of Recall@20 on the test part: {'; '.join(told)}." if told else ""


def neighbours(argument: str) -> Callable[[Evidence], str]:
    """How much Fig. 4's curves move from one value to the next, beside how much seeds do."""

    def measure(evidence: Evidence) -> str:
        told = []
        for folder in evidence.design.pair:
            found = [own for _, own in sorted(sweep(evidence, folder, argument, METRIC).items())]
            steps = [100 * abs(after.mean - before.mean) for before, after in pairwise(found)]
            spreads = [100 * own.std for own in found if own.n > 1]
            if steps and spreads:
                told.append(
                    f"{evidence.design.data(folder).name} {median(steps):.2f} (median) to {max(steps):.2f}, where seeds alone "
                    f"move one value by {median(spreads):.2f} (standard deviation)"
                )
        return f"Measured, from one value to the next in points of Recall@20: {'; '.join(told)}." if told else ""

    return measure


def _random(evidence: Evidence, folder: str) -> str:
    """What random negatives reach there in Table II, to hold the trials against; nothing where they were not run."""
    row = next(row for row in evidence.rows("table2") if (row.data, row.label) == (folder, "RNS"))
    own = evidence.cell("table2", row, METRIC, of="valid")
    return "" if own is None or not own.n else f"; RNS {number(100 * own.mean)}"


def _range(values: list[float]) -> str:
    low, high = number(values[0]), number(values[-1])
    return low if low == high else f"{low} to {high}"
