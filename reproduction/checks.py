"""Claims about who is better than whom, checked against the runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from reproduction.evidence import Evidence
from reproduction.methods import METHOD, SOUND_AS_PRINTED, UNTUNED
from reproduction.published import PrintedNumbers, printed_2, printed_3, printed_4
from reproduction.scores import AT_20, METRICS, NAMES, READINGS, RECALL, Scores, joined, number
from reproduction.seconds import scores_so_far
from reproduction.verdicts import (
    UNRESOLVED,
    Compared,
    Instance,
    Race,
    Verdict,
    above,
    first,
    missing,
    resolved,
    seeds_and_p,
)
from sahcns.lab import holm, paired_t

ARGUMENTS = {"alpha": "α", "lambda_max": "λmax", "pool": "N"}
SIDES: Mapping[Verdict, str] = {"holds": "resolved for", "does not hold": "resolved the other way for"}

Check = Callable[[Evidence], list[Instance]]


def best_of_nine(reading: str = "best", part: str = "table2") -> Check:
    """SAHC-NS against the strongest other, on each set and in each metric."""

    def check(evidence: Evidence) -> list[Instance]:
        design = evidence.design
        cells: list[Race] = []
        few: dict[str, str] = {}
        for one in map(design.data, design.powered) if part == "power" else design.sets:
            numbers = printed_2(one.like) if part == "table2" and one.printed else {}
            found = _races(evidence, part, one.folder, "lightgcn", METRICS, reading, numbers)
            least = design.seeds if part == "power" else 0
            cells += [race if _seeds(race) > least else replace(race, rivals={}) for race in found]
            wanted = {row.label for row in evidence.rows(part) if row.data == one.folder} - {UNTUNED}
            there = len(evidence.methods(part, one.folder, RECALL))
            few |= {cell.where: f"{there} of {len(wanted)} methods run" for cell in found if there < len(wanted)}
        return _open(first(cells), few)

    return check


def best_on_backbones(evidence: Evidence) -> list[Instance]:
    """SAHC-NS against the strongest other on NGCF and SimGCL."""
    cells = []
    for backbone in ("ngcf", "simgcl"):
        for one in evidence.design.pair_sets:
            numbers = printed_4(backbone, one.like) if one.printed else {}
            cells += _races(evidence, "table4", one.folder, backbone, AT_20, "best", numbers, f"{backbone}, ")
    return first(cells)


def better(first: str, second: str) -> Check:
    """One method against another, in the ablation's five seeds and in the many.

    Many seeds count where they are more than those of Table II; the paper's claim does not wait for them.
    """

    def check(evidence: Evidence) -> list[Instance]:
        design, cells = evidence.design, []
        for one in design.pair_sets:
            numbers = printed_3(one.like) if one.printed else {}
            cells += [_pair(evidence, "table3", one.folder, first, second, metric, numbers) for metric in AT_20]
        for folder in design.powered:
            many = [_pair(evidence, "power", folder, first, second, metric, {}, ", many seeds") for metric in AT_20]
            cells += [one for one in many if one.paired is not None and one.paired.n > design.seeds]
        return above(cells)

    return check


def trains(method: str) -> Check:
    """A method against RNS in Table II, on the sets where the paper prints it above."""

    def check(evidence: Evidence) -> list[Instance]:
        cells = []
        for one in evidence.design.sets:
            numbers = printed_2(one.like) if one.printed else {}
            if not numbers or numbers[method, RECALL][0] > numbers["RNS", RECALL][0]:
                cells.append(_pair(evidence, "table2", one.folder, method, "RNS", RECALL, numbers))
        return above(cells)

    return check


def best_epoch_is_what_is_printed(evidence: Evidence) -> list[Instance]:
    """Whether the printed numbers of the hard samplers are nearer to the best validation epoch than to the last.

    Metric by metric, since an average over them may hide that they disagree. Tested over seeds: how far each of them
    alone is away under either reading.
    """
    own = [one for one in evidence.design.sets if one.printed and one.same]
    places = {(one.folder, metric): f"{one.name}, {NAMES[metric]}" for one in own for metric in METRICS}
    told, tests = {}, {}
    for (folder, metric), where in places.items():
        gaps = distance_from_print(evidence, folder, metrics=(metric,))
        if not gaps:
            continue
        methods = evidence.methods("table2", folder, metric)
        shared = sorted(set.intersection(*(set(methods[one].values) for one in SOUND_AS_PRINTED if one in methods)))
        away = [distance_from_print(evidence, folder, metrics=(metric,), seed=seed) for seed in shared]
        told[where] = ", ".join(f"{READINGS[reading]}: {number(gap)} points away" for reading, gap in gaps.items())
        tests[where] = paired_t([each["last"] for each in away], [each["best"] for each in away])
    found = {
        where: Instance(where, "–", f"{told[where]} ({seeds_and_p(test, p)})", resolved(test, p))
        for (where, test), p in zip(tests.items(), holm([test.p for test in tests.values()]), strict=True)
    }
    return [found.get(where, missing(where, "–")) for where in places.values()]


def distance_from_print(
    evidence: Evidence,
    data: str,
    methods: Sequence[str] = SOUND_AS_PRINTED,
    metrics: Sequence[str] = METRICS,
    seed: int | None = None,
) -> dict[str, float]:
    """Reading → mean |ours − paper| in points over some methods and metrics of Table II, on the paper's own data.

    Ours are means over seeds, or those of one seed.
    """
    one = evidence.design.data(data)
    printed = printed_2(one.like) if one.printed and one.same else {}
    gaps: dict[str, list[float]] = {reading: [] for reading in READINGS}
    for reading, found in gaps.items():
        for metric in metrics:
            ours = evidence.methods("table2", data, metric, reading)
            for method in methods:
                if method in ours and printed:
                    mean = ours[method].mean if seed is None else ours[method].values[seed]
                    found.append(abs(100 * mean - printed[method, metric][0]))
    return {reading: fmean(found) for reading, found in gaps.items() if found}


def moderate(argument: str) -> Check:
    """The inner value of a grid that is best on validation against both of its ends."""

    def check(evidence: Evidence) -> list[Instance]:
        cells = []
        grid = evidence.design.pools if argument == "pool" else evidence.design.grid
        for one in evidence.design.pair_sets:
            found = evidence.sweep(one.folder, argument, RECALL)
            validation = evidence.sweep(one.folder, argument, RECALL, of="valid")
            inner = [value for value in grid[1:-1] if value in found]
            best = max(inner, key=lambda value: validation[value].mean, default=math.nan)
            for end in (grid[0], grid[-1]):
                where = f"{one.name}, {ARGUMENTS[argument]} against {end:g}"
                if len(inner) < len(grid) - 2 or end not in found:
                    cells.append(Compared(where, "moderate is best", "", None))
                    continue
                who = f"{best:g} gives {found[best]}, {end:g} {found[end]}"
                cells.append(Compared(where, "moderate is best", who, found[best].minus(found[end])))
        return above(cells)

    return check


def soon(evidence: Evidence) -> list[Instance]:
    """At the time when SAHC-NS has its best epoch: its Recall@20 on validation against that of the others so far."""
    races = []
    for one in evidence.design.sets:
        when, then = scores_so_far(evidence, one.folder)
        before = f"after {when:.1f} s " if then else ""
        races.append(_race(one.name, "better within a short time", then, before))
    return first(races)


def first_on_splits(evidence: Evidence) -> list[Instance]:
    """SAHC-NS against RNS, DNS and MixGCF on each random split."""
    return first(
        [
            _race(f"{one.name}, {NAMES[RECALL]}", "–", evidence.methods("splits", one.folder, RECALL))
            for one in evidence.design.resplits
        ]
    )


def stronger_backbones(evidence: Evidence) -> list[Instance]:
    """For how many of the nine methods SimGCL is above LightGCN, over the seeds that both were run with.

    Holds where more than half are and are resolved, fails where as many are below; Holm over all methods and sets.
    """
    tests = {}
    for one in evidence.design.pair_sets:
        base = evidence.methods("table2", one.folder, RECALL)
        strong = evidence.methods("table4", one.folder, RECALL, backbone="simgcl")
        for method in strong.keys() & base.keys():
            if (paired := strong[method].minus(base[method])).n:
                tests[one.folder, method] = paired
    ps = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    found = []
    for one in evidence.design.pair_sets:
        paper = "–"
        if one.printed:
            base_numbers, strong_numbers = printed_2(one.like), printed_4("simgcl", one.like)
            more = sum(strong_numbers[key][0] > base_numbers[key][0] for key in strong_numbers if key[1] == RECALL)
            paper = f"{more} of {len(strong_numbers) // 2} methods"
        methods = [
            method
            for method in evidence.methods("table4", one.folder, RECALL, backbone="simgcl")
            if (one.folder, method) in tests
        ]
        where = f"{one.name}, SimGCL over LightGCN in Recall@20"
        if not methods:
            found.append(missing(where, paper))
            continue
        sides: dict[Verdict, list[str]] = {"holds": [], "does not hold": [], UNRESOLVED: []}
        for method in methods:
            sides[resolved(tests[one.folder, method], ps[one.folder, method])].append(method)
        most = max(sides, key=lambda side: len(sides[side]))
        verdict: Verdict = most if len(sides[most]) > len(methods) / 2 else UNRESOLVED
        more = sum(tests[one.folder, method].difference > 0 for method in methods)
        told = [f"; {words} {joined(sides[side])}" for side, words in SIDES.items() if sides[side]]
        found.append(Instance(where, paper, f"{more} of {len(methods)} methods{''.join(told)}", verdict))
    return found


def _races(
    evidence: Evidence,
    part: str,
    data: str,
    backbone: str,
    metrics: Sequence[str],
    reading: str,
    numbers: PrintedNumbers,
    before: str = "",
) -> list[Race]:
    name = evidence.design.data(data).name
    return [
        _race(
            f"{before}{name}, {NAMES[metric]}",
            _printed_lead(numbers, metric),
            evidence.methods(part, data, metric, reading, backbone),
        )
        for metric in metrics
    ]


def _race(where: str, paper: str, methods: Mapping[str, Scores], before: str = "") -> Race:
    """No race without SAHC-NS, or without a rival that shares its seeds.

    Runs that stand in two rows are one rival: HC-only and SAHC w/o Discrepancy.
    """
    own = methods.get(METHOD)
    rivals, known = {}, list[Mapping[int, float]]()
    for method, scores in methods.items():
        if own is not None and method != METHOD and scores.values not in known and (paired := own.minus(scores)).n:
            rivals[f"{method} {scores}"] = paired
            known.append(scores.values)
    # The strongest first, over the seeds that both have.
    order = sorted(rivals, key=lambda name: (math.isnan(rivals[name].difference), rivals[name].difference))
    return Race(
        where, paper, f"{before}{METHOD} {own}" if own is not None else "", {name: rivals[name] for name in order}
    )


def _seeds(race: Race) -> int:
    return min((paired.n for paired in race.rivals.values()), default=0)


def _open(instances: Sequence[Instance], few: Mapping[str, str]) -> list[Instance]:
    """The best of some of the methods may not be the best of all."""
    return [
        replace(
            one, verdict=UNRESOLVED if one.verdict == "holds" else one.verdict, ours=f"{one.ours}; {few[one.where]}"
        )
        if one.where in few and one.verdict != "not run yet"
        else one
        for one in instances
    ]


def _pair(
    evidence: Evidence,
    part: str,
    data: str,
    first: str,
    second: str,
    metric: str,
    numbers: PrintedNumbers,
    after: str = "",
) -> Compared:
    where, paper = f"{evidence.design.data(data).name}{after}, {NAMES[metric]}", "–"
    if (first, metric) in numbers:
        a, b = numbers[first, metric][0], numbers[second, metric][0]
        paper = f"{first} {number(a)}, {second} {number(b)}: {number(a - b, sign=True)}"
    methods = evidence.methods(part, data, metric)
    if first not in methods or second not in methods:
        return Compared(where, paper, "", None)
    who = f"{first} {methods[first]}, {second} {methods[second]}"
    return Compared(where, paper, who, methods[first].minus(methods[second]))


def _printed_lead(numbers: PrintedNumbers, metric: str) -> str:
    if not numbers:
        return "–"
    own = numbers[METHOD, metric][0]
    rival = max((key for key in numbers if key[1] == metric and key[0] != METHOD), key=lambda key: numbers[key][0])
    other = numbers[rival][0]
    return f"{METHOD} {number(own)}, {rival[0]} {number(other)}: {number(own - other, sign=True)}"
