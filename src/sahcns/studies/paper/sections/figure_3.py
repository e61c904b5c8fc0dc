"""Fig. 3: Recall@20 on validation against the seconds of training."""

import math
from dataclasses import replace

from sahcns.reports.parts import Figure, Section, Series, Table
from sahcns.studies.comparison.figures import curves
from sahcns.studies.comparison.naming import joined
from sahcns.studies.paper.beside import FAR
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.sections.standing import unfinished
from sahcns.studies.paper.sections.table_2 import table_2_board


def figure_3_section(evidence: Evidence) -> Section:
    board = table_2_board(evidence)
    found: list[str | Table | Figure] = [*unfinished(evidence, "table2")]
    if board is not None:
        for one in evidence.design.sets:
            drawn = curves(board, one.name, board.of("lightgcn"), one.name) if one.name in board.data else []
            for figure in drawn:
                if figure.name.startswith("seconds"):
                    found += [figure, *near_the_top(figure)]
    return Section("Fig. 3: accuracy against time", found)


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
