"""How much settings matter: Fig. 4, pools, choices of the protocol, other splits, and what tuning chose."""

from statistics import fmean, stdev

from reproduction.evidence import Evidence, Place
from reproduction.experiments import ARGUMENTS, CHOICES, FAILING, FOUR, HARD, TOP, at_work, own_settings
from reproduction.methods import ALL_TUNED, METHOD, NAMES, READINGS, RECALL, TUNABLE
from reproduction.scores import spread_cell, stars
from reproduction.sections.tables import TWINS, Blocks, methods_table, twins
from sahcns.lab import Cell, Figure, Series, Table, comparison_figures, joined, number

AXES = {
    "alpha": "α, the weight of the discrepancy",
    "lambda_max": "λmax, the largest share of the positive",
    "pool": "N, candidates in the pool",
}
HALVES = (("alpha", "HC-only"), ("lambda_max", "SA-only"))
"""A setting, and what is left of SAHC-NS where it is 0."""
LABELS = {sampler: label for label, sampler in ALL_TUNED.items()}


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
            series = []
            for reading, words in READINGS.items():
                curve = evidence.sweep(one.folder, argument, reading)
                band = [(own.percent, own.spread if own.n > 1 else 0.0) for own in curve.values()]
                y, low, high = ([mean + sign * std for mean, std in band] for sign in (0, -1, 1))
                series.append(Series(words, list(curve), y, low, high, role="sahc", dashed=reading == "last"))
            caption = "Mean over seeds; the band is one standard deviation."
            axes = AXES[argument], f"test {NAMES[RECALL]}, %"
            blocks.append(Figure(name, title, *axes, series, caption=caption, x_log=argument == "pool"))
    return blocks


def pools(evidence: Evidence) -> Blocks:
    """Each hard sampler by the size of its pool on one set, and SAHC-NS on the others."""
    design = evidence.design
    columns = {f"N = {size}": twins(own) for size, own in evidence.groups("pools").items()}
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
    figures = comparison_figures(evidence.labelled("pools"), metrics=[RECALL])
    return [one for one in figures if one.name.startswith("pool")]


def choices(evidence: Evidence) -> Blocks:
    """Four methods under each choice of the protocol; Holm over all changes."""
    cells, usual = evidence.groups("choices"), next(iter(CHOICES))
    tests = {
        (choice, label, metric): own.minus(cells[usual][metric][label])
        for choice, by_metric in cells.items()
        for metric, methods in by_metric.items()
        for label, own in methods.items()
        if choice != usual
    }
    columns = {choice: twins(by_metric, stars(tests), choice) for choice, by_metric in cells.items()}
    rows = [[choice, *(column.get(label, "–") for label in FOUR)] for choice, column in columns.items()]
    name = evidence.design.data(evidence.design.single).name
    words = f"{evidence.design.few} seeds on {name}; * differs from the first row."
    heads = ["Choice", *(f">{label}" for label in FOUR)]
    return [words, Table("choices", f"Choices of the protocol on {name}", heads, rows, TWINS)]


def splits(evidence: Evidence) -> Blocks:
    """Recall@20 of four methods on the given split and on random ones of the same pairs."""
    own, random = evidence.design.data(evidence.design.single), evidence.design.resplits
    cells = [evidence.methods(Place("splits", one.folder), RECALL) for one in (own, *random)]
    rows: list[list[Cell | str]] = []
    for label in FOUR:
        line = [methods[label] for methods in cells]
        means = [one.percent for one in line[1:]]
        best = [
            one.mean == max(other.mean for other in methods.values()) for one, methods in zip(line, cells, strict=True)
        ]
        spreads = fmean(means), stdev(means), fmean(one.spread for one in line)
        rows.append([label, *map(spread_cell, line, best), *map(number, spreads)])
    heads = ["as given", *(one.name.rpartition(", ")[2] for one in random), "random, mean", "std, splits", "std, seeds"]
    words = (
        "Recall@20 on random splits of the same pairs, 8:1:1, beside the one given, which has its own shares; ± is the "
        "standard deviation over seeds, and the best of each split is bold."
    )
    columns = ["Method", *(f">{head}" for head in heads)]
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
    rows = [[LABELS[name]] for name in TUNABLE]
    for one in evidence.design.sets:
        search, chosen = evidence.searches.get(one.folder), evidence.chosen.get(one.folder, {})
        for name, row in zip(TUNABLE, rows, strict=True):
            own = chosen.get(name, {})
            values = {key: own[key] for key in (search.spaces[name] if search else ()) if key in own}
            words = [f"{key}={value if isinstance(value, str) else f'{value:.4g}'}" for key, value in values.items()]
            row.append(", ".join(words) or "–")
    return Table("tuning-chosen", "Chosen on validation", ["Method", *(one.name for one in evidence.design.sets)], rows)
