"""Softmax(ρ,N): weights from the pool's losses at a temperature of the pool's own, and a draw by them."""

import math
from collections import Counter

import pytest
import torch
from scipy.stats import chisquare

from sahcns.aggregation import Kind
from sahcns.samplers import DNS, Softmax
from tests.samplers.oracle import Pair, Vector, mean, pairs_of, softplus
from tests.samplers.world import World, choice, every_case, picked, scored

A = [[0.1], [0.9], [0.3], [2.7], [0.5]]


def oracle(pair: Pair, rho: float) -> Vector:
    """w = softmax(Z / τ), τ = √(Var Z / 2ρ) with Bessel's correction."""
    losses = [softplus(pair.score(item) - pair.score(pair.positive)) for item in pair.pool]
    variance = math.fsum((z - mean(losses)) ** 2 for z in losses) / (len(losses) - 1)
    tau = math.sqrt(variance / (2 * rho))
    powers = [math.exp((z - max(losses)) / tau) for z in losses]
    return [one / math.fsum(powers) for one in powers]


@pytest.mark.parametrize("rho", [0.1, 1.0, 30.0])
@every_case
def test_weights_agree_with_the_oracle(kind: Kind, depth: int, seed: int, rho: float) -> None:
    for pool in (2, 6):
        sampler = Softmax(pool=pool, rho=rho)
        match = World.random(kind, depth, seed).match(sampler, seed)
        found = torch.softmax(sampler.logits(match), dim=1).tolist()
        for weights, pair in zip(found, pairs_of(match), strict=True):
            if len(set(pair.pool)) > 1:
                assert weights == pytest.approx(oracle(pair, rho), rel=1e-6)


@pytest.mark.parametrize("rho", [0.05, 1.0])
def test_candidates_are_drawn_by_their_weights(rho: float) -> None:
    draws = 20_000
    match = scored(A, [0.4], copies=draws)
    found = Counter(picked(match, Softmax(pool=5, rho=rho)))
    expected = [draws * weight for weight in oracle(pairs_of(match)[0], rho)]
    assert min(expected) > 50
    assert chisquare([found[n] for n in range(5)], expected).pvalue > 1e-3


@every_case
def test_between_rns_and_dns(kind: Kind, depth: int, seed: int) -> None:
    hard, even = Softmax(pool=6, rho=1e6), Softmax(pool=6, rho=1e-12)
    match = World.random(kind, depth, seed).match(hard, seed)
    assert torch.equal(hard.choose(match, choice()).items, DNS(pool=6).choose(match, choice()).items)
    assert torch.softmax(even.logits(match), dim=1).flatten().tolist() == pytest.approx(
        [1 / 6] * 6 * len(match.users), rel=1e-4
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_pool_of_equal_losses_weighs_them_all_alike(dtype: torch.dtype) -> None:
    match = scored([[0.3]] * 5, [0.1])
    match.layers = tuple(layer.to(dtype) for layer in match.layers)
    assert torch.softmax(Softmax(pool=5, rho=100.0).logits(match), dim=1).tolist() == [pytest.approx([0.2] * 5)]


def test_the_temperature_does_not_depend_on_the_scale_of_losses() -> None:
    """Where all losses are nearly linear in the score, ten times the scores give the same weights."""
    high = [[20.0], [21.0], [23.0]]
    one, ten = (scored([[scale * x for x in row] for row in high], [0.0]) for scale in (1, 10))
    sampler = Softmax(pool=3)
    assert torch.allclose(sampler.logits(one), sampler.logits(ten), rtol=1e-6)
