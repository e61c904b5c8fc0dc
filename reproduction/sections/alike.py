"""All methods with everything tuned: what each search spent, what it chose, what that reaches; and what needs no gradient."""

from reproduction.evidence import Evidence, NotRun
from reproduction.experiments import of_all
from reproduction.methods import ALL_TUNED, AT_20, BASELINES, METHOD, OF_PROTOCOL, WITHOUT_GRADIENT
from reproduction.scores import MARGIN, against, seeds, signs
from reproduction.sections.settings import LABELS
from reproduction.sections.tables import Blocks, Column, methods_table, resolved_in_words, twins, with_baselines
from sahcns.lab import Search, Table, joined

SHORT = {f"{OF_PROTOCOL}l2": "L2", f"{OF_PROTOCOL}learning_rate": "step"}


def everything(evidence: Evidence) -> Blocks:
    """L2, step size, pool and own settings searched for each method, beside what needs no gradient."""
    design = evidence.design
    blocks: Blocks = [
        f"For each of the nine, for a family that has {METHOD} and MixGCF at its ends, and for each set L2, the step size, "
        f"the pool (up to {design.all_pools[-1]}) and the method's own settings are searched on validation: "
        f"{design.all_trials} trials or {design.all_epochs:,} epochs, whichever end first ([how](tune.md)), a trial with at "
        f"most {design.longest} epochs. Then {design.alike} seeds of what was chosen.",
    ]
    searches = {
        one.name: search for one in design.sets if (search := evidence.searches.get(of_all(one.folder))) is not None
    }
    if not searches:
        raise NotRun("tuning-all")
    blocks += [chosen_table(searches), *at_ends(searches), *unfinished(searches, design.longest)]
    places = evidence.places("alike")
    differences = against(evidence.cells(places, AT_20))
    marks = {
        (place, label, metric): sign
        for (place, metric), ones in differences.items()
        for label, sign in signs(ones, differences).items()
    }
    columns: dict[str, Column] = {}
    for place in places:
        column = twins(evidence.at_20(place), marks, place)
        columns[evidence.name(place)] = column
    if any(columns.values()):
        labels, columns = with_baselines(evidence, ALL_TUNED, columns)
        words = f"* differs from {METHOD}, ≈ within {MARGIN:g} points of it; Holm over the table."
        blocks += [words, methods_table("alike", "All methods, everything tuned", labels, columns)]
        blocks += resolved_in_words(evidence, places)
    return blocks


def chosen_table(searches: dict[str, Search]) -> Table:
    """What validation chose for each method on each set, and what its search has spent."""
    rows = []
    for name in ALL_TUNED.values():
        row = [LABELS[name]]
        for search in searches.values():
            best = search.choice(name) if name in search.spaces else None
            if best is None:
                row.append("–")
                continue
            point = {"pool": best.settings["pool"], **best.point}
            words = [
                f"{SHORT.get(key, key)}={one if isinstance(one, str) else f'{one:.3g}'}" for key, one in point.items()
            ]
            row.append(f"{', '.join(words)} ({len(search.of(name))} trials, {search.epochs(name):,} epochs)")
        rows.append(row)
    return Table("alike-chosen", "Chosen on validation", ["Method", *searches], rows)


def at_ends(searches: dict[str, Search]) -> list[str]:
    """A sentence on the choices beyond which nothing was tried."""
    found = [
        f"{SHORT.get(key, key)} of {LABELS[name]} on {data} ({end})"
        for data, search in searches.items()
        for name in search.chosen
        for key, end in search.ends(name).items()
        if end
    ]
    return [f"At an end of what was tried: {joined(found)}."] if found else []


def unfinished(searches: dict[str, Search], longest: int) -> list[str]:
    """A sentence on the choices that were still rising when their epochs ended."""
    found = [
        f"{LABELS[name]} on {data}"
        for data, search in searches.items()
        for name in search.chosen
        if (best := search.choice(name)) is not None and best.epochs_run >= longest
    ]
    return [f"Still at work when their {longest} epochs ended: {joined(found)}."] if found else []


def without_gradient(evidence: Evidence) -> Blocks:
    """The baselines: settings, what they reach, how long they take."""
    if not evidence.baselines:
        raise NotRun("baselines")
    rows, ends = [], []
    for folder, found in evidence.baselines.items():
        name = evidence.design.data(folder).name
        for key, one in found.items():
            own = {setting: one["settings"][setting] for setting in WITHOUT_GRADIENT[key]}
            words = ", ".join(f"{setting}={value:g}" for setting, value in own.items()) or "–"
            reached = [" / ".join(f"{100 * one[part][metric]:.2f}" for metric in AT_20) for part in ("valid", "test")]
            seconds = sum(tried["seconds"] for tried in one["tried"])
            rows.append([name, BASELINES[key], words, str(len(one["tried"])), *reached, f"{seconds:,.0f}"])
            ends += [f"{setting} of {BASELINES[key]} on {name} ({end})" for setting, end in one["ends"].items() if end]
    words = (
        "Settings by Recall@20 on validation: from the defaults to a neighbour on a grid while one is better; the test part is "
        "ranked once, with the study's masks. Fitted to the training part, on two cores of a CPU that others used too, so the "
        f"seconds of all fits are for orientation. ALS has {seeds(1)}; the others draw nothing."
    )
    columns = ["Data", "Baseline", "chosen", ">fits", ">valid", ">test", ">seconds"]
    blocks: Blocks = [words, Table("baselines", "Baselines without gradient", columns, rows)]
    return [*blocks, *([f"At an end of its grid: {joined(ends)}."] if ends else [])]
