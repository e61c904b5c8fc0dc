"""What can be tried: declared spaces, spaces by what is allowed, and points that come to the same."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sahcns.backbones import LightGCN
from sahcns.errors import SettingError
from sahcns.lab.tune.space import STEPS, Space, Values, end_of, key, spaces_of
from sahcns.objectives import SampledSoftmax
from sahcns.samplers import AHNS, BNS, DENS, DNS, DNSMN, RNS, SAHC, DivNS, MixGCF, Popularity, Sampler
from sahcns.settings import Between, named, setting
from sahcns.training import Protocol
from tests.lab.tune.alone import alone

GRID = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of the paper


@dataclass(frozen=True)
class Own(Sampler):
    """Everything that a user may write, and none of it says what to search."""

    name: ClassVar[str] = "own"

    share: float = setting(0.5, "closed", low=0, high=1)
    steps: int = setting(2, "whole", low=1, high=4)
    mode: str = setting("a", "words", choices=("a", "b", "c"))
    twice: bool = setting(False, "a switch")
    scale: float = setting(1.0, "open", above=0)
    title: str = setting("", "any text")


@dataclass(frozen=True)
class Choosy(Sampler):
    """One setting bounds another."""

    name: ClassVar[str] = "choosy"

    low: int = setting(3, "not above high", low=0, search=(3, 4, 5))
    high: int = setting(2, "not below low", low=0, search=(1, 2))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            raise SettingError(f"Choosy: low={self.low} is above high={self.high}")


@pytest.fixture(autouse=True, scope="module")
def no_names() -> Iterator[None]:
    """The samplers of this file are found by no other test."""
    yield
    Own.name = Choosy.name = ""


BUILT_IN = [kind for kind in named(Sampler).values() if kind.__module__.startswith("sahcns.")]


def test_built_in_samplers_say_what_to_try_and_the_page_names_it() -> None:
    page = (Path(__file__).parents[3] / "docs" / "tune.md").read_text("utf-8")
    table = [line for line in page.splitlines() if line.startswith("| `")]
    for kind in BUILT_IN:
        space = alone(kind)
        assert space.unbounded == ()
        assert all(entry.name == "pool" or entry.metadata["search"] is not None for entry in fields(kind))
        assert space.start == {one.name: one.default for one in space.dimensions}
        assert space.build(space.start or {})["sampler"] == kind()
        first = Space.of(kind).build(Space.of(kind).start or {})["sampler"]
        assert first == kind(pool=first.pool)
        assert first.pool in {kind().pool, min((5, 10, 20, 50), key=lambda pool: abs(pool - kind().pool))}
        (row,) = [line for line in table if f"`{kind.name}`" in line]
        assert all(f"`{one.name}`" in row for one in space.dimensions), kind.name


def test_the_spaces_are_those_of_the_papers() -> None:
    plain = {kind.name: alone(kind).to_plain() for kind in BUILT_IN}
    assert plain["sahc"] == {"alpha": list(GRID), "lambda_max": list(GRID)}
    assert plain["dns-mn"] == {"top_k": [1, 2, 3, 4, 5, 10, 20]}  # M of Shi et al.
    assert plain["rns"] == plain["dns"] == {}
    beta = plain["ahns"]["beta"]
    assert (beta.low <= 0.1, beta.high >= 20, beta.log) == (True, True, True)  # as published; docs/ahns.md
    assert plain["dens"]["gamma"].low <= 0.01 < 0.5 <= plain["dens"]["gamma"].high  # as published


def test_the_points_are_those_that_can_be_built_each_once() -> None:
    points = alone(SAHC).points() or []
    assert [tuple(point.values()) for point in points] == list(itertools.product(GRID, GRID))
    assert alone(DNS).points() == [{}]
    assert alone(AHNS).points() is None
    mixes = alone(MixGCF).points() or []
    assert len(mixes) == 27
    assert all(point["beta_low"] <= point["beta_high"] for point in mixes)
    assert Space.of(DNSMN, search={"pool": (4,)}).points() == [{"top_k": k} for k in (1, 2, 3, 4)]
    assert len(alone(DivNS).points() or []) == 5 * 5 + 1  # λ = 1 is DNS, whatever the cache


def test_a_setting_that_makes_no_difference_makes_no_point() -> None:
    dens = alone(DENS)
    one, other = ({"alpha": alpha, "gamma": 0.1, "schedule": "warmup"} for alpha in (0.0, 0.5))
    assert dens.counting(one) == dens.counting(other) == {"gamma": 0.1, "schedule": "warmup"}
    assert dens.settings(dens.counting(one)) == {"pool": 10, "warmup": 100, **one, "alpha": 1.0}
    assert key(dens.counting({**one, "schedule": "fixed"})) != key(dens.counting({**other, "schedule": "fixed"}))
    held = alone(DENS, fixed={"schedule": "cooldown"})
    assert held.counting({"alpha": 0.0, "gamma": 0.1}) == {"gamma": 0.1}
    without = alone(DENS, search={"alpha": (0.0, 0.25)})  # the default, 1, is no value of the space
    assert without.settings({})["alpha"] == 0.25


def test_the_pool_is_searched_where_candidates_are_chosen_from_it_up_to_fifty() -> None:
    assert Space.of(DNS).to_plain() == {"pool": [5, 10, 20, 50]}
    assert Space.of(Own).to_plain()["pool"] == [5, 10, 20, 50]
    assert Space.of(DNSMN).start == {"pool": 50, "top_k": 5}  # as near to the default, 100, as there is
    assert Space.of(RNS).to_plain() == Space.of(DNS, search={"pool": ()}).to_plain() == {}
    assert Space.of(SAHC, search={"pool": "10"}).rest == {"pool": 10}
    assert Space.of(DNSMN, search={"pool": (20,)}).rest["pool"] == 20
    searched = Space.of(DNS, search={"pool": (20, 5, 10)})
    assert (searched.to_plain(), searched.start) == ({"pool": [5, 10, 20]}, {"pool": 10})
    for space in spaces_of([RNS, Popularity], search={"pool": (5, 10)}):  # theirs is a number of negatives
        assert space.rest["pool"] == 1
    assert Space.of(BNS, fixed={"pool": 7}, search={"pool": (5, 10)}).rest["pool"] == 7


def test_what_to_search_may_be_text_and_is_read_by_the_type_of_the_setting() -> None:
    text: dict[str, Values] = {"protocol.l2": "1e-5..1e-2", "backbone.depth": "1, 2", "alpha": "0..1", "pool": "20"}
    space = Space.of(SAHC, search=text, backbone=LightGCN(), protocol=Protocol())
    assert space.to_plain() == {
        "alpha": Between(0, 1),
        "lambda_max": list(GRID),
        "backbone.depth": [1, 2],
        "protocol.learning_rate": Between(3e-4, 3e-3, log=True),
        "protocol.l2": Between(1e-5, 1e-2, log=True),
    }
    assert space.rest == {"pool": 20}


def test_settings_of_the_backbone_and_the_protocol_are_searched_by_name() -> None:
    backbone, protocol = LightGCN(dim=8), Protocol(l2=1e-3)
    wide: dict[str, Values] = {"protocol.learning_rate": (), "backbone.depth": (3, 1)}
    space = alone(DNS, search=wide, backbone=backbone, protocol=protocol)
    assert space.to_plain() == {"backbone.depth": [1, 3], "protocol.l2": Between(1e-5, 1e-2, log=True)}
    assert space.start == {"backbone.depth": 3, "protocol.l2": 1e-3}
    assert space.build({"backbone.depth": 1, "protocol.l2": 0.01}) == {
        "sampler": DNS(),
        "backbone": LightGCN(dim=8, depth=1),
        "protocol": Protocol(l2=0.01),
    }
    for wrong in (
        "protocol.l3",
        "protocol.monitor",
        "protocol.mask",
    ):  # trials judged otherwise say nothing of each other
        with pytest.raises(SettingError, match=wrong):
            Space.of(DNS, search={wrong: (1,)}, protocol=protocol)


def test_l2_and_the_step_size_are_searched_unless_told_otherwise_and_so_is_an_objective() -> None:
    protocol, softmax = Protocol(l2=0.05, learning_rate=1e-3), SampledSoftmax(temperature=0.2)
    space = Space.of(RNS, backbone=LightGCN(), protocol=protocol, objective=softmax)
    assert space.to_plain() == {
        "protocol.learning_rate": Between(3e-4, 3e-3, log=True),
        "protocol.l2": Between(1e-5, 1e-2, log=True),
        "objective.temperature": Between(0.05, 1.0, log=True),
    }
    start = {"protocol.learning_rate": 1e-3, "protocol.l2": 0.01, "objective.temperature": 0.2}
    assert space.start == start  # as near to what the protocol has as there is
    assert space.build({**start, "objective.temperature": 0.5})["objective"] == SampledSoftmax(temperature=0.5)
    held = Space.of(RNS, fixed={"protocol.l2": 0.02}, search={"protocol.learning_rate": ()}, protocol=protocol)
    assert (held.to_plain(), held.build({})["protocol"]) == ({}, Protocol(l2=0.02, learning_rate=1e-3))


@pytest.mark.parametrize(("text", "log"), [("0.05..0.5", True), ("3e-4..3e-3", True), ("1..9", False), ("0..1", False)])
def test_a_range_is_logarithmic_from_a_factor_of_ten_on(text: str, log: bool) -> None:
    space = Space.of(RNS, search={"protocol.l2": text, "protocol.learning_rate": ()}, protocol=Protocol())
    low, high = map(float, text.split(".."))
    assert space.to_plain() == {"protocol.l2": Between(low, high, log=log)}


@pytest.mark.parametrize(
    ("values", "value", "end"),
    [
        (Between(1e-5, 1e-2, log=True), 1.3e-5, "low"),  # a twentieth of three orders of magnitude is a factor of 1.41
        (Between(1e-5, 1e-2, log=True), 1.5e-5, ""),
        (Between(1e-5, 1e-2, log=True), 8e-3, "high"),
        (Between(0, 1), 0.04, "low"),
        (Between(0, 1), 0.06, ""),
        ((5, 10, 50), 50, "high"),
        ((5, 10, 50), 10, ""),
        (("a", "b"), "a", ""),
        ((False, True), True, ""),
        ((3,), 3, ""),
    ],
)
def test_whether_a_value_is_at_an_end(values: Values, value: Any, end: str) -> None:
    assert end_of(values, value) == end


def test_a_sampler_that_says_nothing_is_searched_where_that_is_bounded() -> None:
    space = alone(Own)
    assert space.to_plain() == {
        "share": Between(0, 1),
        "steps": [1, 2, 3, 4],
        "mode": ["a", "b", "c"],
        "twice": [False, True],
    }
    assert space.unbounded == ("scale", "title")
    assert space.rest == {"pool": 10, "scale": 1.0, "title": ""}
    search: dict[str, Values] = {"scale": Between(0.1, 10, log=True), "share": (0.5,), "mode": ("c", "a"), "twice": ()}
    other = alone(Own, search=search)
    assert list(other.to_plain()) == ["steps", "mode", "scale"]
    assert other.rest == {"pool": 10, "share": 0.5, "twice": False, "title": ""}


@pytest.mark.parametrize("log", [False, True])
def test_a_long_range_of_whole_numbers_is_thinned_out(log: bool) -> None:
    values = Space.of(DNS, search={"pool": Between(1, 10_000, log=log)}).to_plain()["pool"]
    assert (values[0], values[-1], values) == (1, 10_000, sorted(set(values)))
    assert len(values) <= STEPS
    middle = values[len(values) // 2]
    assert (50 < middle < 400) if log else (4000 < middle < 6000)


@pytest.mark.parametrize(
    ("kind", "arguments", "named_in_error"),
    [
        (SAHC, {"fixed": {"alhpa": 0.1}}, "alhpa.*alpha"),
        (SAHC, {"search": {"lambda": (0.1,)}}, "lambda.*lambda_max"),
        (SAHC, {"search": {"pool": (0,)}}, "pool=0"),
        (SAHC, {"search": {"alpha": "0..x"}}, r"0\.\.x"),
        (SAHC, {"fixed": {"alpha": -1.0}}, r"alpha=-1\.0"),
        (Choosy, {}, "low=3 is above high"),
    ],
)
def test_mistakes_name_the_setting(kind: type[Sampler], arguments: dict[str, Any], named_in_error: str) -> None:
    with pytest.raises(SettingError, match=named_in_error):
        Space.of(kind, **arguments)
