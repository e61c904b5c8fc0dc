"""The family around SAHC-NS: its ends are SAHC-NS and MixGCF to the bit, and what lies between is by the equations."""

import dataclasses
import math

import pytest
import torch

from sahcns.aggregation import Kind
from sahcns.errors import SettingError
from sahcns.samplers import SAHC, MixGCF, Mixture, SAHCFamily
from tests.samplers.oracle import Negative, Pair, Vector, assert_agrees, first_largest, mean, pairs_of
from tests.samplers.world import World, choice, every_case, scored

A = [[0.9, 0.8, 0.7, 0.6], [1.4, 0.9, 0.5, 0.1], [0.2, 0.2, 0.2, 0.2]]  # of SAHC-NS's worked example


def z(x: Vector) -> Vector:
    spread = math.sqrt(mean([(a - mean(x)) ** 2 for a in x]))
    return [(a - mean(x)) / (spread + 1e-8) for a in x]


def sigma(x: Vector) -> float:
    return math.sqrt(mean([(a - mean(x)) ** 2 for a in x])) / (mean([abs(a) for a in x]) + 1e-8)


def choices(pair: Pair, sampler: SAHCFamily) -> list[Vector]:
    """q[l][n] = (1 - c) z(a_l) + c z(μ) + α z(σ)."""
    a = [[pair.at(item, t) for t in pair.layers] for item in pair.pool]
    mu, odd = z([mean(row) for row in a]), z([sigma(row) for row in a])
    c = sampler.common
    return [
        [(1 - c) * x + c * m + sampler.alpha * s for x, m, s in zip(z([row[t] for row in a]), mu, odd, strict=True)]
        for t in pair.layers
    ]


def gaps(pair: Pair) -> Vector:
    """g_l = p_l - max_n a[n, l]."""
    return [pair.at(pair.positive, t) - max(pair.at(item, t) for item in pair.pool) for t in pair.layers]


def oracle(pair: Pair, sampler: SAHCFamily, scale: Vector) -> list[Negative]:
    negative: Negative = []
    for t, (q, g) in enumerate(zip(choices(pair, sampler), gaps(pair), strict=True)):
        room = sampler.lambda_max - sampler.floor
        lam = sampler.floor + room * (1 - math.exp(-max(g, 0) / scale[t]))
        kappa = room * (1 - math.exp(-max(-g, 0) / scale[t])) if sampler.sides == "two" else 0.0
        if sampler.softness > 0:
            powers = [math.exp((x - max(q)) / sampler.softness) for x in q]
            chance = [one / math.fsum(powers) for one in powers]
        else:
            chance = [float(n == first_largest(q)) for n in range(len(q))]
        layer = {pair.positive: lam}
        for item, pi in zip(pair.pool, chance, strict=True):
            layer[item] = layer.get(item, 0.0) + (1 - lam - kappa) * pi + kappa / len(q)
        negative.append(layer)
    return [negative]


@pytest.mark.parametrize(
    "sampler",
    [
        SAHCFamily(pool=6),
        SAHCFamily(pool=6, common=0.25, alpha=-0.4, floor=0.0, lambda_max=0.9),
        SAHCFamily(pool=6, alpha=0.3, scale="none"),
        SAHCFamily(pool=6, softness=0.7),
        SAHCFamily(pool=6, sides="two"),
        SAHCFamily(pool=6, common=1.0, alpha=-0.2, softness=0.3, sides="two", floor=0.0, lambda_max=1.0),
    ],
    ids=lambda sampler: repr(sampler)[11:],
)
@every_case
def test_agrees_with_the_oracle(kind: Kind, depth: int, seed: int, sampler: SAHCFamily) -> None:
    if depth == 2:
        sampler = dataclasses.replace(sampler, alpha=0.0)  # σ has ties, which rounding breaks
    match = World.random(kind, depth, seed).match(sampler, seed)
    sizes = [[abs(g) for g in gaps(pair)] for pair in pairs_of(match)]
    scale = [mean([row[t] for row in sizes]) + 1e-8 if sampler.scale == "batch" else 1.0 for t in range(depth)]
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: oracle(pair, sampler, scale))


def identical(one: Mixture, other: Mixture, depth: int) -> bool:
    a, b = (mixture.checked(len(mixture.items), depth, "S") for mixture in (one, other))
    assert a.weights is not None
    assert b.weights is not None
    width = (*a.items.shape[:3], depth)
    return torch.equal(a.items.expand(width), b.items.expand(width)) and torch.equal(a.weights, b.weights)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@every_case
def test_one_end_is_sahc(kind: Kind, depth: int, seed: int, alpha: float) -> None:
    family = SAHCFamily(pool=6, common=1.0, alpha=alpha, floor=0.0, lambda_max=0.7, scale="none")
    match = World.random(kind, depth, seed).match(family, seed)
    theirs = SAHC(pool=6, alpha=alpha, lambda_max=0.7).choose(match, choice())
    assert identical(family.choose(match, choice()), theirs, depth)


@pytest.mark.parametrize("scale", ["batch", "none"])
@every_case
def test_the_other_end_is_mixgcf(kind: Kind, depth: int, seed: int, scale: str) -> None:
    family = SAHCFamily(pool=6, common=0.0, floor=0.6, lambda_max=0.6, scale=scale)
    match = World.random(kind, depth, seed).match(family, seed)
    theirs = MixGCF(pool=6, beta_low=0.6, beta_high=0.6).choose(match, choice())
    assert identical(family.choose(match, choice()), theirs, depth)


def test_in_units_of_the_batch_the_scale_of_scores_does_not_matter() -> None:
    world = World.random("mean", 4, 0)
    larger = dataclasses.replace(world, layers=tuple(10 * layer for layer in world.layers))
    for scale, alike in (("batch", True), ("none", False)):
        family = SAHCFamily(pool=6, scale=scale)
        one, ten = (each.match(family) for each in (world, larger))
        found = [family.choose(match, choice()).checked(len(match.users), 4, "S") for match in (one, ten)]
        assert torch.equal(found[0].items, found[1].items)
        weights = [full.weights for full in found]
        assert weights[0] is not None
        assert weights[1] is not None
        assert torch.allclose(weights[0], weights[1], rtol=1e-6, atol=0) == alike


def test_discrepancy_is_sought_or_avoided() -> None:
    """SAHC-NS's example has z(μ) = (.756, .657, -1.413) and z(σ) = (-.429, 1.381, -.953): 1 from α = .0545 on."""
    match = scored(A, [1.2] * 4)
    found = [SAHCFamily(pool=3, common=1.0, alpha=alpha).selection(match).tolist() for alpha in (0.06, 0.05, -1.0)]
    assert found == [[1], [0], [0]]
    layers = [SAHCFamily(pool=3, common=0.0, alpha=alpha).selection(match).tolist() for alpha in (0.0, -0.5)]
    assert layers == [[[1, 1, 0, 0]], [[1, 0, 0, 0]]]  # z(a) of layer 1: (.539, .863, -1.402)


def test_a_soft_choice_lies_between_the_argmax_and_the_whole_pool() -> None:
    match = scored(A, [1.2] * 4)
    sharp, even, hard = (SAHCFamily(pool=3, softness=soft).chances(match) for soft in (1e-6, 1e6, 0.0))
    assert torch.equal(sharp, hard)
    assert torch.allclose(even, torch.full_like(even, 1 / 3), rtol=1e-4)


def test_a_floor_above_the_largest_share_is_refused() -> None:
    with pytest.raises(SettingError, match=r"floor=0\.9 must not be above lambda_max=0\.1"):
        SAHCFamily(floor=0.9, lambda_max=0.1)
