"""What tuning chose on each set, and how it went."""

from collections.abc import Sequence
from dataclasses import replace

from reproduction.evidence import Evidence
from reproduction.experiments import at_work, own_settings
from reproduction.methods import TUNABLE
from reproduction.sections.searches import closeness_in_words, pruning_in_words, searches_table
from reproduction.sections.standing import unfinished
from sahcns.lab import Figure, Search, Section, Table, chosen_table, joined, search_figures

HALVES = (("alpha", "α", "HC-only"), ("lambda_max", "λmax", "SA-only"))
"""A setting, its letter, and what is left of SAHC-NS where it is 0."""


def settings_in_words(evidence: Evidence) -> str:
    """Which α and λmax SAHC-NS is run with on each set, and where they come from."""
    told = []
    for one in evidence.design.sets:
        own = own_settings(evidence.chosen, one.folder)
        source = "tuned on validation" if "sahc" in evidence.chosen.get(one.folder, {}) else "not tuned yet"
        rest = "".join(f"; so it is {other}" for name, _, other in HALVES if not own[name])
        told.append(f"{one.name} α = {own['alpha']:g}, λmax = {own['lambda_max']:g} ({source}{rest})")
    return f"SAHC-NS is run with {'; '.join(told)}. The paper does not print its values."


def parts_in_words(evidence: Evidence, folders: Sequence[str]) -> list[str]:
    """A sentence where a part of SAHC-NS was tuned away, and is at work all the same; else nothing."""
    told = []
    for folder in folders:
        tuned, own = own_settings(evidence.chosen, folder), at_work(evidence.chosen, folder)
        for name, letter, rest in HALVES:
            if tuned[name] != own[name]:
                told.append(
                    f"On {evidence.design.data(folder).name} tuning chose {letter} = 0, which is {rest}; here SAHC-NS has "
                    f"{letter} = {own[name]:g}, so that each part has something to do."
                )
    return told


def switched_off(evidence: Evidence, folders: Sequence[str]) -> list[str]:
    """A sentence where tuning switched a part of SAHC-NS off, so that what stands under its name lacks it; else nothing."""
    told = []
    for folder in folders:
        own = own_settings(evidence.chosen, folder)
        for name, letter, rest in HALVES:
            if not own[name]:
                told.append(
                    f"On {evidence.design.data(folder).name} tuning chose {letter} = 0: what stands here as SAHC-NS on it is "
                    f"{rest}, one half of the method."
                )
    return told


def missing_in_words(evidence: Evidence) -> list[str]:
    """Which searches of the study are not finished, set by set; what they have so far is no result."""
    told = []
    for one in evidence.design.sets:
        search, states = evidence.searches.get(one.folder), dict[str, list[str]]()
        for name in TUNABLE:
            begun = search is not None and name in search.samplers
            state = search.state(name) if search is not None and begun else "not begun"
            states.setdefault(state, []).append(name)
        states.pop("finished", None)
        if states:
            told.append(f"{one.name}: {'; '.join(f'{joined(names)} ({state})' for state, names in states.items())}")
    return [f"Not finished, and without a chosen setting, are on {'. On '.join(told)}."] if told else []


def cut_off_in_words(search: Search, name: str) -> list[str]:
    """How many trials were cut off: what they show is not what they would have reached."""
    trials = [trial for sampler in search.samplers for trial in search.of(sampler)]
    cut = sum(trial.state == "pruned" for trial in trials)
    if not cut:
        return []
    return [
        f"{name}: {cut} of {len(trials)} trials were cut off early, since others were ahead of them at that epoch. They stand "
        "below with the best up to there, which is no more than they would have reached: only trials run to their end "
        "can be held against each other."
    ]


def tuning_section(evidence: Evidence) -> Section:
    found: list[str | Table | Figure] = [*unfinished(evidence, "tuning")]
    if evidence.searches:
        found += missing_in_words(evidence)
        found.append(
            f"On validation only, the test part out of reach, {evidence.design.trials} trials for each sampler, which for "
            "SAHC-NS is every point of the paper's grid; one with fewer settings to try is tried at each of them. Every trial "
            "stands on the page that `sahcns report …/tuning/SET` makes."
        )
    for data, search in evidence.searches.items():
        name = evidence.design.data(data).name
        found += cut_off_in_words(search, name)
        found += [*pruning_in_words(evidence, data), *closeness_in_words(evidence, data)]
        found.append(replace(chosen_table(search), name=f"tuning-{data}", title=f"Tuned on {name}"))
        found.append(searches_table(evidence, data))
        wanted = {"search", "search-sahc-of-both"}
        found += [
            replace(figure, name=f"{figure.name}-{data}", title=f"{name}: {figure.title}")
            for figure in search_figures(search)
            if figure.name in wanted
        ]
    return Section("Tuning", found)
