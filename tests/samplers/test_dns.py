"""DNS: the candidate of the largest model score."""

import dataclasses

import torch

from sahcns.aggregation import Kind
from sahcns.samplers import DNS
from tests.samplers.oracle import Negative, Pair, assert_agrees
from tests.samplers.world import World, choice, every_case, picked, scored


def oracle(pair: Pair) -> list[Negative]:
    """n* = argmax_n s[b, n], by the model's own score whatever its aggregation."""
    return [pair.real(pair.hardest())]


@every_case
def test_agrees_with_the_oracle(kind: Kind, depth: int, seed: int) -> None:
    sampler = DNS(pool=6)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, oracle)


@every_case
def test_ranks_as_the_mean_of_the_layer_scores_does(kind: Kind, depth: int, seed: int) -> None:
    sampler = DNS(pool=6)
    match = World.random(kind, depth, seed).match(sampler, seed)
    expected = match.chosen(match.a.mean(-1).argmax(1))
    assert torch.equal(sampler.choose(match, choice()).items.flatten(), expected)


def test_equal_scores_give_the_first() -> None:
    assert picked(scored([[0.5], [0.7], [0.7], [0.1]], [0.0]), DNS(pool=4)) == [1]


def test_a_shift_orthogonal_to_the_user_changes_nothing() -> None:
    """d = 2: the one user is (1, 2), every item is moved by 5 · (-2, 1)."""
    world = World.random("mean", 2, 0, users=1, items=16)
    tables = [layer[:, :2].clone() for layer in world.layers]
    for table in tables:
        table[0] = torch.tensor([1.0, 2.0])
    before = dataclasses.replace(world, layers=tuple(tables)).match(DNS(pool=8))
    moved = [table.clone() for table in tables]
    for table in moved:
        table[1:] += torch.tensor([-10.0, 5.0])
    after = dataclasses.replace(world, layers=tuple(moved)).match(DNS(pool=8))
    assert torch.equal(DNS(pool=8).choose(before, choice()).items, DNS(pool=8).choose(after, choice()).items)
