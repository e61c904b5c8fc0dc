"""What tuning chose on each set, and where it switched a part of SAHC-NS off."""

from collections.abc import Sequence

from reproduction.evidence import Evidence
from reproduction.experiments import at_work, own_settings
from reproduction.methods import NINE, TUNABLE
from reproduction.scores import NAMES, RECALL
from reproduction.sections import Blocks
from sahcns.lab import Figure, Search, Series, Table

HALVES = (("alpha", "α", "HC-only"), ("lambda_max", "λmax", "SA-only"))
"""A setting, its letter, and what is left of SAHC-NS where it is 0."""
LABELS = {sampler: label for label, sampler in NINE.items()}


def settings_in_words(evidence: Evidence) -> str:
    """Which α and λmax SAHC-NS is run with on each set, and where they come from."""
    phrases = []
    for one in evidence.design.sets:
        own = own_settings(evidence.chosen, one.folder)
        source = "" if "sahc" in evidence.chosen.get(one.folder, {}) else " (not tuned yet)"
        phrases.append(f"α = {own['alpha']:g} and λmax = {own['lambda_max']:g} on {one.name}{source}")
    words = f"Validation chose {', '.join(phrases)}; the paper prints neither."
    return " ".join([words, *switched_off(evidence, [one.folder for one in evidence.design.sets])])


def switched_off(evidence: Evidence, folders: Sequence[str]) -> list[str]:
    """A sentence where tuning switched a part of SAHC-NS off; else nothing."""
    phrases = []
    for folder in folders:
        tuned, own = own_settings(evidence.chosen, folder), at_work(evidence.chosen, folder)
        for name, letter, rest in HALVES:
            if tuned[name] != own[name]:
                phrases.append(
                    f"So on {evidence.design.data(folder).name} it is {rest}, except where its parts are the question "
                    f"(Table III, Figs 1, 4 and 5, pools, many seeds): there it has {letter} = {own[name]:g}."
                )
    return phrases


def chosen_table(evidence: Evidence) -> Table:
    """What validation chose for each method on each set."""
    rows = [
        [LABELS[name], *(_chosen_words(evidence, one.folder, name) for one in evidence.design.sets)] for name in TUNABLE
    ]
    return Table("tuning-chosen", "Chosen on validation", ["Method", *(one.name for one in evidence.design.sets)], rows)


def _chosen_words(evidence: Evidence, data: str, name: str) -> str:
    chosen, search = evidence.chosen.get(data, {}).get(name), evidence.searches.get(data)
    if chosen is None or search is None:
        return "–"
    return ", ".join(f"{key}={_short(chosen[key])}" for key in search.spaces[name] if key in chosen)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def tuning_blocks(evidence: Evidence) -> Blocks:
    words = (
        f"On validation only, {evidence.design.trials} trials for each sampler, or as many as it has settings to try. How each "
        "search went is on the page that `sahcns report …/tuning/SET` makes."
    )
    figures = [one for data, search in evidence.searches.items() for one in _grid_figure(evidence, data, search)]
    return [words, chosen_table(evidence), *figures]


def _grid_figure(evidence: Evidence, data: str, search: Search) -> list[Figure]:
    """SAHC-NS over the grid of α and λmax."""
    values: dict[tuple[float, float], float] = {}
    for trial in search.complete("sahc") if "sahc" in search.samplers else ():
        values[trial.settings["alpha"], trial.settings["lambda_max"]] = 100 * (trial.value or 0.0)
    alphas, strengths = (sorted({pair[at] for pair in values}) for at in (0, 1))
    series = [
        Series(f"{alpha:g}", [f"{most:g}" for most in strengths], [values[alpha, most] for most in strengths])
        for alpha in alphas
        if all((alpha, most) in values for most in strengths)
    ]
    if len(series) < 2:
        return []
    title = f"SAHC-NS on {evidence.design.data(data).name}: validation {NAMES[RECALL]} by α and λmax"
    return [Figure(f"tuning-grid-{data}", title, "λmax", "α", series, kind="heat", value_label=f"{NAMES[RECALL]}, %")]
