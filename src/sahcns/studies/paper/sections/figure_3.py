"""Fig. 3: Recall@20 on validation against the seconds of training."""

from sahcns.reports.parts import Figure, Section, Table
from sahcns.studies.comparison.figures import curves
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.sections.standing import unfinished
from sahcns.studies.paper.sections.table_2 import table_2_board


def figure_3_section(evidence: Evidence) -> Section:
    board = table_2_board(evidence)
    found: list[str | Table | Figure] = [*unfinished(evidence, "table2")]
    if board is not None:
        for one in evidence.design.sets:
            drawn = curves(board, one.name, board.of("lightgcn"), one.name) if one.name in board.data else []
            found += [figure for figure in drawn if figure.name.startswith("seconds")]
    return Section("Fig. 3: accuracy against time", found)
