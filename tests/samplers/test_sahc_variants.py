"""The paper's ablations: each a selection and a calibration, against the same oracle's parts."""

import math

import pytest
import torch
from scipy.stats import kstest

from sahcns.aggregation import Kind
from sahcns.samplers import (
    SAHC,
    HCOnly,
    SAHCFixed,
    SAHCGlobal,
    SAOnly,
    WithoutDiscrepancy,
    WithoutMean,
)
from tests.samplers.oracle import Negative, Pair, assert_agrees, first_largest, negatives_of, pairs_of
from tests.samplers.test_sahc import A, P, layer_gap, shares_of, structure_aware, unevenness
from tests.samplers.world import World, choice, every_case, picked, scored


@every_case
def test_sa_only(kind: Kind, depth: int, seed: int) -> None:
    sampler = SAOnly(pool=5, alpha=0.8)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: [pair.real(structure_aware(pair, 0.8))])


@pytest.mark.parametrize("variant", [HCOnly, WithoutDiscrepancy])
@every_case
def test_hc_only_and_without_discrepancy(
    kind: Kind, depth: int, seed: int, variant: type[HCOnly] | type[WithoutDiscrepancy]
) -> None:
    """argmax s, then the calibration; the mean of the layers ranks as the score does, so both are this."""
    sampler = variant(pool=5, lambda_max=0.7)
    match = World.random(kind, depth, seed).match(sampler, seed)
    mixture = sampler.choose(match, choice())
    assert_agrees(mixture, match, lambda pair: [pair.with_positive(pair.hardest(), layer_gap(pair, 0.7))])
    assert_agrees(mixture, match, lambda pair: [pair.with_positive(structure_aware(pair, 0.0), layer_gap(pair, 0.7))])


@every_case
def test_without_mean(kind: Kind, depth: int, seed: int) -> None:
    """q = z(σ̂): the most uneven candidate; one layer has no unevenness, so there the first."""

    def oracle(pair: Pair) -> list[Negative]:
        sigma = [unevenness([pair.at(item, t) for t in pair.layers]) for item in pair.pool]
        return [pair.with_positive(pair.pool[first_largest(sigma)], layer_gap(pair, 0.6))]

    sampler = WithoutMean(pool=5, lambda_max=0.6)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, oracle)


@every_case
def test_global(kind: Kind, depth: int, seed: int) -> None:
    """g = y⁺ - max_n s from final scores, one λ for all layers."""

    def oracle(pair: Pair) -> list[Negative]:
        gap = pair.score(pair.positive) - max(pair.score(item) for item in pair.pool)
        lam = 0.6 * (1 - math.exp(-max(gap, 0.0)))
        return [pair.with_positive(structure_aware(pair, 0.4), [lam for _ in pair.layers])]

    sampler = SAHCGlobal(pool=3, alpha=0.4, lambda_max=0.6)
    match = World.random(kind, depth, seed).match(sampler, seed)
    mixture = sampler.choose(match, choice())
    assert_agrees(mixture, match, oracle)
    assert bool((shares_of(mixture) > 0).any())


@every_case
def test_fixed_selects_as_sahc_and_mixes_at_random(kind: Kind, depth: int, seed: int) -> None:
    sampler = SAHCFixed(pool=5, alpha=0.8)
    match = World.random(kind, depth, seed).match(sampler, seed)
    mixture = sampler.choose(match, choice(seed))
    lam = shares_of(mixture)
    for b, (pair, (found,)) in enumerate(zip(pairs_of(match), negatives_of(mixture, match), strict=True)):
        (item,) = {item for layer in found for item in layer} - {pair.positive}
        assert item == structure_aware(pair, 0.8)
        assert [layer.get(pair.positive, 0.0) for layer in found] == lam[b].tolist()


@pytest.mark.parametrize("high", [0.5, 1.0])
def test_fixed_is_uniform_whatever_the_pool(high: float) -> None:
    for best in (-9.0, 9.0):
        match = scored([[best, best], [-10.0, -10.0]], [0.0, 0.0], copies=3000)
        lam = shares_of(SAHCFixed(pool=2, high=high).choose(match, choice()))
        assert kstest(lam.flatten().numpy(), "uniform", args=(0, high)).pvalue > 1e-3
        assert abs(float(torch.corrcoef(lam.T)[0, 1])) < 0.06


def test_picks_on_the_specifications_table() -> None:
    match = scored(A, P)
    assert picked(match, SAOnly(pool=3, alpha=0.1)) == [1]
    assert picked(match, SAOnly(pool=3, alpha=0.0)) == [0]
    assert HCOnly(pool=3).choose(match, choice()).items[0, 0, :, 0].tolist() == [0, 1]
    assert WithoutDiscrepancy(pool=3).choose(match, choice()).items[0, 0, :, 0].tolist() == [0, 1]
    assert WithoutMean(pool=3).choose(match, choice()).items[0, 0, :, 0].tolist() == [0, 2]
    lam = shares_of(SAHCGlobal(pool=3, lambda_max=0.5).choose(match, choice()))
    assert lam[0].tolist() == pytest.approx([0.5 * (1 - math.exp(-0.45))] * 4)  # y⁺ = 1.2, max s = 0.75


@every_case
def test_global_is_layerwise_with_one_layer(kind: Kind, depth: int, seed: int) -> None:
    match = World.random(kind, 1, seed).match(SAHC(pool=3), depth)
    one, other = SAHC(pool=3).choose(match, choice()), SAHCGlobal(pool=3).choose(match, choice())
    assert torch.equal(one.items, other.items)
    assert torch.allclose(shares_of(one), shares_of(other), rtol=0, atol=1e-15)
