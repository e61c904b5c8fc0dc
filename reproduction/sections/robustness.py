"""What else moves the numbers: choices of the protocol, and other random splits of the same pairs."""

from statistics import fmean, stdev

from reproduction.evidence import Evidence
from reproduction.experiments import CHOICES, FOUR
from reproduction.scores import ALPHA, AT_20, NDCG, RECALL, number, spread_cell, twin_cell
from sahcns.lab import Cell, Table, holm


def choices_table(evidence: Evidence) -> Table:
    """Four methods under each choice of the protocol; Holm over all changes."""
    usual, data = next(iter(CHOICES)), evidence.design.single
    cells = {metric: evidence.groups("choices", data, metric) for metric in AT_20}
    tests = {
        (words, label, metric): own.minus(cells[metric][label, usual]).p
        for metric in AT_20
        for (label, words), own in cells[metric].items()
        if words != usual and (label, usual) in cells[metric]
    }
    stars = {key for key, p in zip(tests, holm(list(tests.values())), strict=True) if p < ALPHA}
    rows: list[list[Cell | str]] = [
        [
            words,
            *(
                twin_cell(
                    cells[RECALL].get((label, words)),
                    cells[NDCG].get((label, words)),
                    ("*" * ((words, label, RECALL) in stars), "*" * ((words, label, NDCG) in stars)),
                )
                for label in FOUR
            ),
        ]
        for words in CHOICES
    ]
    name = evidence.design.data(data).name
    caption = "Recall@20 / NDCG@20 in percent. * differs from the first row, p < 0.05 after Holm over the table."
    return Table(
        "choices", f"Choices of the protocol on {name}", ["Choice", *(f">{label}" for label in FOUR)], rows, caption
    )


def splits_table(evidence: Evidence) -> Table:
    """Recall@20 of four methods on the given split and on random ones of the same pairs."""
    own = evidence.design.data(evidence.design.single)
    splits = {"as given": own.folder, **{one.name.rpartition(", ")[2]: one.folder for one in evidence.design.resplits}}
    cells = {words: evidence.methods("splits", data, RECALL) for words, data in splits.items()}
    rows: list[list[Cell | str]] = []
    for label in FOUR:
        line: list[Cell | str] = [label]
        for methods in cells.values():
            best = max((one.mean for one in methods.values()), default=None)
            line.append(spread_cell(methods.get(label), label in methods and methods[label].mean == best))
        random = [
            methods[label].percent for words, methods in cells.items() if words != "as given" and label in methods
        ]
        seeds = [100 * methods[label].std for methods in cells.values() if label in methods and methods[label].n > 1]
        line += [number(fmean(random)) if random else "–", number(stdev(random)) if len(random) > 1 else "–"]
        rows.append([*line, number(fmean(seeds)) if seeds else "–"])
    columns = ["Method", *(f">{words}" for words in cells), ">random, mean", ">std, splits", ">std, seeds"]
    caption = (
        "Recall@20 in percent, mean ± standard deviation over seeds. Random splits are 8:1:1 over all pairs; the given one "
        "has its own shares. The best of each split is bold."
    )
    return Table("splits", f"{own.name}: other splits of the same pairs", columns, rows, caption)
