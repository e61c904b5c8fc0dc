"""What the size of the pool does to each hard sampler, all else equal."""

from sahcns.reports.parts import Cell, Figure, Mark, Section, Table
from sahcns.studies.comparison.figures import pool_sizes
from sahcns.studies.comparison.naming import long_name
from sahcns.studies.paper.cells import shown
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.experiments import HARD
from sahcns.studies.paper.leading import AT_20
from sahcns.studies.paper.sections.standing import unfinished
from sahcns.studies.paper.sections.tuning import parts_in_words


def pools_section(evidence: Evidence) -> Section:
    board = evidence.board("pools")
    name = evidence.design.data(evidence.design.single).name
    found: list[str | Table | Figure] = [
        *unfinished(evidence, "pools"),
        *parts_in_words(evidence, [evidence.design.single]),
    ]
    if board is not None:
        found += [_table(evidence, metric) for metric in AT_20]
        found += pool_sizes(board, name, board.of("lightgcn"), name, AT_20)
    return Section("Pool size", found)


def _table(evidence: Evidence, metric: str) -> Table:
    cells = {(row.label, row.group): evidence.cell("pools", row, metric) for row in evidence.rows("pools")}
    sizes = [str(size) for size in evidence.design.wide_pools]
    best = {
        size: max((own.mean for (_, at), own in cells.items() if own and at == size), default=0.0) for size in sizes
    }
    rows: list[list[Cell | str]] = []
    for label in HARD:
        own = [cells[label, size] for size in sizes]
        marks: list[Mark] = [
            "best" if one and one.mean == best[size] else "" for one, size in zip(own, sizes, strict=True)
        ]
        rows.append([label, *map(shown, own, marks)])
    return Table(
        f"pools-{metric}",
        f"{long_name(metric)} by the size of the pool",
        ["Method", *(f">N = {size}" for size in sizes)],
        rows,
        "In percent, on the test part at the best validation epoch; mean ± standard deviation over seeds. The best of each "
        "size is bold. DNS(M,N) takes one of its top 5. All train with the same budget of epochs and the same patience.",
    )
