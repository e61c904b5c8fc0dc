"""Which point to try next: Optuna's TPE proposes; that none is tried twice, or in two spellings, is ours."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sahcns.errors import SahcnsError, SettingError
from sahcns.lab.tune.space import Dimension, Point, Space

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

RANDOM = 6  # trials before TPE takes over
OFFERS = 50  # points that TPE may offer for one that is new
DIGITS = 4  # of a number from a range


def import_optuna() -> ModuleType:
    """Optuna, or a sentence on how to get it."""
    try:
        import optuna
    except ImportError:
        raise SahcnsError("tuning needs Optuna, which is not installed; pip install 'sahcns[tune]'") from None
    return optuna


def propose(space: Space, tried: "Sequence[FrozenTrial]", seed: int) -> Point | None:
    """The next point: the start, then random ones, then TPE's; never the same twice, and None when all were tried.

    Each proposal has a random stream of its own, made from the seed, the sampler's name and how many were tried before:
    a search that was killed goes on as if nothing had happened.
    """
    points, known = space.points(), {space.key(trial.params) for trial in tried}
    left = None if points is None else [point for point in points if space.key(point) not in known]
    if left == []:
        return None
    if space.start is not None and space.key(space.start) not in known:
        return space.start
    digest = hashlib.sha256(f"{seed} {space.name} {len(tried)}".encode()).digest()
    stream = int.from_bytes(digest[:4], "little")
    for point in _offers(space, tried, stream):
        if space.key(point) not in known and space.accepts(point):
            return space.canonical(point)
    if left:
        return random.Random(stream).choice(left)
    raise SettingError(f"{space.name}: its search space holds next to nothing that is allowed; widen it")


def distribution(dimension: Dimension) -> Any:
    """A dimension as the journal keeps it."""
    distributions, between = import_optuna().distributions, dimension.between
    if between is None:
        return distributions.CategoricalDistribution(dimension.values)
    return distributions.FloatDistribution(between.low, between.high, log=between.log)


def _offers(space: Space, tried: "Sequence[FrozenTrial]", stream: int) -> Iterator[Point]:
    """What TPE offers, from a study in memory; a refused offer stays a running trial there, which TPE keeps away from.

    A grid of numbers is a range of positions there, so that TPE knows neighbours: after 20 trials on a long grid that
    halves the distance to the best.
    """
    optuna = import_optuna()
    tpe = optuna.samplers.TPESampler(seed=stream, n_startup_trials=RANDOM, multivariate=True, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=tpe)
    grids = {one.name: one.values for one in space.dimensions if one.between is None and one.ordered}
    scales = {
        one.name: optuna.distributions.IntDistribution(0, len(one.values) - 1)
        if one.name in grids
        else distribution(one)
        for one in space.dimensions
    }
    for trial in tried:
        if trial.state.name != "FAIL":
            params = {name: trial.params[name] for name in scales}
            params |= {name: values.index(params[name]) for name, values in grids.items()}
            study.add_trial(
                optuna.trial.create_trial(
                    state=trial.state,
                    value=trial.value,
                    params=params,
                    distributions=scales,
                    intermediate_values=trial.intermediate_values,
                )
            )
    for _ in range(OFFERS):
        offer = study.ask(scales).params
        for one in space.dimensions:
            if one.name in grids:
                offer[one.name] = one.values[offer[one.name]]
            elif one.between is not None:
                rounded = float(f"{offer[one.name]:.{DIGITS}g}")
                offer[one.name] = min(max(rounded, one.between.low), one.between.high)
        yield offer
