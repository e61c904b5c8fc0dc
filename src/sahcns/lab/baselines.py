"""Baselines that need no gradient, tuned as samplers are: settings by validation alone, the test part ranked once.

found = tune_baseline(split, "ease", {"l2": (50.0, 200.0, 500.0, 1000.0)})
found.settings, found.test["recall@20"]
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sahcns.lab.tune.space import end_of

if TYPE_CHECKING:
    from sahcns.baselines import Scorer
    from sahcns.data.split import Split
    from sahcns.ranking import Masked

KS = (10, 20)
MONITOR = "recall@20"


@dataclass(frozen=True)
class TunedBaseline:
    """What validation chose, everything that was tried, and what the choice reaches.

    tried  one for each fit: its settings, its metrics on validation, its seconds
    """

    name: str
    grid: Mapping[str, Sequence[Any]]
    settings: Mapping[str, Any]  # all of them
    tried: Sequence[Mapping[str, Any]]
    valid: Mapping[str, float]
    test: Mapping[str, float]

    @property
    def ends(self) -> dict[str, str]:
        """At which end of its grid each chosen value sits: `low`, `high`, or `` for neither."""
        return {name: end_of(tuple(values), self.settings[name]) for name, values in self.grid.items()}

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "baseline": {"name": self.name, **self.settings}, "ends": self.ends}


def tune_baseline(
    split: "Split", name: str, grid: Mapping[str, Sequence[Any]], mask: "Masked" = "train"
) -> TunedBaseline:
    """Climb a grid of settings from the defaults: to a neighbour, one step in one setting, while one is better.

    It ends where no neighbour is better in Recall@20 on the validation part. All are fitted to the training part.

    grid  ascending numbers for each setting; it begins with those that are nearest to the defaults
    mask  whose pairs are taken out of the test ranking, as of a protocol
    """
    from sahcns.baselines import Baseline
    from sahcns.baselines.base import interaction_matrix
    from sahcns.model.choice import ranked
    from sahcns.ranking import Truth, means
    from sahcns.settings import by_name

    matrix = interaction_matrix(split.train, split.n_users, split.n_items)
    valid = Truth.of(split, "valid", "train")
    tried: dict[tuple[Any, ...], dict[str, Any]] = {}
    best: tuple[tuple[Any, ...], Scorer] | None = None

    def build(values: tuple[Any, ...]) -> Baseline:
        return by_name(Baseline, name, dict(zip(grid, values, strict=True)))

    def better(values: tuple[Any, ...]) -> bool:
        """Fit and judge a point that is new, and keep it if it is the best so far; a scorer may be large, so one is kept."""
        nonlocal best
        if values in tried:
            return False
        began = time.perf_counter()
        scorer = build(values).fit(matrix)
        reached = means(ranked(scorer, matrix, valid, KS), KS)
        seconds = round(time.perf_counter() - began, 2)
        tried[values] = {"settings": dict(zip(grid, values, strict=True)), "valid": reached, "seconds": seconds}
        if best is not None and reached[MONITOR] <= tried[best[0]]["valid"][MONITOR]:
            return False
        best = values, scorer
        return True

    start = by_name(Baseline, name, {})
    better(tuple(min(known, key=lambda one: abs(one - getattr(start, name))) for name, known in grid.items()))
    assert best is not None
    while any(better(values) for values in _neighbours(best[0], [*grid.values()])):
        pass
    values, scorer = best
    test = means(ranked(scorer, matrix, Truth.of(split, "test", mask), KS), KS)
    return TunedBaseline(name, grid, build(values).to_dict(), [*tried.values()], tried[values]["valid"], test)


def _neighbours(values: tuple[Any, ...], grid: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """One step up, then one down, in each setting."""
    found = []
    for place, known in enumerate(grid):
        at = list(known).index(values[place])
        found += [(*values[:place], known[to], *values[place + 1 :]) for to in (at + 1, at - 1) if 0 <= to < len(known)]
    return found
