"""SAHC-NS: structure-aware selection and hardness calibration, against loops and the specification's numbers."""

import itertools
import math

import pytest
import torch

from sahcns.aggregation import Kind
from sahcns.samplers import DNS, RNS, SAHC, Matching, Mixture, SAOnly
from sahcns.samplers.sahc import LayerGap, discrepancy, selection_score, standardised
from tests.samplers.oracle import Negative, Pair, Vector, assert_agrees, first_largest, mean, pairs_of
from tests.samplers.world import World, choice, every_case, scored

A = [[0.9, 0.8, 0.7, 0.6], [1.4, 0.9, 0.5, 0.1], [0.2, 0.2, 0.2, 0.2]]
P = [1.2, 1.2, 1.2, 1.2]
EPSILON = 1e-8


def standard(x: Vector, lost: int = 0) -> Vector:
    """z-scores; `lost` is 1 for Bessel's correction."""
    centre = mean(x)
    spread = math.sqrt(sum((value - centre) ** 2 for value in x) / (len(x) - lost))
    return [(value - centre) / (spread + EPSILON) for value in x]


def unevenness(profile: Vector, lost: int = 0) -> float:
    """σ̂: the standard deviation over layers, relative to the mean magnitude."""
    mu = mean(profile)
    spread = math.sqrt(sum((value - mu) ** 2 for value in profile) / (len(profile) - lost))
    return spread / (mean([abs(value) for value in profile]) + EPSILON)


def structure_aware(pair: Pair, alpha: float, lost: int = 0) -> int:
    """j* = argmax z(μ) + α z(σ̂)."""
    profiles = [[pair.at(item, t) for t in pair.layers] for item in pair.pool]
    mu = standard([mean(profile) for profile in profiles], lost)
    sigma = standard([unevenness(profile, lost) for profile in profiles], lost)
    return pair.pool[first_largest([m + alpha * s for m, s in zip(mu, sigma, strict=True)])]


def layer_gap(pair: Pair, lambda_max: float) -> Vector:
    """λ_l = λmax (1 - exp(-max(p_l - max_n a[n, l], 0)))."""
    shares = []
    for t in pair.layers:
        gap = pair.at(pair.positive, t) - max(pair.at(item, t) for item in pair.pool)
        shares.append(lambda_max * (1 - math.exp(-max(gap, 0.0))))
    return shares


def oracle(pair: Pair, alpha: float, lambda_max: float) -> list[Negative]:
    return [pair.with_positive(structure_aware(pair, alpha), layer_gap(pair, lambda_max))]


def shares_of(mixture: Mixture) -> torch.Tensor:
    """λ [B, T]."""
    assert mixture.weights is not None
    return mixture.weights[:, 0, 0]


@pytest.mark.parametrize(("alpha", "lambda_max"), [(0.3, 0.5), (1.0, 1.0), (0.0, 0.9), (5.0, 0.0)])
@every_case
def test_agrees_with_the_oracle(kind: Kind, depth: int, seed: int, alpha: float, lambda_max: float) -> None:
    sampler = SAHC(pool=5, alpha=alpha, lambda_max=lambda_max)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: oracle(pair, alpha, lambda_max))


def test_the_cases_above_are_not_idle() -> None:
    """α moves the choice, some layers are calibrated and some are not, and layers of one pair differ."""
    sampler = SAHC(pool=5, alpha=1.0)
    match = World.random("mean", 4, 0).match(sampler)
    mixture = sampler.choose(match, choice())
    lam = shares_of(mixture)
    assert 0.1 < float((lam > 0).double().mean()) < 0.9
    assert bool(((lam > 0).any(1) & (lam == 0).any(1)).any())
    hardest = DNS(pool=5).choose(match, choice()).items.flatten()
    assert bool((mixture.items[:, 0, 1, 0] != hardest).any())


def test_statistics_of_the_specification() -> None:
    a = torch.tensor([A], dtype=torch.float64)
    mu, sigma = a.mean(-1), discrepancy(a)
    assert mu[0].tolist() == pytest.approx([0.75, 0.725, 0.2])
    assert (sigma * a.abs().mean(-1))[0].tolist() == pytest.approx([0.111803, 0.481534, 0.0], abs=5e-7)
    assert sigma[0].tolist() == pytest.approx([0.149071, 0.664185, 0.0], abs=5e-7)
    assert standardised(mu)[0].tolist() == pytest.approx([0.755827, 0.657241, -1.413068], abs=5e-7)
    assert standardised(sigma)[0].tolist() == pytest.approx([-0.428801, 1.381490, -0.952689], abs=5e-7)
    assert selection_score(a, 0.1)[0].tolist() == pytest.approx([0.712947, 0.795390, -1.508337], abs=1e-6)
    assert selection_score(a, 0.5)[0].tolist() == pytest.approx([0.541427, 1.347986, -1.889412], abs=1e-6)


@pytest.mark.parametrize("kind", ["mean", "sum", "concat"])
@pytest.mark.parametrize(("alpha", "position"), [(0.0, 0), (0.1, 1), (0.5, 1)])
def test_picks_and_shares_of_the_specification(kind: Kind, alpha: float, position: int) -> None:
    mixture = SAHC(pool=3, alpha=alpha, lambda_max=0.5).choose(scored(A, P, kind), choice())
    assert mixture.items[0, 0, :, 0].tolist() == [0, position + 1]
    assert shares_of(mixture)[0].tolist() == pytest.approx([0, 0.129591, 0.196735, 0.225594], abs=5e-7)
    rho = 1 - shares_of(mixture)[0] / 0.5
    assert rho.tolist() == pytest.approx([1, 0.740818, 0.606531, 0.548812], abs=1e-6)


def test_a_share_belongs_to_its_own_layer() -> None:
    """Only layer 2 has an easy pool; the maximum is over the pool, not the chosen candidate."""
    match = scored([[2.0, 1.0, 0.5], [1.5, 2.0, 0.1]], [1.0, 1.0, 1.0])
    lam = shares_of(SAHC(pool=2, alpha=0.0, lambda_max=1.0).choose(match, choice()))
    assert lam[0].tolist() == pytest.approx([0, 0, 1 - math.exp(-0.5)])


@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("kind", ["mean", "sum", "concat"])
def test_bessels_correction_is_irrelevant(kind: Kind, depth: int) -> None:
    """Both z-scores change by the same factor. Up to ε: with two layers of opposite sign σ̂ is 1 whatever the scores,
    and in a pool of only such candidates ε alone tells them apart; these pools are left out."""
    compared = 0
    for seed, alpha in itertools.product(range(4), (0.1, 0.7, 2.0)):
        match = World.random(kind, depth, seed).match(SAOnly(pool=5), seed)
        found = SAOnly(pool=5, alpha=alpha).choose(match, choice()).items.flatten().tolist()
        for pair, item in zip(pairs_of(match), found, strict=True):
            sigma = [unevenness([pair.at(j, t) for t in pair.layers]) for j in pair.pool]
            if max(sigma) - min(sigma) > 1e-4:
                compared += 1
                assert item == structure_aware(pair, alpha, lost=1)
    assert compared > 200


@every_case
def test_a_pool_of_one(kind: Kind, depth: int, seed: int) -> None:
    """z-scores of one candidate are 0 and not NaN; the only candidate is taken, and calibrated."""
    sampler = SAHC(pool=1, alpha=0.3)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert bool(selection_score(match.a, 0.3).eq(0).all())
    mixture = sampler.choose(match, choice())
    assert bool(shares_of(mixture).isfinite().all())
    assert torch.equal(mixture.items[:, 0, 1, 0], RNS().choose(match, choice()).items.flatten())
    assert_agrees(mixture, match, lambda pair: oracle(pair, 0.3, 0.5))


@pytest.mark.parametrize("lambda_max", [0.5, 1.0])
@every_case
def test_facts_about_calibration(kind: Kind, depth: int, seed: int, lambda_max: float) -> None:
    """λ ∈ [0, λmax); 0 where the pool beats the positive; never lowers y⁻, and never lifts a layer above the positive."""
    sampler = SAHC(pool=4, alpha=0.5, lambda_max=lambda_max)
    match = World.random(kind, depth, seed).match(sampler, seed)
    mixture = sampler.choose(match, choice())
    chosen, lam = mixture.items[:, 0, 1, 0].tolist(), shares_of(mixture).tolist()
    assert any(share > 0 for shares in lam for share in shares)
    for pair, item, shares in zip(pairs_of(match), chosen, lam, strict=True):
        for t, share in enumerate(shares):
            p, before = pair.at(pair.positive, t), pair.at(item, t)
            assert 0 <= share < lambda_max
            if max(pair.at(j, t) for j in pair.pool) >= p:
                assert share == 0
            after = share * p + (1 - share) * before
            assert after >= before - 1e-12
            assert after <= max(before, p) + 1e-12


def test_an_easy_pool_gets_a_strong_mix_and_a_hard_one_none() -> None:
    lam = [
        float(shares_of(SAHC(pool=1, lambda_max=0.5).choose(scored([[best]], [1.0]), choice())))
        for best in (-20.0, 0.0, 0.9, 1.0, 3.0)
    ]
    assert lam == sorted(lam, reverse=True)
    assert lam[0] == pytest.approx(0.5, abs=1e-8)
    assert lam[3:] == [0.0, 0.0]


def test_tiny_scores_are_told_apart() -> None:
    """At the start of training scores are near 1e-4; ε must not flatten them. Same picks as 10⁴ times larger."""
    for seed in range(5):
        match = World.random("mean", 4, seed).match(SAOnly(pool=8), seed)
        small = World.random("mean", 4, seed)
        tiny = Matching(
            match.users,
            match.positives,
            match.candidates,
            match.pairs,
            tuple(layer * 1e-2 for layer in small.layers),
            match.graph,
            match.aggregation,
            match.epoch,
        )
        large = SAOnly(pool=8, alpha=0.7).choose(match, choice()).items
        assert torch.equal(SAOnly(pool=8, alpha=0.7).choose(tiny, choice()).items, large)
        assert float(LayerGap(0.5)(tiny, choice()).max()) < 1e-3  # so SAHC starts as SA alone
