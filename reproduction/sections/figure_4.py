"""Fig. 4 and the pools: how much α, λmax and the number of candidates matter."""

from collections.abc import Mapping

from reproduction.checks import ARGUMENTS
from reproduction.evidence import Evidence
from reproduction.experiments import FAILING, HARD, TOP, at_work
from reproduction.methods import METHOD, NINE
from reproduction.scores import NAMES, NDCG, READINGS, RECALL, Scores, joined, twin_cell
from reproduction.sections import Blocks, unfinished
from reproduction.sections.table_2 import TWINS
from sahcns.lab import Cell, Figure, Section, Series, Table

AXES = {
    "alpha": "α, the weight of the discrepancy",
    "lambda_max": "λmax, the largest share of the positive",
    "pool": "N, candidates in the pool",
}


def sweep_table(evidence: Evidence) -> Table:
    """Recall@20 by α and by λmax; of λmax where training stopped, too."""
    grid = evidence.design.grid
    rows = []
    for argument, other in (("alpha", "lambda_max"), ("lambda_max", "alpha")):
        for one in evidence.design.pair_sets:
            fixed = at_work(evidence.chosen, one.folder)[other]
            head = f"{ARGUMENTS[argument]}, {one.name} ({ARGUMENTS[other]} = {fixed:g})"
            for reading in READINGS if argument == "lambda_max" else ("best",):
                found = evidence.sweep(one.folder, argument, RECALL, reading)
                label = head if reading == "best" else f"… {READINGS[reading]}"
                rows.append([label, *(str(found[value]) if value in found else "–" for value in grid)])
    return Table("figure4", "How much of each part", [NAMES[RECALL], *(f">{value:g}" for value in grid)], rows)


def pool_sweep_in_words(evidence: Evidence) -> list[str]:
    """SAHC-NS by the size of its pool, on the sets where not every sampler was varied."""
    told = []
    for one in evidence.design.pair_sets:
        found = evidence.sweep(one.folder, "pool", RECALL)
        if one.folder != evidence.design.single and found:
            sizes, values = joined([f"{size:g}" for size in found]), ", ".join(map(str, found.values()))
            told.append(f"{METHOD} on {one.name} with {sizes} candidates has a Recall@20 of {values}.")
    return told


def figure_4_section(evidence: Evidence) -> Section:
    blocks: Blocks = unfinished(evidence, "figure4")
    if evidence.runs("figure4"):
        blocks.append(sweep_table(evidence))
    for one in evidence.design.pair_sets:
        for argument, letter in ARGUMENTS.items():
            series = [
                _course(words, found, reading == "last")
                for reading, words in READINGS.items()
                if len(found := evidence.sweep(one.folder, argument, RECALL, reading)) > 1
            ]
            if series:
                name, title = f"figure4-{argument}-{one.folder}", f"{one.name}: {NAMES[RECALL]} against {letter}"
                caption = "Mean over seeds; the band is one standard deviation."
                axes = AXES[argument], f"test {NAMES[RECALL]}, %"
                blocks.append(Figure(name, title, *axes, series, caption=caption, x_log=argument == "pool"))
    return Section("Fig. 4: α, λmax and N", blocks)


def _course(name: str, found: Mapping[float, Scores], dashed: bool) -> Series:
    means = [own.percent for own in found.values()]
    spread = [100 * own.std if own.n > 1 else 0.0 for own in found.values()]
    low = [mean - std for mean, std in zip(means, spread, strict=True)]
    high = [mean + std for mean, std in zip(means, spread, strict=True)]
    return Series(name, list(found), means, low, high, role="sahc", dashed=dashed)


def pools_table(evidence: Evidence) -> Table:
    recall, ndcg = (evidence.groups("pools", evidence.design.single, metric) for metric in (RECALL, NDCG))
    sizes = [str(size) for size in evidence.design.wide_pools]
    rows: list[list[Cell | str]] = [
        [label, *(twin_cell(recall.get((label, size)), ndcg.get((label, size))) for size in sizes)] for label in HARD
    ]
    caption = (
        f"{TWINS} DNS(M,N) takes one of its top {TOP}; {joined(FAILING)} have what tuning chose with a pool of "
        f"{evidence.design.pool}."
    )
    name = evidence.design.data(evidence.design.single).name
    return Table(
        "pools", f"{name} by the size of the pool", ["Method", *(f">N = {size}" for size in sizes)], rows, caption
    )


def pools_section(evidence: Evidence) -> Section:
    blocks: Blocks = unfinished(evidence, "pools")
    data, sizes = evidence.design.single, [str(size) for size in evidence.design.wide_pools]
    cells = evidence.groups("pools", data, RECALL)
    if cells:
        series = []
        for label in HARD:
            own = {float(size): cells[label, size] for size in sizes if (label, size) in cells}
            if own:
                series.append(Series(label, list(own), [one.percent for one in own.values()], role=NINE[label]))
        title, axes = (
            f"{evidence.design.data(data).name}: Recall@20 by the size of the pool",
            (AXES["pool"], "Recall@20, %"),
        )
        blocks += [pools_table(evidence), Figure("pools", title, *axes, series, x_log=True)]
    return Section("Pool size", blocks)
