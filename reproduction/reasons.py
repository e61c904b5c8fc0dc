"""Why a claim about who is better may come out otherwise: sentences made from the runs, so that they cannot outlive them."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from reproduction.beside import READINGS
from reproduction.evidence import Evidence
from reproduction.experiments import WIDE
from reproduction.leading import AT_20, METRICS, against_strongest
from reproduction.methods import METHOD
from reproduction.published import EFFICIENCY, PrintedNumbers, printed_2, printed_3, printed_4
from reproduction.sections.table_2 import READ_AT, SOUND_AS_PRINTED, table_2_board
from reproduction.verdicts import luck_in_words, resolved
from sahcns.lab import Board, Row, contrast, holm, joined, long_name, number, summary


def strong_rivals(part: str) -> Callable[[Evidence], str]:
    """Who is above what the paper prints, under both readings; then who is strongest, and with which pool."""

    def told(evidence: Evidence) -> str:
        board = _board(evidence, part)
        return " ".join(filter(None, [_beside_print(evidence, board, part), _strongest(board, part)]))

    return told


def strongest_rivals(part: str) -> Callable[[Evidence], str]:
    """Who is strongest, and with which pool."""
    return lambda evidence: _strongest(_board(evidence, part), part)


def where_it_stopped(first: str, second: str) -> Callable[[Evidence], str]:
    """The ablation's difference read at the epoch where training stopped, beside the paper's, and what that explains."""

    def told(evidence: Evidence) -> str:
        board, paired, paper = evidence.board("table3"), {}, {}
        rows = [board.row("lightgcn", method) for method in (first, second)] if board is not None else [None, None]
        for one in map(evidence.design.data, evidence.design.pair):
            if board is None or rows[0] is None or rows[1] is None:
                continue
            own = contrast(board, one.name, rows[0], rows[1], "recall@20", "last").paired
            if own.n:
                numbers = printed_3(one.like) if one.printed else {}
                a, b = (numbers[method, "recall@20"][0] if numbers else math.nan for method in (first, second))
                paired[one.name] = own
                paper[one.name] = f"; the paper {number(a - b, sign=True)}" if numbers else ""
        ps = dict(zip(paired, holm([own.p for own in paired.values()]), strict=True))
        found = [
            f"{number(100 * own.difference, sign=True)} on {name} ({luck_in_words(own, ps[name])}{paper[name]})"
            for name, own in paired.items()
        ]
        there = [name for name, own in paired.items() if resolved(own, ps[name]) == "holds"]
        left = [name for name in paired if name not in there]
        ends = [f"as the paper has it on {joined(there)}"] if there else []
        ends += [f"this does not explain {joined(left)}"] if left else []
        return (
            f"Tested: so read, the difference in Recall@20 is {', '.join(found)}; {', '.join(ends)}." if found else ""
        )

    return told


def fixed_otherwise(evidence: Evidence) -> str:
    """SAHC-NS against strengths from U(0, 1): those from U(0, λmax) are also the smaller ones, so both may be the cause."""
    board, tests = evidence.board("table3"), {}
    own, wide = (board.row("lightgcn", method) for method in (METHOD, WIDE)) if board is not None else (None, None)
    for one in map(evidence.design.data, evidence.design.pair):
        for metric in AT_20:
            if board is not None and own is not None and wide is not None:
                tests[one.name, metric] = contrast(board, one.name, own, wide, metric, "best").paired
    tests = {where: paired for where, paired in tests.items() if paired.n}
    ps = holm([paired.p for paired in tests.values()])
    found = [
        f"{number(100 * paired.difference, sign=True)} in {long_name(metric)} on {name} ({luck_in_words(paired, p)})"
        for ((name, metric), paired), p in zip(tests.items(), ps, strict=True)
    ]
    if not found:
        return ""
    return (
        "SAHC-Fixed draws from U(0, λmax), which is half of λmax on average and less than HC gives most pools; so a gain over "
        "it may be one of more strength, not of better placed strength. Over strengths from U(0, 1) SAHC-NS is "
        f"{joined(found)}."
    )


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
        "Where training stopped, a method stands the lower the more it loses after its best epoch. Lost in Recall@20 between "
        f"the two, in points, on average over the sets: {told}."
    )


def left_to_add(evidence: Evidence) -> str:
    """How far the hard samplers are above RNS on LightGCN and on SimGCL, in words."""
    lower, upper, told = table_2_board(evidence), evidence.board("table4"), []
    for one in map(evidence.design.data, evidence.design.pair):
        gains = [
            _above_random(board, backbone, one.name) for board, backbone in ((lower, "lightgcn"), (upper, "simgcl"))
        ]
        if None not in gains:
            told.append(f"{joined([number(gain or 0.0, sign=True) for gain in gains])} on {one.name}")
    if not told:
        return ""
    return (
        f"Measured, the mean of {joined(SOUND_AS_PRINTED)} minus RNS in Recall@20, on LightGCN and on SimGCL, in points: "
        f"{'; '.join(told)}."
    )


def _above_random(board: Board | None, backbone: str, data: str) -> float | None:
    rows = {
        row.method: row for row in (board.of(backbone) if board is not None else ()) if board and board.seeds(data, row)
    }
    if board is None or "RNS" not in rows or not all(method in rows for method in SOUND_AS_PRINTED):
        return None
    means = {method: 100 * summary(board, data, row, "recall@20", "best").mean for method, row in rows.items()}
    return fmean(means[method] for method in SOUND_AS_PRINTED) - means["RNS"]


def restless_epochs(evidence: Evidence) -> str:
    """Our share of an epoch may be the larger one, or epochs may move by more than what a bound leaves room for."""
    timed = [(one, evidence.costs[one.folder]) for one in evidence.design.sets if evidence.costs.get(one.folder)]
    larger = [
        one.name
        for one, costs in timed
        if one.printed and round(100 * costs[-1].extra_share, 2) > EFFICIENCY[one.like].share
    ]
    moved = [
        f"{100 * costs[0].moves:.1f} % on {one.name}"
        for one, costs in timed
        if one.printed and 100 * costs[0].moves > EFFICIENCY[one.like].share
    ]
    told = [
        f"On {joined(larger)} the same work is a larger share of a much shorter epoch: candidates, which the paper's code "
        "draws in a Python loop, are drawn by a kernel here."
    ] * bool(larger)
    told += [
        "From one round to the next a whole epoch moves by more than the bounds allow: the slowest with DNS is longer than "
        f"the quickest by {joined(moved)}."
    ] * bool(moved)
    return " ".join(told)


def _board(evidence: Evidence, part: str) -> Board | None:
    return table_2_board(evidence) if part == "table2" else evidence.board(part)


def _metrics(part: str) -> Sequence[str]:
    return AT_20 if part == "table4" else METRICS


def _beside_print(evidence: Evidence, board: Board | None, part: str) -> str:
    """How often ours are above the printed number, for the hard baselines and for SAHC-NS, on the paper's own data."""
    told = []
    if board is None:
        return ""
    for reading in READINGS:
        hard, own = (_above(evidence, board, part, who, reading) for who in (SOUND_AS_PRINTED, (METHOD,)))
        found = [f"{hard[place]} and {own[place]} on {place}" for place in hard if place in own]
        if found:
            told.append(f"{READ_AT[reading]} {', '.join(found)}")
    if not told:
        return ""
    who = f"{joined(SOUND_AS_PRINTED)}, and for {METHOD}"
    return f"How often ours are above what the paper prints for {who}: {'; '.join(told)}."


def _printed(part: str, backbone: str, like: str) -> PrintedNumbers:
    return printed_2(like) if part == "table2" else printed_4(backbone, like)


def _above(evidence: Evidence, board: Board, part: str, methods: Sequence[str], reading: str) -> dict[str, str]:
    """Set of the paper's own → `20 of 20`: how many of our means are above the printed ones."""
    found = {}
    for backbone in board.backbones:
        for one in evidence.design.sets:
            ours = []
            for (method, metric), (theirs, _) in _printed(part, backbone, one.like).items():
                row = board.row(backbone, method)
                if one.printed and one.same and method in methods and row is not None and board.seeds(one.name, row):
                    ours.append(100 * summary(board, one.name, row, metric, reading).mean > theirs)
            if ours:
                place = f"{backbone}, {one.name}" if part == "table4" else one.name
                found[place] = f"{sum(ours)} of {len(ours)}"
    return found


def _strongest(board: Board | None, part: str) -> str:
    """`The strongest other in 12 cells: with a pool of 100 DNS(M,N) 7, with one of 10 MixGCF 5. SAHC-NS has 10.`"""
    found = against_strongest(board, _metrics(part)) if board is not None else []
    if not found or board is None:
        return ""
    who: dict[int, Counter[str]] = {}
    for one in found:
        who.setdefault(_pool(board, one.data, one.second), Counter())[one.second.method] += 1
    told = [
        f"with {'a pool' if not at else 'one'} of {size} "
        + joined([f"{method} {count}" for method, count in who[size].most_common()])
        for at, size in enumerate(sorted(who, reverse=True))
    ]
    own = sorted({_pool(board, one.data, one.first) for one in found})
    told_own = f"{METHOD} has {joined([str(size) for size in own])}."
    equals = part != "table4" and max(who) > max(own)
    larger = " The comparison of equals takes the larger pool away." * equals
    return f"The strongest other in {len(found)} cells: {', '.join(told)}. {told_own}{larger}"


def _pool(board: Board, data: str, row: Row) -> int:
    return int(next(iter(board.seeds(data, row).values())).sampler["pool"])
