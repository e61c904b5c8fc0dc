"""PDNS: DNS's item under a constant share of the positive; the same as a softer BPR, and as more L2."""

import math

import pytest
import torch

from sahcns.aggregation import Kind
from sahcns.samplers import DNS, PDNS, MixGCF
from tests.samplers.oracle import assert_agrees, mean, pairs_of, softplus
from tests.samplers.stepping import BACKBONES, Held, loss_of, step_of
from tests.samplers.world import World, choice, every_case

ALPHA = 0.75


@every_case
def test_agrees_with_the_oracle(kind: Kind, depth: int, seed: int) -> None:
    sampler = PDNS(pool=6, alpha=ALPHA)
    match = World.random(kind, depth, seed).match(sampler, seed)
    assert_agrees(
        sampler.choose(match, choice()), match, lambda pair: [pair.with_positive(pair.hardest(), [ALPHA] * depth)]
    )


def test_with_one_layer_it_is_mixgcf_with_a_constant_share() -> None:
    match = World.random("mean", 1, 0).match(PDNS(pool=6))
    ours = PDNS(pool=6, alpha=ALPHA).choose(match, choice()).checked(len(match.users), 1, "ours")
    theirs = MixGCF(pool=6, beta_low=ALPHA, beta_high=ALPHA).choose(match, choice())
    assert ours.weights is not None
    assert theirs.weights is not None
    assert torch.equal(ours.items, theirs.items)
    assert torch.equal(ours.weights.double(), theirs.weights)


@pytest.mark.parametrize("backbone", ["lightgcn", "ngcf", "mf"])
def test_the_loss_is_soft_bpr(backbone: str) -> None:
    """mean softplus(-(1 - α)(y⁺ - s))."""
    held = Held.of(PDNS(pool=4, alpha=ALPHA))
    found = loss_of(step_of(BACKBONES[backbone], held, l2=0.0)).item()
    pairs = pairs_of(held.matches[0])
    expected = mean([softplus(-(1 - ALPHA) * (one.score(one.positive) - one.score(one.hardest()))) for one in pairs])
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("backbone", ["lightgcn", "mf"])
def test_it_is_dns_with_more_l2(backbone: str) -> None:
    """L(E, l2) of PDNS is L(√(1 - α) E, l2 / (1 - α)) of DNS, where L2 sees the real item."""
    soft = step_of(BACKBONES[backbone], PDNS(pool=4, alpha=ALPHA), l2=0.1, l2_on="real")
    hard = step_of(BACKBONES[backbone], DNS(pool=4), l2=0.1 / (1 - ALPHA), l2_on="real")
    with torch.no_grad():
        hard.parameters["ego"].mul_(math.sqrt(1 - ALPHA))
    assert loss_of(soft).item() == pytest.approx(loss_of(hard).item(), rel=1e-12)
