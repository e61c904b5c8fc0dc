"""MixGCF: at each layer the hardest mixed candidate, mixed with the positive by β ~ U(0, 1)."""

import pytest
import torch
from scipy.stats import kstest

from sahcns.aggregation import Kind
from sahcns.errors import SettingError
from sahcns.samplers import DNS, MixGCF, Mixture
from tests.samplers.oracle import (
    Negative,
    Pair,
    Vector,
    assert_agrees,
    dot,
    first_largest,
    negatives_of,
    pairs_of,
    same,
)
from tests.samplers.world import World, choice, every_case, scored


def oracle(pair: Pair, beta: Vector) -> Negative:
    """x[n, l] = β_l V[i, l] + (1 - β_l) V[C[n], l];  n*(l) = argmax_n <anchor_l, x[n, l]>: the mixed pool, in full."""
    negative = []
    for t in pair.layers:
        mixed = []
        for item in pair.pool:
            x = [
                beta[t] * i + (1 - beta[t]) * c
                for i, c in zip(pair.items[pair.positive][t], pair.items[item][t], strict=True)
            ]
            mixed.append(dot(pair.anchor(t), x))
        best = pair.pool[first_largest(mixed)]
        negative.append({pair.positive: beta[t], best: 1 - beta[t]})
    return negative


def betas(mixture: Mixture) -> torch.Tensor:
    """[B, T]: the shares of the first item."""
    assert mixture.weights is not None
    return mixture.weights[:, 0, 0]


@every_case
def test_agrees_with_the_oracle_on_the_mixed_pool(kind: Kind, depth: int, seed: int) -> None:
    sampler = MixGCF(pool=6)
    match = World.random(kind, depth, seed).match(sampler, seed)
    mixture = sampler.choose(match, choice(seed))
    beta = betas(mixture).tolist()
    for b, (pair, found) in enumerate(zip(pairs_of(match), negatives_of(mixture, match), strict=True)):
        assert len(found) == 1
        assert same(found[0], oracle(pair, beta[b]))


def test_layers_come_from_different_items() -> None:
    a = [[0.9, 0.1, 0.4], [0.2, 0.8, 0.3], [0.1, 0.2, 0.7]]
    mixture = MixGCF(pool=3).choose(scored(a, [0.0, 0.0, 0.0]), choice())
    assert mixture.items[0, 0].tolist() == [[0, 0, 0], [1, 2, 3]]


def test_beta_is_uniform_and_drawn_for_each_pair_and_layer() -> None:
    mixture = MixGCF(pool=2).choose(scored([[0.1] * 3, [0.2] * 3], [0.0] * 3, copies=3000), choice())
    beta = betas(mixture)
    assert beta.shape == (3000, 3)
    assert kstest(beta.flatten().numpy(), "uniform").pvalue > 1e-3
    assert float(torch.corrcoef(beta.T).fill_diagonal_(0).abs().max()) < 0.06
    assert len(set(beta.flatten().tolist())) > 8900


def test_beta_between_other_ends() -> None:
    match = scored([[0.1], [0.2]], [0.0], copies=3000)
    beta = betas(MixGCF(pool=2, beta_low=0.2, beta_high=0.6).choose(match, choice()))
    assert kstest(beta.flatten().numpy(), "uniform", args=(0.2, 0.4)).pvalue > 1e-3


@every_case
def test_the_choice_does_not_depend_on_beta(kind: Kind, depth: int, seed: int) -> None:
    match = World.random(kind, depth, seed).match(MixGCF(pool=6), seed)
    chosen = [MixGCF(pool=6).choose(match, choice(other)).items[:, 0, 1] for other in (1, 2)]
    chosen.append(MixGCF(pool=6, beta_low=0.999).choose(match, choice()).items[:, 0, 1])
    assert torch.equal(chosen[0], chosen[1])
    assert torch.equal(chosen[0], chosen[2])


@every_case
def test_without_positive_mixing_it_is_dns_layer_by_layer(kind: Kind, depth: int, seed: int) -> None:
    sampler = MixGCF(pool=6, beta_high=0.0)
    match = World.random(kind, depth, seed).match(sampler, seed)
    mixture = sampler.choose(match, choice())
    assert_agrees(mixture, match, lambda pair: [[{pair.hardest_at(t): 1.0} for t in pair.layers]])
    if depth == 1:
        assert torch.equal(mixture.items[:, 0, 1, 0], DNS(pool=6).choose(match, choice()).items.flatten())


@every_case
def test_all_positive_mixing_gives_the_positive(kind: Kind, depth: int, seed: int) -> None:
    sampler = MixGCF(pool=6, beta_low=1.0)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: [pair.real(pair.positive)])


def test_ends_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(SettingError, match=r"beta_low=0\.9 .* beta_high=0\.1"):
        MixGCF(beta_low=0.9, beta_high=0.1)
