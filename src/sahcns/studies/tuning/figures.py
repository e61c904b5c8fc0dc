"""A search as figures: how it went, and how much each setting matters."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sahcns.reports.parts import Figure, Series
from sahcns.studies.tuning.space import short
from sahcns.studies.tuning.tables import said_of
from sahcns.studies.tuning.trials import Search, Trial

PERCENT = 100.0


def search_figures(search: Search) -> list[Figure]:
    """The best so far of every sampler; for each sampler the course of its search and its value against each setting."""
    tuned = [name for name in search.samplers if search.spaces[name] and len(_valued(search, name)) > 1]
    found = [_race(search, tuned)] if tuned else []
    for name in tuned:
        found.append(_course(search, name))
        found += [_against(search, name, setting) for setting in search.spaces[name]]
        found += _heat(search, name)
    return found


def _race(search: Search, names: Sequence[str]) -> Figure:
    """How good each sampler's best is after so many trials."""
    series = []
    for name in names:
        trials, best = _valued(search, name), _so_far(_valued(search, name))
        series.append(Series(name, list(range(1, len(best) + 1)), best, role=name, hints=[said_of(t) for t in trials]))
    return Figure(
        "search",
        "Best so far over trials",
        "trials",
        f"best {search.monitor} on validation, %",
        series,
        caption="A sampler's line ends early where it has fewer points to try than the budget.",
    )


def _course(search: Search, name: str) -> Figure:
    trials = _valued(search, name)
    at, hints = [trial.number for trial in trials], [f"{said_of(trial)} ({trial.state})" for trial in trials]
    values = [PERCENT * (trial.value or 0.0) for trial in trials]
    series = [
        Series("best so far", at, _so_far(trials), role=name),
        Series("each trial", at, values, role=name, dashed=True, hints=hints),
    ]
    return Figure(
        f"search-{name}-of-trials", f"{name}: trial by trial", "trial", f"{search.monitor} on validation, %", series
    )


def _against(search: Search, name: str, setting: str) -> Figure:
    """Value over one setting; trials that were cut off are a series of their own, since they could have become better."""
    space = search.spaces[name][setting]
    series = []
    for state, title in (("complete", name), ("pruned", "cut off")):
        trials = [trial for trial in _valued(search, name) if trial.state == state and setting in trial.point]
        if trials:
            series.append(
                Series(
                    title,
                    [_axis(trial.point[setting]) for trial in trials],
                    [PERCENT * (trial.value or 0.0) for trial in trials],
                    role=name if state == "complete" else "",
                    hints=[said_of(trial) for trial in trials],
                )
            )
    log = isinstance(space, Mapping) and bool(space["log"])
    title, label = f"{name}: {search.monitor} against {setting}", f"{search.monitor} on validation, %"
    return Figure(f"search-{name}-of-{setting}", title, setting, label, series, kind="scatter", x_log=log)


def _heat(search: Search, name: str) -> Iterator[Figure]:
    """Of two grids a map: columns are the values of the first, rows those of the second."""
    space = search.spaces[name]
    if len(space) != 2 or any(isinstance(values, Mapping) for values in space.values()):
        return
    (first, columns), (second, rows) = space.items()
    tried: dict[tuple[Any, Any], tuple[float, str]] = {}
    for trial in _valued(search, name):
        if first in trial.point and second in trial.point:
            tried[trial.point[first], trial.point[second]] = PERCENT * (trial.value or 0.0), trial.state
    series = []
    for row in rows:
        cells = [tried.get((column, row), (math.nan, "")) for column in columns]
        values, states = [value for value, _ in cells], [state for _, state in cells]
        series.append(Series(short(row), [short(column) for column in columns], values, hints=states))
    yield Figure(
        f"search-{name}-of-both",
        f"{name}: {search.monitor} over {first} and {second}",
        first,
        second,
        series,
        kind="heat",
        caption="Empty cells were not tried. Those cut off show the best up to there.",
        value_label=f"{search.monitor} on validation, %",
    )


def _valued(search: Search, name: str) -> list[Trial]:
    """Trials with a value to show, in their order."""
    shown = [trial for trial in search.of(name) if trial.state in ("complete", "pruned") and trial.value is not None]
    return sorted(shown, key=lambda trial: trial.number)


def _so_far(trials: Sequence[Trial]) -> list[float]:
    """The best complete trial up to each, in percent; before there is one, the trial itself."""
    best, found = -math.inf, []
    for trial in trials:
        value = PERCENT * (trial.value or 0.0)
        best = max(best, value) if trial.state == "complete" else best
        found.append(value if best == -math.inf else best)
    return found


def _axis(value: Any) -> float | str:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
