"""What tuning chose on each set, and how it went."""

from collections.abc import Sequence
from dataclasses import replace

from sahcns.reports.parts import Figure, Section, Table
from sahcns.studies.paper.evidence import Evidence
from sahcns.studies.paper.experiments import at_work, own_settings
from sahcns.studies.paper.sections.standing import unfinished
from sahcns.studies.tuning.figures import search_figures
from sahcns.studies.tuning.tables import search_tables, trial_table


def settings_in_words(evidence: Evidence) -> str:
    """Which α and λmax SAHC-NS is run with on each set, and where they come from."""
    told = []
    for one in evidence.design.sets:
        own = own_settings(evidence.chosen, one.folder)
        source = "tuned on validation" if "sahc" in evidence.chosen.get(one.folder, {}) else "not tuned yet"
        told.append(f"{one.name} α = {own['alpha']:g}, λmax = {own['lambda_max']:g} ({source})")
    return f"SAHC-NS is run with {'; '.join(told)}. The paper does not print its values."


def parts_in_words(evidence: Evidence, folders: Sequence[str]) -> list[str]:
    """A sentence where a part of SAHC-NS was tuned away, and is at work all the same; else nothing."""
    told = []
    for folder in folders:
        tuned, own = own_settings(evidence.chosen, folder), at_work(evidence.chosen, folder)
        for name, letter, rest in (("alpha", "α", "HC-only"), ("lambda_max", "λmax", "SA-only")):
            if tuned[name] != own[name]:
                told.append(
                    f"On {evidence.design.data(folder).name} tuning chose {letter} = 0, which is {rest}; here SAHC-NS has "
                    f"{letter} = {own[name]:g}, so that each part has something to do."
                )
    return told


def tuning_section(evidence: Evidence) -> Section:
    found: list[str | Table | Figure] = [*unfinished(evidence, "tuning")]
    if evidence.searches:
        found.append(
            f"On validation only, the test part out of reach, {evidence.design.trials} trials for each sampler, which for "
            "SAHC-NS is every point of the paper's grid; one with fewer settings to try is tried at each of them."
        )
    for data, search in evidence.searches.items():
        name = evidence.design.data(data).name
        found += [replace(table, name=f"tuning-{data}", title=f"Tuned on {name}") for table in search_tables(search)]
        wanted = {"search", "search-sahc-of-both"}
        found += [
            replace(figure, name=f"{figure.name}-{data}", title=f"{name}: {figure.title}")
            for figure in search_figures(search)
            if figure.name in wanted
        ]
        for sampler in search.samplers:
            table = trial_table(search, sampler)
            if table.rows:
                found.append(replace(table, name=f"{table.name}-{data}", title=f"{name}: {table.title.lower()}"))
    return Section("Tuning", found)
