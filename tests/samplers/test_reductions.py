"""Degenerate settings reduce to the simpler method in training itself: the same weights, bit for bit, after many steps."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import pytest
import torch
from torch import Tensor

from sahcns.errors import TrainingError
from sahcns.rng import Rng
from sahcns.samplers import (
    AHNS,
    DNS,
    DNSMN,
    PDNS,
    RNS,
    SAHC,
    SRNS,
    DivNS,
    HCOnly,
    Matching,
    MixGCF,
    Mixture,
    Popularity,
    SAHCFamily,
    SAHCFixed,
    SAHCGlobal,
    Sampler,
    SAOnly,
    WithoutDiscrepancy,
)
from tests.samplers.stepping import BACKBONES, batch, every_pair, loss_of, step_of
from tests.samplers.test_gradients import tiny


@cache
def trained(backbone: str, sampler: Sampler, steps: int = 6) -> Tensor:
    """The table after some steps in float32 over changing batches.

    Items 9 and 10 have no training pair: on SimGCL all their layers are 0, so there are ties to break.
    """
    step = step_of(BACKBONES[backbone], sampler, dtype=torch.float32)
    for k in range(steps):
        step(*batch(step, every_pair(step).roll(k)[:9]))
    return step.parameters["ego"].detach()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DNS(pool=1), RNS()),
        (MixGCF(pool=1, beta_high=0.0), RNS()),
        (Popularity(power=0.0), RNS()),
        (DNSMN(pool=6, top_k=1), DNS(pool=6)),
        (DNSMN(pool=6, top_k=1, pick="all"), DNS(pool=6)),
        (DNSMN(pool=6, top_k=1, pick="harmonic"), DNS(pool=6)),
        (AHNS(pool=1), RNS()),
        (HCOnly(pool=6, lambda_max=0.0), DNS(pool=6)),
        (SAHC(pool=6, alpha=0.0, lambda_max=0.0), DNS(pool=6)),
        (SAHC(pool=6, alpha=0.7, lambda_max=0.0), SAOnly(pool=6, alpha=0.7)),
        (SAHCGlobal(pool=6, alpha=0.7, lambda_max=0.0), SAOnly(pool=6, alpha=0.7)),
        (SAHCFixed(pool=6, alpha=0.7, high=0.0), SAOnly(pool=6, alpha=0.7)),
        (SAHC(pool=6, alpha=0.0), HCOnly(pool=6)),
        (WithoutDiscrepancy(pool=6), HCOnly(pool=6)),
        (DivNS(pool=6, ratio=0), DNS(pool=6)),
        (DivNS(pool=6, ratio=4, lam=1.0), DNS(pool=6)),
        (DivNS(pool=6, ratio=4), DNS(pool=6)),  # its first epoch
        (SRNS(pool=6, memory=0, alpha=0.0), DNS(pool=6)),
        (PDNS(pool=6, alpha=0.0), HCOnly(pool=6, lambda_max=0.0)),
        (SAHCFamily(pool=6, common=1, alpha=0.7, floor=0, lambda_max=0.5, scale="none"), SAHC(pool=6, alpha=0.7)),
        (SAHCFamily(pool=6, common=0, floor=0.3, lambda_max=0.3), MixGCF(pool=6, beta_low=0.3, beta_high=0.3)),
    ],
    ids=lambda sampler: repr(sampler),
)
@pytest.mark.parametrize("backbone", ["lightgcn", "ngcf", "simgcl"])
def test_same_weights_bit_for_bit(backbone: str, one: Sampler, other: Sampler) -> None:
    assert torch.equal(trained(backbone, one), trained(backbone, other))


@pytest.mark.parametrize("one", [SAHC(pool=6), SAOnly(pool=6, alpha=0.7), MixGCF(pool=6), RNS()], ids=repr)
def test_and_otherwise_the_weights_differ(one: Sampler) -> None:
    assert not torch.equal(trained("lightgcn", one), trained("lightgcn", DNS(pool=6)))


def test_with_one_layer_mixgcf_without_positive_mixing_is_dns() -> None:
    assert torch.equal(trained("mf", MixGCF(pool=6, beta_high=0.0)), trained("mf", DNS(pool=6)))


def test_with_one_layer_structure_awareness_is_dns() -> None:
    assert torch.equal(trained("mf", SAOnly(pool=6, alpha=0.9)), trained("mf", DNS(pool=6)))


@pytest.mark.parametrize("backbone", ["lightgcn", "ngcf", "ngcf-sum", "mf"])
def test_a_negative_that_is_the_positive_costs_log_two(backbone: str) -> None:
    """MixGCF with β ≡ 1: y⁻ = y⁺."""
    step = step_of(BACKBONES[backbone], MixGCF(pool=4, beta_low=1.0), l2=0.0)
    assert loss_of(step).item() == pytest.approx(math.log(2), rel=1e-12)


def test_all_of_several_equal_negatives() -> None:
    """K copies of the only unseen item: log(1 + K exp(y⁻ - y⁺))."""
    u, i, j = [1.0, 0.5], [0.8, -0.2], [-0.3, 0.4]
    margin = (-0.3 + 0.2) - (0.8 - 0.1)
    for count in (1, 4):
        loss = loss_of(tiny(RNS(pool=count), u, i, j)).item()
        assert loss == pytest.approx(math.log(1 + count * math.exp(margin)), rel=1e-12)


@dataclass(frozen=True)
class Answers(Sampler):
    """Gives what it is told to."""

    pool: int = 2
    answer: Callable[[Matching], Mixture] = field(kw_only=True)

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return self.answer(match)


def seen_one(match: Matching) -> Mixture:
    """User 0 has item 3 in training; her pairs are with 0, 3 and 4."""
    return Mixture.single(torch.where(match.users == 0, 3, match.candidates[:, 0]))


def own_positive(match: Matching) -> Mixture:
    return Mixture.single(match.positives)


def another_positive(match: Matching) -> Mixture:
    """Mixing in the pair's own positive is allowed; another item the user has is not."""
    other = torch.where(match.users == 0, 4, match.positives)
    return Mixture.blend(other, match.candidates[:, 0], torch.full((len(other), len(match.layers)), 0.5).double())


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (seen_one, r"Answers returned item 3 as a negative of user 0, who has it in training; choose among"),
        (own_positive, r"returned item \d+ as a negative of user \d+, who has it in training"),
        (another_positive, r"returned item 4 as a negative of user 0"),
        (lambda match: Mixture.single(match.candidates[:, 0] + 11), r"returned item \d+; items run from 0 to 10"),
        (lambda match: Mixture.single(match.candidates[:, 0] - 12), r"returned item -\d+; items run from 0 to 10"),
        (lambda match: Mixture(match.candidates), r"items of shape \[14, 2\].*B=14 and T=4"),
        (
            lambda match: Mixture(match.candidates[:, None, :, None], torch.ones(14, 1, 2, 4)),
            r"weights that sum to 2 over the mixed items; they must sum to 1",
        ),
        (
            lambda match: Mixture(match.candidates[:, None, :, None], torch.full((14, 1, 2, 4), math.inf)),
            r"weights that sum to inf over the mixed items",
        ),
    ],
)
def test_a_sampler_that_breaks_the_contract_is_refused(answer: Callable[[Matching], Mixture], sentence: str) -> None:
    with pytest.raises(TrainingError, match=sentence):
        loss_of(step_of(BACKBONES["lightgcn"], Answers(answer=answer)))


def test_the_pairs_own_positive_may_be_mixed_in() -> None:
    def mixed(match: Matching) -> Mixture:
        shares = torch.full((len(match.users), len(match.layers)), 0.25, dtype=torch.float64)
        return Mixture.blend(match.positives, match.candidates[:, 0], shares)

    assert math.isfinite(loss_of(step_of(BACKBONES["lightgcn"], Answers(answer=mixed))).item())
