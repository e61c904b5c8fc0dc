"""How much settings matter: Fig. 4, pools, choices of the protocol, other splits, and what tuning chose."""

from collections.abc import Mapping
from statistics import fmean, stdev

from reproduction.evidence import Evidence, Place
from reproduction.experiments import ARGUMENTS, CHOICES, FAILING, FOUR, HARD, TOP, at_work, own_settings
from reproduction.methods import METHOD, NINE, TUNABLE
from reproduction.scores import Scores, spread_cell, stars
from reproduction.sections.tables import TWINS, Blocks, methods_table, twins
from reproduction.words import AT_20, NAMES, NDCG, READINGS, RECALL, joined, number
from sahcns.lab import Cell, Figure, Series, Table

AXES = {
    "alpha": "α, the weight of the discrepancy",
    "lambda_max": "λmax, the largest share of the positive",
    "pool": "N, candidates in the pool",
}
HALVES = (("alpha", "HC-only"), ("lambda_max", "SA-only"))
"""A setting, and what is left of SAHC-NS where it is 0."""
LABELS = {sampler: label for label, sampler in NINE.items()}


def sweep(evidence: Evidence) -> Blocks:
    """Fig. 4: Recall@20 by α and by λmax; of λmax where training stopped, too."""
    grid = evidence.design.grid
    rows = []
    for argument, other in (("alpha", "lambda_max"), ("lambda_max", "alpha")):
        for one in evidence.design.pair_sets:
            fixed = at_work(evidence.chosen, one.folder)[other]
            head = f"{ARGUMENTS[argument]}, {one.name} ({ARGUMENTS[other]} = {fixed:g})"
            for reading in READINGS if argument == "lambda_max" else ("best",):
                curve = evidence.sweep(one.folder, argument, reading)
                label = head if reading == "best" else f"… {READINGS[reading]}"
                rows.append([label, *(str(curve.get(value, "–")) for value in grid)])
    columns = [NAMES[RECALL], *(f">{value:g}" for value in grid)]
    words = f"{evidence.design.few} seeds, Recall@20 by α and λmax."
    return [words, Table("figure4", "How much of each part", columns, rows)]


def sweep_figures(evidence: Evidence) -> Blocks:
    blocks = Blocks()
    for one in evidence.design.pair_sets:
        for argument, letter in ARGUMENTS.items():
            name, title = f"figure4-{argument}-{one.folder}", f"{one.name}: {NAMES[RECALL]} against {letter}"
            series = [
                _course(words, evidence.sweep(one.folder, argument, reading), reading == "last")
                for reading, words in READINGS.items()
            ]
            caption = "Mean over seeds; the band is one standard deviation."
            axes = AXES[argument], f"test {NAMES[RECALL]}, %"
            blocks.append(Figure(name, title, *axes, series, caption=caption, x_log=argument == "pool"))
    return blocks


def _course(name: str, curve: Mapping[float, Scores], dashed: bool) -> Series:
    means = [own.percent for own in curve.values()]
    low, high = (
        [own.percent + sign * (own.spread if own.n > 1 else 0.0) for own in curve.values()] for sign in (-1, +1)
    )
    return Series(name, list(curve), means, low, high, role="sahc", dashed=dashed)


def pools(evidence: Evidence) -> Blocks:
    """Each hard sampler by the size of its pool on one set, and SAHC-NS on the others."""
    design = evidence.design
    recall, ndcg = (evidence.groups("pools", design.single, metric) for metric in (RECALL, NDCG))
    columns = {f"N = {size}": twins(own, ndcg[size]) for size, own in recall.items()}
    name = design.data(design.single).name
    tuned = f"{joined(FAILING)} have what tuning chose with a pool of {design.pool}"
    words = f"{design.few} seeds on {name}. DNS(M,N) takes one of its top {TOP}; {tuned}."
    blocks: Blocks = [words, methods_table("pools", f"{name} by the size of the pool", HARD, columns)]
    for one in design.pair_sets:
        curve = evidence.sweep(one.folder, "pool")
        if one.folder != design.single and curve:
            sizes, values = joined([f"{size:g}" for size in curve]), ", ".join(map(str, curve.values()))
            blocks.append(f"{METHOD} on {one.name} with {sizes} candidates has a Recall@20 of {values}.")
    return blocks


def pools_figure(evidence: Evidence) -> Blocks:
    data = evidence.design.data(evidence.design.single)
    cells, series = evidence.groups("pools", data.folder, RECALL), []
    for label in HARD:
        own = {float(size): methods[label].percent for size, methods in cells.items() if label in methods}
        series.append(Series(label, list(own), list(own.values()), role=NINE[label]))
    title = f"{data.name}: Recall@20 by the size of the pool"
    return [Figure("pools", title, AXES["pool"], "Recall@20, %", series, x_log=True)]


def choices(evidence: Evidence) -> Blocks:
    """Four methods under each choice of the protocol; Holm over all changes."""
    usual, data = next(iter(CHOICES)), evidence.design.single
    cells = {metric: evidence.groups("choices", data, metric) for metric in AT_20}
    marks = stars(
        {
            (words, label, metric): own.minus(groups[usual][label])
            for metric, groups in cells.items()
            for words, methods in groups.items()
            for label, own in methods.items()
            if words != usual
        }
    )
    rows: list[list[Cell | str]] = []
    for choice, own in cells[RECALL].items():
        notes = {(label, metric): mark for (words, label, metric), mark in marks.items() if words == choice}
        found = twins(own, cells[NDCG][choice], notes)
        rows.append([choice, *(found.get(label, "–") for label in FOUR)])
    name = evidence.design.data(data).name
    words = f"{evidence.design.few} seeds on {name}; * differs from the first row."
    columns = ["Choice", *(f">{label}" for label in FOUR)]
    return [words, Table("choices", f"Choices of the protocol on {name}", columns, rows, TWINS)]


def splits(evidence: Evidence) -> Blocks:
    """Recall@20 of four methods on the given split and on random ones of the same pairs."""
    own = evidence.design.data(evidence.design.single)
    folders = {"as given": own.folder, **{one.name.rpartition(", ")[2]: one.folder for one in evidence.design.resplits}}
    cells = {words: evidence.methods(Place("splits", data), RECALL) for words, data in folders.items()}
    rows: list[list[Cell | str]] = []
    for label in FOUR:
        line: list[Cell | str] = [label]
        for methods in cells.values():
            best = max((one.mean for one in methods.values()), default=None)
            line.append(spread_cell(methods.get(label), label in methods and methods[label].mean == best))
        there = {words: methods[label] for words, methods in cells.items() if label in methods}
        random = [one.percent for words, one in there.items() if words != "as given"]
        spreads = [one.spread for one in there.values() if one.n > 1]
        line += [number(fmean(random)) if random else "–", number(stdev(random)) if len(random) > 1 else "–"]
        rows.append([*line, number(fmean(spreads)) if spreads else "–"])
    columns = ["Method", *(f">{words}" for words in cells), ">random, mean", ">std, splits", ">std, seeds"]
    words = (
        "Recall@20 on random splits of the same pairs, 8:1:1, beside the one given, which has its own shares; ± is the "
        "standard deviation over seeds, and the best of each split is bold."
    )
    return [words, Table("splits", f"{own.name}: other splits of the same pairs", columns, rows)]


def settings_in_words(evidence: Evidence) -> str:
    """Which α and λmax SAHC-NS is run with on each set, where they come from, and where a part is switched off by a 0."""
    phrases, off = [], []
    for one in evidence.design.sets:
        own, working = own_settings(evidence.chosen, one.folder), at_work(evidence.chosen, one.folder)
        source = "" if "sahc" in evidence.chosen.get(one.folder, {}) else " (not tuned yet)"
        phrases.append(f"α = {own['alpha']:g} and λmax = {own['lambda_max']:g} on {one.name}{source}")
        off += [
            f" So on {one.name} it is {rest}, except where its parts are the question (Table III, Figs 1, 4 and 5, pools, "
            f"many seeds): there it has {ARGUMENTS[name]} = {working[name]:g}."
            for name, rest in HALVES
            if own[name] != working[name]
        ]
    return f"Validation chose {', '.join(phrases)}; the paper prints neither.{''.join(off)}"


def chosen_table(evidence: Evidence) -> Table:
    """What validation chose for each method on each set."""
    sets = evidence.design.sets
    rows = [[LABELS[name], *(_chosen(evidence, one.folder, name) for one in sets)] for name in TUNABLE]
    return Table("tuning-chosen", "Chosen on validation", ["Method", *(one.name for one in sets)], rows)


def _chosen(evidence: Evidence, data: str, name: str) -> str:
    chosen, search = evidence.chosen.get(data, {}).get(name), evidence.searches.get(data)
    if chosen is None or search is None:
        return "–"
    values = {key: chosen[key] for key in search.spaces[name] if key in chosen}
    return ", ".join(
        f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in values.items()
    )
