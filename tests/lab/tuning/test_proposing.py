"""Which point comes next: the defaults, then spread out, then where it is good; never twice, whatever was killed."""

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from sahcns.errors import SahcnsError, SettingError
from sahcns.lab.tuning.proposing import SPREAD, Tried, optuna_module, propose
from sahcns.lab.tuning.space import Point, Space
from sahcns.samplers import AHNS, DENS, DNS, SAHC, DivNS, Sampler
from sahcns.settings import Between, setting


def searched(space: Space, count: int, seed: int = 0, value: Any = lambda point: 0.1) -> list[Tried]:
    """Propose and try, one after the other, until nothing is left."""
    tried: list[Tried] = []
    while len(tried) < count and (point := propose(space, tried, seed)) is not None:
        tried.append(Tried(point, "complete", value(point)))
    return tried


def points(tried: list[Tried]) -> list[Point]:
    return [dict(one.point) for one in tried]


def hill(point: Point) -> float:
    """Highest at α = 0.7, λmax = 0.1."""
    return float(-((point["alpha"] - 0.7) ** 2) - (point["lambda_max"] - 0.1) ** 2)


def test_a_small_grid_is_tried_through_exactly() -> None:
    space = Space.of(SAHC)
    tried = searched(space, 100, value=hill)
    found = [space.key(one.point) for one in tried]
    assert len(found) == 49
    assert set(found) == {space.key(point) for point in space.points() or []}
    assert propose(space, tried, seed=0) is None


def test_the_defaults_come_first() -> None:
    for kind in (SAHC, AHNS, DENS, DivNS):
        space = Space.of(kind)
        assert propose(space, [], seed=3) == space.start
    assert propose(Space.of(DNS), [], seed=0) == {}
    assert propose(Space.of(DNS), [Tried({}, "complete", 0.1)], seed=0) is None
    elsewhere = Space.of(SAHC, search={"alpha": (0.2, 0.4)})
    assert elsewhere.start is None
    first = propose(elsewhere, [], seed=0)
    assert first is not None
    assert first["alpha"] in (0.2, 0.4)


def test_what_is_told_to_come_first_does_so_in_a_search_under_way_too() -> None:
    published = {"alpha": 0.0, "gamma": 0.01}
    space = Space.of(DENS, first={**published, "pool": 50, "warmup": 7})  # what is not searched is not its business
    start = {**published, "schedule": "fixed"}
    assert propose(space, [], seed=3) == start
    under_way = [Tried(point, "complete", 0.1) for point in (Space.of(DENS).start, {**start, "gamma": 0.5}) if point]
    assert propose(space, under_way, seed=3) == start
    assert propose(space, [*under_way, Tried(start, "running")], seed=3) != start
    idle = Space.of(DivNS, first={"ratio": 0, "lam": 1.0})  # a value that is none of the space, where it does not count
    assert propose(idle, [], seed=3) == {"ratio": DivNS().ratio, "lam": 1.0}
    assert Space.of(SAHC, first={"alpha": 0.31}).start is None


@pytest.mark.parametrize("kind", [SAHC, AHNS, DENS, DivNS], ids=lambda kind: str(kind.name))
def test_no_point_is_proposed_twice_and_all_are_allowed(kind: type[Sampler]) -> None:
    space = Space.of(kind)
    tried = searched(space, 26, value=lambda point: sum(v for v in point.values() if isinstance(v, float)))
    keys = [space.key(one.point) for one in tried]
    assert len(keys) == len(set(keys)) == 26
    for one in tried:
        space.sampler(one.point)
        assert one.point == space.canonical(one.point)


def test_the_same_seed_proposes_the_same_and_another_seed_others() -> None:
    space = Space.of(AHNS)
    one, again, other = (searched(space, 9, seed=seed, value=lambda p: -p["beta"]) for seed in (0, 0, 1))
    assert points(one) == points(again)
    assert points(one)[0] == points(other)[0]
    assert points(one)[1:] != points(other)[1:]


def test_what_comes_next_depends_on_what_was_tried_and_not_on_who_tried_it() -> None:
    """A process that takes up a search in the middle goes on as the first would have."""
    space = Space.of(SAHC)
    whole = searched(space, 12, value=hill)
    for cut in (1, 5, 8, 11):
        assert propose(space, whole[:cut], seed=0) == whole[cut].point


def test_after_a_while_it_looks_where_it_is_good() -> None:
    space = Space.of(SAHC)
    late = [hill(dict(one.point)) for seed in range(4) for one in searched(space, 18, seed=seed, value=hill)[SPREAD:]]
    everywhere = [hill(point) for point in space.points() or []]
    assert sum(late) / len(late) > sum(everywhere) / len(everywhere) + 0.1
    wrong = [hill(dict(one.point)) for one in searched(space, 18, value=lambda point: -hill(point))[SPREAD:]]
    assert sum(wrong) / len(wrong) < sum(everywhere) / len(everywhere)


def test_the_first_points_are_spread_out() -> None:
    space = Space.of(AHNS)
    for seed in range(5):
        betas = [math.log(one.point["beta"]) for one in searched(space, SPREAD, seed=seed)[1:]]
        ends = math.log(0.1), math.log(50)
        quarters = {int(4 * (beta - ends[0]) / (ends[1] - ends[0])) for beta in betas}
        assert len(quarters) >= 3
        assert all(ends[0] <= beta <= ends[1] for beta in betas)


def test_numbers_of_a_range_have_few_digits() -> None:
    for one in searched(Space.of(AHNS), 10):
        for value in one.point.values():
            assert value == float(f"{value:.4g}")


@pytest.mark.parametrize("state", ["running", "failed", "pruned"])
def test_what_is_running_or_failed_or_cut_off_is_not_proposed_again(state: str) -> None:
    space = Space.of(SAHC, fixed={"alpha": 0.3})
    tried: list[Tried] = []
    while (point := propose(space, tried, seed=0)) is not None:
        tried.append(Tried(point, state, None, {0: 0.1} if state == "pruned" else {}))
    assert sorted(one.point["lambda_max"] for one in tried) == [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]


@dataclass(frozen=True)
class Picky(Sampler):
    """Accepts two points of nine thousand."""

    first: int = setting(0, "of many", low=0, search=tuple(range(95)))
    second: int = setting(0, "of many", low=0, search=tuple(range(95)))
    ratio: float = setting(0.0, "held", search=())

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.first, self.second) not in ((61, 41), (3, 94)):
            raise SettingError("Picky: no")


def test_points_that_are_hard_to_hit_are_found_all_the_same() -> None:
    found = searched(Space.of(Picky), 5)
    assert sorted(tuple(point.values()) for point in points(found)) == [(3, 94), (61, 41)]


@dataclass(frozen=True)
class Never(Sampler):
    """Accepts nothing at all."""

    name: ClassVar[str] = ""
    share: float = setting(0.5, "of one", low=0, high=1, search=Between(0, 1))

    def __post_init__(self) -> None:
        raise SettingError("Never: no")


def test_a_space_that_allows_nothing_is_told_so() -> None:
    with pytest.raises(SettingError, match="Never: its search space holds next to nothing that is allowed; widen it"):
        propose(Space.of(Never), [], seed=0)


def test_without_optuna_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SahcnsError, match=r"tuning needs Optuna, which is not installed; pip install 'sahcns\[tune\]'"):
        optuna_module()
