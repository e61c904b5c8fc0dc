"""Fig. 3: Recall@20 on validation against the seconds of training."""

import math
from collections.abc import Mapping
from dataclasses import replace

from reproduction.beside import FAR
from reproduction.evidence import Evidence
from reproduction.sections.standing import unfinished
from reproduction.sections.table_2 import table_2_board
from sahcns.lab import Cell, Figure, Mark, Section, Series, Table, curves, joined, number

NEAR = 0.05  # of the highest


def figure_3_section(evidence: Evidence) -> Section:
    board = table_2_board(evidence)
    found: list[str | Table | Figure] = [*unfinished(evidence, "table2")]
    if board is not None:
        by_set: dict[str, Figure] = {}
        for one in evidence.design.sets:
            drawn = curves(board, one.name, board.of("lightgcn"), one.name) if one.name in board.data else []
            for figure in drawn:
                if figure.name.startswith("seconds"):
                    by_set[one.name] = figure
                    found += [figure, *near_the_top(figure)]
        found += times_table(by_set)
    return Section("Fig. 3: accuracy against time", found)


def times_table(by_set: Mapping[str, Figure]) -> list[Table]:
    """For each method and set: the seconds until its mean is within a twentieth of the highest of all, and its highest."""
    methods = list(dict.fromkeys(one.name for figure in by_set.values() for one in figure.series))
    rows: list[list[Cell | str]] = []
    for method in methods:
        line: list[Cell | str] = [method]
        for figure in by_set.values():
            top = max(max(one.y) for one in figure.series)
            own = next((one for one in figure.series if one.name == method), None)
            if own is None:
                line += ["–", "–"]
                continue
            reached = [second for second, value in zip(own.x, own.y, strict=True) if value >= (1 - NEAR) * top]
            mark: Mark = "best" if max(own.y) == top else ""
            line += [number(float(reached[0])) if reached else "never", Cell(number(max(own.y)), mark)]
        rows.append(line)
    columns = ["Method", *(f">{name} · {what}" for name in by_set for what in ("seconds", "highest"))]
    caption = (
        "seconds: of training, until the mean over seeds is within a twentieth of the highest mean of all methods; looked at "
        "every few epochs only, so near ones are not told apart. highest: of the curve, validation, %. The best is bold."
    )
    return [Table("figure-3", "How soon each is near the top", columns, rows, caption)] if rows else []


def near_the_top(figure: Figure) -> list[Figure]:
    """The same where curves are within a tenth of the highest point, in which leaders can be told apart; else nothing."""
    known = [value for one in figure.series for value in one.y if math.isfinite(value)]
    if not known:
        return []
    least = (1 - FAR) * max(known)
    kept = [_above(one, least) for one in figure.series]
    short = [one.name for one, near in zip(figure.series, kept, strict=True) if len(near.x) < 2]
    if len(short) == len(kept):
        return []
    never = f" {joined(short)} never get{'s' * (len(short) == 1)} there." if short else ""
    return [
        replace(
            figure,
            name=f"{figure.name} near the top",
            title=f"{figure.title}, within a tenth of the highest",
            series=[one for one in kept if len(one.x) > 1],
            caption=f"The same curves where they are within a tenth of the highest point of all.{never}",
        )
    ]


def _above(series: Series, least: float) -> Series:
    at = [place for place, value in enumerate(series.y) if value >= least]
    return replace(
        series,
        x=[series.x[place] for place in at],
        y=[series.y[place] for place in at],
        low=[series.low[place] for place in at if len(series.low)],
        high=[series.high[place] for place in at if len(series.high)],
        hints=[series.hints[place] for place in at if len(series.hints)],
    )
