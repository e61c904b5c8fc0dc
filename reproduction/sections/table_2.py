"""Table II: nine methods, both readings of each run, ours beside the paper's, and what follows for its ranking."""

from reproduction.checks import distance_from_print
from reproduction.evidence import Evidence
from reproduction.mechanism_checks import counts
from reproduction.methods import METHOD, NINE, SOUND_AS_PRINTED
from reproduction.published import TABLE_1, printed_2
from reproduction.scores import AT_20, METRICS, READINGS, joined, number
from reproduction.sections import Blocks, unfinished
from reproduction.sections.comparison import (
    Column,
    Place,
    beside_paper,
    differences_figure,
    methods_table,
    ours,
    pairs_table,
    printed,
    resolved_in_words,
)
from reproduction.sections.tuning import settings_in_words
from sahcns.lab import Cell, Section, Table

TWINS = "Recall@20 / NDCG@20 in percent on the test part, mean over seeds."


def data_section(evidence: Evidence) -> Section:
    """Table I: our sets beside the paper's."""
    rows: list[list[Cell | str]] = []
    for one in evidence.design.sets:
        own, about = counts(evidence, one.folder), evidence.about(one.folder)
        if own is None or about is None:
            continue
        theirs = TABLE_1[one.like] if one.printed else None
        row: list[Cell | str] = [one.name]
        for at, count in enumerate(own):
            row += [f"{count:,}", f"{theirs[at]:,}" if theirs else "–"]
        row += [f"{100 * own[2] / (own[0] * own[1]):.3f} %"]
        row.append(" / ".join(f"{about[part]:,}" for part in ("train", "valid", "test")))
        rows.append(row)
    columns = ["Data", *(f">{what} · {who}" for what in ("users", "items", "pairs") for who in ("ours", "paper"))]
    caption = "Counted from the data that the runs were made on."
    table = Table("table-1", "The sets", [*columns, ">density", ">train / valid / test"], rows, caption)
    return Section("Table I: data", [table if rows else "No set was run yet."])


def nine_table(evidence: Evidence, part: str = "table2", reading: str = "best") -> Table:
    """The nine on each set; at the best epoch beside what the paper prints for its own data."""
    columns: dict[str, Column] = {}
    for one in evidence.design.sets:
        columns[one.name] = ours(evidence, Place(part, one.folder), reading)
        if one.printed and one.same and (part, reading) == ("table2", "best"):
            columns[f"{one.name}, paper"] = printed(printed_2(one.like))
    title = f"Nine methods, {READINGS[reading]}"
    return methods_table(f"{part}-{reading}", title, NINE, columns, TWINS)


def table_2_section(evidence: Evidence) -> Section:
    blocks: Blocks = unfinished(evidence, "table2")
    sets = [one for one in evidence.design.sets if evidence.methods("table2", one.folder, AT_20[0])]
    places = [Place("table2", one.folder) for one in sets]
    if not places:
        return Section("Table II: the paper's protocol", blocks)
    blocks += [settings_in_words(evidence), *(nine_table(evidence, "table2", reading) for reading in READINGS)]
    blocks += [readings_table(evidence), ranking_by_reading(evidence), *resolved_in_words(evidence, places)]
    figure = differences_figure(evidence, places, "table2-differences", f"Each method minus {METHOD}")
    blocks += [figure] if figure else []
    for one, place in zip(sets, places, strict=True):
        numbers = printed_2(one.like) if one.printed else {}
        title = f"{one.name}: ours beside the paper"
        blocks.append(beside_paper(evidence, place, one, numbers, METRICS, f"table2-{one.folder}", title))
    for reading in READINGS:
        table = pairs_table(evidence, places, f"table2-pairs-{reading}", METRICS, reading)
        blocks += [table] if table else []
    return Section("Table II: the paper's protocol", blocks)


def readings_table(evidence: Evidence) -> Table:
    """How far the printed numbers are from either reading, on the paper's own data."""
    who = {joined(SOUND_AS_PRINTED): SOUND_AS_PRINTED, METHOD: (METHOD,), "RNS": ("RNS",)}
    rows = []
    for one in evidence.design.sets:
        for words, methods in who.items():
            if gaps := distance_from_print(evidence, one.folder, methods):
                rows.append([one.name, words, *(number(gap) for gap in gaps.values())])
    return Table(
        "readings",
        "How far ours are from print, by reading",
        ["Data", "Methods", ">best epoch", ">where it stopped"],
        rows,
        "Mean distance from what the paper prints, in points over the four metrics. RNS has no hard negatives to overfit to: "
        "where it is far off, ours and the paper's differ by more than the reading, such as the split.",
    )


def ranking_by_reading(evidence: Evidence) -> str:
    """In how many cells SAHC-NS has the highest mean under each reading, and under the better one for it alone."""
    cells, first = highest_means(evidence)
    _, last = highest_means(evidence, own="last", others="last")
    favoured = {label: highest_means(evidence, label, "best", "last")[1] for label in NINE}
    others = [
        f"{label} in {n}" for label, n in sorted(favoured.items(), key=lambda one: -one[1]) if n and label != METHOD
    ]
    words = (
        f"{METHOD} has the highest mean in {first} of {cells} cells at the best validation epoch and in {last} where training "
        "stopped (a cell is a metric on a set)."
    )
    if favoured[METHOD] <= max(first, last):
        return words
    return (
        f"{words} Read at its best epoch while the others are read where they stopped, it would be first in "
        f"{favoured[METHOD]}: how runs are read decides the ranking. The same favour to another alone would make it first, "
        f"{joined(others)}."
    )


def highest_means(
    evidence: Evidence, method: str = METHOD, own: str = "best", others: str = "best", part: str = "table2"
) -> tuple[int, int]:
    """Cells of a part, and in how many a method has the highest mean; readings of its own runs and of the others'."""
    cells = first = 0
    for one in evidence.design.sets:
        for metric in METRICS:
            mine = evidence.methods(part, one.folder, metric, own)
            rest = evidence.methods(part, one.folder, metric, others)
            if method in mine:
                cells += 1
                first += all(mine[method].mean >= rest[label].mean for label in rest if label != method)
    return cells, first
