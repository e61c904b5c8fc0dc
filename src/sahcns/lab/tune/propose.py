"""Optuna: which point to try next (TPE), and whether to cut a trial off (its median pruner).

That no point is tried twice, or in two spellings, is ours.
"""

import contextlib
import hashlib
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from sahcns.errors import SahcnsError, SettingError
from sahcns.lab.tune.search import Trial
from sahcns.lab.tune.space import Point, Space, are_numbers, key
from sahcns.settings import Between

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


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Optuna's log, and its warnings of what is new, are held back."""
    optuna = import_optuna()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


@_quiet()
def propose(space: Space, tried: Sequence[Trial], seed: int) -> Point | None:
    """The next point: the start, then random ones, then TPE's; never the same twice, and None when all were tried.

    Each proposal has a random stream of its own, made from the seed, the sampler's name and how many were tried before:
    a search that was killed goes on as if nothing had happened.
    """
    points, start, known = space.points(), space.start, {key(trial.point) for trial in tried}
    left = None if points is None else [point for point in points if key(point) not in known]
    if left == []:
        return None
    if start is not None and key(start) not in known:
        return start
    digest = hashlib.sha256(f"{seed} {space.name} {len(tried)}".encode()).digest()
    stream = int.from_bytes(digest[:4], "little")
    for point in map(space.counting, _offers(space, tried, stream)):
        if key(point) not in known and space.accepts(point):
            return point
    if left:
        return random.Random(stream).choice(left)
    raise SettingError(f"{space.name}: its search space holds next to nothing that is allowed; widen it")


@_quiet()
def pruner(rule: Mapping[str, Any], complete: Sequence[Trial]) -> Callable[[int, float], bool]:
    """A function of an epoch and its value: whether the trial that came to it is to be cut off."""
    if not rule["on"]:
        return lambda epoch, value: False
    optuna, enough = import_optuna(), rule["after_trials"]
    median = optuna.pruners.MedianPruner(enough, rule["after_epochs"], n_min_trials=enough)
    study = optuna.create_study(direction="maximize", pruner=median)
    for one in complete:
        study.add_trial(optuna.create_trial(value=one.value, intermediate_values=one.looks))
    trial = study.ask()

    def cut_off(epoch: int, value: float) -> bool:
        trial.report(value, epoch)
        return bool(trial.should_prune())

    return cut_off


def _offers(space: Space, tried: Sequence[Trial], stream: int) -> Iterator[Point]:
    """What TPE offers; a refused offer stays a running trial of the study, which TPE keeps away from.

    A grid of numbers is a range of positions there, so that TPE knows neighbours: after 20 trials on a long grid that
    halves the distance to the best.
    """
    optuna = import_optuna()
    kinds, scales, grids = optuna.distributions, dict[str, Any](), dict[str, tuple[Any, ...]]()
    for one in space.dimensions:
        if isinstance(one.values, Between):
            scales[one.name] = kinds.FloatDistribution(one.values.low, one.values.high, log=one.values.log)
        elif are_numbers(one.values):
            scales[one.name], grids[one.name] = kinds.IntDistribution(0, len(one.values) - 1), one.values
        else:
            scales[one.name] = kinds.CategoricalDistribution(one.values)
    tpe = optuna.samplers.TPESampler(seed=stream, n_startup_trials=RANDOM, multivariate=True, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=tpe)
    for trial in tried:
        if trial.state != "failed":
            params = {name: trial.settings[name] for name in scales}
            params |= {name: values.index(params[name]) for name, values in grids.items()}
            state = optuna.trial.TrialState[trial.state.upper()]
            end = {"value": trial.value if trial.state == "complete" else None, "intermediate_values": trial.looks}
            study.add_trial(optuna.create_trial(state=state, params=params, distributions=scales, **end))
    offers = (study.ask(scales).params for _ in range(OFFERS))
    for offer in offers:
        for name, value in offer.items():
            if name in grids:
                offer[name] = grids[name][value]
            elif isinstance(scales[name], kinds.FloatDistribution):
                offer[name] = min(max(float(f"{value:.{DIGITS}g}"), scales[name].low), scales[name].high)
        yield offer
