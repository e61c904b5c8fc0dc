"""Why a claim may come out otherwise: one sentence each, made from the runs, so that it cannot outlive them."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import fmean, median

from reproduction.design import DataSet
from reproduction.evidence import Evidence, NotRun, Place
from reproduction.experiments import WIDE
from reproduction.measurements import MODELS
from reproduction.methods import AT_20, FAMILY, METHOD, METRICS, NAMES, NINE, RECALL, SOUND_AS_PRINTED, Settings
from reproduction.published import EFFICIENCY, FIGURE_1A, FIGURE_1B, FIGURE_5A, MEAN_HARDNESS, hardness_kept
from reproduction.readings import PoolReadings
from reproduction.scores import points, stars
from sahcns import Result
from sahcns.lab import Paired, joined, number

NEAR = 0.99  # of a run's best, which is as good as reached
Reason = Callable[[Evidence], str]


def strongest_rivals(evidence: Evidence, part: str, own: str = METHOD) -> str:
    """Who is strongest in how many cells, and with which pool."""
    pools = {(row.data, row.label): int(runs[min(runs)].sampler["pool"]) for row, runs in evidence.runs[part]}
    strongest: Counter[tuple[str, int]] = Counter()
    for (place, _), methods in evidence.cells(evidence.places(part), AT_20 if part == "table4" else METRICS).items():
        first = max((one for one in methods if one not in (own, FAMILY)), key=lambda one: methods[one].mean)
        strongest[first, pools[place.data, first]] += 1
    who = joined([f"{label} with a pool of {pool} in {count}" for (label, pool), count in strongest.most_common()])
    its = joined([str(pool) for pool in sorted({pool for (_, label), pool in pools.items() if label == own})])
    return f"The strongest other in {strongest.total()} cells is {who}; {own} has {its}."


def where_it_stopped(evidence: Evidence, one: str, other: str) -> str:
    """The ablation's difference read at the epoch where training stopped."""
    tests = {}
    for place in evidence.places("table3", "last"):
        methods = evidence.methods(place, RECALL)
        tests[f"on {evidence.name(place)}"] = methods[one].minus(methods[other])
    return f"Read where training stopped, the difference in Recall@20 is {_tested(tests)}."


def more_strength(evidence: Evidence) -> str:
    """SAHC-NS against strengths from U(0, 1): those from U(0, λmax) are also the smaller ones, so both may be the cause."""
    tests = {
        f"in {NAMES[metric]} on {evidence.name(place)}": methods[METHOD].minus(methods[WIDE])
        for (place, metric), methods in evidence.cells(evidence.places("table3"), AT_20).items()
    }
    words = "U(0, λmax) is also less strength than HC gives most pools. Over strengths from U(0, 1) SAHC-NS is"
    return f"{words} {_tested(tests)}."


def _tested(tests: Mapping[str, Paired]) -> str:
    """`+0.05 on Amazon-toys (not resolved)`; Holm over all of them."""
    marks = stars(tests)
    return joined([f"{points(one)} {where} ({'' if marks[where] else 'not '}resolved)" for where, one in tests.items()])


def loss_after_best(evidence: Evidence) -> str:
    """How much each method loses between its best epoch and the one where it stopped."""
    places = [
        (evidence.methods(place, RECALL), evidence.methods(place._replace(reading="last"), RECALL))
        for place in evidence.places("table2")
    ]
    lost = {label: fmean(best[label].percent - last[label].percent for best, last in places) for label in NINE}
    phrases = ", ".join(f"{label} {number(lost[label])}" for label in sorted(lost, key=lost.__getitem__))
    return f"Points of Recall@20 lost after the best epoch, on average over the sets: {phrases}."


def left_to_add(evidence: Evidence) -> str:
    """How far the hard samplers are above RNS on LightGCN and on SimGCL."""
    phrases = []
    for one in evidence.design.pair_sets:
        gains = []
        for place in (Place("table2", one.folder), Place("table4", one.folder, "simgcl")):
            methods = evidence.methods(place, RECALL)
            gains.append(fmean(methods[label].percent for label in SOUND_AS_PRINTED) - methods["RNS"].percent)
        phrases.append(f"{joined([number(gain, sign=True) for gain in gains])} on {one.name}")
    return (
        "Hard negatives and SimGCL's contrastive loss do part of the same work: the sound baselines minus RNS in Recall@20, "
        f"on LightGCN and on SimGCL, are {'; '.join(phrases)}."
    )


def restless_epochs(evidence: Evidence) -> str:
    """Whole epochs may move by more than what a bound leaves room for."""
    printed = [(one, 100 * evidence.costs[one.folder][0].variation) for one in evidence.design.sets if one.printed]
    moved = [f"{share:.1f} % on {one.name}" for one, share in printed if share > EFFICIENCY[one.like].share]
    words = "From round to round a whole epoch with DNS moves by more than the bounds"
    return f"{words}: {joined(moved)}." if moved else ""


def pace(evidence: Evidence, data: str) -> dict[str, float]:
    """Method → seconds until a run has come near to its own best, on average; the quickest first."""

    def seconds(run: Result) -> float:
        looks = run.history["looks"][RECALL]
        return run.look_seconds[next(at for at, value in enumerate(looks) if value >= NEAR * max(looks))]

    needed = {label: fmean(map(seconds, runs.values())) for label, runs in evidence.timed(data).items()}
    return dict(sorted(needed.items(), key=lambda one: one[1]))


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


def searched(evidence: Evidence, words: str, sampler: str, kinds: Kinds) -> str:
    """The best of the search for some kinds of settings: `Amazon-toys 11.59, 13.43`."""
    phrases = []
    for one in evidence.design.sets:
        trials = evidence.searches[one.folder].complete(sampler) if one.folder in evidence.searches else []
        values = [[100 * (trial.value or 0.0) for trial in trials if kind(trial.settings)] for kind in kinds.values()]
        if all(values):
            phrases.append(f"{one.name} {', '.join(number(max(reached)) for reached in values)}")
    reached = f"Best Recall@20 on validation with {', '.join(kinds)}: {'; '.join(phrases)}."
    return f"{words} {reached}" if phrases else words


def curve_and_seeds(evidence: Evidence, argument: str) -> str:
    """How much Fig. 4's curves move from one value to the next, beside how much seeds do."""
    phrases = []
    for one in evidence.design.pair_sets:
        curve = [own for _, own in sorted(evidence.sweep(one.folder, argument).items())]
        steps = [abs(after.percent - before.percent) for before, after in pairwise(curve)]
        phrases.append(f"{median(steps):.2f} and {median(own.spread for own in curve):.2f} on {one.name}")
    return f"The paper prints no numbers. Median step to the next value and std over seeds: {', '.join(phrases)}."


def other_gaps(evidence: Evidence) -> str:
    """Fig. 1(a): the nearest of all normalisers and ages of the model, the same on every set."""
    away: dict[tuple[int, str], list[float]] = {}
    for one, age, read in _readings(evidence):
        for name, shares in read["gaps"].items():
            pairs = zip(shares.values(), FIGURE_1A[one.like], strict=True)
            away.setdefault((age, name), []).extend(abs(100 * share - theirs) for share, theirs in pairs)
    everywhere = max(map(len, away.values()))
    tried = {how: fmean(gaps) for how, gaps in away.items() if len(gaps) == everywhere}
    age, name = min(tried, key=lambda how: tried[how])
    how = name.removeprefix("none, ") if name.startswith("none, ") else f"divided by {name}"
    return (
        f"What a gap is divided by, and when in training, is not said. The nearest of {len(tried)} readings (gaps {how}, after "
        f"{age} epochs) is {tried[age, name]:.1f} points away."
    )


def other_ages(evidence: Evidence) -> str:
    """Fig. 1(b): the age of the model whose shares are nearest to the printed ones."""
    most, quarter = FIGURE_1B
    tried: dict[str, list[tuple[float, str]]] = {}
    for one, age, read in _readings(evidence):
        many, some = 100 * (read["over_020"] or 0.0), 100 * (read["over_050"] or 0.0)
        away = max(0.0, most - many) + abs(some - quarter)
        tried.setdefault(one.name, []).append((away, f"{one.name} {many:.0f} % and {some:.0f} % after {age}"))
    nearest = "; ".join(min(own)[1] for own in tried.values())
    return f"Scores grow during training, so 0.01 means something else in another epoch. The nearest: {nearest}."


def other_choices(evidence: Evidence) -> str:
    """Fig. 5(a): the α, and the age of the model, that come nearest to the printed rise."""
    tried: dict[str, list[tuple[float, str]]] = {}
    for one, age, read in _readings(evidence):
        for alpha, change in read["choices"].items():
            sigma, mu = (100 * (value or 0.0) for value in change.values())
            kept = "" if hardness_kept(mu) else f", outside the {MEAN_HARDNESS} %"
            words = f"{one.name} α = {alpha} after {age} epochs, σ {sigma:+.1f} %, μ {mu:+.1f} %{kept}"
            tried.setdefault(one.name, []).append((abs(sigma - FIGURE_5A[one.like]), words))
    nearest = "; ".join(min(own)[1] for own in tried.values())
    return f"Neither α nor the model is said, and both decide. The nearest: {nearest}."


def too_hard(evidence: Evidence) -> str:
    """Where negatives of hard pools end above their positives."""
    hard = {place: seen.diagnostics[METHOD].mixing.hard for place, seen in evidence.inspections.items()}
    places = [
        f"{evidence.design.data(data).name}, {MODELS[trained]}"
        for (data, trained), group in hard.items()
        if group.after < 0 <= group.before
    ]
    words = "In hard pools the negative ends above the positive on average, which HC is meant to avoid"
    return f"{words}: {joined(places)}." if places else ""


def _readings(evidence: Evidence) -> list[tuple[DataSet, int, PoolReadings]]:
    """Models of several ages on the sets that the paper prints numbers for."""
    sets = [one for one in evidence.design.pair_sets if one.printed]
    readings = [(one, age, read) for one in sets for age, read in sorted(evidence.readings[one.folder].items())]
    if not readings:
        raise NotRun("models of several ages")
    return readings
