"""Why a claim may come out otherwise: one sentence each, made from the runs, so that it cannot outlive them."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import fmean, median

from reproduction.design import DataSet
from reproduction.evidence import Evidence, NotRun
from reproduction.experiments import WIDE
from reproduction.mechanism_checks import MODELS
from reproduction.methods import METHOD, SOUND_AS_PRINTED, Settings
from reproduction.published import EFFICIENCY, FIGURE_1A, FIGURE_1B, FIGURE_5A, MEAN_HARDNESS, hardness_kept
from reproduction.readings import PoolReadings
from reproduction.scores import AT_20, METRICS, NAMES, RECALL, joined, number, points
from reproduction.sections.figure_3 import NEAR, pace
from reproduction.verdicts import resolved
from sahcns.lab import Paired, holm

Reason = Callable[[Evidence], str]


def strongest_rivals(part: str) -> Reason:
    """Who is strongest in how many cells, and with which pool."""

    def reason(evidence: Evidence) -> str:
        pools = {
            (row.data, row.backbone["name"], row.label): int(runs[min(runs)].sampler["pool"])
            for row, runs in evidence.runs(part)
        }
        strongest: Counter[tuple[str, int]] = Counter()
        for data, backbone, label in pools:
            for metric in (AT_20 if part == "table4" else METRICS) if label == METHOD else ():
                methods = evidence.methods(part, data, metric, backbone=backbone)
                first = max((one for one in methods if one != METHOD), key=lambda one: methods[one].mean)
                strongest[first, pools[data, backbone, first]] += 1
        own = joined([str(pool) for pool in sorted({pool for (*_, label), pool in pools.items() if label == METHOD})])
        who = joined([f"{label} with a pool of {pool} in {count}" for (label, pool), count in strongest.most_common()])
        return f"The strongest other in {strongest.total()} cells is {who}; {METHOD} has {own}."

    return reason


def where_it_stopped(first: str, second: str) -> Reason:
    """The ablation's difference read at the epoch where training stopped."""

    def reason(evidence: Evidence) -> str:
        tests = {}
        for one in evidence.design.pair_sets:
            methods = evidence.methods("table3", one.folder, RECALL, "last")
            tests[f"on {one.name}"] = methods[first].minus(methods[second])
        return f"Read where training stopped, the difference in Recall@20 is {_tested(tests)}."

    return reason


def more_strength(evidence: Evidence) -> str:
    """SAHC-NS against strengths from U(0, 1): those from U(0, λmax) are also the smaller ones, so both may be the cause."""
    tests = {}
    for one in evidence.design.pair_sets:
        for metric in AT_20:
            methods = evidence.methods("table3", one.folder, metric)
            tests[f"in {NAMES[metric]} on {one.name}"] = methods[METHOD].minus(methods[WIDE])
    return (
        "U(0, λmax) is also less strength than HC gives most pools. Over strengths from U(0, 1) SAHC-NS is "
        f"{_tested(tests)}."
    )


def _tested(tests: Mapping[str, Paired]) -> str:
    """`+0.05 on Amazon-toys (not resolved)`; Holm over all of them."""
    ps = holm([one.p for one in tests.values()])
    return joined(
        [
            f"{points(one)} {where} ({'not ' * (resolved(one, p) == 'not resolved')}resolved)"
            for (where, one), p in zip(tests.items(), ps, strict=True)
        ]
    )


def loss_after_best(evidence: Evidence) -> str:
    """How much each method loses between its best epoch and the one where it stopped."""
    lost: dict[str, list[float]] = {}
    for one in evidence.design.sets:
        best, last = (evidence.methods("table2", one.folder, RECALL, reading) for reading in ("best", "last"))
        for label in best:
            lost.setdefault(label, []).append(best[label].percent - last[label].percent)
    order = sorted(lost, key=lambda label: fmean(lost[label]))
    phrases = ", ".join(f"{label} {number(fmean(lost[label]))}" for label in order)
    return f"Points of Recall@20 lost after the best epoch, on average over the sets: {phrases}."


def left_to_add(evidence: Evidence) -> str:
    """How far the hard samplers are above RNS on LightGCN and on SimGCL."""
    phrases = []
    for one in evidence.design.pair_sets:
        gains = []
        for part, backbone in (("table2", "lightgcn"), ("table4", "simgcl")):
            methods = evidence.methods(part, one.folder, RECALL, backbone=backbone)
            gains.append(fmean(methods[label].percent for label in SOUND_AS_PRINTED) - methods["RNS"].percent)
        phrases.append(f"{joined([number(gain, sign=True) for gain in gains])} on {one.name}")
    return (
        "Hard negatives and SimGCL's contrastive loss do part of the same work: the sound baselines minus RNS in Recall@20, "
        f"on LightGCN and on SimGCL, are {'; '.join(phrases)}."
    )


def restless_epochs(evidence: Evidence) -> str:
    """Whole epochs may move by more than what a bound leaves room for."""
    printed = [one for one in evidence.design.sets if one.printed]
    moved = [
        f"{100 * costs[0].variation:.1f} % on {one.name}"
        for one in printed
        if 100 * (costs := evidence.costs[one.folder])[0].variation > EFFICIENCY[one.like].share
    ]
    return (
        f"From round to round a whole epoch with DNS moves by more than the bounds: {joined(moved)}." if moved else ""
    )


def seconds_needed(evidence: Evidence) -> str:
    """How soon SAHC-NS comes near to its own best, beside the others."""
    phrases = []
    for one in evidence.design.sets:
        needed = pace(evidence, one.folder)
        place = list(needed).index(METHOD) + 1
        phrases.append(f"{one.name} {needed[METHOD]:.1f} s (place {place} of {len(needed)})")
    return f"Until SAHC-NS has {100 * NEAR:.0f} % of its own best on validation: {', '.join(phrases)}."


Kinds = Mapping[str, Callable[[Settings], bool]]
BETAS: Kinds = {"β up to 1": lambda own: own["beta"] <= 1, "β above 5": lambda own: own["beta"] > 5}
SCHEDULES: Kinds = {
    "α fixed at 1": lambda own: own["schedule"] == "fixed" and own["alpha"] == 1,
    "rising": lambda own: own["schedule"] == "warmup",
    "fixed below 1": lambda own: own["schedule"] == "fixed" and own["alpha"] < 1,
}


def searched(words: str, sampler: str, kinds: Kinds) -> Reason:
    """The best of the search for some kinds of settings: `Amazon-toys 11.59, 13.43`."""

    def reason(evidence: Evidence) -> str:
        phrases = []
        for one in evidence.design.sets:
            trials = evidence.searches[one.folder].complete(sampler) if one.folder in evidence.searches else []
            values = [
                [100 * (trial.value or 0.0) for trial in trials if kind(trial.settings)] for kind in kinds.values()
            ]
            if all(values):
                phrases.append(f"{one.name} {', '.join(number(max(reached)) for reached in values)}")
        return (
            f"{words} Best Recall@20 on validation with {', '.join(kinds)}: {'; '.join(phrases) or 'not searched yet'}."
        )

    return reason


def curve_and_seeds(argument: str) -> Reason:
    """How much Fig. 4's curves move from one value to the next, beside how much seeds do."""

    def reason(evidence: Evidence) -> str:
        phrases = []
        for one in evidence.design.pair_sets:
            curve = [own for _, own in sorted(evidence.sweep(one.folder, argument, RECALL).items())]
            steps = [abs(after.percent - before.percent) for before, after in pairwise(curve)]
            phrases.append(f"{median(steps):.2f} and {median(100 * own.std for own in curve):.2f} on {one.name}")
        return f"The paper prints no numbers. Median step to the next value and std over seeds: {', '.join(phrases)}."

    return reason


def other_gaps(evidence: Evidence) -> str:
    """Fig. 1(a): the nearest of all normalisers and ages of the model, the same on every set."""
    sets = _read_sets(evidence)

    def distance(how: tuple[str, int]) -> float:
        gaps = [(readings[how[1]].gaps[how[0]], FIGURE_1A[one.like]) for one, readings in sets]
        return fmean(
            abs(100 * share - theirs)
            for gap, (near, far) in gaps
            for share, theirs in ((gap.near, near), (gap.far, far))
        )

    ages = set.intersection(*(set(readings) for _, readings in sets))
    tried = [(name, age) for age in sorted(ages) for name in sets[0][1][age].gaps]
    name, age = min(tried, key=distance)
    how = name.removeprefix("none, ") if name.startswith("none, ") else f"divided by {name}"
    return (
        f"What a gap is divided by, and when in training, is not said. The nearest of {len(tried)} readings (gaps {how}, after "
        f"{age} epochs) is {distance((name, age)):.1f} points away."
    )


def other_ages(evidence: Evidence) -> str:
    """Fig. 1(b): the age of the model whose shares are nearest to the printed ones."""
    phrases = []
    for one, readings in _read_sets(evidence):
        shares = {
            age: (100 * (reading.over_020 or 0.0), 100 * (reading.over_050 or 0.0)) for age, reading in readings.items()
        }
        age = min(shares, key=lambda age: max(0.0, FIGURE_1B[0] - shares[age][0]) + abs(shares[age][1] - FIGURE_1B[1]))
        phrases.append(f"{one.name} {shares[age][0]:.0f} % and {shares[age][1]:.0f} % after {age}")
    return f"Scores grow during training, so 0.01 means something else in another epoch. The nearest: {'; '.join(phrases)}."


def other_choices(evidence: Evidence) -> str:
    """Fig. 5(a): the α, and the age of the model, that come nearest to the printed rise."""
    phrases = []
    for one, readings in _read_sets(evidence):
        tried = [
            (abs(100 * chosen.sigma - FIGURE_5A[one.like]), alpha, age, 100 * chosen.sigma, 100 * chosen.mu)
            for age, reading in readings.items()
            for alpha, chosen in reading.choices.items()
            if chosen.sigma is not None and chosen.mu is not None
        ]
        _, alpha, age, sigma, mu = min(tried)
        kept = "" if hardness_kept(mu) else f", outside the {MEAN_HARDNESS} %"
        phrases.append(f"{one.name} α = {alpha} after {age} epochs, σ {sigma:+.1f} %, μ {mu:+.1f} %{kept}")
    return f"Neither α nor the model is said, and both decide. The nearest: {'; '.join(phrases)}."


def too_hard(evidence: Evidence) -> str:
    """Where negatives of hard pools end above their positives."""
    places = []
    for (data, trained), inspection in evidence.inspections.items():
        hard = inspection.diagnostics[METHOD].mixing.hard
        if hard.after < 0 <= hard.before:
            places.append(f"{evidence.design.data(data).name}, {MODELS[trained]}")
    words = "In hard pools the negative ends above the positive on average, which HC is meant to avoid"
    return f"{words}: {joined(places)}." if places else ""


def _read_sets(evidence: Evidence) -> list[tuple[DataSet, dict[int, PoolReadings]]]:
    """The sets that the paper prints numbers for, with their models of several ages."""
    sets = [(one, evidence.readings[one.folder]) for one in evidence.design.pair_sets if one.printed]
    if not sets:
        raise NotRun("models of several ages")
    return sets
