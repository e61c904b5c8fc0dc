"""Claims about who is better than whom, checked against the runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from reproduction.beside import READINGS
from reproduction.evidence import Evidence
from reproduction.leading import AT_20, METRICS
from reproduction.methods import METHOD, UNTUNED
from reproduction.published import PrintedNumbers, printed_2, printed_3, printed_4
from reproduction.seconds import reached
from reproduction.sections.choices import change
from reproduction.sections.figure_4 import ARGUMENTS, sweep
from reproduction.sections.splits import split_cells
from reproduction.sections.table_2 import SOUND_AS_PRINTED, fit_of_readings, table_2_board
from reproduction.verdicts import (
    UNRESOLVED,
    Compared,
    Instance,
    Race,
    Verdict,
    above,
    first,
    luck_in_words,
    missing,
    resolved,
)
from sahcns import Result
from sahcns.lab import Board, Contrast, Paired, contrast, holm, joined, long_name, number, paired_t, summary

SIDES: Mapping[Verdict, str] = {"holds": "resolved for", "does not hold": "resolved the other way for"}

Check = Callable[[Evidence], list[Instance]]


def best_of_nine(reading: str = "best", part: str = "table2") -> Check:
    """SAHC-NS against the strongest other, on each set and in each metric."""

    def check(evidence: Evidence) -> list[Instance]:
        board = table_2_board(evidence) if part == "table2" else evidence.board(part)
        printed = part == "table2"
        sets = evidence.design.powered if part == "power" else [one.folder for one in evidence.design.sets]
        cells: list[Race] = []
        few: dict[str, str] = {}
        for folder in sets:
            one = evidence.design.data(folder)
            numbers = printed_2(one.like) if printed and one.printed else {}
            found = _leads(board, one.name, "lightgcn", METRICS, reading, numbers)
            least = evidence.design.seeds if part == "power" else 0
            cells += [race if _seeds(race) > least else replace(race, rivals={}) for race in found]
            methods = {row.label for row in evidence.rows(part) if row.data == folder} - {UNTUNED}
            there = len([row for row in board.of("lightgcn") if board.seeds(one.name, row)]) if board else 0
            few |= {cell.where: f"{there} of {len(methods)} methods run" for cell in found if there < len(methods)}
        return _open(first(cells), few)

    return check


def best_on_backbones(evidence: Evidence) -> list[Instance]:
    """SAHC-NS against the strongest other on NGCF and SimGCL."""
    board = evidence.board("table4")
    cells = []
    for backbone in ("ngcf", "simgcl"):
        for folder in evidence.design.pair:
            one = evidence.design.data(folder)
            numbers = printed_4(backbone, one.like) if one.printed else {}
            cells += _leads(board, one.name, backbone, AT_20, "best", numbers, f"{backbone}, ")
    return first(cells)


def better(first: str, second: str, parts: Sequence[str] = ("table3", "power")) -> Check:
    """One method against another, in the ablation's five seeds and in the many."""

    def check(evidence: Evidence) -> list[Instance]:
        cells = []
        for part in parts:
            board = evidence.board(part)
            for folder in evidence.design.powered if part == "power" else evidence.design.pair:
                one = evidence.design.data(folder)
                numbers = printed_3(one.like) if one.printed and part == "table3" else {}
                many = ", many seeds" if part == "power" else ""
                found = [
                    _pair(board, one.name, first, second, metric, f"{one.name}{many}, {long_name(metric)}", numbers)
                    for metric in AT_20
                ]
                cells += _enough(evidence, found) if part == "power" else found
        return above(cells)

    return check


def trains(method: str) -> Check:
    """A method against RNS in Table II, on the sets where the paper prints it above."""

    def check(evidence: Evidence) -> list[Instance]:
        board, cells = table_2_board(evidence), []
        for one in evidence.design.sets:
            numbers = printed_2(one.like) if one.printed else {}
            if numbers and numbers[method, "recall@20"][0] <= numbers["RNS", "recall@20"][0]:
                continue
            where = f"{one.name}, {long_name('recall@20')}"
            cells.append(_pair(board, one.name, method, "RNS", "recall@20", where, numbers))
        return above(cells)

    return check


def best_epoch_is_what_is_printed(evidence: Evidence) -> list[Instance]:
    """Whether the printed numbers of the hard samplers are nearer to the best validation epoch than to the last.

    Metric by metric, since an average over them may hide that they disagree. Tested over seeds: how far each of them alone
    is away under either reading.
    """
    board = table_2_board(evidence)
    own = [one for one in evidence.design.sets if one.printed and one.same]
    places = {(one.folder, metric): f"{one.name}, {long_name(metric)}" for one in own for metric in METRICS}
    told, tests = {}, {}
    for (folder, metric), where in places.items():
        name = evidence.design.data(folder).name
        gaps = fit_of_readings(evidence, board, folder, metrics=(metric,)) if board is not None else {}
        if board is None or not gaps:
            continue
        rows = [row for row in board.of("lightgcn") if row.method in SOUND_AS_PRINTED and board.seeds(name, row)]
        shared = sorted(set.intersection(*(set(board.seeds(name, row)) for row in rows)))
        away = [fit_of_readings(evidence, board, folder, metrics=(metric,), seed=seed) for seed in shared]
        told[where] = ", ".join(f"{READINGS[reading]}: {number(gap)} points away" for reading, gap in gaps.items())
        tests[where] = paired_t([each["last"] for each in away], [each["best"] for each in away])
    found = {
        where: Instance(where, "–", f"{told[where]} ({luck_in_words(test, p)})", resolved(test, p))
        for (where, test), p in zip(tests.items(), holm([test.p for test in tests.values()]), strict=True)
    }
    return [found.get(where, missing(where, "–")) for where in places.values()]


def moderate(argument: str) -> Check:
    """The inner value of a grid that is best on validation against both of its ends."""

    def check(evidence: Evidence) -> list[Instance]:
        cells = []
        grid = evidence.design.pools if argument == "pool" else evidence.design.grid
        for folder in evidence.design.pair:
            name, found = evidence.design.data(folder).name, sweep(evidence, folder, argument, "recall@20")
            looked = sweep(evidence, folder, argument, "recall@20", of="valid")
            inner = [value for value in grid[1:-1] if value in found]
            best = max(inner, key=lambda value: looked[value].mean, default=math.nan)
            for end in (grid[0], grid[-1]):
                where = f"{name}, {ARGUMENTS[argument]} against {end:g}"
                if len(inner) < len(grid) - 2 or end not in found:
                    cells.append(Compared(where, "moderate is best", "", None))
                    continue
                told = f"{best:g} gives {number(100 * found[best].mean)}, {end:g} {number(100 * found[end].mean)}"
                cells.append(Compared(where, "moderate is best", told, change(found[best], found[end])))
        return above(cells)

    return check


def soon(evidence: Evidence) -> list[Instance]:
    """At the time when SAHC-NS has found its best epoch: its Recall@20 on validation against that of the others so far."""
    races = []
    for one in evidence.design.sets:
        found = reached(evidence, one.name)
        when = "" if found is None else f"after {found.when:.1f} s "
        races.append(_race(one.name, "better within a short time", {} if found is None else found.then, when))
    return first(races)


def first_on_splits(evidence: Evidence) -> list[Instance]:
    """SAHC-NS against RNS, DNS and MixGCF on each random split."""
    races, found = [], split_cells(evidence, "recall@20")
    for one in evidence.design.resplits:
        here = {
            method: dict(zip(own.seeds, own.values, strict=True))
            for (name, method), own in found.items()
            if name == one.name
        }
        races.append(_race(f"{one.name}, {long_name('recall@20')}", "–", here))
    return first(races)


def stronger_backbones(evidence: Evidence) -> list[Instance]:
    """For how many of the nine methods SimGCL is above LightGCN, over the seeds that both were run with.

    Holds where more than half are and are resolved, fails where as many are below; Holm over all methods and sets.
    """
    lower, upper = table_2_board(evidence), evidence.board("table4")
    names = [evidence.design.data(folder).name for folder in evidence.design.pair]
    tests = {(name, method): test for name in names for method, test in _lifted(lower, upper, name).items()}
    ps = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    found = []
    for folder in evidence.design.pair:
        one = evidence.design.data(folder)
        paper = "–"
        if one.printed:
            base, strong = printed_2(one.like), printed_4("simgcl", one.like)
            more = sum(strong[key][0] > base[key][0] for key in strong if key[1] == "recall@20")
            paper = f"{more} of {len(strong) // 2} methods"
        here = {method: test for (name, method), test in tests.items() if name == one.name}
        where = f"{one.name}, SimGCL over LightGCN in Recall@20"
        if not here:
            found.append(missing(where, paper))
            continue
        sides: dict[Verdict, list[str]] = {"holds": [], "does not hold": [], UNRESOLVED: []}
        for method, test in here.items():
            sides[resolved(test, ps[one.name, method])].append(method)
        most = max(sides, key=lambda side: len(sides[side]))
        verdict: Verdict = most if len(sides[most]) > len(here) / 2 else UNRESOLVED
        more = sum(test.difference > 0 for test in here.values())
        told = [f"; {words} {joined(sides[side])}" for side, words in SIDES.items() if sides[side]]
        found.append(Instance(where, paper, f"{more} of {len(here)} methods{''.join(told)}", verdict))
    return found


def _enough(evidence: Evidence, cells: Sequence[Compared]) -> list[Compared]:
    """Those with more seeds than Table II: many seeds are not a few, and the paper's claim does not wait for them."""
    return [one for one in cells if one.paired is not None and one.paired.n > evidence.design.seeds]


def _seeds(race: Race) -> int:
    return min((paired.n for paired in race.rivals.values()), default=0)


def _race(where: str, paper: str, values: Mapping[str, Mapping[int, float]], before: str = "") -> Race:
    """From each method's values by seed; no race without SAHC-NS, or without a rival that shares its seeds."""
    own = values.get(METHOD, {})
    rivals = {}
    for method, one in values.items():
        shared = sorted(own.keys() & one.keys())
        if shared and method not in (METHOD, UNTUNED):
            paired = paired_t([own[seed] for seed in shared], [one[seed] for seed in shared])
            rivals[f"{method} {number(100 * fmean(one.values()))}"] = paired
    strongest = sorted(rivals, key=lambda name: (math.isnan(rivals[name].difference), rivals[name].difference))
    ordered = {name: rivals[name] for name in strongest}  # over the seeds that both have
    return Race(where, paper, f"{before}{METHOD} {number(100 * fmean(own.values()))}" if own else "", ordered)


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


def _leads(
    board: Board | None,
    data: str,
    backbone: str,
    metrics: Sequence[str],
    reading: str,
    numbers: PrintedNumbers,
    before: str = "",
) -> list[Race]:
    methods: dict[frozenset[str], str] = {}  # runs that stand in two rows are one rival: HC-only, SAHC w/o Discrepancy
    runs: dict[str, Mapping[int, Result]] = {}
    for row in board.of(backbone) if board is not None else ():
        own = board.seeds(data, row) if board is not None else {}
        if own and methods.setdefault(frozenset(run.key for run in own.values()), row.method) == row.method:
            runs[row.method] = own
    found = []
    for metric in metrics:
        values = {
            method: {seed: run.metric(metric, reading) for seed, run in own.items()} for method, own in runs.items()
        }
        found.append(_race(f"{before}{data}, {long_name(metric)}", _printed_lead(numbers, metric), values))
    return found


def _pair(
    board: Board | None,
    data: str,
    first: str,
    second: str,
    metric: str,
    where: str,
    numbers: PrintedNumbers,
    reading: str = "best",
) -> Compared:
    paper = "–"
    if (first, metric) in numbers:
        a, b = numbers[first, metric][0], numbers[second, metric][0]
        paper = f"{first} {number(a)}, {second} {number(b)}: {number(a - b, sign=True)}"
    rows = [board.row("lightgcn", method) for method in (first, second)] if board is not None else [None, None]
    if board is None or rows[0] is None or rows[1] is None:
        return Compared(where, paper, "", None)
    one = contrast(board, data, rows[0], rows[1], metric, reading)
    return Compared(where, paper, _who(board, one, reading) if one.paired.n else "", one.paired)


def _who(board: Board, one: Contrast, reading: str) -> str:
    told = [
        f"{row.method} {number(100 * summary(board, one.data, row, one.metric, reading).mean)}"
        for row in (one.first, one.second)
    ]
    return ", ".join(told)


def _printed_lead(numbers: PrintedNumbers, metric: str) -> str:
    if not numbers:
        return "–"
    own = numbers[METHOD, metric][0]
    rival = max((key for key in numbers if key[1] == metric and key[0] != METHOD), key=lambda key: numbers[key][0])
    other = numbers[rival][0]
    return f"{METHOD} {number(own)}, {rival[0]} {number(other)}: {number(own - other, sign=True)}"


def _lifted(lower: Board | None, upper: Board | None, data: str) -> dict[str, Paired]:
    """Method → its Recall@20 on SimGCL minus that on LightGCN, over the seeds that both were run with."""
    found: dict[str, Paired] = {}
    if lower is None or upper is None:
        return found
    for row in upper.of("simgcl"):
        base = lower.row("lightgcn", row.method)
        strong, weak = upper.seeds(data, row), lower.seeds(data, base) if base is not None else {}
        if shared := sorted(strong.keys() & weak.keys()):
            first, second = ([runs[seed].metric("recall@20") for seed in shared] for runs in (strong, weak))
            found[row.method] = paired_t(first, second)
    return found
