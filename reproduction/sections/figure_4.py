"""Fig. 4 and the pools: how much α, λmax and the number of candidates matter."""

from collections.abc import Mapping

from reproduction.checks import ARGUMENTS
from reproduction.evidence import Evidence
from reproduction.experiments import FAILING, HARD, TOP, at_work
from reproduction.methods import METHOD, NINE
from reproduction.scores import NAMES, NDCG, READINGS, RECALL, Scores, joined, twin_cell
from reproduction.sections import Blocks
from reproduction.sections.nine_methods import TWINS
from sahcns.lab import Cell, Figure, Series, Table

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
                curve = evidence.sweep(one.folder, argument, RECALL, reading)
                label = head if reading == "best" else f"… {READINGS[reading]}"
                rows.append([label, *(str(curve[value]) if value in curve else "–" for value in grid)])
    return Table("figure4", "How much of each part", [NAMES[RECALL], *(f">{value:g}" for value in grid)], rows)


def pool_sweep_in_words(evidence: Evidence) -> list[str]:
    """SAHC-NS by the size of its pool, on the sets where not every sampler was varied."""
    phrases = []
    for one in evidence.design.pair_sets:
        curve = evidence.sweep(one.folder, "pool", RECALL)
        if one.folder != evidence.design.single and curve:
            sizes, values = joined([f"{size:g}" for size in curve]), ", ".join(map(str, curve.values()))
            phrases.append(f"{METHOD} on {one.name} with {sizes} candidates has a Recall@20 of {values}.")
    return phrases


def figure_4_blocks(evidence: Evidence) -> Blocks:
    blocks: Blocks = [sweep_table(evidence)]
    for one in evidence.design.pair_sets:
        for argument, letter in ARGUMENTS.items():
            series = [
                _course(words, evidence.sweep(one.folder, argument, RECALL, reading), reading == "last")
                for reading, words in READINGS.items()
            ]
            name, title = f"figure4-{argument}-{one.folder}", f"{one.name}: {NAMES[RECALL]} against {letter}"
            caption = "Mean over seeds; the band is one standard deviation."
            axes = AXES[argument], f"test {NAMES[RECALL]}, %"
            blocks.append(Figure(name, title, *axes, series, caption=caption, x_log=argument == "pool"))
    return blocks


def _course(name: str, curve: Mapping[float, Scores], dashed: bool) -> Series:
    means = [own.percent for own in curve.values()]
    spread = [100 * own.std if own.n > 1 else 0.0 for own in curve.values()]
    low = [mean - std for mean, std in zip(means, spread, strict=True)]
    high = [mean + std for mean, std in zip(means, spread, strict=True)]
    return Series(name, list(curve), means, low, high, role="sahc", dashed=dashed)


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


def pools_blocks(evidence: Evidence) -> Blocks:
    data = evidence.design.data(evidence.design.single)
    cells, series = evidence.groups("pools", data.folder, RECALL), []
    for label in HARD:
        own = {float(size): scores.percent for (method, size), scores in cells.items() if method == label}
        series.append(Series(label, list(own), list(own.values()), role=NINE[label]))
    title = f"{data.name}: Recall@20 by the size of the pool"
    return [pools_table(evidence), Figure("pools", title, AXES["pool"], "Recall@20, %", series, x_log=True)]
