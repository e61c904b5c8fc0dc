"""Which point of a search space to try next: its start, a few spread out evenly, then TPE; never the same one twice.

Every proposal has a random stream of its own, made from the seed, the sampler's name and how many points were tried
before. So a search that was killed and taken up again goes on as if nothing had happened.
"""

import hashlib
import itertools
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sahcns.errors import SahcnsError, SettingError
from sahcns.lab.tuning.space import Dimension, Point, Space

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

SPREAD = 6  # trials before TPE takes over, the start among them
ATTEMPTS = 50  # points that TPE may offer for one that is new
DIGITS = 4  # of a number from a range


@dataclass(frozen=True)
class Tried:
    """What is known of one point: its value, or the looks so far of one that was cut off."""

    point: Mapping[str, Any]
    state: str  # "running", "complete", "pruned" or "failed"
    value: float | None = None
    looks: Mapping[int, float] = field(default_factory=dict)  # epoch → validation


def propose(space: Space, tried: Sequence[Tried], seed: int) -> Point | None:
    """The next point, or None when all have been tried."""
    points = space.points()
    known = {space.key(one.point) for one in tried}
    fresh = None if points is None else [point for point in points if space.key(point) not in known]
    if fresh == []:
        return None
    start = space.start
    if start is not None and space.key(start) not in known:
        return start
    begun = _stream(f"{seed} {space.name}")
    offers = [_spread(space, begun)]
    if len(tried) >= SPREAD:
        offers.insert(0, _promising(space, tried, _stream(f"{seed} {space.name} {len(tried)}")))
    with quiet_optuna():
        for point in itertools.chain(*offers):
            if space.key(point) not in known and space.accepts(point):
                return space.canonical(point)
    if fresh:
        return fresh[begun % len(fresh)]
    raise SettingError(f"{space.name}: its search space holds next to nothing that is allowed; widen it")


def optuna_module() -> ModuleType:
    """Optuna, or a sentence on how to get it."""
    try:
        import optuna
    except ImportError:
        raise SahcnsError("tuning needs Optuna, which is not installed; pip install 'sahcns[tune]'") from None
    return optuna


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Optuna's own notes on what it does are held back, as are its warnings about what is new in it."""
    optuna = optuna_module()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


def _promising(space: Space, tried: Sequence[Tried], stream: int) -> Iterator[Point]:
    """Points that TPE holds to be promising, from a study in memory that is thrown away."""
    optuna = optuna_module()
    states = optuna.trial.TrialState
    tpe = optuna.samplers.TPESampler(
        seed=stream, n_startup_trials=SPREAD, multivariate=True, constant_liar=True
    )  # what is running elsewhere counts as bad, so that two processes do not look at one spot
    study = optuna.create_study(direction="maximize", sampler=tpe)
    scales = {dimension.name: _scale(dimension) for dimension in space.dimensions}
    for one in tried:
        if one.state == "failed":
            continue
        study.add_trial(
            optuna.trial.create_trial(
                state=states[one.state.upper()],
                value=one.value if one.state == "complete" else None,
                params={d.name: _to_scale(d, one.point[d.name]) for d in space.dimensions},
                distributions=scales,
                intermediate_values=dict(one.looks),
            )
        )
    for _ in range(ATTEMPTS):
        trial = study.ask(scales)  # never told: an offer that was refused is one more running trial to keep away from
        yield {d.name: _from_scale(d, trial.params[d.name]) for d in space.dimensions}


def _scale(dimension: Dimension) -> "BaseDistribution":
    """What TPE sees: positions of a grid's values, so that it knows which are neighbours; words have none."""
    found = optuna_module().distributions
    scale: BaseDistribution
    if dimension.between is not None:
        scale = found.FloatDistribution(dimension.between.low, dimension.between.high, log=dimension.between.log)
    elif dimension.ordered:
        scale = found.IntDistribution(0, len(dimension.values) - 1)
    else:
        scale = found.CategoricalDistribution(range(len(dimension.values)))
    return scale


def _to_scale(dimension: Dimension, value: Any) -> Any:
    return float(value) if dimension.between is not None else dimension.values.index(value)


def _from_scale(dimension: Dimension, position: Any) -> Any:
    if dimension.between is None:
        return dimension.values[position]
    return min(max(float(f"{position:.{DIGITS}g}"), dimension.between.low), dimension.between.high)


def _spread(space: Space, stream: int) -> Iterator[Point]:
    """Points that fill the space evenly: u_n = frac(u_0 + n (φ⁻¹, φ⁻², …)), with φ^(d+1) = φ + 1 in d dimensions."""
    begin, phi = random.Random(stream), 2.0
    for _ in range(60):
        phi = (1 + phi) ** (1 / (len(space.dimensions) + 1))
    first = [begin.random() for _ in space.dimensions]
    for n in range(100 * ATTEMPTS):
        shares = [(u + n * phi ** -(at + 1)) % 1 for at, u in enumerate(first)]
        yield {d.name: _at(d, share) for d, share in zip(space.dimensions, shares, strict=True)}


def _at(dimension: Dimension, share: float) -> Any:
    """The value at a share in [0, 1) of the way."""
    if dimension.between is None:
        return dimension.values[int(share * len(dimension.values))]
    low, high = dimension.between.low, dimension.between.high
    return _from_scale(dimension, low * (high / low) ** share if dimension.between.log else low + share * (high - low))


def _stream(words: str) -> int:
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "little")
