"""What can be tried of a sampler: declared spaces, spaces by what is allowed, and points that are one and the same."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sahcns.errors import SettingError
from sahcns.lab.tuning.space import STEPS, Dimension, Space
from sahcns.samplers import AHNS, BNS, DENS, DNS, DNSMN, RNS, SAHC, DivNS, MixGCF, Popularity, Sampler
from sahcns.settings import Between, named, setting

GRID = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of the paper


@pytest.fixture(autouse=True, scope="module")
def no_names() -> Iterator[None]:
    """The samplers of this file are found by no other test."""
    yield
    for kind in (Own, Choosy):
        kind.name = ""


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


BUILT_IN = [kind for kind in named(Sampler).values() if kind.__module__.startswith("sahcns.")]


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: str(kind.name))
def test_a_built_in_sampler_says_of_each_setting_what_to_try(kind: type[Sampler]) -> None:
    space = Space.of(kind)
    assert space.open == ()
    for entry in fields(kind):
        assert entry.name == "pool" or entry.metadata["search"] is not None, entry.name
    assert "pool" in space.rest
    defaults = {entry.name: entry.default for entry in fields(kind)}
    assert space.start == {dimension.name: defaults[dimension.name] for dimension in space.dimensions}
    assert space.sampler(space.start or {}) == kind()


def test_the_spaces_are_those_of_the_papers() -> None:
    plain = {kind.name: Space.of(kind).to_plain() for kind in BUILT_IN}
    assert plain["sahc"] == {"alpha": list(GRID), "lambda_max": list(GRID)}
    assert plain["hc-only"] == {"lambda_max": list(GRID)}
    assert plain["sa-only"] == {"alpha": list(GRID)}
    assert plain["dns-mn"] == {"top_k": [1, 2, 3, 4, 5, 10, 20]}  # M of Shi et al.
    assert plain["rns"] == plain["dns"] == {}
    assert set(plain["dens"]) == {"alpha", "gamma", "schedule"}
    assert set(plain["divns"]) == {"ratio", "lam"}
    assert set(plain["mixgcf"]) == {"beta_low", "beta_high"}
    beta = plain["ahns"]["beta"]
    assert beta["low"] <= 0.1  # as published
    assert beta["high"] >= 20  # what a graph backbone needs, by docs/ahns.md
    assert beta["log"]
    published = {"gamma": (0.3, 0.05, 0.01, 0.5)}
    for value in published["gamma"]:
        assert plain["dens"]["gamma"]["low"] <= value <= plain["dens"]["gamma"]["high"]
    assert plain["bns"]["lam"]["low"] < 5.0 < plain["bns"]["lam"]["high"]
    assert 0.75 in plain["popularity"]["power"]


def test_the_page_names_what_is_searched_of_each() -> None:
    page = (Path(__file__).parents[3] / "docs" / "tune.md").read_text("utf-8")
    table = [line for line in page.splitlines() if line.startswith("| `")]
    for kind in BUILT_IN:
        (row,) = [line for line in table if f"`{kind.name}`" in line]
        for dimension in Space.of(kind).dimensions:
            assert f"`{dimension.name}`" in row, f"{kind.name}: {dimension.name}"


def test_points_of_a_grid_are_all_there_once() -> None:
    points = Space.of(SAHC).points()
    assert points is not None
    assert [tuple(point.values()) for point in points] == list(itertools.product(GRID, GRID))
    assert Space.of(DNS).points() == [{}]
    assert Space.of(AHNS).points() is None


def test_what_the_sampler_refuses_is_no_point() -> None:
    points = Space.of(MixGCF).points()
    assert points is not None
    assert len(points) == 27
    assert all(point["beta_low"] <= point["beta_high"] for point in points)
    assert Space.of(DNSMN, pool=(4,)).points() == [{"top_k": k} for k in (1, 2, 3, 4)]
    ratios = {point["ratio"] for point in Space.of(DivNS, pool=(5,)).points() or []}
    assert ratios == {1, 2, 4}  # one of five is the hard negative


def test_a_setting_that_makes_no_difference_makes_no_point() -> None:
    dens = Space.of(DENS)
    one = {"alpha": 0.0, "gamma": 0.1, "schedule": "warmup"}
    other = {"alpha": 0.5, "gamma": 0.1, "schedule": "warmup"}
    assert dens.key(one) == dens.key(other)
    assert dens.canonical(one) == {"alpha": 1.0, "gamma": 0.1, "schedule": "warmup"}
    assert dens.counting(one) == {"gamma": 0.1, "schedule": "warmup"}
    fixed = [{**point, "schedule": "fixed"} for point in (one, other)]
    assert dens.key(fixed[0]) != dens.key(fixed[1])
    assert dens.counting(fixed[0]) == fixed[0]
    divns = Space.of(DivNS).points()
    assert divns is not None
    assert len(divns) == 5 * 5 + 1  # λ = 1 is DNS, whatever the cache
    held = Space.of(DENS, fixed={"schedule": "cooldown"})  # α never counts, whoever decides the schedule
    assert held.key({"alpha": 0.0, "gamma": 0.1}) == held.key({"alpha": 0.5, "gamma": 0.1})
    without = Space.of(DENS, search={"alpha": (0.0, 0.25)})  # the default is no value of the space
    assert without.canonical(one)["alpha"] == 0.0


def test_the_pool_is_searched_only_when_asked_for() -> None:
    assert Space.of(SAHC).rest == {"pool": 10}
    assert Space.of(DNSMN).rest["pool"] == 100
    assert Space.of(DNSMN, pool=(20,)).rest["pool"] == 20
    searched = Space.of(DNS, pool=(20, 5, 10))
    assert searched.to_plain() == {"pool": [5, 10, 20]}
    assert searched.start == {"pool": 10}
    for kind in (RNS, Popularity):  # theirs is a number of negatives
        space = Space.of(kind, pool=(5, 10))
        assert space.rest["pool"] == 1
        assert space.leaves_pool
    assert not searched.leaves_pool


def test_settings_held_at_a_value_are_not_searched() -> None:
    space = Space.of(SAHC, fixed={"alpha": 0.42}, pool=(5, 10))
    assert space.to_plain() == {"pool": [5, 10], "lambda_max": list(GRID)}
    assert space.sampler({"pool": 5, "lambda_max": 0.1}) == SAHC(pool=5, alpha=0.42, lambda_max=0.1)
    assert space.fixed == {"alpha": 0.42}
    assert Space.of(BNS, fixed={"pool": 7}, pool=(5, 10)).rest["pool"] == 7


def test_a_sampler_that_says_nothing_is_searched_where_that_has_an_end() -> None:
    space = Space.of(Own)
    assert space.to_plain() == {
        "share": {"low": 0, "high": 1, "log": False},
        "steps": [1, 2, 3, 4],
        "mode": ["a", "b", "c"],
        "twice": [False, True],
    }
    assert space.open == ("scale", "title")
    assert space.rest == {"pool": 10, "scale": 1.0, "title": ""}
    assert space.start == {"share": 0.5, "steps": 2, "mode": "a", "twice": False}


def test_what_to_try_can_be_told() -> None:
    space = Space.of(
        Own, search={"scale": Between(0.1, 10, log=True), "share": (0.5,), "mode": ("c", "a"), "twice": ()}
    )
    assert space.to_plain() == {
        "steps": [1, 2, 3, 4],
        "mode": ["c", "a"],
        "scale": {"low": 0.1, "high": 10, "log": True},
    }
    assert space.rest == {"pool": 10, "share": 0.5, "twice": False, "title": ""}
    assert space.open == ("title",)


@pytest.mark.parametrize(
    ("between", "values"),
    [
        (Between(1, 4), [1, 2, 3, 4]),
        (Between(0.5, 3.5), [1, 2, 3]),
        (Between(1, 8, log=True), [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_ranges_of_whole_numbers_are_lists(between: Between, values: list[int]) -> None:
    assert list(Dimension.of("n", between, True, {}).values) == values


@pytest.mark.parametrize("log", [False, True])
def test_a_long_range_of_whole_numbers_is_thinned_out(log: bool) -> None:
    values = Dimension.of("n", Between(1, 10_000, log=log), True, {}).values
    assert (values[0], values[-1]) == (1, 10_000)
    assert len(values) <= STEPS
    assert list(values) == sorted(set(values))
    middle = values[len(values) // 2]
    assert (50 < middle < 400) if log else (4000 < middle < 6000)


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"fixed": {"alhpa": 0.1}}, r"sahc has no argument 'alhpa'; did you mean 'alpha'\?"),
        ({"search": {"lambda": (0.1,)}}, r"sahc has no argument 'lambda'; did you mean 'lambda_max'\?"),
        ({"pool": (0,)}, r"sahc: nothing of its search space is allowed: SAHC: pool=0 is not allowed; it must be >= 1"),
        ({"fixed": {"alpha": -1.0}}, r"sahc: nothing of its search space is allowed: SAHC: alpha=-1\.0 is not allowed"),
    ],
)
def test_mistakes_are_told_in_a_sentence(told: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        Space.of(SAHC, **told)


def test_a_space_without_a_point_is_refused_in_the_sampler_s_words() -> None:
    with pytest.raises(
        SettingError, match=r"choosy: nothing of its search space is allowed: Choosy: low=3 is above high"
    ):
        Space.of(Choosy)


@pytest.mark.parametrize(
    ("search", "sentence"),
    [
        ((0.5, 1.5), r"search=\(0\.5, 1\.5\): 1\.5 is not allowed; it must be in \[0, 1\]"),
        (Between(-0.5, 1), r"-0\.5 is not allowed; it must be in \[0, 1\]"),
    ],
)
def test_what_a_setting_may_not_be_cannot_be_tried(search: Any, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        setting(0.5, "a share", low=0, high=1, search=search)


def test_a_range_runs_upwards_and_a_logarithmic_one_from_above_zero() -> None:
    with pytest.raises(SettingError, match=r"Between: low=2 must be below high=2"):
        Between(2, 2)
    with pytest.raises(SettingError, match=r"Between: low=0 must be above 0 for a logarithmic range"):
        Between(0, 2, log=True)
    with pytest.raises(SettingError, match=r"'d' is not allowed; it must be a \| b"):
        setting("a", "words", choices=("a", "b"), search=("a", "d"))


def test_a_setting_that_leans_on_one_that_is_not_there_is_refused() -> None:
    @dataclass(frozen=True)
    class Leaning(Sampler):
        name = ""
        part: float = setting(0.5, "a part", low=0, high=1, unless={"mood": ("off",)})

    with pytest.raises(SettingError, match="has no argument 'mood'"):
        Space.of(Leaning)


def test_a_space_in_words() -> None:
    assert str(Space.of(DNSMN)) == "dns-mn: top_k {1, 2, 3, 4, 5, 10, 20}: 7 points"
    assert str(Space.of(DNS)) == "dns: nothing to tune"
    assert str(Space.of(AHNS)) == "ahns: alpha 0.1 to 2, logarithmic; beta 0.1 to 50, logarithmic"
