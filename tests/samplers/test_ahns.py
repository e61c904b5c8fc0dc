"""AHNS: the candidate nearest to a target that falls as the positive's score rises."""

import pytest
import torch

from sahcns.aggregation import Kind
from sahcns.samplers import AHNS, DNS
from tests.samplers.oracle import Negative, Pair, assert_agrees, first_largest
from tests.samplers.world import World, choice, every_case, picked, scored


def oracle(pair: Pair, alpha: float, beta: float, p: int) -> list[Negative]:
    """target = β (y⁺ + α)^(p+1);  n* = argmin_n |s_n - target|."""
    target = beta * (pair.score(pair.positive) + alpha) ** (p + 1)
    nearest = first_largest([-abs(pair.score(item) - target) for item in pair.pool])
    return [pair.real(pair.pool[nearest])]


@pytest.mark.parametrize(("alpha", "beta", "p"), [(1.0, 0.1, -2), (0.5, 2.0, -3), (1.5, 0.7, -1)])
@every_case
def test_agrees_with_the_oracle(kind: Kind, depth: int, seed: int, alpha: float, beta: float, p: int) -> None:
    sampler = AHNS(pool=6, alpha=alpha, beta=beta, p=p)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: oracle(pair, alpha, beta, p))


@pytest.mark.parametrize(("positive", "target"), [(0.0, 0.1), (1.0, 0.05), (4.0, 0.02), (-0.5, 0.2), (-0.9, 1.0)])
def test_targets_of_the_specification(positive: float, target: float) -> None:
    """α = 1, β = .1, p = -2. The target stands among neighbours .004 away on either side, and is found."""
    pool = [[target - 0.004], [target + 0.0001], [target + 0.004]]
    assert picked(scored(pool, [positive]), AHNS(pool=3)) == [1]


def test_pick_of_the_specification() -> None:
    pool = [[-0.30], [0.02], [0.06], [0.50]]
    assert picked(scored(pool, [1.0]), AHNS(pool=4, alpha=1.0, beta=0.1, p=-2)) == [2]


def test_a_better_positive_gets_an_easier_negative() -> None:
    pool = [[0.5], [0.2], [0.1], [0.05], [0.02]]
    picks = [picked(scored(pool, [y]), AHNS(pool=5))[0] for y in (-0.8, -0.5, 0.0, 1.0, 4.0)]
    assert picks == [0, 1, 2, 3, 4]


def test_below_minus_alpha_the_target_is_negative_and_not_clamped() -> None:
    assert picked(scored([[0.5], [-0.1], [-0.9]], [-2.0]), AHNS(pool=3, alpha=1.0, beta=0.1)) == [1]


def test_p_of_minus_one_aims_at_beta_whatever_the_positive() -> None:
    pool = [[0.9], [0.41], [0.1]]
    for positive in (-3.0, 0.0, 5.0):
        assert picked(scored(pool, [positive]), AHNS(pool=3, beta=0.4, p=-1)) == [1]


@every_case
def test_a_target_out_of_reach_is_dns(kind: Kind, depth: int, seed: int) -> None:
    match = World.random(kind, depth, seed).match(DNS(pool=6), seed)
    far = AHNS(pool=6, alpha=1000.0, beta=1e9)  # y⁺ + α > 0 for every pair, the target above every score
    assert torch.equal(far.choose(match, choice()).items, DNS(pool=6).choose(match, choice()).items)


def test_the_singular_point_gives_a_candidate_and_no_error() -> None:
    assert picked(scored([[0.5], [0.1]], [-1.0]), AHNS(pool=2, alpha=1.0)) in ([0], [1])
