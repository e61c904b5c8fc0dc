"""Claims about who is better than whom, checked against the runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from sahcns.ranking.significance import paired_t
from sahcns.studies.comparison.boards import Board
from sahcns.studies.comparison.contrasts import Contrast, contrast
from sahcns.studies.comparison.naming import chance, long_name, number
from sahcns.studies.comparison.summaries import summary
from sahcns.studies.grid.result import Result
from sahcns.studies.paper.beside import READINGS
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.leading import AT_20, METRICS
from sahcns.studies.paper.methods import METHOD, UNTUNED
from sahcns.studies.paper.published import PrintedNumbers, printed_2, printed_3, printed_4
from sahcns.studies.paper.sections.choices import change
from sahcns.studies.paper.sections.figure_4 import ARGUMENTS, sweep
from sahcns.studies.paper.sections.splits import split_cells
from sahcns.studies.paper.sections.table_2 import fit_of_readings, table_2_board
from sahcns.studies.paper.verdicts import UNRESOLVED, Compared, Instance, Race, Verdict, above, first, missing

NEAR = 0.99  # of a run's best, which is as good as reached

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


def where_it_stopped(first: str, second: str) -> Callable[[Evidence], str]:
    """The ablation's difference read at the epoch where training stopped, beside the paper's, in words."""

    def told(evidence: Evidence) -> str:
        board, found = evidence.board("table3"), []
        for folder in evidence.design.pair:
            one = evidence.design.data(folder)
            numbers = printed_3(one.like) if one.printed else {}
            paired = _pair(board, one.name, first, second, "recall@20", one.name, numbers, "last").paired
            if paired is not None and paired.n:
                a, b = (numbers[method, "recall@20"][0] if numbers else math.nan for method in (first, second))
                paper = f"; the paper {number(a - b, sign=True)}" if numbers else ""
                found.append(
                    f"{number(100 * paired.difference, sign=True)} on {one.name} (p {chance(paired.p)}{paper})"
                )
        return f"Tested: so read, the difference in Recall@20 is {', '.join(found)}." if found else ""

    return told


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
    """Whether the printed numbers of the hard samplers are nearer to the best validation epoch than to the last."""
    board = table_2_board(evidence)
    found = []
    for one in evidence.design.sets:
        if not (one.printed and one.same):
            continue
        gaps = fit_of_readings(evidence, board, one.folder) if board is not None else {}
        if not gaps:
            found.append(missing(one.name, "–"))
            continue
        told = ", ".join(f"{READINGS[reading]}: {number(gap)} points away" for reading, gap in gaps.items())
        found.append(Instance(one.name, "–", told, "holds" if gaps["best"] <= gaps["last"] else "does not hold"))
    return found


def overfitting(evidence: Evidence) -> str:
    """How much each method loses between its best epoch and the one where it stopped, in words."""
    board, lost = table_2_board(evidence), {}
    if board is None:
        return ""
    for row in board.of("lightgcn"):
        falls = [
            summary(board, data, row, "recall@20", "best").mean - summary(board, data, row, "recall@20", "last").mean
            for data in board.data
            if board.seeds(data, row)
        ]
        lost[row.method] = 100 * fmean(falls)
    told = ", ".join(f"{method} {number(value)}" for method, value in sorted(lost.items(), key=lambda one: one[1]))
    return (
        "Where training stopped, those are ahead that lose least after their best epoch. Lost in Recall@20 between the two, "
        f"in points, on average over the sets: {told}."
    )


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
    board, races = table_2_board(evidence), []
    for one in evidence.design.sets:
        own = board.row("lightgcn", METHOD) if board is not None else None
        if board is None or own is None or not board.clocked(one.name, own):
            races.append(Race(one.name, "better within a short time", "", {}))
            continue
        when = fmean(_seconds_to_best(run) for run in board.clocked(one.name, own).values())
        reached = {
            row.method: {seed: _reached(run, when) for seed, run in runs.items()}
            for row in board.of("lightgcn")
            if (runs := board.clocked(one.name, row))
        }
        races.append(_race(one.name, "better within a short time", reached, f"after {when:.1f} s "))
    return first(races)


def pace(evidence: Evidence) -> str:
    """Seconds until runs of Table II have come near to their own best on validation, for each method, in words."""
    board, told = table_2_board(evidence), []
    if board is None:
        return ""
    for one in evidence.design.sets:
        needed = {
            row.method: fmean(_seconds_to_near(run) for run in runs.values())
            for row in board.of("lightgcn")
            if row.method != UNTUNED and (runs := board.clocked(one.name, row))
        }
        if needed:
            order = sorted(needed, key=lambda method: needed[method])
            told.append(f"{one.name} {', '.join(f'{method} {needed[method]:.1f}' for method in order)}")
    near = f"{NEAR:.0%} of its own best Recall@20 on validation"
    return f"Measured, seconds until a run has {near.replace('%', ' %')}: {'; '.join(told)}." if told else ""


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
    """For how many of the nine methods SimGCL is above LightGCN."""
    lower, upper = table_2_board(evidence), evidence.board("table4")
    found = []
    for folder in evidence.design.pair:
        one = evidence.design.data(folder)
        paper = "–"
        if one.printed:
            base, strong = printed_2(one.like), printed_4("simgcl", one.like)
            more = sum(strong[key][0] > base[key][0] for key in strong if key[1] == "recall@20")
            paper = f"{more} of {len(strong) // 2} methods"
        means = [_means(lower, one.name, "lightgcn"), _means(upper, one.name, "simgcl")]
        shared = means[0].keys() & means[1].keys()
        where = f"{one.name}, SimGCL over LightGCN in Recall@20"
        if not shared:
            found.append(missing(where, paper))
            continue
        more = sum(means[1][method] > means[0][method] for method in shared)
        verdict: Verdict = "holds" if more > len(shared) / 2 else "does not hold"
        found.append(Instance(where, paper, f"{more} of {len(shared)} methods", verdict))
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
    others = {method: one for method, one in values.items() if method not in (METHOD, UNTUNED)}
    for method, one in sorted(others.items(), key=lambda other: -fmean(other[1].values())):
        shared = sorted(own.keys() & one.keys())
        if shared:
            paired = paired_t([own[seed] for seed in shared], [one[seed] for seed in shared])
            rivals[f"{method} {number(100 * fmean(one.values()))}"] = paired
    return Race(where, paper, f"{before}{METHOD} {number(100 * fmean(own.values()))}" if own else "", rivals)


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
    found = []
    for metric in metrics:
        values = {
            row.method: {seed: run.metric(metric, reading) for seed, run in board.seeds(data, row).items()}
            for row in (board.of(backbone) if board is not None else ())
            if board is not None and board.seeds(data, row)
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


def _means(board: Board | None, data: str, backbone: str) -> dict[str, float]:
    if board is None:
        return {}
    return {
        row.method: summary(board, data, row, "recall@20").mean for row in board.of(backbone) if board.seeds(data, row)
    }


def _seconds_to_best(run: Result) -> float:
    epochs: list[int] = run.history["looks"]["epoch"]
    return run.look_seconds[epochs.index(run.best_epoch)]


def _seconds_to_near(run: Result) -> float:
    looks: list[float] = run.history["looks"]["recall@20"]
    first = next(at for at, value in enumerate(looks) if value >= NEAR * max(looks))
    return run.look_seconds[first]


def _reached(run: Result, when: float) -> float:
    looks = zip(run.history["looks"]["recall@20"], run.look_seconds, strict=True)
    return max((float(value) for value, at in looks if at <= when), default=0.0)
