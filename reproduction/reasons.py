"""Why a claim may come out otherwise: one sentence each, made from the runs, so that it cannot outlive them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from statistics import fmean, median

from reproduction.design import DataSet
from reproduction.evidence import Evidence
from reproduction.experiments import WIDE
from reproduction.mechanism_checks import MODELS
from reproduction.methods import METHOD, RIVALS, SOUND_AS_PRINTED, Settings
from reproduction.published import EFFICIENCY, FIGURE_1A, FIGURE_1B, FIGURE_5A, MEAN_HARDNESS, hardness_kept
from reproduction.scores import AT_20, METRICS, NAMES, RECALL, joined, number, points
from reproduction.seconds import NEAR, pace
from reproduction.verdicts import resolved
from sahcns.lab import PoolReadings, holm

Reason = Callable[[Evidence], str]
UNTESTED = "Not tested yet."
MUCH = 0.3  # points of Recall@20, what a reason need not name is below it


def strongest_rivals(part: str) -> Reason:
    """Who is strongest in how many cells, and with which pool."""

    def reason(evidence: Evidence) -> str:
        pools = {
            (row.data, row.backbone["name"], row.label): int(runs[min(runs)].sampler["pool"])
            for row, runs in evidence.runs(part)
        }
        strongest: Counter[tuple[str, int]] = Counter()
        own = set[int]()
        for data, backbone in dict.fromkeys((data, backbone) for data, backbone, _ in pools):
            for metric in AT_20 if part == "table4" else METRICS:
                methods = evidence.methods(part, data, metric, backbone=backbone)
                rivals = [label for label in methods if label != METHOD]
                if METHOD in methods and rivals:
                    first = max(rivals, key=lambda label: methods[label].mean)
                    strongest[first, pools[data, backbone, first]] += 1
                    own.add(pools[data, backbone, METHOD])
        if not strongest:
            return ""
        who = [f"{label} with a pool of {pool} in {count}" for (label, pool), count in strongest.most_common()]
        cells = sum(strongest.values())
        return f"The strongest other in {cells} cells is {joined(who)}; {METHOD} has {joined([str(n) for n in sorted(own)])}."

    return reason


def where_it_stopped(first: str, second: str) -> Reason:
    """The ablation's difference read at the epoch where training stopped."""

    def reason(evidence: Evidence) -> str:
        tests = {}
        for one in evidence.design.pair_sets:
            methods = evidence.methods("table3", one.folder, RECALL, "last")
            if first in methods and second in methods and (paired := methods[first].minus(methods[second])).n:
                tests[one.name] = paired
        ps = holm([paired.p for paired in tests.values()])
        told = [
            f"{points(paired)} on {name} ({'not ' * (resolved(paired, p) == 'not resolved')}resolved)"
            for (name, paired), p in zip(tests.items(), ps, strict=True)
        ]
        return f"Read where training stopped, the difference in Recall@20 is {joined(told)}." if told else ""

    return reason


def more_strength(evidence: Evidence) -> str:
    """SAHC-NS against strengths from U(0, 1): those from U(0, λmax) are also the smaller ones, so both may be the cause."""
    tests = {}
    for one in evidence.design.pair_sets:
        for metric in AT_20:
            methods = evidence.methods("table3", one.folder, metric)
            if METHOD in methods and WIDE in methods and (paired := methods[METHOD].minus(methods[WIDE])).n:
                tests[one.name, metric] = paired
    ps = holm([paired.p for paired in tests.values()])
    told = [
        f"{points(paired)} in {NAMES[metric]} on {name} ({'not ' * (resolved(paired, p) == 'not resolved')}resolved)"
        for ((name, metric), paired), p in zip(tests.items(), ps, strict=True)
    ]
    start = "U(0, λmax) is also less strength than HC gives most pools."
    return f"{start} Over strengths from U(0, 1) SAHC-NS is {joined(told)}." if told else start


def loss_after_best(evidence: Evidence) -> str:
    """How much each method loses between its best epoch and the one where it stopped."""
    lost: dict[str, list[float]] = {}
    for one in evidence.design.sets:
        best, last = (evidence.methods("table2", one.folder, RECALL, reading) for reading in ("best", "last"))
        for label in best:
            lost.setdefault(label, []).append(best[label].percent - last[label].percent)
    means = {label: fmean(falls) for label, falls in lost.items()}
    told = ", ".join(f"{label} {number(means[label])}" for label in sorted(means, key=lambda label: means[label]))
    return f"Points of Recall@20 lost after the best epoch, on average over the sets: {told}." if told else ""


def left_to_add(evidence: Evidence) -> str:
    """How far the hard samplers are above RNS on LightGCN and on SimGCL."""
    told = []
    for one in evidence.design.pair_sets:
        boards = (
            evidence.methods("table2", one.folder, RECALL),
            evidence.methods("table4", one.folder, RECALL, backbone="simgcl"),
        )
        if all({"RNS", *SOUND_AS_PRINTED} <= board.keys() for board in boards):
            gains = [
                fmean(board[label].percent for label in SOUND_AS_PRINTED) - board["RNS"].percent for board in boards
            ]
            told.append(f"{joined([number(gain, sign=True) for gain in gains])} on {one.name}")
    start = "Hard negatives and SimGCL's contrastive loss do part of the same work"
    if not told:
        return f"{start}."
    return (
        f"{start}: the sound baselines minus RNS, on LightGCN and on SimGCL, are {'; '.join(told)} points of Recall@20."
    )


def restless_epochs(evidence: Evidence) -> str:
    """Our share of an epoch may be the larger one, or epochs may move by more than what a bound leaves room for."""
    timed = [(one, evidence.costs[one.folder]) for one in evidence.design.sets if evidence.costs.get(one.folder)]
    larger = [
        one.name
        for one, costs in timed
        if one.printed and round(100 * costs[-1].extra_share, 2) > EFFICIENCY[one.like].share
    ]
    moved = [
        f"{100 * costs[0].variation:.1f} % on {one.name}"
        for one, costs in timed
        if one.printed and 100 * costs[0].variation > EFFICIENCY[one.like].share
    ]
    told = [f"On {joined(larger)} the same work is a larger share of a much shorter epoch."] * bool(larger)
    told += [f"From round to round a whole epoch with DNS moves by more than the bounds: {joined(moved)}."] * bool(
        moved
    )
    return " ".join(told)


def seconds_needed(evidence: Evidence) -> str:
    """How soon SAHC-NS comes near to its own best, beside the others."""
    told = []
    for one in evidence.design.sets:
        needed = pace(evidence, one.folder)
        if METHOD in needed:
            place = list(needed).index(METHOD) + 1
            told.append(f"{one.name} {needed[METHOD]:.1f} s (place {place} of {len(needed)})")
    return f"Until SAHC-NS has {100 * NEAR:.0f} % of its own best on validation: {', '.join(told)}." if told else ""


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
        told = []
        for one in evidence.design.sets:
            search = evidence.searches.get(one.folder)
            trials = [] if search is None else search.complete(sampler)
            best = [
                max((100 * (trial.value or 0.0) for trial in trials if kind(trial.settings)), default=None)
                for kind in kinds.values()
            ]
            if None not in best:
                told.append(f"{one.name} {', '.join(number(value or 0.0) for value in best)}")
        tested = f"Best Recall@20 on validation with {', '.join(kinds)}: {'; '.join(told)}." if told else UNTESTED
        return f"{words} {tested}"

    return reason


def tuning_gain(evidence: Evidence) -> str:
    """What the others gain by tuning and an equal pool."""
    told = []
    for one in evidence.design.sets:
        after, before = (evidence.methods(part, one.folder, RECALL) for part in ("equal", "table2"))
        labels = [row.label for row in evidence.rows("equal") if row.sampler and row.sampler["name"] in RIVALS]
        gains = {
            label: after[label].percent - before[label].percent
            for label in dict.fromkeys(labels)
            if label in after and label in before
        }
        ordered = sorted((label for label in gains if abs(gains[label]) >= MUCH), key=lambda label: -gains[label])
        if ordered:
            told.append(f"{one.name} {', '.join(f'{label} {number(gains[label], sign=True)}' for label in ordered)}")
    return f"Tuning and an equal pool move Recall@20 most for {'; '.join(told)}." if told else ""


def curve_and_seeds(argument: str) -> Reason:
    """How much Fig. 4's curves move from one value to the next, beside how much seeds do."""

    def reason(evidence: Evidence) -> str:
        told = []
        for one in evidence.design.pair_sets:
            found = [own for _, own in sorted(evidence.sweep(one.folder, argument, RECALL).items())]
            steps = [abs(after.percent - before.percent) for before, after in pairwise(found)]
            spreads = [100 * own.std for own in found if own.n > 1]
            if steps and spreads:
                told.append(f"{median(steps):.2f} and {median(spreads):.2f} on {one.name}")
        words = "The paper prints no numbers."
        return (
            f"{words} Medians of the step to the next value and of the std over seeds: {', '.join(told)}."
            if told
            else words
        )

    return reason


def other_gaps(evidence: Evidence) -> str:
    """Fig. 1(a): the nearest of all normalisers and ages of the model, the same on every set."""
    sets = _read_sets(evidence)
    start = "What a gap is divided by, and when in training, is not said."
    if not sets:
        return f"{start} {UNTESTED}"

    def distance(how: tuple[str, int]) -> float:
        return fmean(gap for one, readings in sets for gap in _gap_from_print(one, readings[how[1]], how[0]))

    ages = sorted(set.intersection(*(set(readings) for _, readings in sets)))
    tried = [(name, age) for age in ages for name in sets[0][1][age].gaps]
    name, age = min(tried, key=distance)
    how = name.removeprefix("none, ") if name.startswith("none, ") else f"divided by {name}"
    return (
        f"{start} The nearest of {len(tried)} readings (gaps {how}, after {_epochs(age)}) is "
        f"{distance((name, age)):.1f} points away."
    )


def other_ages(evidence: Evidence) -> str:
    """Fig. 1(b): the age of the model whose shares are nearest to the printed ones."""
    told = []
    most, quarter = FIGURE_1B
    for one, readings in _read_sets(evidence):
        shares = {
            age: (100 * found.over_020, 100 * found.over_050)
            for age, found in readings.items()
            if found.over_020 is not None and found.over_050 is not None
        }
        if shares:
            age = min(shares, key=lambda age: max(0.0, most - shares[age][0]) + abs(shares[age][1] - quarter))
            told.append(f"{one.name} {shares[age][0]:.0f} % and {shares[age][1]:.0f} % after {_epochs(age)}")
    tested = f"The nearest: {'; '.join(told)}." if told else UNTESTED
    return f"Scores grow during training, so 0.01 means something else in another epoch. {tested}"


def other_choices(evidence: Evidence) -> str:
    """Fig. 5(a): the α, and the age of the model, that come nearest to the printed rise."""
    told = []
    for one, readings in _read_sets(evidence):
        tried = [
            (abs(100 * chosen.sigma - FIGURE_5A[one.like]), alpha, age, 100 * chosen.sigma, 100 * chosen.mu)
            for age, found in readings.items()
            for alpha, chosen in found.choices.items()
            if chosen.sigma is not None and chosen.mu is not None
        ]
        if tried:
            _, alpha, age, sigma, mu = min(tried)
            kept = "" if hardness_kept(mu) else f", outside the {MEAN_HARDNESS} %"
            told.append(f"{one.name} α = {alpha} after {_epochs(age)}, σ {sigma:+.1f} %, μ {mu:+.1f} %{kept}")
    tested = f"The nearest: {'; '.join(told)}." if told else UNTESTED
    return f"Neither α nor the model is said, and both decide. {tested}"


def too_hard(evidence: Evidence) -> str:
    """Where negatives of hard pools end above their positives."""
    found = []
    for (data, trained), seen in evidence.inspections.items():
        hard = seen.diagnostics[METHOD].mixing.hard
        if hard.after < 0 <= hard.before:
            found.append(f"{evidence.design.data(data).name}, {MODELS[trained]}")
    words = "In hard pools the negative ends above the positive on average, which HC is meant to avoid"
    return f"{words}: {joined(found)}." if found else ""


def _read_sets(evidence: Evidence) -> list[tuple[DataSet, dict[int, PoolReadings]]]:
    """The sets that the paper prints numbers for and whose models of several ages were read."""
    return [
        (one, evidence.readings[one.folder])
        for one in evidence.design.pair_sets
        if one.printed and evidence.readings.get(one.folder)
    ]


def _gap_from_print(one: DataSet, found: PoolReadings, name: str) -> Iterator[float]:
    """Points between the shares and the printed ones."""
    near, far = FIGURE_1A[one.like]
    yield abs(100 * found.gaps[name].near - near)
    yield abs(100 * found.gaps[name].far - far)


def _epochs(age: int) -> str:
    return f"{age} epoch{'s' * (age > 1)}"
