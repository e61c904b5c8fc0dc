"""A sampler of one's own: the example in the docstring is a whole one, and what is missing is said."""

import gc
import inspect
import textwrap
import weakref
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from sahcns.errors import TrainingError
from sahcns.samplers import DNS, RNS, Popularity, Sampler, base
from sahcns.samplers.sahc import SelectThenCalibrate
from sahcns.settings import by_name, setting
from tests.samplers.stepping import BACKBONES, loss_of, step_of
from tests.samplers.world import World, choice


def example() -> str:
    """The indented lines of the module's docstring."""
    lines = (inspect.getdoc(base) or "").splitlines()
    return textwrap.dedent("\n".join(line for line in lines if not line or line.startswith("    ")))


def test_the_docstrings_example_is_a_whole_sampler() -> None:
    kind = tried()
    gc.collect()
    assert kind() is None  # it leaves with its script


def tried() -> "weakref.ref[type[Sampler]]":
    names: dict[str, Any] = {"dataclass": dataclass, "Sampler": Sampler}
    exec(example(), names)
    softest = by_name(Sampler, "softest", {"pool": 6})
    assert type(softest) is names["Softest"]
    match = World.random("mean", 2, 0).match(softest)
    expected = match.chosen((-match.scores).argmax(1))
    assert torch.equal(softest.choose(match, choice()).items.flatten(), expected)
    for backbone in BACKBONES.values():
        assert bool(loss_of(step_of(backbone, softest)).isfinite())
    return weakref.ref(type(softest))


def test_a_sampler_without_a_choice_says_so() -> None:
    match = World.random("mean", 2, 0).match(DNS())
    with pytest.raises(
        TrainingError, match=r"Sampler does not define choose\(self, match, rng\), which returns a Mixture"
    ):
        Sampler().choose(match, choice())
    with pytest.raises(TrainingError, match=r"SelectThenCalibrate does not name its two parts"):
        SelectThenCalibrate().choose(match, choice())


def test_what_is_opt_in_is_off() -> None:
    world = World.random("mean", 2, 0)
    plain = DNS()
    assert plain.weights(world.graph.popularity) is None
    assert plain.trainable(3, choice(), torch.float32) == {}
    assert plain.begin(world.graph) is None


@dataclass(frozen=True)
class Untuned(DNS):
    """A pool that tuning leaves alone is still a pool of candidates."""

    pool: int = setting(20, "candidates", low=1, search=())


def test_what_draws_negatives_says_so_itself() -> None:
    assert [kind.draws_negatives for kind in (RNS, Popularity, DNS, Untuned)] == [True, True, False, False]
