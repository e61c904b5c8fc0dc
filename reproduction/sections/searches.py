"""How far a search is to be trusted: what it cut off, and how close its best are, held against runs with other seeds."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reproduction.evidence import Evidence
from reproduction.methods import Settings, sampler
from sahcns.lab import (
    ALPHA,
    Cell,
    Paired,
    Search,
    Table,
    Trial,
    best_gap,
    chance,
    frozen,
    holm,
    joined,
    long_name,
    number,
    outcome_table,
    paired_t,
    percent,
)

Seeds = Mapping[int, float]
"""Seed → what was reached on validation."""
RANGE = 2.326  # of five draws from a normal distribution, on average, in standard deviations
ENOUGH = 3  # seeds for a standard deviation


@dataclass(frozen=True)
class Again:
    """A trial whose setting the study trained to its end with other seeds, held against the setting that was chosen."""

    trial: Trial
    run_as: str  # the sampler's name in those runs
    paired: Paired  # it − the chosen one on validation, over the seeds that both have
    p: float  # after Holm over all such trials of the search

    @property
    def ahead(self) -> bool:
        """By as much as can be written down."""
        return round(100 * self.paired.difference, 2) > 0

    def __str__(self) -> str:
        under = "" if self.run_as == self.trial.sampler else f", run as {self.run_as}"
        return f"{self.trial.label} ({number(100 * self.paired.difference, sign=True)} points{under})"


def reached(evidence: Evidence, search: Search) -> dict[str, dict[int, float]]:
    """Settings → seed → the search's monitor on validation at the best epoch, of the runs made on the search's terms."""
    terms = (search.data["fingerprint"], search.backbone, search.protocol)
    found: dict[str, dict[int, float]] = {}
    for run in evidence.results.values():
        if (run.data["fingerprint"], run.backbone, run.protocol) == terms:
            found.setdefault(frozen(run.sampler), {})[run.seed] = run.metric(search.monitor, "best", "valid")
    return found


def again(evidence: Evidence, search: Search, name: str) -> list[Again]:
    """Trials of a search with a choice that the study trained with seeds that the chosen setting has too; best ahead first."""
    best, runs = search.choice(name), reached(evidence, search)
    if best is None:
        return []
    chosen, _ = _runs_of(search, best, runs)
    found = []
    for trial in search.of(name):
        own, run_as = _runs_of(search, trial, runs)
        shared = sorted(own.keys() & chosen.keys())
        if trial is not best and shared:
            found.append((trial, run_as, paired_t([own[seed] for seed in shared], [chosen[seed] for seed in shared])))
    made = [Again(*one, p) for one, p in zip(found, holm([paired.p for *_, paired in found]), strict=True)]
    return sorted(made, key=lambda one: -one.paired.difference)


def _runs_of(search: Search, trial: Trial, runs: Mapping[str, Seeds]) -> tuple[Seeds, str]:
    """What a trial's setting reached in the study, and the sampler that it was run as."""
    found = ((runs.get(frozen(one), {}), str(one["name"])) for one in _same(search, trial))
    return next((one for one in found if one[0]), ({}, ""))


def _same(search: Search, trial: Trial) -> Iterator[Settings]:
    """The setting; and what SAHC-NS is where a part of it is 0, on LightGCN, whose score is that of the layers' mean."""
    own = trial.settings
    yield {"name": trial.sampler, **own}
    if trial.sampler == "sahc" and search.backbone["name"] == "lightgcn" and not (own["alpha"] and own["lambda_max"]):
        left = {name: value for name, value in own.items() if value}
        yield sampler("sa-only" if own["alpha"] else "hc-only" if own["lambda_max"] else "dns", **left)


def pruning_in_words(evidence: Evidence, data: str) -> list[str]:
    """Whether something better than what was chosen was cut off on a set, as far as the study's runs can tell."""
    search, where, told, unknown = evidence.searches[data], evidence.design.data(data).name, [], 0
    for name in search.samplers:
        known = again(evidence, search, name)
        cut = sum(trial.state == "pruned" for trial in search.of(name))
        held = [one for one in known if one.trial.state == "pruned"]
        unknown += cut - len(held)
        if held:
            counts = sorted({one.paired.n for one in known})
            seeds = " to ".join(dict.fromkeys([str(counts[0]), str(counts[-1])]))
            told.append(
                f"{where}, {name}: of {cut} settings that were cut off the study trained {len(held)} to the end, with other "
                f"seeds. On validation, over the {seeds} seeds that both have, {_judged(held, known)}{_finished(known)}"
            )
    if unknown:
        told.append(
            f"{where}: nothing is known of where {unknown} of the trials that were cut off would have ended, since their "
            "settings were trained to the end nowhere."
        )
    return told


def _judged(held: Sequence[Again], known: Sequence[Again]) -> str:
    ahead = [one for one in held if one.ahead]
    if not ahead:
        return "none of them is ahead of the one that was chosen."
    which = (
        f"{len(ahead)} of them {'is' if len(ahead) == 1 else 'are'} ahead of the one that was chosen: {_named(ahead)}."
    )
    sure = [one for one in ahead if one.p < ALPHA]
    rule = f"paired t-tests, p < {ALPHA} after Holm over {len(known)} settings"
    if sure:
        return f"{which} So better settings were cut off: {_named(sure)} ({rule})."
    tested = [one.paired.p for one in ahead if not math.isnan(one.paired.p)]
    least = f"; the smallest p before Holm is {chance(min(tested))}" if tested else ""
    return f"{which} None of that is resolved ({rule}{least}): what was cut off may be as good as what was chosen, or better."


def _finished(known: Sequence[Again]) -> str:
    """The same of those that came to their end in the search."""
    whole = [one for one in known if one.trial.state == "complete"]
    ahead = [one for one in whole if one.ahead]
    if not whole:
        return ""
    told = f"ahead of it: {_named(ahead)}" if ahead else "none is ahead of it"
    return f" Of those that the search had run to the end, too ({len(whole)}), {told}."


def _named(found: Sequence[Again]) -> str:
    return "; ".join(str(one) for one in found)


def closeness_in_words(evidence: Evidence, data: str) -> list[str]:
    """How far the best settings of each search are apart, beside what seeds alone do; nothing where no runs tell that."""
    search = evidence.searches[data]
    spreads = [statistics.stdev(one.values()) for one in reached(evidence, search).values() if len(one) >= ENOUGH]
    found = {name: far for name in search.samplers if (far := best_gap(search, name)) is not None}
    if not spreads or not found:
        return []
    by_luck = RANGE * statistics.median(spreads)
    close, wide = (
        [f"{name} ({percent(far)})" for name, far in found.items() if (far <= by_luck) is near]
        for near in (True, False)
    )
    told = [
        f"{evidence.design.data(data).name}: seeds alone move a setting's {long_name(search.monitor)} on validation by "
        f"{percent(statistics.median(spreads))} points (standard deviation, median of {len(spreads)} settings), so that five "
        f"seeds of one setting are {percent(by_luck)} apart on average."
    ]
    if close:
        told.append(
            f"The best five settings are no further apart in {_search_of(close)}: such a search shows where good settings are, "
            "not which of them is best."
        )
    if wide:
        told.append(f"The best five are further apart than that in {_search_of(wide)}.")
    return [" ".join(told)]


def _search_of(names: Sequence[str]) -> str:
    return f"the search{'' if len(names) == 1 else 'es'} of {joined(names)}"


def searches_table(evidence: Evidence, data: str) -> Table:
    """How each search on a set went, and what the setting chosen reaches with the study's seeds."""
    search, runs = evidence.searches[data], reached(evidence, evidence.searches[data])
    table = outcome_table(search)
    rows: list[list[Cell | str]] = []
    for row in table.rows:
        chosen = search.choice(str(row[0]))
        rows.append([*row, "" if chosen is None else _over(list(_runs_of(search, chosen, runs)[0].values()))])
    return Table(
        f"going-{data}",
        f"How the searches on {evidence.design.data(data).name} went",
        [*table.columns, ">over seeds"],
        rows,
        f"{table.caption} over seeds: {search.monitor} of the chosen setting on validation with the study's seeds, in percent; "
        "that of the search is the highest of many trials, which tends to be a lucky one.",
    )


def _over(values: Sequence[float]) -> Cell | str:
    if not values:
        return "not run"
    spread = f" ± {percent(statistics.stdev(values))}" if len(values) > 1 else ""
    return Cell(f"{percent(statistics.mean(values))}{spread}", hint=f"{len(values)} seeds")
