"""A search as tables: what was chosen for each sampler, and every trial."""

from collections.abc import Sequence

from sahcns.lab.report.parts import Cell, Mark, Table
from sahcns.lab.tuning.ends import ends_in_words
from sahcns.lab.tuning.space import short
from sahcns.lab.tuning.trials import Search, Trial

WORDS = {"pruned": "cut off", "running": "not ended"}  # for states whose names are those of the journal


def search_tables(search: Search) -> list[Table]:
    """The best of each sampler with its settings, beside its defaults and the spread of its trials."""
    rows: list[list[Cell | str]] = []
    bests = {name: search.best(name) for name in search.samplers}
    final = [best.value for name, best in bests.items() if best is not None and search.finished(name)]
    ranked = sorted({value for value in final if value is not None}, reverse=True)
    for name, best in bests.items():
        own = search.of(name)
        if best is None or best.value is None:
            said = next((trial.error for trial in own if trial.error), "no trial has come to its end")
            rows.append([name, Cell("none" if own else "not begun", hint=said), "", "", "", "", _counts(search, name)])
            continue
        chosen = said_of(best) if search.spaces[name] else "nothing to tune"
        place = ranked.index(best.value) if search.finished(name) else -1
        mark: Mark = "best" if place == 0 else "second" if place == 1 else ""
        values = [trial.value for trial in search.complete(name) if trial.value is not None]
        first = _first(search, name) if search.spaces[name] else None
        rows.append(
            [
                name,
                chosen if search.finished(name) else _unfinished(search, name, chosen),
                Cell(percent(best.value), mark, hint=f"trial {best.number}"),
                str(best.epoch),
                "" if first is None else percent(first),
                _spread(values),
                _counts(search, name),
            ]
        )
    monitor = search.monitor
    caption = (
        f"In percent, on the validation part, seed {search.seed}; first: the first trial, which is the sampler's defaults, "
        "or what the search was told to begin with, where they belong to its search space; spread: the lowest and the "
        "highest of the complete trials."
    )
    if ends := ends_in_words(search):
        caption += f" Beyond an end nothing was tried: {'; '.join(ends)}."
    columns = ["sampler", "chosen", f">{monitor}", ">epoch", ">first", ">spread", ">trials"]
    return [Table("tuned", f"Tuned on {search.data['name']}, {search.backbone['name']}", columns, rows, caption)]


def _unfinished(search: Search, name: str, best: str) -> str:
    """What is best so far, and what was chosen before trials that had been cut off were made again."""
    standing = search.choice(name)
    return f"not finished; so far {best}" + ("" if standing is None else f"; until it is, {said_of(standing)}")


def _first(search: Search, name: str) -> float | None:
    """What the point of trial 0 came to, in that trial or, if it was lost or cut off, in the one that took its place."""
    begun = next((trial.point for trial in search.trials if (trial.sampler, trial.number) == (name, 0)), {})
    return next((trial.value for trial in search.complete(name) if trial.point.items() <= begun.items()), None)


def _counts(search: Search, name: str) -> str:
    """`49, 35 cut off`, or `23 of 49, 8 cut off, 5 not ended`."""
    own, ended = search.of(name), sum(trial.ended for trial in search.of(name))
    counted = {state: sum(trial.state == state for trial in own) for state in ("pruned", "failed", "running")}
    told = [f"{count} {WORDS.get(state, state)}" for state, count in counted.items() if count]
    return ", ".join([f"{ended}" if search.finished(name) else f"{ended} of {search.wanted(name)}", *told])


def trial_table(search: Search, sampler: str) -> Table:
    """Every trial of a sampler that counts."""
    names = list(search.spaces[sampler])
    best = search.best(sampler)
    rows: list[list[Cell | str]] = []
    for trial in search.of(sampler):
        value = "" if trial.value is None else percent(trial.value)
        rows.append(
            [
                str(trial.number),
                *(short(trial.point.get(name, "–")) for name in names),
                Cell(value, "best" if trial is best else ""),
                "" if trial.epoch is None else str(trial.epoch),
                Cell(WORDS.get(trial.state, trial.state), hint=trial.error),
                "" if trial.last_look is None else str(trial.last_look),
                "" if trial.seconds is None else f"{trial.seconds:.1f}",
            ]
        )
    columns = [">trial", *(f">{name}" for name in names), f">{search.monitor}", ">epoch", "state", ">until", ">seconds"]
    caption = "In percent, on validation, with the epoch of the best look; until: the epoch of the last look."
    if any(trial.value is not None and trial.state != "complete" for trial in search.of(sampler)):
        caption += " A trial that was cut off, or has not ended, stands with the best up to there."
    return Table(f"trials-{sampler}", f"Trials of {sampler}", columns, rows, caption)


def ended_in_words(trial: Trial) -> str:
    """`cut off at epoch 25`; nothing of one that came to its end."""
    if trial.state == "complete":
        return ""
    at = "" if trial.last_look is None else f" at epoch {trial.last_look}"
    return f"{WORDS.get(trial.state, trial.state)}{at if trial.state == 'pruned' else ''}"


def said_of(trial: Trial) -> str:
    """`alpha=0.3, lambda_max=0.5`."""
    return ", ".join(f"{name}={short(value)}" for name, value in trial.point.items()) or "as it is"


def _spread(values: Sequence[float]) -> str:
    return f"{percent(min(values))} – {percent(max(values))}" if len(values) > 1 else ""


def percent(value: float) -> str:
    return f"{100 * value:.2f}"
