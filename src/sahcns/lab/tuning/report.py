"""A whole search as a report: tables, figures, and what one must know to trust them."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from sahcns.lab.report.parts import Report, Section, Table
from sahcns.lab.tuning.figures import search_figures
from sahcns.lab.tuning.going import going_table, state_in_words
from sahcns.lab.tuning.space import short
from sahcns.lab.tuning.tables import percent, said_of, search_tables, trial_table
from sahcns.lab.tuning.trials import Search, read_search


def search_report(folder: str | os.PathLike[str]) -> Report:
    """The whole search in a folder, from its `trials.json`."""
    search = read_search(folder)
    figures = search_figures(search)
    going = [table] if (table := going_table(search)).rows else []
    race = [figure for figure in figures if figure.name == "search"]
    sections = [Section("Chosen", [*search_tables(search), *going, *race])]
    for name in search.samplers:
        pictures = [figure for figure in figures if figure.name.startswith(f"search-{name}-of-")]
        sections.append(Section(name, [_space_in_words(search, name), *pictures, *_trials(search, name)]))
    return Report(f"Tuning on {search.data['name']}", list(_summary(search)), sections, list(_facts(search)))


def _trials(search: Search, name: str) -> list[Table]:
    return [trial_table(search, name)] if search.of(name) else []


def _summary(search: Search) -> Iterator[str]:
    for name in search.samplers:
        best = search.best(name)
        state = "" if search.finished(name) else f" so far, after {state_in_words(search, name)}"
        if not search.of(name):
            yield f"{name}: not begun."
        elif best is not None and best.value is not None:
            chosen = said_of(best) if search.spaces[name] else "nothing to tune"
            yield f"{name}: {chosen}, {search.monitor} {percent(best.value)} % on validation{state}."
        else:
            yield f"{name}: no trial has come to its end{state}."


def _space_in_words(search: Search, name: str) -> str:
    told = []
    for setting, space in search.spaces[name].items():
        if isinstance(space, Mapping):
            log = " (logarithmic)" if space["log"] else ""
            told.append(f"{setting} from {short(space['low'])} to {short(space['high'])}{log}")
        else:
            told.append(f"{setting} in {{{', '.join(map(short, space))}}}")
    return f"Searched: {'; '.join(told)}." if told else "Nothing to tune: trained once."


def _facts(search: Search) -> Iterator[tuple[str, str]]:
    yield "data", f"{search.data['name']}, fingerprint {search.data['fingerprint']}"
    yield "part", "validation; the test part was not there"
    yield "backbone", _listed(search.backbone)
    yield "protocol", _listed(search.protocol)
    yield "trials", _listed(search.budget)
    cut = [name for name in search.samplers if any(trial.state == "pruned" for trial in search.of(name))]
    before = f"off; trials of {', '.join(cut)} were cut off before, and still count" if cut else "off"
    yield "pruning", _listed(search.pruning) if search.pruning.get("on") else before
    for state, why in (("lost", "whose process died before their end"), ("replaced", "which were cut off before")):
        count = sum(trial.state == state for trial in search.trials)
        if count:
            yield state, f"{count} trials, {why}; they count for nothing, others take their place"
    yield "seed", str(search.seed)
    machines = {_listed(trial.machine): None for trial in search.trials if trial.machine}
    for machine in machines:
        yield "versions", machine


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {short(value)}" for name, value in values.items())
