"""Table III and the many seeds: what each part of SAHC-NS is worth."""

from reproduction.evidence import Evidence
from reproduction.experiments import WIDE, at_work
from reproduction.methods import METHOD, SAMPLERS, variants
from reproduction.published import printed_3
from reproduction.scores import ALPHA, AT_20, METRICS, NAMES, READINGS, interval, points
from reproduction.sections import Blocks
from reproduction.sections.comparison import (
    Column,
    Difference,
    Place,
    against,
    beside_paper,
    differences_figure,
    methods_table,
    ours,
    pairs_table,
    printed,
    resolved_in_words,
)
from reproduction.sections.nine_methods import TWINS
from sahcns.lab import Cell, Table

TWIN = "SAHC w/o Discrepancy"
ALIKE = f"On LightGCN, whose score is the mean over the layers, HC-only and {TWIN} are one algorithm; it is run once for both."


def places_of_parts(evidence: Evidence) -> list[Place]:
    """The sets on which the parts of SAHC-NS are tested, each with as many seeds as there are."""
    design = evidence.design
    return [
        Place("power" if one.folder in design.powered else "table3", one.folder)
        for one in design.sets
        if one.folder in (*design.pair, *design.powered)
    ]


def strengths(evidence: Evidence, data: str) -> str:
    """`α = 0.3, λmax = 0.1`: where the parts are the question."""
    own = at_work(evidence.chosen, data)
    return f"α = {own['alpha']:g}, λmax = {own['lambda_max']:g}"


def parts_table(evidence: Evidence) -> Table:
    """SAHC-NS and its variants on each set, both readings, beside the paper."""
    columns: dict[str, Column] = {}
    for reading, words in READINGS.items():
        for place in places_of_parts(evidence):
            one = evidence.design.data(place.data)
            seeds = len(evidence.seeds(place.part))
            columns[f"{one.name}, {f'{seeds} seeds' if reading == 'best' else words}"] = ours(evidence, place, reading)
            if reading == "best" and one.printed and one.same and (numbers := printed_3(one.like)):
                columns[f"{one.name}, paper"] = printed(numbers)
    labels = [label for label in variants({"name": "sahc", **SAMPLERS["sahc"]}) if label != TWIN]
    settings = "; ".join(
        f"{strengths(evidence, place.data)} on {evidence.design.data(place.data).name}"
        for place in places_of_parts(evidence)
    )
    return methods_table("table3", "SAHC-NS without one of its parts", labels, columns, f"{TWINS} {settings}. {ALIKE}")


def many_seeds_table(evidence: Evidence) -> Table:
    """Each method minus SAHC-NS with its interval; Holm for each set."""
    places = [Place("power", data) for data in evidence.design.powered]
    columns: dict[str, dict[str, Difference]] = {}
    for place in places:
        for (_, metric), differences in against(evidence, [place]).items():
            head = f"{evidence.design.data(place.data).name}, {NAMES[metric]}"
            columns[head] = {one.label: one for one in differences if one.label != TWIN}
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    rows = [[label, *(_with_interval(column.get(label)) for column in columns.values())] for label in labels]
    caption = (
        f"The method minus {METHOD} in points, with its 95 % interval, over {evidence.design.many} seeds. "
        "* p < 0.05 in a paired t-test, after Holm over the set."
    )
    return Table("many-seeds", "Many seeds", ["Method", *(f">{head}" for head in columns)], rows, caption)


def _with_interval(one: Difference | None) -> Cell | str:
    if one is None:
        return "–"
    return f"{points(one.paired)}{'*' * (one.p < ALPHA)} ({interval(one.paired)})"


def table_3_blocks(evidence: Evidence) -> Blocks:
    places = [Place("table3", one.folder) for one in evidence.design.pair_sets]
    words = (
        f"{WIDE} is SAHC-Fixed with strengths from U(0, 1) in place of U(0, λmax), which is half of λmax on average."
    )
    blocks: Blocks = [ALIKE, words, parts_table(evidence), *resolved_in_words(evidence, places)]
    blocks.append(differences_figure(evidence, places, "table3-differences", f"Each variant minus {METHOD}"))
    for one, place in zip(evidence.design.pair_sets, places, strict=True):
        blocks.append(beside_paper(evidence, place, printed_3(one.like) if one.printed else {}, AT_20))
    return [*blocks, pairs_table(evidence, places, "table3-pairs")]


def power_blocks(evidence: Evidence) -> Blocks:
    places = [Place("power", data) for data in evidence.design.powered]
    figure = differences_figure(evidence, places, "power-differences", f"Each method minus {METHOD}, many seeds")
    blocks: Blocks = [many_seeds_table(evidence), *resolved_in_words(evidence, places), figure]
    return [*blocks, *(pairs_table(evidence, places, f"power-pairs-{one}", METRICS, one) for one in READINGS)]
