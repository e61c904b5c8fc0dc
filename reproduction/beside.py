"""Ours beside what the paper prints: both readings of a run, the difference, and whether it is more than luck."""

import math
from collections.abc import Mapping, Sequence

from reproduction.cells import shown
from sahcns.lab import (
    ALPHA,
    Board,
    Cell,
    Mark,
    Published,
    Row,
    Summary,
    Table,
    against_published,
    chance,
    holm,
    joined,
    long_name,
    number,
    summary,
)

FAR = 0.1  # of a value: what is further off than this is another outcome, not another seed
READINGS = {"best": "best epoch", "last": "where it stopped"}
Printed = Mapping[tuple[str, str], tuple[float, float | None]]
"""(method, metric) → mean and, where it is printed, standard deviation, in percent."""


def against_paper(own: Summary, printed: tuple[float, float | None], seeds: int = 5) -> Published:
    """Welch's test against a printed mean ± std; a mean without a spread is taken as exact."""
    mean, std = printed
    return against_published([100 * value for value in own.values], mean, std or 0.0, seeds)


def beside_paper(
    board: Board,
    data: str,
    backbone: str,
    printed: Printed,
    metrics: Sequence[str],
    *,
    name: str,
    title: str,
    same: bool = True,
) -> Table:
    """A row for each method and metric; `same` tells the paper's data from a stand-in, which is not tested against it."""
    cells = [(row, metric) for row in board.of(backbone) for metric in metrics if board.seeds(data, row)]
    ours = {
        (row, metric, reading): summary(board, data, row, metric, reading)
        for row, metric in cells
        for reading in READINGS
    }
    tests = {
        key: against_paper(own, printed[key[0].method, key[1]])
        for key, own in ours.items()
        if (key[0].method, key[1]) in printed
    }
    ps = {
        reading: dict(zip(mine, holm([tests[key].p if same else math.nan for key in mine]), strict=True))
        for reading in READINGS
        for mine in [[key for key in tests if key[2] == reading]]
    }
    rows: list[Sequence[Cell | str]] = []
    for row, metric in cells:
        theirs = printed.get((row.method, metric))
        line: list[Cell | str] = [row.method, long_name(metric), _printed(theirs, printed, metric)]
        for reading in READINGS:
            line.append(_ours(ours, row, metric, reading))
            line += _difference(tests.get((row, metric, reading)), ps[reading].get((row, metric, reading)), same)
        rows.append(line)
    columns = ["Method", "Metric", ">paper"]
    columns += [f">{words} · {what}" for words in READINGS.values() for what in ("ours", "− paper", "p")]
    return Table(name, title, columns, rows, _caption(printed, same))


def far_from_paper(board: Board, data: str, backbone: str, printed: Printed, metric: str = "recall@20") -> list[str]:
    """A sentence that names the methods further from the paper than a tenth, however a run is read; else nothing."""
    told = []
    for row in board.of(backbone):
        theirs = printed.get((row.method, metric))
        if theirs is None or not board.seeds(data, row):
            continue
        ours = [100 * summary(board, data, row, metric, reading).mean for reading in READINGS]
        if all(abs(mean - theirs[0]) > FAR * theirs[0] for mean in ours):
            means = " and ".join(
                f"{number(mean)} {words}" for mean, words in zip(ours, ("best", "at the end"), strict=True)
            )
            told.append(f"{row.method} (paper {number(theirs[0])}; ours {means})")
    if not told:
        return []
    where = f"{data}, {long_name(metric)}"
    return [f"{where}: further than a tenth from what the paper prints, however a run is read: {joined(told)}."]


def _ours(ours: Mapping[tuple[Row, str, str], Summary], row: Row, metric: str, reading: str) -> Cell:
    own = ours[row, metric, reading]
    others = [one.mean for (_, other, read), one in ours.items() if (other, read) == (metric, reading)]
    return shown(own, _mark(own.mean, others))


def _printed(theirs: tuple[float, float | None] | None, printed: Printed, metric: str) -> Cell:
    if theirs is None:
        return Cell("–", hint="the paper does not print it")
    mean, std = theirs
    text = number(mean) + (f" ± {number(std)}" if std is not None else "")
    return Cell(text, _mark(mean, [other for (_, one), (other, _) in printed.items() if one == metric]))


def _difference(test: Published | None, p: float | None, same: bool) -> list[Cell | str]:
    if test is None or p is None:
        return ["–", "–"]
    if not same:
        return [Cell(number(test.difference, sign=True), hint="other data than the paper's"), "–"]
    ends = f"95 % from {number(test.low, sign=True)} to {number(test.high, sign=True)}" if not test.why else test.why
    by = Cell(number(test.difference, sign=True), note="*" if p < ALPHA else "", hint=ends)
    return [by, Cell(chance(p), hint=f"before Holm {chance(test.p)}" if not test.why else test.why)]


def _mark(value: float, all_of_them: Sequence[float]) -> Mark:
    order = sorted(set(all_of_them), reverse=True)
    if len(order) < 2:
        return ""
    return "best" if value == order[0] else "second" if value == order[1] else ""


def _caption(printed: Printed, same: bool) -> str:
    told = [
        "In percent, on the test part; mean ± standard deviation over seeds. Best bold, second underlined, ours and the "
        "paper's each for itself."
    ]
    seeds = "Seeds alone are in p, and not what another split moves."
    if not same:
        told.append("This is other data than the paper's, so a difference says nothing about its numbers: not tested.")
    elif any(std is None for _, std in printed.values()):
        told.append(
            "p: t-test of our seeds against the printed mean, which is taken as exact, since no spread is printed; "
            f"corrected by Holm over the column. * p < 0.05. {seeds}"
        )
    else:
        told.append(
            "p: Welch's t-test of our seeds against the printed mean ± standard deviation over five seeds, corrected by "
            f"Holm over the column. * p < 0.05. {seeds}"
        )
    return " ".join(told)
