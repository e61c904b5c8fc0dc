"""Claims about who is better than whom, checked against the runs; what was not run raises `NotRun`."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from reproduction.design import DataSet
from reproduction.evidence import Evidence, NotRun
from reproduction.methods import METHOD, NINE, SOUND_AS_PRINTED, UNTUNED
from reproduction.published import PrintedNumbers, printed_2, printed_3, printed_4
from reproduction.scores import AT_20, METRICS, NAMES, READINGS, RECALL, Scores, joined, number
from reproduction.sections.figure_3 import scores_so_far
from reproduction.verdicts import UNRESOLVED, Comparison, Instance, Race, Verdict, above, first, resolved, seeds_and_p
from sahcns.lab import Paired, holm, paired_t

ARGUMENTS = {"alpha": "α", "lambda_max": "λmax", "pool": "N"}
SIDES: Mapping[Verdict, str] = {"holds": "resolved for", "does not hold": "resolved the other way for"}

Check = Callable[[Evidence], list[Instance]]


def best_of_nine(reading: str = "best", part: str = "table2") -> Check:
    """SAHC-NS against the strongest other, on each set and in each metric; of many seeds only where they are many."""

    def check(evidence: Evidence) -> list[Instance]:
        design = evidence.design
        races: list[Race] = []
        for one in design.powered_sets if part == "power" else design.sets:
            numbers = printed_2(one.like) if part == "table2" and one.printed else {}
            races += _races(evidence, part, one.folder, "lightgcn", METRICS, reading, numbers)
        if part == "power" and any(min(one.n for one in race.rivals.values()) <= design.seeds for race in races):
            raise NotRun(part)
        return first(races)

    return check


def best_on_backbones(evidence: Evidence) -> list[Instance]:
    """SAHC-NS against the strongest other on NGCF and SimGCL."""
    races = []
    for backbone in ("ngcf", "simgcl"):
        for one in evidence.design.pair_sets:
            numbers = printed_4(backbone, one.like) if one.printed else {}
            races += _races(evidence, "table4", one.folder, backbone, AT_20, "best", numbers, f"{backbone}, ")
    return first(races)


def better(first: str, second: str) -> Check:
    """One method against another, in the ablation's five seeds and in the many.

    Many seeds count where they are more than those of Table II; the paper's claim does not wait for them.
    """

    def check(evidence: Evidence) -> list[Instance]:
        design, cells = evidence.design, []
        for one in design.pair_sets:
            numbers = printed_3(one.like) if one.printed else {}
            cells += [_pair(evidence, "table3", one.folder, first, second, metric, numbers) for metric in AT_20]
        for one in design.powered_sets:
            if {first, second} <= evidence.methods("power", one.folder, RECALL).keys():
                many = [
                    _pair(evidence, "power", one.folder, first, second, metric, {}, ", many seeds") for metric in AT_20
                ]
                cells += [cell for cell in many if cell.paired.n > design.seeds]
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
    phrases, tests = {}, {}
    for one in evidence.design.sets:
        for metric in METRICS if one.printed and one.same else ():
            methods = evidence.methods("table2", one.folder, metric)
            shared = sorted(set.intersection(*(set(methods[label].values) for label in SOUND_AS_PRINTED)))
            away = [distance_from_print(evidence, one.folder, metrics=(metric,), seed=seed) for seed in shared]
            gaps = distance_from_print(evidence, one.folder, metrics=(metric,))
            where = f"{one.name}, {NAMES[metric]}"
            phrases[where] = ", ".join(
                f"{READINGS[reading]}: {number(gap)} points away" for reading, gap in gaps.items()
            )
            tests[where] = paired_t([each["last"] for each in away], [each["best"] for each in away])
    ps = holm([test.p for test in tests.values()])
    return [
        Instance(where, "–", f"{phrases[where]} ({seeds_and_p(test, p)})", resolved(test, p))
        for (where, test), p in zip(tests.items(), ps, strict=True)
    ]


def distance_from_print(
    evidence: Evidence,
    data: str,
    methods: Sequence[str] = SOUND_AS_PRINTED,
    metrics: Sequence[str] = METRICS,
    seed: int | None = None,
) -> dict[str, float]:
    """Reading → mean |ours − paper| in points over some methods and metrics of Table II.

    Ours are means over seeds, or those of one seed.
    """
    printed, distances = printed_2(evidence.design.data(data).like), {}
    for reading in READINGS:
        gaps = []
        for metric in metrics:
            ours = evidence.methods("table2", data, metric, reading)
            for label in methods:
                mean = ours[label].mean if seed is None else ours[label].values[seed]
                gaps.append(abs(100 * mean - printed[label, metric][0]))
        distances[reading] = fmean(gaps)
    return distances


def moderate(argument: str) -> Check:
    """The inner value of a grid that is best on validation against both of its ends."""

    def check(evidence: Evidence) -> list[Instance]:
        cells = []
        grid = evidence.design.pools if argument == "pool" else evidence.design.grid
        for one in evidence.design.pair_sets:
            curve = evidence.sweep(one.folder, argument, RECALL)
            validation = evidence.sweep(one.folder, argument, RECALL, of="valid")
            best = max(grid[1:-1], key=lambda value: validation[value].mean)
            for end in (grid[0], grid[-1]):
                where = f"{one.name}, {ARGUMENTS[argument]} against {end:g}"
                who = f"{best:g} gives {curve[best]}, {end:g} {curve[end]}"
                cells.append(Comparison(where, "moderate is best", who, curve[best].minus(curve[end])))
        return above(cells)

    return check


def soon(evidence: Evidence) -> list[Instance]:
    """At the time when SAHC-NS has its best epoch: its Recall@20 on validation against that of the others so far."""
    races = []
    for one in evidence.design.sets:
        when, then = scores_so_far(evidence, one.folder)
        races.append(_race(one.name, "better within a short time", then, f"after {when:.1f} s "))
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
    tests: dict[tuple[DataSet, str], Paired] = {}
    for one in evidence.design.pair_sets:
        base = evidence.methods("table2", one.folder, RECALL)
        strong = evidence.methods("table4", one.folder, RECALL, backbone="simgcl")
        tests |= {(one, label): strong[label].minus(base[label]) for label in NINE}
    verdicts = {
        key: resolved(tests[key], p) for key, p in zip(tests, holm([one.p for one in tests.values()]), strict=True)
    }
    instances = []
    for one in evidence.design.pair_sets:
        paper, labels = "–", list(NINE)
        if one.printed:
            lower, upper = printed_2(one.like), printed_4("simgcl", one.like)
            more = sum(upper[key][0] > lower[key][0] for key in upper if key[1] == RECALL)
            paper = f"{more} of {len(upper) // 2} methods"
        sides = {side: [label for label in labels if verdicts[one, label] == side] for side in SIDES}
        majority = [side for side in SIDES if len(sides[side]) > len(labels) / 2]
        more = sum(tests[one, label].difference > 0 for label in labels)
        phrases = [f"; {words} {joined(sides[side])}" for side, words in SIDES.items() if sides[side]]
        where, ours = (
            f"{one.name}, SimGCL over LightGCN in Recall@20",
            f"{more} of {len(labels)} methods{''.join(phrases)}",
        )
        instances.append(Instance(where, paper, ours, majority[0] if majority else UNRESOLVED))
    return instances


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
    """Of all methods of a table: the best of some may not be the best of all."""
    name, races = evidence.design.data(data).name, []
    wanted = {row.label for row in evidence.rows(part) if row.data == data} - {UNTUNED}
    for metric in metrics:
        methods = evidence.methods(part, data, metric, reading, backbone)
        if wanted - methods.keys():
            raise NotRun(part)
        paper = "–"
        if numbers:
            own = numbers[METHOD, metric][0]
            rivals = {label: mean for (label, one), (mean, _) in numbers.items() if one == metric and label != METHOD}
            rival = max(rivals, key=lambda label: rivals[label])
            lead = number(own - rivals[rival], sign=True)
            paper = f"{METHOD} {number(own)}, {rival} {number(rivals[rival])}: {lead}"
        races.append(_race(f"{before}{name}, {NAMES[metric]}", paper, methods))
    return races


def _race(where: str, paper: str, methods: Mapping[str, Scores], before: str = "") -> Race:
    """SAHC-NS against all others; runs that stand in two rows are one rival: HC-only and SAHC w/o Discrepancy."""
    own = methods[METHOD]
    rivals, known = {}, list[Mapping[int, float]]()
    for method, scores in methods.items():
        if method != METHOD and scores.values not in known:
            rivals[f"{method} {scores}"] = own.minus(scores)
            known.append(scores.values)
    if not rivals:
        raise NotRun(where)
    # The strongest first, over the seeds that both have.
    order = sorted(rivals, key=lambda name: (math.isnan(rivals[name].difference), rivals[name].difference))
    return Race(where, paper, f"{before}{METHOD} {own}", {name: rivals[name] for name in order})


def _pair(
    evidence: Evidence,
    part: str,
    data: str,
    first: str,
    second: str,
    metric: str,
    numbers: PrintedNumbers,
    after: str = "",
) -> Comparison:
    paper = "–"
    if (first, metric) in numbers:
        a, b = numbers[first, metric][0], numbers[second, metric][0]
        paper = f"{first} {number(a)}, {second} {number(b)}: {number(a - b, sign=True)}"
    methods = evidence.methods(part, data, metric)
    who = f"{first} {methods[first]}, {second} {methods[second]}"
    where = f"{evidence.design.data(data).name}{after}, {NAMES[metric]}"
    return Comparison(where, paper, who, methods[first].minus(methods[second]))
