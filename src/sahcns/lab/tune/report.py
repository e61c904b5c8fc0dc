"""A whole search as a report: the answer first, how each search went, the value over each setting, every trial."""

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from sahcns.lab.report.parts import Cell, Figure, Mark, Report, Section, Series, Table
from sahcns.lab.tune.search import Search, Trial, read_search
from sahcns.lab.tune.space import short, space_text
from sahcns.settings import Between

STATES = {"pruned": "cut off", "running": "not ended"}  # words for states whose names are Optuna's
FEW = 5  # of the best, whose distance tells how sharp a choice is
NEAR = 0.9  # of the highest: what is below flattens a picture of the best
CUT_OFF = "A trial that was cut off stands at the best up to there, not at what it would have reached."


def search_report(folder: str | os.PathLike[str]) -> Report:
    """The whole search in a folder, from its `trials.json`."""
    search = read_search(folder)
    tables = [search_table(search, details=True), *chosen_table(search)]
    sections = [Section("Chosen", [*tables, *best_so_far(search)])]
    for name in search.samplers:
        space = space_text(search.spaces[name])
        words = f"Searched: {space}." if space else "Nothing to tune: trained once."
        tables = [trial_table(search, name)] if search.of(name) else []
        sections.append(Section(name, [words, *setting_figures(search, name), *tables]))
    return Report(f"Tuning on {search.data['name']}", list(_summary(search)), sections, list(_facts(search)))


def _summary(search: Search) -> Iterator[str]:
    """Who is ahead with what, and what is missing to be sure of it."""
    bests = [best for name in search.samplers if (best := search.best(name)) is not None]
    ranked = sorted(bests, key=lambda trial: -(trial.value or 0.0))
    if not ranked:
        yield "No trial is complete yet."
    else:
        first, *rest = ranked
        settings = f" with {first.label}" if first.point else ""
        second = f"; next is {rest[0].sampler} with {_percent(rest[0].value)} %" if rest else ""
        ahead = f"{first.sampler} is ahead: " if rest else f"{first.sampler}: "
        yield f"{ahead}{search.monitor} {_percent(first.value)} % on validation{settings}{second}."
    missing = [f"{name} ({search.state(name)})" for name in search.samplers if not search.finished(name)]
    if missing:
        yield f"Not finished: {', '.join(missing)}."
    if not missing:
        yield budget_text(search)
    seeds = "One seed" if search.trial_seeds == 1 else f"{search.trial_seeds} seeds"
    yield f"{seeds}, the best of many trials: `sahcns compare --tuned` tells which differences hold on the test part."


def _facts(search: Search) -> Iterator[tuple[str, str]]:
    yield "data", f"{search.data['name']}, fingerprint {search.data['fingerprint']}"
    yield "part", "validation; the test part was not there"
    yield "backbone", _listed(search.backbone)
    yield "objective", _listed(search.objective)
    yield "protocol", _listed(search.protocol)
    yield "trials", _listed(search.budget)
    if search.epoch_budget:
        yield "epochs", _listed(search.epoch_budget)
    yield "pruning", _listed(search.pruning) if search.pruning["on"] else "off"
    yield "seed", str(search.seed) + (f", {search.trial_seeds} from there on" if search.trial_seeds > 1 else "")
    for machine in dict.fromkeys(_listed(trial.machine) for trial in search.trials if trial.machine):
        yield "versions", machine


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {short(value)}" for name, value in values.items())


def search_table(search: Search, details: bool = False) -> Table:
    """The best of each sampler with its settings, beside its first trial and the spread of its trials.

    With `details` also how its search went: where trials were cut off, and how close the best are.
    """
    choices = {name: best.value for name in search.samplers if (best := search.choice(name)) is not None}
    ranked = sorted({value for value in choices.values() if value is not None}, reverse=True)
    marks: dict[float | None, Mark] = dict(zip(ranked, ("best", "second"), strict=False))
    rows: list[list[Cell | str]] = []
    for name in search.samplers:
        complete, own, searched = search.complete(name), search.of(name), bool(search.spaces[name])
        error = next((trial.error for trial in own if trial.error), "no trial is complete")
        row: list[Cell | str] = [Cell("none" if own else "not begun", hint=error), "", "", "", ""]
        if complete:
            best, values = complete[0], [_percent(trial.value) for trial in complete]
            mark = marks.get(choices.get(name), "")
            label = ("" if name in choices else "not finished; so far ") + (
                best.label if searched else "nothing to tune"
            )
            each = "".join(f"; seed {seed}: {_percent(value)}" for seed, value in best.by_seed.items())
            row = [label, Cell(values[0], mark, hint=f"trial {best.number}{each}"), str(best.epoch)]
            row += [_first_value(search, name) if searched else ""]
            row += [f"{values[-1]} – {values[0]}" if len(values) > 1 else ""]
        rows.append([name, *row, _counts(search, name), f"{search.epochs(name):,}"])
        if details:
            cut = Counter(trial.last_look or 0 for trial in own if trial.state == "pruned")
            correlation = early_correlation(search, name) if searched else None
            rows[-1] += [
                ", ".join(f"{epoch} ({count})" if count > 1 else str(epoch) for epoch, count in sorted(cut.items())),
                "" if correlation is None else f"{correlation:+.2f}",
                *(_gap(complete[:count]) if name in choices and len(complete) >= count else "" for count in (2, FEW)),
            ]
    columns = ["sampler", "chosen", f">{search.monitor}", ">epoch", ">first", ">spread", ">trials", ">epochs"]
    seeds = f"seed {search.seed}"
    if search.trial_seeds > 1:
        seeds = f"means over the seeds {search.seed} to {search.seed + search.trial_seeds - 1}, the epoch of the first"
    caption = (
        f"In percent, on the validation part, {seeds}. first: the first trial, which has the defaults, as near as the space "
        "has them, or what the search was told to begin with; spread: the lowest and the highest complete trial; epochs: "
        f"those of all trials. {budget_text(search)}"
    )
    if ends := range_ends(search):
        caption += f" Nothing beyond was tried: {'; '.join(ends)}."
    if details:
        columns += ["cut off at epochs", ">early/end", ">best two", ">best five"]
        caption += (
            " In brackets how many were cut off there. early/end: rank correlation, over complete trials, between what they "
            "had reached after half the patience and what they came to; where it is not near 1 pruning cuts off the wrong "
            "ones. best two, best five: how far the best trials are apart, in points."
        )
    return Table("tuned", f"Tuned on {search.data['name']}, {search.backbone['name']}", columns, rows, caption)


def trial_table(search: Search, sampler: str) -> Table:
    """Every trial of a sampler that counts."""
    names, best = list(search.spaces[sampler]), search.best(sampler)
    rows: list[list[Cell | str]] = [
        [
            str(trial.number),
            *(short(trial.point.get(name, "–")) for name in names),
            Cell(_percent(trial.value), "best" if trial is best else ""),
            "" if trial.epoch is None else str(trial.epoch),
            Cell(STATES.get(trial.state, trial.state), hint=trial.error),
            "" if trial.last_look is None else str(trial.last_look),
            "" if trial.seconds is None else f"{trial.seconds:.1f}",
        ]
        for trial in search.of(sampler)
    ]
    columns = [">trial", *(f">{name}" for name in names), f">{search.monitor}", ">epoch", "state", ">until", ">seconds"]
    caption = "In percent, on validation, with the epoch of the best; until: the last validated epoch."
    if any(trial.state == "pruned" for trial in search.of(sampler)):
        caption += f" {CUT_OFF}"
    return Table(f"trials-{sampler}", f"Trials of {sampler}", columns, rows, caption)


def chosen_table(search: Search) -> list[Table]:
    """Each chosen value with what was tried, and whether it sits at an end of that; of the finished searches."""
    rows: list[list[Cell | str]] = [
        [name, setting, short(value), space_text({setting: search.spaces[name][setting]}), _end_text(end)]
        for name in search.samplers
        if (best := search.choice(name)) is not None
        for (setting, value), end in zip(best.point.items(), search.ends(name).values(), strict=True)
    ]
    caption = (
        "At an end: within a twentieth of a range, or the first or last of numbers. What lies beyond was not tried."
    )
    columns = ["sampler", "setting", ">chosen", "tried", "at an end"]
    return [Table("chosen", "Each value that was chosen", columns, rows, caption)] if rows else []


def _end_text(end: str) -> str:
    return f"the {end} end" if end else "no"


def range_ends(search: Search) -> list[str]:
    """`gamma of dens is at the low end (0.01)`, of the finished searches."""
    return [
        f"{setting} of {name} is at the {end} end ({short(best.point[setting])})"
        for name in search.samplers
        if (best := search.choice(name)) is not None
        for setting, end in search.ends(name).items()
        if end
    ]


def budget_text(search: Search) -> str:
    """What each sampler was given, and whether it came to the end of that."""
    given = _each(search.budget, "trials")
    if search.epoch_budget:
        given += f" or {_each(search.epoch_budget, 'epochs')}, whichever is spent first"
    ways = {
        "trials": "all trials",
        "epochs": "all epochs",
        "points": "all points of a smaller space",
        "": "not finished",
    }
    who = {words: [name for name in search.samplers if search.spent(name) == way] for way, words in ways.items()}
    told = "; ".join(f"{words}: {', '.join(names)}" for words, names in who.items() if names)
    return f"Budget of each: {given}. Spent: {told}."


def _each(budget: Mapping[str, int], what: str) -> str:
    """`20 trials`, or `trials: dns 20, sahc 49`."""
    counts = set(budget.values())
    return f"{counts.pop():,} {what}" if len(counts) == 1 else f"{what}: {_listed(budget)}"


def early_correlation(search: Search, name: str) -> float | None:
    """Spearman's ρ between the best until half the patience and the final value; None of fewer than five trials."""
    early = max(1, search.protocol.get("patience", 0) // 2) * search.protocol.get("evaluate_every", 1)
    done = [trial for trial in search.complete(name) if trial.looks and min(trial.looks) <= early]
    firsts = [max(value for epoch, value in trial.looks.items() if epoch <= early) for trial in done]
    finals = [trial.value or 0.0 for trial in done]
    if len(done) < FEW or len(set(firsts)) == 1 or len(set(finals)) == 1:
        return None
    from scipy import stats

    return float(stats.spearmanr(firsts, finals).statistic)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _gap(best: list[Trial]) -> Cell:
    """How far they are apart."""
    hint = "; ".join(f"{trial.label}: {trial.value:.2%}" for trial in best)
    return Cell(_percent((best[0].value or 0.0) - (best[-1].value or 0.0)), hint=hint)


def _first_value(search: Search, name: str) -> str:
    """What the point of trial 0 came to, in that trial or, if it was lost or cut off, in the one that took its place."""
    point = next((trial.point for trial in search.trials if (trial.sampler, trial.number) == (name, 0)), {})
    return next((_percent(trial.value) for trial in search.complete(name) if trial.point.items() <= point.items()), "")


def _counts(search: Search, name: str) -> str:
    """`49, 35 cut off`, or `23 of 49, 8 cut off, 5 not ended`."""
    states, count = Counter(trial.state for trial in search.of(name)), search.count_ended(name)
    others = [f"{states[one]} {STATES.get(one, one)}" for one in ("pruned", "failed", "running") if states[one]]
    return ", ".join([f"{count}" if search.finished(name) else f"{count} of {search.wanted(name)}", *others])


def best_so_far(search: Search) -> Iterator[Figure]:
    """How good each sampler's best is after so many trials; what is far below the highest would flatten the rest."""
    drawn = {name: trials for name in search.samplers if (trials := _drawn(search, name))}
    courses: dict[str, list[float]] = {}
    for name, trials in drawn.items():
        bests = accumulate((_points(one) if one.state == "complete" else -math.inf for one in trials), max)
        courses[name] = [_points(one) if best == -math.inf else best for one, best in zip(trials, bests, strict=True)]
    if not courses:
        return
    floor, series = NEAR * max(map(max, courses.values())), list[Series]()
    for name, course in courses.items():
        y, hints = [value if value >= floor else math.nan for value in course], [trial.label for trial in drawn[name]]
        label = name if search.finished(name) else f"{name}, not finished"
        series.append(Series(label, range(1, len(y) + 1), y, role=name, hints=hints))
    caption = (
        "A line ends early where a sampler has fewer points to try than the budget, or is not finished. What is more than a "
        "tenth below the highest is not drawn."
    )
    label = f"best {search.monitor} on validation, %"
    yield Figure("search", "Best so far over trials", "trials", label, series, caption=caption)


def setting_figures(search: Search, name: str) -> Iterator[Figure]:
    """The value over each setting where it makes a difference, trials cut off apart; of two grids a map besides."""
    drawn, space, label = _drawn(search, name), search.spaces[name], f"{search.monitor} on validation, %"
    for setting, values in space.items() if drawn else ():
        series = []
        for state, title, role in (("complete", "complete", name), ("pruned", "cut off", "")):
            if trials := [trial for trial in drawn if trial.state == state and setting in trial.point]:
                x = [_place(trial.point[setting]) for trial in trials]
                series.append(Series(title, x, [*map(_points, trials)], role=role, hints=[*map(_hint, trials)]))
        title, caption = f"{name}: {search.monitor} against {setting}", CUT_OFF if len(series) > 1 else ""
        key, log = f"search-{name}-of-{setting.replace('.', '-')}", isinstance(values, Between) and values.log
        yield Figure(key, title, setting, label, series, "scatter", caption, x_log=log)
    if not drawn or len(space) != 2 or any(isinstance(values, Between) for values in space.values()):
        return
    (first, columns), (second, rows) = space.items()
    cells: dict[Any, list[Trial | None]] = {row: [None] * len(columns) for row in rows}
    for trial in drawn:  # one whose setting makes no difference stands for all values of it
        for row in [trial.point[second]] if second in trial.point else rows:
            for at, column in enumerate(columns):
                if trial.point.get(first, column) == column:
                    cells[row][at] = trial
    series = []
    for row, own in cells.items():
        y = [math.nan if one is None else _points(one) for one in own]
        hints = ["" if one is None else _hint(one) for one in own]
        partial = [one is not None and one.state == "pruned" for one in own]
        series.append(Series(short(row), [*map(short, columns)], y, hints=hints, partial=partial))
    title = f"{name}: {search.monitor} over {first} and {second}"
    caption = "The colours are those of complete trials. Empty cells were not tried."
    cut_off = "cut off: the best up to there, not what it would have reached"
    key = f"search-{name}-of-both"
    yield Figure(key, title, first, second, series, "heat", caption, value_label=label, partial_label=cut_off)


def _drawn(search: Search, name: str) -> list[Trial]:
    """Trials with a value, in their order; none where there is nothing to tune, or one trial only."""
    trials = [one for one in search.of(name) if one.state in ("complete", "pruned") and one.value is not None]
    return trials if search.spaces[name] and len(trials) > 1 else []


def _hint(trial: Trial) -> str:
    """`alpha=0.3, cut off at epoch 25`."""
    return trial.label + (f", cut off at epoch {trial.last_look}" if trial.state == "pruned" else "")


def _points(trial: Trial) -> float:
    return 100 * (trial.value or 0.0)


def _place(value: Any) -> float | str:
    """On an axis: numbers as they are, words and switches by name."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
