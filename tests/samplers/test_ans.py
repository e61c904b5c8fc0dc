"""ANS: gated parts, bounded noise on the easy one, choice by score and gain, and what the gates learn from."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.rng import Rng
from sahcns.samplers import ANS, DNS
from tests.samplers.oracle import Pair, Vector, dot, first_largest, mean, pairs_of, sigmoid
from tests.samplers.stepping import BACKBONES, Held, gradients, loss_of, step_of
from tests.samplers.test_gradients import difference
from tests.samplers.world import DIM, World, choice, every_case

Gates = dict[str, Tensor]


def random_gates(seed: int = 0, dim: int = DIM) -> Gates:
    """The start of training, three times as large, so that no gate is near one half."""
    return {name: 3 * value for name, value in ANS().trainable(dim, Rng(seed, "start"), torch.float64).items()}


def through(gates: Gates, name: str, x: Vector) -> Vector:
    """W x + b."""
    weight, bias = gates[f"{name}.weight"].tolist(), gates[f"{name}.bias"].tolist()
    return [dot(row, x) + b for row, b in zip(weight, bias, strict=True)]


def parts(pair: Pair, gates: Gates, item: int, layer: int) -> tuple[Vector, Vector, Vector, Vector]:
    """h_n, z_n, h_p, z_p: by the gate of candidate and user, the layer's own."""
    e_u, e_n, e_p = pair.users[pair.user][layer], pair.items[item][layer], pair.items[pair.positive][layer]
    g = [sigmoid(a * b) for a, b in zip(through(gates, "item", e_n), through(gates, "user", e_u), strict=True)]
    h_n, h_p = ([x * one for x, one in zip(e, g, strict=True)] for e in (e_n, e_p))
    z_n, z_p = ([x - y for x, y in zip(e, h, strict=True)] for e, h in ((e_n, h_n), (e_p, h_p)))
    return h_n, z_n, h_p, z_p


def moved(pair: Pair, gates: Gates, item: int, layer: int, random: Vector) -> Vector:
    """sign(z_p - z_n) ⊙ .1 · σ(1 / (w · (h_n ⊙ h_p))) · r / ‖r‖."""
    h_n, z_n, h_p, z_p = parts(pair, gates, item, layer)
    margin = 1 / through(gates, "margin", [a * b for a, b in zip(h_n, h_p, strict=True)])[0]
    size = 0.1 * (sigmoid(margin) if margin > -700 else 0.0) / math.sqrt(dot(random, random))
    return [math.copysign(size * r, a - b) for r, a, b in zip(random, z_p, z_n, strict=True)]


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@every_case
def test_choice_and_noise_agree_with_the_oracle(kind: Kind, depth: int, seed: int, epsilon: float) -> None:
    gates, sampler = random_gates(seed), ANS(pool=5, epsilon=epsilon)
    match = World.random(kind, depth, seed).match(sampler, seed, parameters=gates)
    mixture = sampler.choose(match, choice(seed))
    assert mixture.shift is not None
    assert mixture.taught is match.candidates
    numbers = choice(seed).uniform(len(match.users), 5, depth, DIM, dtype=torch.float64).tolist()
    for b, pair in enumerate(pairs_of(match)):
        for t in pair.layers:
            e_u, merits, shifts = pair.users[pair.user][t], [], []
            for n, item in enumerate(pair.pool):
                shifts.append(moved(pair, gates, item, t, numbers[b][n][t]))
                gain = dot(e_u, shifts[-1])
                merits.append(dot(e_u, pair.items[item][t]) + gain + epsilon * gain)
            best = first_largest(merits)
            assert int(mixture.items[b, 0, 0, t]) == pair.pool[best]
            assert mixture.shift[b, 0, t].tolist() == pytest.approx(shifts[best], rel=1e-9, abs=1e-15)


@every_case
def test_the_gates_loss_agrees_with_the_oracle(kind: Kind, depth: int, seed: int) -> None:
    """Over the whole pool: contrast, distance of the hard parts, overlap of the easy ones."""
    gates, sampler = random_gates(seed), ANS(pool=4, gamma=0.7)
    match = World.random(kind, depth, seed).match(sampler, seed, parameters=gates)
    rows = match.user_layers, match.positive_layers, match.candidate_layers
    found = sampler.extra_loss(gates, *rows, Aggregation(kind))
    assert found is not None
    contrast, distance, overlap = [], [], []
    for pair in pairs_of(match):
        for t in pair.layers:
            e_u, powers = pair.users[pair.user][t], []
            for item in pair.pool:
                h_n, z_n, h_p, z_p = parts(pair, gates, item, t)
                powers.append(math.exp(dot(e_u, z_n) - dot(e_u, h_n)))
                distance.append(math.dist(h_n, h_p))
                overlap.append(math.hypot(*(a * b for a, b in zip(z_p, z_n, strict=True))))
            contrast.append(math.log1p(math.fsum(powers)))
    expected = 0.7 * (mean(contrast) + mean(distance) + depth * mean(overlap))
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("backbone", ["lightgcn", "ngcf", "mf"])
def test_gradients_equal_finite_differences(backbone: str) -> None:
    """The gates' through the noise too; to everything else the noise is a constant."""
    sampler = ANS(pool=4, gamma=0.6)
    step, held = (step_of(BACKBONES[backbone], one) for one in (sampler, Held.of(sampler)))
    for one in (step, held):
        for name, value in one.own.items():  # a margin that is neither 0 nor 1
            with torch.no_grad():
                value.mul_(0.1).add_(1.0 if name == "margin.bias" else 0.0)
    assert loss_of(step).item() == pytest.approx(loss_of(held).item(), rel=1e-14)
    rng = np.random.default_rng(0)
    for name, gradient in gradients(step).items():
        assert gradient is not None
        assert float(gradient.abs().max()) > 1e-8, f"nothing reaches {name}"
        for at in rng.choice(gradient.numel(), min(4, gradient.numel()), replace=False).tolist():
            slope = difference(step if name.startswith("sampler.") else held, name, at)
            assert float(gradient.view(-1)[at]) == pytest.approx(slope, rel=1e-5, abs=1e-8), f"{name}[{at}]"


def test_the_margin_learns_from_the_objective_alone() -> None:
    """γ = 0: there is no loss of its own, and w and the gates learn through the noise."""
    step = step_of(BACKBONES["lightgcn"], ANS(pool=4, gamma=0.0))
    with torch.no_grad():
        step.own["margin.bias"].fill_(1.0)
    assert set(step.own) == {f"{part}.{what}" for part in ("item", "user", "margin") for what in ("weight", "bias")}
    for gradient in gradients(step).values():
        assert gradient is not None
        assert float(gradient.abs().max()) > 0


@every_case
def test_without_a_margin_it_is_dns_by_layer(kind: Kind, depth: int, seed: int) -> None:
    """w · x + b = -.001 gives a margin of e^-1000: nothing moves."""
    gates = random_gates(seed)
    gates |= {"margin.weight": torch.zeros(1, DIM).double(), "margin.bias": torch.full((1,), -1e-3).double()}
    sampler = ANS(pool=5)
    match = World.random(kind, depth, seed).match(sampler, seed, parameters=gates)
    mixture = sampler.choose(match, choice())
    assert mixture.shift is not None
    assert not mixture.shift.any()
    best = (match.user_layers[:, None] * match.candidate_layers).sum(-1).argmax(1)
    assert torch.equal(mixture.items[:, 0, 0], match.chosen(best))
    if depth == 1:
        assert torch.equal(mixture.items.flatten(), DNS(pool=5).choose(match, choice()).items.flatten())


def test_the_noise_is_bounded_and_goes_towards_the_positive() -> None:
    gates, sampler = random_gates(), ANS(pool=5)
    match = World.random("mean", 4, 0).match(sampler, parameters=gates)
    mixture = sampler.choose(match, choice())
    assert mixture.shift is not None
    assert 0.05 < float(mixture.shift.norm(dim=-1).max()) <= 0.1 + 1e-12
    raw = mixture.apply([layer[match.graph.n_users :] for layer in match.layers]) - mixture.shift
    assert bool((mixture.shift * (match.positive_layers[:, None] - raw) >= 0).all())


@pytest.mark.parametrize(("likeness", "margin"), [(0.0, 1.0), (1e-30, 1.0), (-1e-30, 0.0)])
def test_parts_that_are_orthogonal_divide_nothing_by_zero(likeness: float, margin: float) -> None:
    gates = {name: value.float() for name, value in random_gates().items()}
    bias = torch.tensor([likeness], requires_grad=True)
    gates |= {"margin.weight": torch.zeros(1, DIM), "margin.bias": bias}
    match = World.random("mean", 2, 0, dtype=torch.float32).match(ANS(pool=5), parameters=gates)
    mixture = ANS(pool=5).choose(match, choice())
    assert mixture.shift is not None
    assert torch.allclose(mixture.shift.norm(dim=-1), torch.tensor(0.1 * margin))
    mixture.shift.sum().backward()  # type: ignore[no-untyped-call]
    assert bias.grad is not None
    assert bool(bias.grad.isfinite().all())


def test_without_gamma_there_is_no_loss_of_its_own() -> None:
    x = torch.ones(1, 1, 1)
    assert ANS(gamma=0.0).extra_loss({}, x, x, x[None], Aggregation("mean")) is None


def test_gates_and_margin_start_as_torchs_linear_does() -> None:
    """Uniform in ±1/√d, and the same for the same seed."""
    parts = ANS().trainable(64, Rng(0, "start"), torch.float32)
    for name, value in parts.items():
        assert value.shape == (
            (1 if "margin" in name else 64, 64) if "weight" in name else (1 if "margin" in name else 64,)
        )
        assert value.dtype == torch.float32
        assert float(value.abs().max()) <= 1 / 8
        assert "margin" in name or float(value.double().std()) == pytest.approx(1 / 8 / math.sqrt(3), rel=0.2)
    assert all(
        torch.equal(one, parts[name]) for name, one in ANS().trainable(64, Rng(0, "start"), torch.float32).items()
    )
