"""A search as tables: what was chosen for each sampler, and every trial."""

from collections.abc import Sequence

from sahcns.reports.parts import Cell, Mark, Table
from sahcns.studies.tuning.space import short
from sahcns.studies.tuning.trials import Search, Trial


def search_tables(search: Search) -> list[Table]:
    """The best of each sampler with its settings, beside its defaults and the spread of its trials."""
    rows: list[list[Cell | str]] = []
    bests = {name: search.best(name) for name in search.samplers}
    ranked = sorted({best.value for best in bests.values() if best is not None and best.value is not None})[::-1]
    for name, best in bests.items():
        own = search.of(name)
        counted = {state: sum(trial.state == state for trial in own) for state in ("pruned", "failed", "running")}
        counts = ", ".join([f"{len(own)}", *(f"{count} {state}" for state, count in counted.items() if count)])
        if best is None or best.value is None:
            said = next((trial.error for trial in own if trial.error), "no trial has come to its end")
            rows.append([name, Cell("none", hint=said), "", "", "", "", counts])
            continue
        mark: Mark = "best" if best.value == ranked[0] else "second" if best.value == ranked[1] else ""
        values = [trial.value for trial in own if trial.state == "complete" and trial.value is not None]
        first = own[0].value if search.spaces[name] else None
        rows.append(
            [
                name,
                said_of(best) if search.spaces[name] else "nothing to tune",
                Cell(percent(best.value), mark, hint=f"trial {best.number}"),
                str(best.epoch),
                "" if first is None else percent(first),
                _spread(values),
                counts,
            ]
        )
    monitor = search.monitor
    caption = (
        f"In percent, on the validation part, seed {search.seed}; first: the first trial, which is the sampler's defaults "
        "where they belong to its search space; spread: the lowest and the highest of the complete trials."
    )
    columns = ["sampler", "chosen", f">{monitor}", ">epoch", ">first", ">spread", ">trials"]
    return [Table("tuned", f"Tuned on {search.data['name']}, {search.backbone['name']}", columns, rows, caption)]


def trial_table(search: Search, sampler: str) -> Table:
    """Every trial of a sampler that counts."""
    names = list(search.spaces[sampler])
    best = search.best(sampler)
    rows: list[list[Cell | str]] = []
    for trial in search.of(sampler):
        value = "" if trial.value is None else percent(trial.value)
        seconds = "" if trial.seconds is None else f"{trial.seconds:.1f}"
        epoch = "" if trial.epoch is None else str(trial.epoch)
        mark = Cell(value, "best" if trial is best else "")
        state = Cell(trial.state, hint=trial.error)
        rows.append(
            [str(trial.number), *(short(trial.point.get(name, "–")) for name in names), mark, epoch, state, seconds]
        )
    columns = [">trial", *(f">{name}" for name in names), f">{search.monitor}", ">epoch", "state", ">seconds"]
    return Table(f"trials-{sampler}", f"Trials of {sampler}", columns, rows)


def said_of(trial: Trial) -> str:
    """`alpha=0.3, lambda_max=0.5`."""
    return ", ".join(f"{name}={short(value)}" for name, value in trial.point.items()) or "as it is"


def _spread(values: Sequence[float]) -> str:
    return f"{percent(min(values))} – {percent(max(values))}" if len(values) > 1 else ""


def percent(value: float) -> str:
    return f"{100 * value:.2f}"
