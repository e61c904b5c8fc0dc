"""Tables II, III and IV, equal tuning and the many seeds: methods against one another."""

from reproduction.checks import distance_from_print
from reproduction.evidence import Evidence, Place
from reproduction.experiments import WIDE, at_work
from reproduction.methods import (
    AT_20,
    METHOD,
    METRICS,
    NAMES,
    NINE,
    READINGS,
    SAMPLERS,
    SOUND_AS_PRINTED,
    TUNABLE,
    variants,
)
from reproduction.scores import MARGIN, against, points, signs, stars
from reproduction.sections.settings import chosen_table
from reproduction.sections.tables import (
    Blocks,
    Column,
    compared,
    methods_table,
    places_table,
    resolved_in_words,
    twins,
    with_baselines,
)
from sahcns.lab import Table, joined, number

TWIN = "SAHC w/o Discrepancy"
ALIKE = f"On LightGCN, whose score is the mean over the layers, HC-only and {TWIN} are one algorithm; it is run once for both."


def nine(evidence: Evidence) -> Blocks:
    """Table II under both readings."""
    return [
        f"The paper's settings, {evidence.design.seeds} seeds. Its Yelp is not public, and Yelp-like is another set.",
        places_table(evidence, "Nine methods", evidence.places("table2")),
        "The same runs where training stopped, after the patience ran out:",
        places_table(evidence, "Nine methods", evidence.places("table2", "last")),
        "Why [AHNS](ahns.md) and [DENS](dens.md) fail with their published settings.",
    ]


def nine_beside(evidence: Evidence) -> Blocks:
    blocks: Blocks = [readings_table(evidence), ranking_by_reading(evidence)]
    return [*blocks, *compared(evidence, "table2", f"Each method minus {METHOD}")]


def readings_table(evidence: Evidence) -> Table:
    """How far the printed numbers are from either reading, on the paper's own data."""
    who = {joined(SOUND_AS_PRINTED): SOUND_AS_PRINTED, METHOD: (METHOD,), "RNS": ("RNS",)}
    rows = [
        [one.name, words, *(number(gap) for gap in distance_from_print(evidence, one, methods).values())]
        for one in evidence.design.sets
        for words, methods in who.items()
        if one.printed and one.same
    ]
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
    cells = len(evidence.places("table2")) * len(METRICS)
    first, last = (highest_means(evidence, METHOD, reading, reading) for reading in READINGS)
    favoured = {label: highest_means(evidence, label, "best", "last") for label in NINE}
    order = sorted(favoured, key=lambda label: -favoured[label])
    others = [f"{label} in {favoured[label]}" for label in order if favoured[label] and label != METHOD]
    return (
        f"{METHOD} has the highest mean in {first} of {cells} cells at the best validation epoch and in {last} where training "
        "stopped (a cell is a metric on a set). Read at its best epoch while the others are read where they stopped, it "
        f"would be first in {favoured[METHOD]}: how runs are read decides the ranking. The same favour to another alone "
        f"would make it first, {joined(others)}."
    )


def highest_means(evidence: Evidence, method: str, own: str, others: str) -> int:
    """In how many cells of Table II a method has the highest mean; readings of its own runs and of the others'."""
    mine, rest = (evidence.cells(evidence.places("table2", one), METRICS).values() for one in (own, others))
    return sum(
        all(ours[method].mean >= one.mean for label, one in theirs.items() if label != method)
        for ours, theirs in zip(mine, rest, strict=True)
    )


def backbones(evidence: Evidence) -> Blocks:
    """Table IV."""
    words = "The paper gives no settings of these backbones; SAHC-NS is as tuned on LightGCN."
    return [f"{evidence.design.few} seeds. {words}", places_table(evidence, "Nine methods", evidence.places("table4"))]


def equal(evidence: Evidence) -> Blocks:
    """Every method with a pool of its own size and what validation chose for it."""
    design = evidence.design
    return [
        f"{design.seeds} seeds, a pool of {design.pool} for all but RNS, and for each method what validation chose in "
        f"{design.trials} trials, or in as many as it has settings to try ([how](tune.md)). `sahcns report …/tuning/SET` shows "
        "each search.",
        chosen_table(evidence),
        "With top_k=1 DNS(M,N) is DNS, and with lam=1 DivNS is.",
        f"Untuned is as published, of {METHOD} α = 0.3, λmax = 0.5. * differs from untuned.",
        tuned_table(evidence),
        "The tuned ones where training stopped:",
        places_table(evidence, "Nine methods", evidence.places("equal", "last")),
        *resolved_in_words(evidence, evidence.places("equal")),
    ]


def tuned_table(evidence: Evidence) -> Table:
    """The nine tuned alike beside untuned, with a star where tuning made a resolved difference; Holm over the table."""
    columns: dict[str, Column] = {}
    places = {place: evidence.at_20(place) for place in evidence.places("equal")}
    before = {place: evidence.untuned(place.data) for place in places}
    tests = {
        (place, label, metric): scores.minus(before[place][metric][label])
        for place, tuned in places.items()
        for metric, methods in tuned.items()
        for label, scores in methods.items()
        if NINE[label] in TUNABLE and label in before[place][metric]
    }
    for place, tuned in places.items():
        columns[evidence.name(place)] = twins(tuned, stars(tests), place)
        cells = twins(before[place]).items()
        columns[f"{evidence.name(place)}, untuned"] = {one: cell if NINE[one] in TUNABLE else "" for one, cell in cells}
    labels, columns = with_baselines(evidence, NINE, columns)
    return methods_table("equal-tuned", "Nine methods tuned alike", labels, columns)


def places_of_parts(evidence: Evidence, reading: str = "best") -> list[Place]:
    """The sets on which the parts of SAHC-NS are tested, each with as many seeds as there are."""
    places = {place.data: place for part in ("table3", "power") for place in evidence.places(part, reading)}
    return [places[one.folder] for one in evidence.design.sets if one.folder in places]


def parts(evidence: Evidence) -> Blocks:
    """Table III: SAHC-NS and its variants on each set."""
    labels = [label for label in variants({"name": "sahc", **SAMPLERS["sahc"]}) if label != TWIN]
    tables = [
        places_table(evidence, "SAHC-NS without one of its parts", places_of_parts(evidence, reading), labels)
        for reading in READINGS
    ]
    phrases = []
    for place in places_of_parts(evidence):
        own, seeds = at_work(evidence.chosen, place.data), len(evidence.seeds(place.part))
        phrases.append(f"{evidence.name(place)} with α = {own['alpha']:g}, λmax = {own['lambda_max']:g}, {seeds} seeds")
    words = f"{'; '.join(phrases)}. {ALIKE} Why it fails [without the mean](without-mean.md)."
    return [words, tables[0], "Where training stopped:", tables[1]]


def parts_beside(evidence: Evidence) -> Blocks:
    words = (
        f"{WIDE} is SAHC-Fixed with strengths from U(0, 1) in place of U(0, λmax), which is half of λmax on average."
    )
    return [words, *compared(evidence, "table3", f"Each variant minus {METHOD}")]


def many_seeds(evidence: Evidence) -> Blocks:
    """Each method minus SAHC-NS with its interval, and where the two are equivalent; Holm for each set."""
    columns: dict[str, dict[str, str]] = {}
    for place in evidence.places("power"):
        cells = against(evidence.cells([place], AT_20))
        for (_, metric), ones in cells.items():
            marks = signs(ones, cells)
            column = columns.setdefault(f"{evidence.name(place)}, {NAMES[metric]}", {})
            for label, paired, _ in ones:
                low, high = (number(100 * end, sign=True) for end in (paired.low, paired.high))
                column[label] = f"{points(paired)}{marks[label]} ({low} to {high})"
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    words = (
        f"Each minus {METHOD} in points, with its 95 % interval. * resolved; ≈ equivalent: within {MARGIN:g} points by two "
        "one-sided t-tests, p < 0.05 (each with Holm over the set)."
    )
    seeds = f"{evidence.design.many} seeds."
    return [f"{seeds} {words}", methods_table("many-seeds", "Many seeds", labels, columns, words)]
