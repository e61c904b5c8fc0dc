"""Which point comes next: the defaults, then random ones, then where it is good; never twice, whatever was killed."""

from collections.abc import Callable

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial

from sahcns.lab.tune.propose import RANDOM, distribution, propose
from sahcns.lab.tune.space import Point, Space
from sahcns.samplers import AHNS, DENS, DNS, SAHC, DivNS, Sampler

optuna.logging.set_verbosity(optuna.logging.ERROR)
pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


def trial(space: Space, point: Point, value: float | None = 0.1, state: str = "COMPLETE") -> FrozenTrial:
    scales = {one.name: distribution(one) for one in space.dimensions}
    looks = {0: 0.1} if state == "PRUNED" else {}
    done = value if state == "COMPLETE" else None
    return create_trial(
        state=TrialState[state], value=done, params=point, distributions=scales, intermediate_values=looks
    )


def searched(
    space: Space,
    count: int,
    seed: int = 0,
    value: Callable[[Point], float] = lambda point: 0.1,
    state: str = "COMPLETE",
) -> list[FrozenTrial]:
    """Propose and try, one after the other, until nothing is left."""
    tried: list[FrozenTrial] = []
    while len(tried) < count and (point := propose(space, tried, seed)) is not None:
        tried.append(trial(space, point, value(point), state))
    return tried


def points(tried: list[FrozenTrial]) -> list[Point]:
    return [one.params for one in tried]


def hill(point: Point) -> float:
    """Highest at α = 0.7, λmax = 0.1."""
    return float(-((point["alpha"] - 0.7) ** 2) - (point["lambda_max"] - 0.1) ** 2)


@pytest.mark.parametrize("state", ["COMPLETE", "RUNNING", "FAIL", "PRUNED"])
def test_a_small_grid_is_tried_through_exactly(state: str) -> None:
    space = Space.of(SAHC, search={"alpha": (0.1, 0.5)})
    found = [space.key(one.params) for one in searched(space, 100, value=hill, state=state)]
    assert len(found) == 14
    assert set(found) == {space.key(point) for point in space.points() or []}


def test_the_start_comes_first_also_in_a_search_under_way() -> None:
    for kind in (SAHC, AHNS, DENS, DivNS):
        assert propose(Space.of(kind), [], seed=3) == Space.of(kind).start
    dns = Space.of(DNS)
    assert propose(dns, [], seed=0) == {}
    assert propose(dns, [trial(dns, {})], seed=0) is None
    space = Space.of(DENS, first={"alpha": 0.0, "gamma": 0.01, "pool": 50})  # the pool is not searched
    start = {"alpha": 0.0, "gamma": 0.01, "schedule": "fixed"}
    assert propose(space, [], seed=3) == start
    under_way = [trial(space, Space.of(DENS).start or {}), trial(space, {**start, "gamma": 0.5})]
    assert propose(space, under_way, seed=3) == start
    assert propose(space, [*under_way, trial(space, start, state="RUNNING")], seed=3) != start
    idle = Space.of(DivNS, first={"ratio": 0, "lam": 1.0})  # a value that is none of the space, where it does not count
    assert propose(idle, [], seed=3) == {"ratio": DivNS().ratio, "lam": 1.0}
    assert Space.of(SAHC, first={"alpha": 0.31}).start is None


@pytest.mark.parametrize("kind", [SAHC, AHNS, DENS, DivNS], ids=lambda kind: str(kind.name))
def test_no_point_is_proposed_twice_and_all_are_allowed(kind: type[Sampler]) -> None:
    space = Space.of(kind)
    tried = points(searched(space, 20, value=lambda point: sum(v for v in point.values() if isinstance(v, float))))
    assert len({space.key(point) for point in tried}) == 20
    for point in tried:
        assert point == space.canonical(point)
        assert space.accepts(point)
        for value in point.values():
            assert not isinstance(value, float) or value == float(f"{value:.4g}")


def test_what_comes_next_depends_on_the_seed_and_on_what_was_tried_alone() -> None:
    """A process that takes up a search in the middle goes on as the first would have."""
    space = Space.of(SAHC)
    whole, other = (searched(space, 12, seed, value=hill) for seed in (0, 1))
    for cut in (1, 5, 8, 11):
        assert propose(space, whole[:cut], seed=0) == whole[cut].params
    assert points(whole)[1:] != points(other)[1:]


def test_after_a_while_it_looks_where_it_is_good() -> None:
    space = Space.of(SAHC)
    late = [hill(one.params) for seed in range(4) for one in searched(space, 18, seed=seed, value=hill)[RANDOM:]]
    everywhere = [hill(point) for point in space.points() or []]
    assert sum(late) / len(late) > sum(everywhere) / len(everywhere) + 0.1
    wrong = [hill(one.params) for one in searched(space, 18, value=lambda point: -hill(point))[RANDOM:]]
    assert sum(wrong) / len(wrong) < sum(everywhere) / len(everywhere)
