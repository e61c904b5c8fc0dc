"""A comparison as tables: every method with its spread, and each against a reference with what the seeds can tell."""

import math
from collections.abc import Sequence

from sahcns.errors import SettingError
from sahcns.lab.comparison.boards import Board, boards_of, refuse_unknown
from sahcns.lab.comparison.captions import heading, main_caption
from sahcns.lab.comparison.contrasts import ALPHA, TESTS, Contrast, adjusted, leads, ranking, with_users
from sahcns.lab.comparison.naming import chance, listed, number, ranked, scale, short_name
from sahcns.lab.comparison.pairwise import pairwise_table
from sahcns.lab.comparison.summaries import Summary, summary
from sahcns.lab.grid.result import Result
from sahcns.lab.report.parts import Cell, Mark, Table

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
READINGS = ("best", "last", "both")


def comparison_tables(
    results: Sequence[Result],
    *,
    metrics: Sequence[str] = METRICS,
    baseline: str | None = None,
    against: str | None = None,
    reading: str = "best",
    test: str = "t",
    part: str = "test",
    pairwise: bool = True,
) -> list[Table]:
    """For each protocol and kernels a table of all methods, as the paper's Table II, and one of pairs.

    metrics    columns, for each data set
    baseline   the method that the best one is tested against for its *; the strongest other one unless told
    against    the method that each other one is tested against in the table of pairs; unless told the baseline, else
               sahc, else the first: in any case fixed before the numbers are seen
    reading    "best" validation epoch, "last" epoch, or "both", one table after the other
    test       behind the *: "t" over seeds, or "wilcoxon" or "bootstrap" over users, which take the trainings as given
    part       "test" or "valid"
    """
    if reading not in READINGS:
        raise SettingError(f"reading={reading!r} is not known; choose one of {', '.join(READINGS)}")
    if test not in TESTS:
        raise SettingError(f"test={test!r} is not known; choose one of {', '.join(TESTS)}")
    if not metrics:
        raise SettingError("metrics is empty; give at least one, such as recall@20")
    boards = boards_of(results)
    refuse_unknown(boards, "baseline", baseline)
    refuse_unknown(boards, "against", against)
    tables = []
    for at, board in enumerate(boards):
        for which in ("best", "last") if reading == "both" else (reading,):
            ending = (f"-{at + 1}" if at else "") + ("-last" if which == "last" else "")
            over = heading(boards, at, which)
            tables.append(main_table(board, metrics, baseline, which, test, part, f"comparison{ending}", over))
            if pairwise:
                made = pairwise_table(board, metrics, against or baseline, which, part, f"pairwise{ending}", over)
                tables.extend([made] if made else [])
    return tables


def main_table(
    board: Board,
    metrics: Sequence[str],
    baseline: str | None = None,
    reading: str = "best",
    test: str = "t",
    part: str = "test",
    name: str = "comparison",
    title: str = "",
) -> Table:
    """Rows are backbone × method; columns the metrics of each set; best bold, second underlined, * for a tested lead."""
    gains = leads(board, metrics, baseline, reading, part)
    if test != "t" and (reading, part) == ("best", "test"):
        gains = with_users(board, gains, [test])
    stars = dict(zip(((one.data, one.first, one.metric) for one in gains), gains, strict=True))
    ps = dict(zip(stars, adjusted(gains, test), strict=True))
    firsts = {
        (data, backbone, metric): _first_two(board, data, backbone, metric, reading, part)
        for data, backbone in board.places
        for metric in filter(ranked, metrics)
    }
    uneven = len({tuple(sorted(board.seeds(data, row))) for data, row in board.runs}) > 1
    rows = []
    for row in board.rows:
        cells: list[Cell | str] = [row.backbone] if len(board.backbones) > 1 else []
        cells.append(row.method)
        if uneven:
            counts = sorted({len(board.seeds(data, row)) for data in board.data})
            cells.append("–".join(map(str, dict.fromkeys((counts[0], counts[-1])))))
        for data in board.data:
            for metric in metrics:
                one = summary(board, data, row, metric, reading, part)
                two = firsts.get((data, row.backbone, metric), [])
                key = data, row, metric
                cells.append(_cell(one, two, stars.get(key), ps.get(key), test))
        rows.append(cells)
    head = ["Backbone"] if len(board.backbones) > 1 else []
    columns = [*head, "Method", *([">Seeds"] if uneven else [])]
    columns += [">" + heads(board, data, short_name(metric)) for data in board.data for metric in metrics]
    return Table(name, title, columns, rows, main_caption(board, metrics, gains, baseline, reading, test, part))


def heads(board: Board, data: str, column: str) -> str:
    """`R@20`, or `toys · R@20` where there are several sets: writers that can draw a common head above them."""
    return f"{data} · {column}" if len(board.data) > 1 else column


def _first_two(board: Board, data: str, backbone: str, metric: str, reading: str, part: str) -> list[float]:
    """The highest mean and the next lower one, which methods may share; nothing where one method stands alone."""
    order = ranking(board, data, backbone, metric, reading, part)
    means = dict.fromkeys(summary(board, data, row, metric, reading, part).mean for row in order)
    return list(means)[:2] if len(order) > 1 else []


def _cell(one: Summary, two: Sequence[float], gain: Contrast | None, p: float | None, test: str) -> Cell:
    if not one.n:
        return Cell("–", hint="not run")
    broken = [seed for seed, value in zip(one.seeds, one.values, strict=True) if not math.isfinite(value)]
    if broken:
        return Cell("–", hint=f"not a number with seed {listed(broken)}")
    factor = scale(one.metric)
    text = number(factor * one.mean) + (f" ± {number(factor * one.std)}" if one.n > 1 else "")
    marks: dict[float, Mark] = dict(zip(two, ("best", "second"), strict=False))
    hint = f"seeds {listed(one.seeds)}: {', '.join(number(factor * value, 3) for value in one.values)}"
    note = ""
    if gain is not None and p is not None:
        paired = gain.paired
        hint += f"; {number(factor * paired.difference, 3, sign=True)} over {gain.second.method}, "
        hint += f"{test} p {chance(gain.p(test))}, after Holm {chance(p)}" if p == p else paired.why or "not tested"
        note = "*" if p < ALPHA and paired.difference > 0 else ""
    return Cell(text, marks.get(one.mean, ""), note, hint)
