"""Popularity: RNS from pools in proportion to a power of the training frequency (the draw itself: test_draw.py)."""

import pytest
import torch

from sahcns.aggregation import Kind
from sahcns.graph import Unseen
from sahcns.samplers import RNS, Popularity
from tests.samplers.oracle import assert_agrees
from tests.samplers.stepping import BACKBONES, batch, every_pair, step_of
from tests.samplers.world import World, choice, every_case
from tests.training.spying import spying


@every_case
def test_takes_the_pool_as_it_was_drawn(kind: Kind, depth: int, seed: int) -> None:
    sampler = Popularity(pool=2)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: [pair.real(item) for item in pair.pool])


@pytest.mark.parametrize("power", [0.25, 0.75, 1.0, 2.0])
def test_weights_are_powers_of_the_counts(power: float) -> None:
    counts = [0, 1, 2, 16, 81, 10_000]
    weights = Popularity(power=power).weights(torch.tensor(counts))
    assert weights is not None
    assert weights.dtype == torch.int64
    assert int(weights[0]) == 0
    ratios = (weights.double() / weights[1]).tolist()
    assert ratios[1:] == pytest.approx([c**power for c in counts[1:]], rel=1e-5)


@pytest.mark.parametrize("power", [0.75, 1.0, 1.5, 2.0])
def test_a_large_set_has_room_for_every_power(power: float) -> None:
    """20 million pairs on 27,000 items and 4 million users, as large public sets have them."""
    counts = (60_000 / torch.arange(1, 27_001) ** 0.8).round().long()
    weights = Popularity(power=power).weights(counts)
    assert weights is not None
    few = Unseen.of(torch.tensor([0, 0]), torch.zeros(0, dtype=torch.int64), len(counts), weights)
    assert few.total < 2 ** (62 - (4_000_000).bit_length())
    ratios = weights.double() / weights.sum() / (counts.double() ** power / (counts.double() ** power).sum())
    assert float((ratios - 1).abs().max()) < (1e-3 if power < 2 else 0.05)


def test_power_zero_draws_rns_pools() -> None:
    world = World.random("mean", 2, 0)
    one, other = world.match(Popularity(pool=5, power=0.0)), world.match(RNS(pool=5))
    assert torch.equal(one.candidates, other.candidates)
    assert not torch.equal(world.match(Popularity(pool=5)).candidates, other.candidates)


def test_training_draws_by_the_weights() -> None:
    """Items 9 and 10 have no training pair: RNS draws them, Popularity does not."""
    for sampler, all_alike in ((RNS(pool=30), True), (Popularity(pool=30), False)):
        spy, notes = spying(sampler)
        step = step_of(BACKBONES["mf"], spy)
        step(*batch(step, every_pair(step)))
        drawn = {item for seen in notes for pool in seen.candidates for item in pool}
        assert drawn == set(range(11 if all_alike else 9))


def test_defaults() -> None:
    assert (Popularity().power, Popularity().pool) == (0.75, 1)
