"""Mixing a constant share β of the positive into the negative is training without it, with more L2 and a smaller step."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sahcns.backbones import NGCF, Backbone, LightGCN
from sahcns.model import fit
from sahcns.samplers import MixGCF, Sampler
from sahcns.training import Protocol
from tests.model.films import films
from tests.samplers.stepping import BACKBONES, gradients, loss_of, step_of

L2, BETA = 0.03, 0.7


def mixed(beta: float) -> Sampler:
    """The share β, and the real negative's row in L2; β = 0 is DNS at each layer."""
    return MixGCF(pool=6, beta_low=beta, beta_high=beta)


def loss_and_gradient(backbone: Backbone, beta: float, l2: float, shrink: float) -> tuple[Tensor, Tensor]:
    """Of the table times `shrink`, with the same pools and choices."""
    step = step_of(backbone, mixed(beta), l2=l2, l2_on="real", spread=1.5 * shrink)
    found = gradients(step)["ego"]
    assert found is not None
    return loss_of(step), found


@pytest.mark.parametrize("name", ["mf", "lightgcn"])
def test_where_scores_are_quadratic_in_the_table_the_losses_and_gradients_are_the_same(name: str) -> None:
    """L_β(e; l2) = L_0(e′; l2 / (1 - β)) with e′ = √(1 - β) e, hence ∇L_β(e) = √(1 - β) ∇L_0(e′)."""
    backbone, shrink = BACKBONES[name], math.sqrt(1 - BETA)
    loss, gradient = loss_and_gradient(backbone, BETA, L2, 1.0)
    other, theirs = loss_and_gradient(backbone, 0.0, L2 / (1 - BETA), shrink)
    assert loss.item() == pytest.approx(other.item(), rel=1e-12)
    assert torch.allclose(gradient, shrink * theirs, rtol=1e-12, atol=1e-15)
    for wrong in (L2, L2 * (1 - BETA)):  # with any other L2 they are not
        _, theirs = loss_and_gradient(backbone, 0.0, wrong, shrink)
        assert not torch.allclose(gradient, shrink * theirs, rtol=1e-3)


def test_whole_trainings_of_lightgcn_take_the_same_course() -> None:
    """From a start √(1 - β) times as wide, with √(1 - β) of the step: Adam's steps do not heed the scale of a gradient."""
    shrink = math.sqrt(1 - BETA)

    def course(beta: float, l2: float, scale: float) -> tuple[list[float], list[float]]:
        often = Protocol(epochs=12, batch=64, evaluate_every=3)
        terms = replace(often, learning_rate=0.05 * scale, l2=l2, l2_on="real")
        backbone = LightGCN(dim=8, depth=2, normal_start=0.3 * scale)
        run = fit(films(), backbone, mixed(beta), protocol=terms, seed=4, device="cpu").record
        looks = [entry["valid"]["ndcg@10"] for entry in run.history if "valid" in entry]
        return [entry["loss"] for entry in run.history], looks

    losses, looks = course(BETA, L2, 1.0)
    others, seen = course(0.0, L2 / (1 - BETA), shrink)
    assert others == pytest.approx(losses, rel=1e-3)  # float32, and Adam's epsilon
    assert seen == pytest.approx(looks, abs=0.005)
    assert losses[0] - losses[-1] > 0.05  # it learns
    assert course(0.0, L2, shrink)[0] != pytest.approx(losses, rel=1e-2)  # with any other L2 it is another course


def test_where_they_are_not_the_two_differ() -> None:
    backbone: Backbone = NGCF(dim=3, depth=2)
    _, gradient = loss_and_gradient(backbone, BETA, L2, 1.0)
    _, theirs = loss_and_gradient(backbone, 0.0, L2 / (1 - BETA), math.sqrt(1 - BETA))
    assert not torch.allclose(gradient, math.sqrt(1 - BETA) * theirs, rtol=1e-2)
