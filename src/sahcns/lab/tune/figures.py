"""A search as figures: how it went, and how much each setting matters."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sahcns.lab.report.parts import Figure, Series
from sahcns.lab.tune.search import Search, Trial
from sahcns.lab.tune.space import short

NEAR = 0.9  # of the highest: what is below flattens a picture of the best
_CUT_OFF = "A trial that was cut off stands at the best up to there, not at what it would have reached."


def search_figures(search: Search) -> list[Figure]:
    """The best so far of every sampler; for each sampler its value against each setting, and a map of two grids."""
    tuned = [name for name in search.samplers if search.spaces[name] and len(_valued(search, name)) > 1]
    found = [_race(search, tuned)] if tuned else []
    for name in tuned:
        found += [_against(search, name, setting) for setting in search.spaces[name]]
        found += _heat(search, name)
    return found


def _race(search: Search, names: Sequence[str]) -> Figure:
    """How good each sampler's best is after so many trials; what is far below the highest would flatten the rest."""
    courses = {name: _best_so_far(_valued(search, name)) for name in names}
    floor = NEAR * max(max(best) for best in courses.values())
    series = [
        Series(
            name if search.finished(name) else f"{name}, not finished",
            list(range(1, len(best) + 1)),
            [value if value >= floor else math.nan for value in best],
            role=name,
            hints=[trial.label for trial in _valued(search, name)],
        )
        for name, best in courses.items()
    ]
    caption = "A line ends early where a sampler has fewer points to try than the budget, or is not finished."
    if any(min(best) < floor for best in courses.values()):
        caption += " What is more than a tenth below the highest is not drawn."
    label = f"best {search.monitor} on validation, %"
    return Figure("search", "Best so far over trials", "trials", label, series, caption=caption)


def _against(search: Search, name: str, setting: str) -> Figure:
    """Value over one setting, where it makes a difference; trials cut off, which could have become better, apart."""
    space, series = search.spaces[name][setting], []
    for state, title, role in (("complete", "complete", name), ("pruned", "cut off", "")):
        trials = [trial for trial in _valued(search, name) if trial.state == state and setting in trial.point]
        if trials:
            places = [_axis(trial.point[setting]) for trial in trials]
            series.append(Series(title, places, list(map(_percent, trials)), role=role, hints=list(map(_hint, trials))))
    return Figure(
        f"search-{name}-of-{setting.replace('.', '-')}",
        f"{name}: {search.monitor} against {setting}",
        setting,
        f"{search.monitor} on validation, %",
        series,
        kind="scatter",
        caption=_CUT_OFF if len(series) > 1 else "",
        x_log=isinstance(space, Mapping) and bool(space["log"]),
    )


def _heat(search: Search, name: str) -> Iterator[Figure]:
    """Of two grids a map: columns are the values of the first, rows those of the second."""
    space = search.spaces[name]
    if len(space) != 2 or any(isinstance(values, Mapping) for values in space.values()):
        return
    (first, columns), (second, rows) = space.items()
    tried: dict[tuple[Any, Any], Trial] = {}
    for trial in _valued(search, name):
        # one whose first setting makes no difference stands for all values of it
        for column in [trial.point[first]] if first in trial.point else columns:
            for row in [trial.point[second]] if second in trial.point else rows:
                tried[column, row] = trial
    series = []
    for row in rows:
        cells = [tried.get((column, row)) for column in columns]
        series.append(
            Series(
                short(row),
                [short(column) for column in columns],
                [math.nan if trial is None else _percent(trial) for trial in cells],
                hints=["" if trial is None else _hint(trial) for trial in cells],
                partial=[trial is not None and trial.state == "pruned" for trial in cells],
            )
        )
    yield Figure(
        f"search-{name}-of-both",
        f"{name}: {search.monitor} over {first} and {second}",
        first,
        second,
        series,
        kind="heat",
        caption="The colours are those of complete trials. Empty cells were not tried.",
        value_label=f"{search.monitor} on validation, %",
        partial_label="cut off: the best up to there, not what it would have reached",
    )


def _hint(trial: Trial) -> str:
    """`alpha=0.3, cut off at epoch 25`."""
    return trial.label + (f", cut off at epoch {trial.last_look}" if trial.state == "pruned" else "")


def _percent(trial: Trial) -> float:
    return 100 * (trial.value or 0.0)


def _valued(search: Search, name: str) -> list[Trial]:
    """Trials with a value to show, in their order."""
    return [trial for trial in search.of(name) if trial.state in ("complete", "pruned") and trial.value is not None]


def _best_so_far(trials: Sequence[Trial]) -> list[float]:
    """The best complete trial up to each, in percent; before there is one, the trial itself."""
    best, found = -math.inf, []
    for trial in trials:
        value = _percent(trial)
        best = max(best, value) if trial.state == "complete" else best
        found.append(value if best == -math.inf else best)
    return found


def _axis(value: Any) -> float | str:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
