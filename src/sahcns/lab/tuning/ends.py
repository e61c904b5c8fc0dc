"""Choices at an end of the range that was searched: what lies beyond it was not tried."""

import math
from collections.abc import Mapping
from typing import Any

from sahcns.lab.tuning.space import short
from sahcns.lab.tuning.trials import Search

NEAR = 0.05  # of the range, of its orders of magnitude where it is logarithmic


def ends_in_words(search: Search) -> list[str]:
    """`gamma of dens is at the low end of what was searched (0.01 to 1)`, of the finished searches."""
    told = []
    for name, spaces in search.spaces.items():
        best = search.best(name) if search.finished(name) else None
        chosen = {} if best is None else best.point
        for setting, space in spaces.items():
            if isinstance(space, Mapping) and setting in chosen and (end := end_of(space, chosen[setting])):
                searched = f"{short(space['low'])} to {short(space['high'])}"
                told.append(f"{setting} of {name} is at the {end} end of what was searched ({searched})")
    return told


def end_of(space: Mapping[str, Any], value: float) -> str | None:
    """`low` or `high` where a value is that near to the end of a range."""
    low, high, at = (math.log(one) if space["log"] else one for one in (space["low"], space["high"], value))
    share = (at - low) / (high - low)
    return "low" if share <= NEAR else "high" if share >= 1 - NEAR else None
