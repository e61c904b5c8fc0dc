"""Which point comes next: the defaults, then random ones, then where it is good; never twice, whatever was killed."""

from collections.abc import Callable

import pytest

from sahcns.lab.tune.propose import RANDOM, propose, pruner
from sahcns.lab.tune.search import Trial
from sahcns.lab.tune.space import Point, Space, key
from sahcns.samplers import AHNS, DENS, DNS, SAHC, DivNS, Sampler
from tests.lab.tune.alone import alone


def trial(space: Space, point: Point, value: float = 0.1, state: str = "complete") -> Trial:
    return Trial(space.name, 0, state, point, space.settings(point), value, {0: 0.1})


def searched(
    space: Space,
    count: int,
    seed: int = 0,
    value: Callable[[Point], float] = lambda point: 0.1,
    state: str = "complete",
) -> list[Trial]:
    """Propose and try, one after the other, until nothing is left."""
    tried: list[Trial] = []
    while len(tried) < count and (point := propose(space, tried, seed)) is not None:
        tried.append(trial(space, point, value(point), state))
    return tried


def points(tried: list[Trial]) -> list[Point]:
    return [one.point for one in tried]


def hill(point: Point) -> float:
    """Highest at α = 0.7, λmax = 0.1."""
    return float(-((point["alpha"] - 0.7) ** 2) - (point["lambda_max"] - 0.1) ** 2)


@pytest.mark.parametrize("state", ["complete", "running", "failed", "pruned"])
def test_a_small_grid_is_tried_through_exactly(state: str) -> None:
    space = alone(SAHC, search={"alpha": (0.1, 0.5)})
    found = [key(point) for point in points(searched(space, 100, value=hill, state=state))]
    assert len(found) == 14
    assert set(found) == {key(point) for point in space.points() or []}


def test_the_start_comes_first_also_in_a_search_under_way() -> None:
    for kind in (SAHC, AHNS, DENS, DivNS):
        assert propose(Space.of(kind), [], seed=3) == Space.of(kind).start
    dns = alone(DNS)
    assert propose(dns, [], seed=0) == {}
    assert propose(dns, [trial(dns, {})], seed=0) is None
    space = alone(DENS, first={"alpha": 0.0, "gamma": 0.01, "pool": 50})  # the pool is not searched
    start = {"alpha": 0.0, "gamma": 0.01, "schedule": "fixed"}
    assert propose(space, [], seed=3) == start
    under_way = [trial(space, alone(DENS).start or {}), trial(space, {**start, "gamma": 0.5})]
    assert propose(space, under_way, seed=3) == start
    assert propose(space, [*under_way, trial(space, start, state="running")], seed=3) != start
    idle = alone(DivNS, first={"ratio": 0, "lam": 1.0})  # a value that is none of the space, where it does not count
    assert propose(idle, [], seed=3) == {"lam": 1.0}
    assert Space.of(SAHC, first={"alpha": 0.31}).start is None


@pytest.mark.parametrize("kind", [SAHC, AHNS, DENS, DivNS], ids=lambda kind: str(kind.name))
def test_no_point_is_proposed_twice_and_all_are_allowed(kind: type[Sampler]) -> None:
    space = Space.of(kind)
    tried = points(searched(space, 20, value=lambda point: sum(v for v in point.values() if isinstance(v, float))))
    assert len(set(map(key, tried))) == 20
    for point in tried:
        assert point == space.counting(point)
        assert space.accepts(point)
        for value in point.values():
            assert not isinstance(value, float) or value == float(f"{value:.4g}")


def test_what_comes_next_depends_on_the_seed_and_on_what_was_tried_alone() -> None:
    """A process that takes up a search in the middle goes on as the first would have."""
    space = Space.of(SAHC)
    whole, other = (searched(space, 12, seed, value=hill) for seed in (0, 1))
    for cut in (1, 5, 8, 11):
        assert propose(space, whole[:cut], seed=0) == whole[cut].point
    assert points(whole)[1:] != points(other)[1:]


def test_after_a_while_it_looks_where_it_is_good() -> None:
    space = alone(SAHC)
    late = [hill(one.point) for seed in range(4) for one in searched(space, 18, seed=seed, value=hill)[RANDOM:]]
    everywhere = [hill(point) for point in space.points() or []]
    assert sum(late) / len(late) > sum(everywhere) / len(everywhere) + 0.1
    wrong = [hill(one.point) for one in searched(space, 18, value=lambda point: -hill(point))[RANDOM:]]
    assert sum(wrong) / len(wrong) < sum(everywhere) / len(everywhere)


def test_a_trial_is_pruned_below_the_median_of_others() -> None:
    ahns, rule = Space.of(AHNS), {"rule": "median", "on": True, "after_trials": 5, "after_epochs": 2}
    complete = [
        Trial("ahns", at, "complete", {}, ahns.settings({}), value, dict.fromkeys(range(4), value))
        for at, value in enumerate((0.3, 0.4, 0.5, 0.6, 0.7))
    ]
    bad, good = pruner(rule, complete), pruner(rule, complete)
    assert [bad(epoch, 0.45) for epoch in range(3)] == [False, False, True]  # two epochs of warm-up
    assert not any(good(epoch, 0.55) for epoch in range(9))  # nobody came to epoch 4 and beyond
    for never in (pruner({"on": False}, complete), pruner(rule, complete[1:])):
        assert not any(never(epoch, 0.0) for epoch in range(4))
