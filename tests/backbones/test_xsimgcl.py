"""XSimGCL: the one noisy pass, what is contrasted with what, and a ranking without noise."""

import numpy as np
import pytest
import torch

from sahcns.backbones import SimGCL, XSimGCL
from sahcns.errors import SettingError
from sahcns.graph import Graph
from sahcns.rng import Rng
from sahcns.samplers import DNS
from tests.backbones.test_simgcl import info_nce_by_loops
from tests.samplers.stepping import batch, step_of
from tests.splits import Dense, normalised, random_split

SPLIT = random_split(7, 9, each=3, seed=5)
GRAPH = Graph.of(SPLIT, dtype=torch.float64)
USERS, POSITIVES = torch.tensor([4, 1, 4, 0, 6, 1]), torch.tensor([2, 2, 8, 0, 2, 5])


def noisy_layers(backbone: XSimGCL, ego: Dense, rng: Rng) -> list[Dense]:
    """Layers 1 … L by dense matrices: the noise of a layer is in the next one too."""
    e, kept = ego, []
    for _ in range(backbone.depth):
        e = normalised(SPLIT) @ e
        direction = rng.uniform(*e.shape, dtype=torch.float64).numpy()
        e = e + backbone.noise * np.sign(e) * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        kept.append(e)
    return kept


@pytest.mark.parametrize(("depth", "layer"), [(1, 1), (3, 1), (3, 2), (3, 3)])
def test_what_is_trained_on_and_contrasted(depth: int, layer: int) -> None:
    backbone = XSimGCL(dim=4, depth=depth, contrast_layer=layer, noise=0.3, temperature=0.25, cl_weight=0.6)
    parameters = backbone.initial(GRAPH, Rng(0, "start"), torch.float64)
    expected = noisy_layers(backbone, parameters["ego"].numpy(), Rng(9, "noise"))
    rng = Rng(9, "noise")
    layers = backbone.training_layers(parameters, GRAPH, rng)
    for ours, theirs in zip(layers, expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=0, atol=1e-12)
    final, other = torch.from_numpy(np.mean(expected, axis=0)), torch.from_numpy(expected[layer - 1])
    wanted = info_nce_by_loops(final, other, USERS.tolist(), 0.25)
    wanted += info_nce_by_loops(final, other, (POSITIVES + 7).tolist(), 0.25)
    loss = backbone.extra_loss(parameters, GRAPH, USERS, POSITIVES, rng, layers)
    assert loss is not None
    assert loss.item() == pytest.approx(0.6 * wanted, rel=1e-10)
    assert rng.call == depth  # one pass, of which the loss takes the layers that there are
    alone = backbone.extra_loss(parameters, GRAPH, USERS, POSITIVES, Rng(9, "noise"))
    assert alone is not None
    assert alone.item() == pytest.approx(loss.item(), rel=1e-12)


def test_a_ranking_is_simgcl_s_and_has_no_noise() -> None:
    backbone, plain = XSimGCL(dim=4, noise=0.5), SimGCL(dim=4, depth=2)
    parameters = backbone.initial(GRAPH, Rng(0, "start"), torch.float64)
    for ours, theirs in zip(backbone.vectors(parameters, GRAPH), plain.vectors(parameters, GRAPH), strict=True):
        assert torch.equal(ours, theirs)


def test_without_noise_and_weight_it_is_simgcl_without_its_loss() -> None:
    backbone, rng = XSimGCL(dim=4, noise=0.0, cl_weight=0.0), Rng(0, "noise")
    parameters = backbone.initial(GRAPH, Rng(0, "start"), torch.float64)
    layers = backbone.training_layers(parameters, GRAPH, rng)
    for ours, theirs in zip(layers, SimGCL(dim=4, depth=2).layers(parameters, GRAPH), strict=True):
        assert torch.equal(ours, theirs)
    assert backbone.extra_loss(parameters, GRAPH, USERS, POSITIVES, rng, layers) is None
    assert rng.call == 0


def test_the_gradient_goes_through_both_sides() -> None:
    backbone = XSimGCL(dim=3, depth=2, noise=0.1, cl_weight=1.0, temperature=0.5)
    ego = backbone.initial(GRAPH, Rng(0, "start"), torch.float64)["ego"].requires_grad_()

    def loss(table: torch.Tensor) -> torch.Tensor:
        found = backbone.extra_loss({"ego": table}, GRAPH, USERS, POSITIVES, Rng(3, "noise"))
        assert found is not None
        return found

    assert torch.autograd.gradcheck(loss, ego)


def test_a_step_draws_its_noise_once() -> None:
    step = step_of(XSimGCL(dim=4, depth=2), DNS(pool=3), graph=GRAPH)
    step.loss(*batch(step, torch.arange(6)))
    assert step.streams.noise.call == 2


def test_a_layer_that_is_not_there_cannot_be_contrasted() -> None:
    with pytest.raises(SettingError, match="contrast_layer=3 is beyond depth=2"):
        XSimGCL(depth=2, contrast_layer=3)
