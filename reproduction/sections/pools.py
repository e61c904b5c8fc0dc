"""What the size of the pool does to each hard sampler, all else equal."""

from dataclasses import replace

from reproduction.cells import shown
from reproduction.evidence import Evidence
from reproduction.experiments import FAILING, HARD, TOP
from reproduction.leading import AT_20
from reproduction.methods import METHOD, NINE
from reproduction.sections.against import difference_cell
from reproduction.sections.choices import change
from reproduction.sections.standing import unfinished
from reproduction.sections.tuning import parts_in_words
from sahcns.lab import Cell, Figure, Mark, Section, Summary, Table, holm, joined, long_name, number, pool_sizes


def pools_section(evidence: Evidence) -> Section:
    board = evidence.board("pools")
    name = evidence.design.data(evidence.design.single).name
    found: list[str | Table | Figure] = [
        *unfinished(evidence, "pools"),
        *parts_in_words(evidence, [evidence.design.single]),
    ]
    if board is not None:
        found += [told for metric in AT_20 if (told := best_sizes(evidence, metric))]
        for metric, figure in zip(AT_20, pool_sizes(board, name, board.of("lightgcn"), name, AT_20), strict=False):
            found += [_table(evidence, metric), _named(figure)]
        found += _against(evidence)
    return Section("Pool size", found)


def _named(figure: Figure) -> Figure:
    """With the methods' names for those of their samplers."""
    methods = {sampler: method for method, sampler in NINE.items()}
    return replace(figure, series=[replace(one, name=methods.get(one.name, one.name)) for one in figure.series])


def _cells(evidence: Evidence, metric: str) -> dict[tuple[str, str], Summary]:
    """(method, size of the pool) → the metric over seeds, for what was run."""
    found = {(row.label, row.group): evidence.cell("pools", row, metric) for row in evidence.rows("pools")}
    return {place: own for place, own in found.items() if own is not None and own.n}


def best_sizes(evidence: Evidence, metric: str) -> str:
    """`Recall@20 is highest for DNS at N = 20 (13.69), …`, of those that were run with more than one."""
    cells = _cells(evidence, metric)
    told = []
    for label in HARD:
        own = {size: one for (method, size), one in cells.items() if method == label}
        if len(own) > 1:
            top = max(own, key=lambda size: own[size].mean)
            told.append(f"{label} at N = {top} ({number(100 * own[top].mean)})")
    if not told:
        return ""
    return f"{long_name(metric)} is highest for {joined(told)}; picked on the test part, so only for orientation."


def _against(evidence: Evidence) -> list[Table]:
    sizes = [str(size) for size in evidence.design.wide_pools]
    tests = {}
    for metric in AT_20:
        cells = _cells(evidence, metric)
        for label in HARD:
            for size in sizes:
                if label != METHOD and {(METHOD, size), (label, size)} <= cells.keys():
                    tests[metric, label, size] = change(cells[METHOD, size], cells[label, size])
    holms = dict(zip(tests, holm([one.p for one in tests.values()]), strict=True))
    rows: list[list[Cell | str]] = []
    for metric, label in dict.fromkeys((metric, label) for metric, label, _ in tests):
        keys = [(metric, label, size) for size in sizes]
        rows.append(
            [
                long_name(metric),
                label,
                *(difference_cell(tests[key], holms[key]) if key in tests else "–" for key in keys),
            ]
        )
    if not rows:
        return []
    return [
        Table(
            "pools-against",
            f"{METHOD} minus each other, by the size of the pool",
            ["Metric", "Method", *(f">N = {size}" for size in sizes)],
            rows,
            "In percentage points; above 0 SAHC-NS is better. * p < 0.05 in a paired t-test over seeds, after Holm over this "
            "table; the interval is on hover.",
        )
    ]


def _table(evidence: Evidence, metric: str) -> Table:
    cells = _cells(evidence, metric)
    sizes = [str(size) for size in evidence.design.wide_pools]
    best = {size: max((own.mean for (_, at), own in cells.items() if at == size), default=0.0) for size in sizes}
    rows: list[list[Cell | str]] = []
    for label in HARD:
        own = [cells.get((label, size)) for size in sizes]
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
        f"size is bold. DNS(M,N) takes one of its top {TOP}; {joined(FAILING)} have what tuning chose with a pool of "
        f"{evidence.design.pool}. All train with the same budget of epochs and the same patience.",
    )
