"""Gradients of the full step: equal to finite differences with the choice held, and nothing through λ, β or the choice."""

import math

import numpy as np
import pytest
import torch

from sahcns.backbones import MF
from sahcns.samplers import DENS, DINS, DNSMN, RNS, SAHC, MixGCF, SAHCFamily, Sampler
from sahcns.training.step import TrainingStep
from tests.samplers.oracle import Negative, Pair, Vector, aggregate, dot, mean, negatives_of, pairs_of, sigmoid
from tests.samplers.stepping import BACKBONES, Held, gradients, loss_of, small_graph, step_of
from tests.samplers.test_dens import gate_loss
from tests.samplers.world import graph_of

SAMPLERS: dict[str, Sampler] = {
    "rns": RNS(),
    "three negatives": DNSMN(pool=6, top_k=3, pick="all"),
    "mixgcf": MixGCF(pool=4),
    "sahc": SAHC(pool=2, alpha=0.5, lambda_max=0.9),
    "dens": DENS(pool=4, alpha=0.4, gamma=0.6),
    "sahc-family": SAHCFamily(pool=3, softness=0.5, sides="two"),
}
every_step = pytest.mark.parametrize(
    ("backbone", "sampler"), [(backbone, sampler) for backbone in BACKBONES for sampler in SAMPLERS]
)
STEP = 1e-6


def difference(step: TrainingStep, name: str, at: int) -> float:
    """The slope of the loss in one coordinate of one parameter, by central differences."""
    flat = step.parameters[name].detach().view(-1)
    before, ends = float(flat[at]), []
    for shift in (STEP, -STEP):
        flat[at] = before + shift
        with torch.no_grad():
            ends.append(loss_of(step).item())
    flat[at] = before
    return (ends[0] - ends[1]) / (2 * STEP)


@every_step
def test_equal_finite_differences_with_the_choice_held(backbone: str, sampler: str) -> None:
    equal_finite_differences(backbone, SAMPLERS[sampler], "auto")


@pytest.mark.parametrize("sampler", ["mixgcf", "sahc"])
@pytest.mark.parametrize("backbone", ["lightgcn", "ngcf", "simgcl"])
def test_and_on_the_reference_path(backbone: str, sampler: str) -> None:
    """Here autograd would follow a λ or β that carries gradient; the fast paths do not ask for it."""
    equal_finite_differences(backbone, SAMPLERS[sampler], "reference")


@pytest.mark.parametrize("path", ["auto", "reference"])
@pytest.mark.parametrize("backbone", BACKBONES)
def test_and_with_a_share_for_each_dimension(backbone: str, path: str) -> None:
    equal_finite_differences(backbone, DINS(pool=4, alpha=0.7), path)


def equal_finite_differences(backbone: str, sampler: Sampler, path: str) -> None:
    graph = small_graph(torch.float64, path)
    step = step_of(BACKBONES[backbone], sampler, graph=graph)
    held = step_of(BACKBONES[backbone], Held.of(sampler), graph=graph)
    assert loss_of(step).item() == pytest.approx(loss_of(held).item(), rel=1e-14)  # `held` goes another way
    rng = np.random.default_rng(0)
    for name, gradient in gradients(step).items():
        assert gradient is not None
        assert float(gradient.abs().max()) > 1e-8, f"nothing reaches {name}"
        for at in rng.choice(gradient.numel(), min(4, gradient.numel()), replace=False).tolist():
            slope = difference(held, name, at)
            assert float(gradient.view(-1)[at]) == pytest.approx(slope, rel=1e-5, abs=1e-8), f"{name}[{at}]"


def test_the_shares_are_constants_and_would_be_noticed_otherwise() -> None:
    """With λ free to move, the slope is another one: so the test above tells a λ with gradient from one without."""
    sampler = SAMPLERS["sahc"]
    free, held = step_of(BACKBONES["lightgcn"], sampler), step_of(BACKBONES["lightgcn"], Held.of(sampler))
    loss_of(held)
    slopes = [(difference(free, "ego", at), difference(held, "ego", at)) for at in range(12)]
    assert max(abs(one - other) for one, other in slopes) > 1e-4


def plain_loss(pair: Pair, negatives: list[Negative]) -> float:
    """log(1 + Σ_k exp(y⁻_k - y⁺)) of one pair, its negatives mixed and pooled in loops."""
    total = 0.0
    for negative in negatives:
        total += math.exp(
            dot(pair.final_user, aggregate(pair.kind, blended(pair, negative))) - pair.score(pair.positive)
        )
    return math.log1p(total)


def blended(pair: Pair, negative: Negative) -> list[Vector]:
    """Σ_m w_m V[item_m] at each layer."""
    layers = []
    for t, shares in enumerate(negative):
        columns = zip(*(pair.items[item][t] for item in shares), strict=True)
        layers.append([dot(list(column), list(shares.values())) for column in columns])
    return layers


@every_step
def test_the_loss_itself(backbone: str, sampler: str) -> None:
    """BPR, L2 on layer 0 of what was returned (the first layer's mix of the table, where layer 0 is not shown), gates."""
    held = Held.of(SAMPLERS[sampler])
    step = step_of(BACKBONES[backbone], held, l2=0.1)
    found = loss_of(step)
    (match,), (mixture,) = held.matches, held.kept
    pairs, negatives = pairs_of(match), negatives_of(mixture, match)
    expected = mean([plain_loss(pair, several) for pair, several in zip(pairs, negatives, strict=True)])
    table = step.parameters["ego"].tolist()
    users, items = table[: match.graph.n_users], table[match.graph.n_users :]
    squares = 0.0
    for pair, several in zip(pairs, negatives, strict=True):
        squares += dot(users[pair.user], users[pair.user]) + dot(items[pair.positive], items[pair.positive])
        for negative in several:
            columns = zip(*(items[item] for item in negative[0]), strict=True)
            row = [dot(list(column), list(negative[0].values())) for column in columns]
            squares += dot(row, row)
    expected += 0.1 / (2 * len(pairs)) * squares
    if sampler == "dens":
        gates = {name: value.detach() for name, value in step.own.items()}
        losses = [gate_loss(pair, gates, several) for pair, several in zip(pairs, negatives, strict=True)]
        expected += 0.6 / 4 * mean(losses)
    step.streams.noise.seek(0)
    step.backbone.training_layers(step.parameters, step.graph, step.streams.noise)  # reads the stream first
    contrast = step.backbone.extra_loss(step.parameters, step.graph, match.users, match.positives, step.streams.noise)
    expected += 0.0 if contrast is None else contrast.item()
    assert found.item() == pytest.approx(expected, rel=1e-10)


def tiny(sampler: Sampler, user: Vector, positive: Vector, other: Vector) -> TrainingStep:
    """One user, one positive, one other item: MF without L2, so the gradient can be written down."""
    step = step_of(MF(dim=2), sampler, l2=0.0, graph=graph_of({0: {0}}, 1, 2))
    with torch.no_grad():
        step.parameters["ego"].copy_(torch.tensor([user, positive, other], dtype=torch.float64))
    return step


@pytest.mark.parametrize("sampler", [SAHC(pool=3, lambda_max=0.8), MixGCF(pool=3, beta_low=0.3, beta_high=0.3)])
def test_the_positive_receives_gradient_through_the_mixture(sampler: Sampler) -> None:
    """y⁻ - y⁺ = <u, (λ - 1) i + (1 - λ) j>, so with s = σ(y⁻ - y⁺):  ∂i = -(1 - λ) s u,  ∂j = (1 - λ) s u,
    ∂u = (1 - λ) s (j - i). Without the mixture the positive would get -s u."""
    u, i, j = [1.0, 0.5], [0.8, -0.2], [-0.3, 0.4]
    (gradient,) = gradients(tiny(sampler, u, i, j)).values()
    assert gradient is not None
    lam = 0.3 if isinstance(sampler, MixGCF) else 0.8 * (1 - math.exp(-(dot(u, i) - dot(u, j))))
    assert 0.2 < lam < 0.8
    s = sigmoid((1 - lam) * (dot(u, j) - dot(u, i)))
    assert gradient[1].tolist() == pytest.approx([-(1 - lam) * s * x for x in u], rel=1e-12)
    assert gradient[2].tolist() == pytest.approx([(1 - lam) * s * x for x in u], rel=1e-12)
    assert gradient[0].tolist() == pytest.approx(
        [(1 - lam) * s * (b - a) for a, b in zip(i, j, strict=True)], rel=1e-12
    )


def test_gates_learn_from_their_loss_alone() -> None:
    """γ = 0: no gradient at all, and selection still goes by the gates of the start."""
    for gamma in (0.0, 0.5):
        found = gradients(step_of(BACKBONES["lightgcn"], DENS(pool=4, gamma=gamma)))
        gates = [gradient for name, gradient in found.items() if name.startswith("sampler.")]
        assert len(gates) == 8
        assert all((gradient is None) == (gamma == 0.0) for gradient in gates)
        assert found["ego"] is not None


def test_gate_gradients_scale_with_gamma_and_l2_leaves_them_alone() -> None:
    one, two = (
        gradients(step_of(BACKBONES["ngcf"], DENS(pool=4, gamma=gamma), l2=l2))
        for gamma, l2 in ((0.2, 0.0), (0.4, 5.0))
    )
    for name, gradient in one.items():
        other = two[name]
        if name.startswith("sampler."):
            assert gradient is not None
            assert other is not None
            assert torch.allclose(2 * gradient, other, rtol=1e-10)


@pytest.mark.parametrize("backbone", ["lightgcn", "simgcl"])
def test_l2_on_the_real_item_leaves_the_mix_out(backbone: str) -> None:
    """l2_on="real": the negative's term is of the chosen candidate's own row, whatever λ."""
    held = Held.of(SAMPLERS["sahc"])
    with_l2 = step_of(BACKBONES[backbone], held, l2=0.1, l2_on="real")
    without = step_of(BACKBONES[backbone], held, l2=0.0)
    found = loss_of(with_l2).item() - loss_of(without).item()
    table = with_l2.parameters["ego"].detach()
    (match,), (mixture,) = held.matches, held.kept
    rows = [match.users, match.positives + match.graph.n_users, mixture.items[:, 0, 1, 0] + match.graph.n_users]
    expected = 0.1 / (2 * len(match.users)) * sum(float(table[row].square().sum()) for row in rows)
    assert found == pytest.approx(expected, rel=1e-9)
