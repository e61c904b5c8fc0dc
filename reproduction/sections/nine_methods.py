"""Tables II and IV: nine methods on each set and backbone, both readings of each run, ours beside the paper's."""

from reproduction.checks import distance_from_print
from reproduction.evidence import Evidence
from reproduction.methods import METHOD, NINE, SOUND_AS_PRINTED
from reproduction.published import printed_2, printed_4
from reproduction.scores import AT_20, METRICS, READINGS, joined, number
from reproduction.sections import Blocks
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
from sahcns.lab import Table

TWINS = "Recall@20 / NDCG@20 in percent on the test part, mean over seeds."


def nine_table(evidence: Evidence, part: str = "table2", reading: str = "best") -> Table:
    """The nine on each set; at the best epoch beside what the paper prints for its own data."""
    columns: dict[str, Column] = {}
    for one in evidence.design.sets:
        columns[one.name] = ours(evidence, Place(part, one.folder), reading)
        if one.printed and one.same and (part, reading) == ("table2", "best"):
            columns[f"{one.name}, paper"] = printed(printed_2(one.like))
    title = f"Nine methods, {READINGS[reading]}"
    return methods_table(f"{part}-{reading}", title, NINE, columns, TWINS)


def table_2_blocks(evidence: Evidence) -> Blocks:
    places = [Place("table2", one.folder) for one in evidence.design.sets]
    blocks: Blocks = [nine_table(evidence, "table2", reading) for reading in READINGS]
    blocks += [readings_table(evidence), ranking_by_reading(evidence), *resolved_in_words(evidence, places)]
    blocks.append(differences_figure(evidence, places, "table2-differences", f"Each method minus {METHOD}"))
    for one, place in zip(evidence.design.sets, places, strict=True):
        blocks.append(beside_paper(evidence, place, printed_2(one.like) if one.printed else {}, METRICS))
    return [*blocks, *(pairs_table(evidence, places, f"table2-pairs-{one}", METRICS, one) for one in READINGS)]


def readings_table(evidence: Evidence) -> Table:
    """How far the printed numbers are from either reading, on the paper's own data."""
    who = {joined(SOUND_AS_PRINTED): SOUND_AS_PRINTED, METHOD: (METHOD,), "RNS": ("RNS",)}
    rows = []
    for one in evidence.design.sets:
        for words, methods in who.items():
            if one.printed and one.same:
                gaps = distance_from_print(evidence, one.folder, methods)
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


BACKBONE_NAMES = {"ngcf": "NGCF", "simgcl": "SimGCL"}


def backbones_table(evidence: Evidence) -> Table:
    columns: dict[str, Column] = {}
    for backbone, shown in BACKBONE_NAMES.items():
        for one in evidence.design.pair_sets:
            columns[f"{shown}, {one.name}"] = ours(evidence, Place("table4", one.folder, backbone))
            if one.printed and one.same:
                columns[f"{shown}, {one.name}, paper"] = printed(printed_4(backbone, one.like))
    caption = f"{TWINS} The paper gives no settings of these backbones; SAHC-NS is as tuned on LightGCN."
    return methods_table("table4", "Nine methods on other backbones", NINE, columns, caption)


def table_4_blocks(evidence: Evidence) -> Blocks:
    places = [Place("table4", one.folder, backbone) for backbone in BACKBONE_NAMES for one in evidence.design.pair_sets]
    blocks: Blocks = [backbones_table(evidence), *resolved_in_words(evidence, places)]
    for place in places:
        one = evidence.design.data(place.data)
        blocks.append(beside_paper(evidence, place, printed_4(place.backbone, one.like) if one.printed else {}, AT_20))
    return [*blocks, pairs_table(evidence, places, "table4-pairs")]
