"""RNS: the pool as it was drawn."""

from sahcns.aggregation import Kind
from sahcns.samplers import RNS
from tests.samplers.oracle import Negative, Pair, assert_agrees
from tests.samplers.world import World, choice, every_case


def oracle(pair: Pair) -> list[Negative]:
    """j = C[:, 0], or C[:, :K] for K negatives."""
    return [pair.real(item) for item in pair.pool]


@every_case
def test_agrees_with_the_oracle(kind: Kind, depth: int, seed: int) -> None:
    for count in (1, 3):
        sampler = RNS(pool=count)
        match = World.random(kind, depth, seed).match(sampler, seed)
        assert_agrees(sampler.choose(match, choice()), match, oracle)


def test_several_negatives_are_not_a_mixture_of_them() -> None:
    sampler = RNS(pool=3)
    match = World.random("mean", 2, 0).match(sampler)
    mixture = sampler.choose(match, choice())
    assert mixture.items.shape == (len(match.users), 3, 1, 1)
    assert mixture.weights is None
