"""SAHC-NS against the strongest other method of a table, cell by cell, as the paper tests it."""

from collections.abc import Sequence

from reproduction.beside import READINGS
from reproduction.methods import METHOD, UNTUNED
from sahcns.lab import (
    ALPHA,
    Board,
    Cell,
    Contrast,
    Table,
    adjusted,
    chance,
    contrast,
    listed,
    long_name,
    number,
    ranking,
    summary,
)

METRICS = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
AT_20 = ("recall@20", "ndcg@20")


def against_strongest(
    board: Board, metrics: Sequence[str] = METRICS, reading: str = "best", method: str = METHOD
) -> list[Contrast]:
    """For each set, backbone and metric: the method minus the strongest other one, over the seeds that both have."""
    found = []
    for data in board.data:
        for backbone in board.backbones:
            own = board.row(backbone, method)
            if own is None or not board.seeds(data, own):
                continue
            for metric in metrics:
                order = ranking(board, data, backbone, metric, reading)
                rivals = [row for row in order if row.method not in (method, UNTUNED)]
                if rivals:
                    found.append(contrast(board, data, own, rivals[0], metric, reading))
    return found


def lead_table(board: Board, metrics: Sequence[str], reading: str, *, name: str, title: str) -> Table | None:
    """None where there is nothing to hold against."""
    found = against_strongest(board, metrics, reading)
    if not found:
        return None
    holms = adjusted(found)
    several = len(board.backbones) > 1
    rows: list[Sequence[Cell | str]] = []
    for one, p in zip(found, holms, strict=True):
        own, other = (summary(board, one.data, row, one.metric, reading) for row in (one.first, one.second))
        place = ranking(board, one.data, one.first.backbone, one.metric, reading).index(one.first) + 1
        rows.append(
            [
                one.data,
                *([one.first.backbone] if several else []),
                long_name(one.metric),
                one.second.method,
                number(100 * own.mean),
                number(100 * other.mean),
                str(place),
                *_tested(one, p),
                str(one.paired.n),
            ]
        )
    columns = [
        "Data",
        *(["Backbone"] if several else []),
        "Metric",
        "strongest other",
        f">{METHOD}",
        ">other",
        ">place",
    ]
    columns += [">difference", ">95 % low", ">95 % high", ">p", ">Holm", ">seeds"]
    return Table(
        name,
        title,
        columns,
        rows,
        f"Read at the {READINGS[reading].replace('where it stopped', 'epoch where training stopped')}, in percent. "
        "place: that of SAHC-NS among all methods. Two-sided paired t-test over the seeds that both have; Holm: "
        "corrected over this table. * p < 0.05. The strongest is picked by the same runs, so where SAHC-NS is behind it, p is "
        "too small by that; the verdicts on claims correct for it.",
    )


def _tested(one: Contrast, holm: float) -> list[Cell | str]:
    """Difference, its interval, p, Holm's p."""
    paired = one.paired
    hint = "; ".join(filter(None, [f"seeds {listed(one.seeds)}" if one.seeds else "", paired.why]))
    return [
        Cell(number(100 * paired.difference, sign=True), hint=hint),
        number(100 * paired.low, sign=True),
        number(100 * paired.high, sign=True),
        Cell(chance(paired.p), hint=paired.why),
        Cell(chance(holm), note="*" if holm < ALPHA else ""),
    ]
