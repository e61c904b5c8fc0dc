"""A whole comparison as a report: what it shows, its tables and figures, and how it was made."""

from collections.abc import Sequence

from sahcns.lab.comparison.boards import boards_of
from sahcns.lab.comparison.contrasts import adjusted
from sahcns.lab.comparison.facts import facts
from sahcns.lab.comparison.figures import comparison_figures, differences
from sahcns.lab.comparison.findings import cautions, findings
from sahcns.lab.comparison.pairwise import pairs
from sahcns.lab.comparison.tables import METRICS, comparison_tables
from sahcns.lab.grid.result import Result
from sahcns.lab.report.parts import Figure, Report, Section, Table


def comparison_report(
    results: Sequence[Result],
    title: str = "A comparison of samplers",
    *,
    metrics: Sequence[str] = METRICS,
    baseline: str | None = None,
    against: str | None = None,
    reading: str = "best",
    test: str = "t",
    command: str = "",
) -> Report:
    """The arguments are those of `comparison_tables`; `command` is the one that made the results, where it is known."""
    tables = comparison_tables(results, metrics=metrics, baseline=baseline, against=against, reading=reading, test=test)
    boards, headline = boards_of(results), "last" if reading == "last" else "best"
    summary = [
        sentence for board in boards for sentence in findings(board, metrics, baseline, against, headline)
    ] + cautions(boards)
    gaps: list[Figure] = []
    for board in boards:
        found = pairs(board, metrics, against or baseline, headline)
        ps = adjusted(found)
        for place in board.places:
            here = [at for at, one in enumerate(found) if one.place == place]
            gap = differences([found[at] for at in here], [ps[at] for at in here], ", ".join(place))
            gaps += [gap] if gap else []
    shown = [metric for metric in metrics if metric.endswith("@20")] or list(metrics)
    figures = comparison_figures(results, metrics=shown, reading=headline)
    sections = [
        Section("Results", [*_named(tables, "comparison"), *_drawn(figures, "metrics")]),
        Section("Pairs", [*_named(tables, "pairwise"), *gaps]),
        Section("Pool size", _drawn(figures, "pool")),
        Section("Training", [*_drawn(figures, "epochs"), *_drawn(figures, "seconds")]),
    ]
    return Report(title, summary, [section for section in sections if section.blocks], facts(boards, command))


def _named(tables: Sequence[Table], kind: str) -> list[Table]:
    return [table for table in tables if table.name.startswith(kind)]


def _drawn(figures: Sequence[Figure], kind: str) -> list[Figure]:
    return [figure for figure in figures if figure.name.startswith(kind)]
