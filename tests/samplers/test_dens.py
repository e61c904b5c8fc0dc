"""DENS: gated selection layer by layer, and the loss the gates learn from."""

import math

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.rng import Rng
from sahcns.samplers import DENS, Matching
from sahcns.samplers.dens import GATES
from tests.samplers.oracle import (
    Negative,
    Pair,
    Vector,
    aggregate,
    assert_agrees,
    dot,
    first_largest,
    mean,
    negatives_of,
    pairs_of,
    sigmoid,
    softplus,
)
from tests.samplers.world import DIM, World, choice, every_case, scored

Gates = dict[str, Tensor]


def random_gates(dim: int = DIM, seed: int = 0) -> Gates:
    """The start of training, three times as large, so that no gate is near one half."""
    return {name: 3 * value for name, value in DENS().trainable(dim, Rng(seed, "start"), torch.float64).items()}


def forced_gates(value: float, dim: int = DIM) -> Gates:
    """Every gate open (value > 0) or shut (value < 0)."""
    return {
        f"{gate}.{part}": torch.zeros(dim, dim, dtype=torch.float64)
        if part == "weight"
        else torch.full((dim,), value).double()
        for gate in GATES
        for part in ("weight", "bias")
    }


def through(gates: Gates, name: str, x: Vector) -> Vector:
    """W x + b."""
    weight, bias = gates[f"{name}.weight"].tolist(), gates[f"{name}.bias"].tolist()
    return [dot(row, x) + b for row, b in zip(weight, bias, strict=True)]


def split(e: Vector, one: Vector, other: Vector) -> tuple[Vector, Vector]:
    """r = e ⊙ σ(one + other),  q = e - r."""
    r = [x * sigmoid(a + b) for x, a, b in zip(e, one, other, strict=True)]
    return r, [x - y for x, y in zip(e, r, strict=True)]


def positive_parts(pair: Pair, gates: Gates, layer: int) -> tuple[Vector, Vector]:
    e_i, e_u = pair.items[pair.positive][layer], pair.users[pair.user][layer]
    return split(e_i, through(gates, "item", e_i), through(gates, "user", e_u))


def negative_parts(pair: Pair, gates: Gates, layer: int, item: int) -> tuple[Vector, Vector]:
    e_n, (r_p, _) = pair.items[item][layer], positive_parts(pair, gates, layer)
    return split(e_n, through(gates, "neg", e_n), through(gates, "pos", r_p))


def oracle(pair: Pair, gates: Gates, alpha: float) -> list[Negative]:
    """sel[n, l] = (1 - α) <e_u^l, q_n> - α <e_u^l, r_n>, the layer's own user; the raw item of the largest."""
    negative = []
    for t in pair.layers:
        sel = []
        for item in pair.pool:
            r_n, q_n = negative_parts(pair, gates, t, item)
            e_u = pair.users[pair.user][t]
            sel.append((1 - alpha) * dot(e_u, q_n) - alpha * dot(e_u, r_n))
        negative.append({pair.pool[first_largest(sel)]: 1.0})
    return [negative]


def gate_loss(pair: Pair, gates: Gates, negatives: list[Negative]) -> float:
    """The four comparisons of one pair, on parts pooled by Agg and scored by ē_u."""

    def score(layers: list[Vector]) -> float:
        return dot(pair.final_user, aggregate(pair.kind, layers))

    p_r = score([positive_parts(pair, gates, t)[0] for t in pair.layers])
    p_q = score([positive_parts(pair, gates, t)[1] for t in pair.layers])
    total = softplus(p_q - p_r)
    for negative in negatives:
        ids = [next(iter(layer)) for layer in negative]
        n_r = score([negative_parts(pair, gates, t, ids[t])[0] for t in pair.layers])
        n_q = score([negative_parts(pair, gates, t, ids[t])[1] for t in pair.layers])
        total += softplus(n_r - n_q) + softplus(n_r - p_r) + softplus(p_q - n_q)
    return total


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
@every_case
def test_selection_agrees_with_the_oracle(kind: Kind, depth: int, seed: int, alpha: float) -> None:
    gates, sampler = random_gates(seed=seed), DENS(pool=5, alpha=alpha)
    match = World.random(kind, depth, seed).match(sampler, seed, parameters=gates)
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: oracle(pair, gates, alpha))


@every_case
def test_gate_loss_agrees_with_the_oracle(kind: Kind, depth: int, seed: int) -> None:
    gates, sampler = random_gates(seed=seed), DENS(pool=5, alpha=0.4, gamma=0.7)
    match = World.random(kind, depth, seed).match(sampler, seed, parameters=gates)
    mixture = sampler.choose(match, choice())
    found = extra_loss(sampler, gates, match, mixture.items[:, :, 0])
    pairs = zip(pairs_of(match), negatives_of(mixture, match), strict=True)
    expected = 0.7 / 4 * mean([gate_loss(pair, gates, negative) for pair, negative in pairs])
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["mean", "sum", "concat"])
def test_gate_loss_of_several_negatives(kind: Kind) -> None:
    """K negatives: their three comparisons add up, the positive's own is counted once."""
    gates, sampler = random_gates(), DENS(pool=3, gamma=1.0)
    match = World.random(kind, 2, 0).match(sampler, parameters=gates)
    items = match.candidates[:, :, None].expand(-1, -1, 2)  # all three candidates, [B, K, T]
    expected = mean([gate_loss(pair, gates, [pair.real(j) for j in pair.pool]) for pair in pairs_of(match)]) / 4
    assert float(extra_loss(sampler, gates, match, items)) == pytest.approx(expected, rel=1e-12)


def extra_loss(sampler: DENS, gates: Gates, match: Matching, items: Tensor) -> Tensor:
    """`items [B, K, T]`."""
    rows = items + match.graph.n_users
    negatives = torch.stack([layer[rows[..., t]] for t, layer in enumerate(match.layers)], dim=2)
    loss = sampler.extra_loss(gates, match.user_layers, match.positive_layers, negatives, match.aggregation)
    assert loss is not None
    return loss


@pytest.mark.parametrize("kind", ["mean", "concat"])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_pick_of_the_specification(kind: Kind, alpha: float) -> None:
    """<e_u, r> = (.3, .1) and <e_u, q> = (.2, .35) ⇒ candidate 2 for every α; sel as the specification prints it.

    In one dimension with e_u = 1 the candidates are .5 and .45, the gates .3/.5 and .1/.45: a line through two logits.
    """
    e, r = (0.5, 0.45), (0.3, 0.1)
    logits = [math.log(part / (whole - part)) for whole, part in zip(e, r, strict=True)]
    slope = (logits[0] - logits[1]) / (e[0] - e[1])
    gates = forced_gates(0.0, dim=1)
    gates["neg.weight"] = torch.tensor([[slope]], dtype=torch.float64)
    gates["neg.bias"] = torch.tensor([logits[0] - slope * e[0]], dtype=torch.float64)
    match = scored([[e[0]], [e[1]]], [0.7], kind)
    match.parameters = gates
    (pair,) = pairs_of(match)
    parts = [negative_parts(pair, gates, 0, item) for item in pair.pool]
    assert [x[0][0] for x in parts] == pytest.approx([0.3, 0.1])
    sel = [(1 - alpha) * q[0] - alpha * r_n[0] for r_n, q in parts]
    assert sel == pytest.approx({0.0: [0.2, 0.35], 0.5: [-0.05, 0.125], 1.0: [-0.3, -0.1]}[alpha])
    assert DENS(pool=2, alpha=alpha).choose(match, choice()).items.flatten().tolist() == [2]


@every_case
def test_open_gates_and_alpha_one_pick_the_lowest_score_of_each_layer(kind: Kind, depth: int, seed: int) -> None:
    def lowest(pair: Pair) -> list[Negative]:
        layers = [[dot(pair.users[pair.user][t], pair.items[j][t]) for j in pair.pool] for t in pair.layers]
        return [[{pair.pool[first_largest([-s for s in scores])]: 1.0} for scores in layers]]

    sampler = DENS(pool=5, alpha=1.0)
    match = World.random(kind, depth, seed).match(sampler, seed, parameters=forced_gates(60.0))
    assert_agrees(sampler.choose(match, choice()), match, lowest)


@every_case
def test_shut_gates_and_alpha_zero_are_dns_by_layer(kind: Kind, depth: int, seed: int) -> None:
    def highest(pair: Pair) -> list[Negative]:
        layers = [[dot(pair.users[pair.user][t], pair.items[j][t]) for j in pair.pool] for t in pair.layers]
        return [[{pair.pool[first_largest(scores)]: 1.0} for scores in layers]]

    sampler = DENS(pool=5, alpha=0.0)
    match = World.random(kind, depth, seed).match(sampler, seed, parameters=forced_gates(-60.0))
    assert_agrees(sampler.choose(match, choice()), match, highest)


def test_without_gamma_there_is_no_loss() -> None:
    x = torch.ones(1, 1, 1)
    assert DENS(gamma=0.0).extra_loss({}, x, x, x[None], Aggregation("mean")) is None


@pytest.mark.parametrize(
    ("schedule", "epoch", "alpha"),
    [
        ("fixed", 50, 0.25),
        ("warmup", 0, 0.0),
        ("warmup", 50, 0.5),
        ("warmup", 300, 1.0),
        ("cooldown", 0, 1.0),
        ("cooldown", 25, 0.75),
        ("cooldown", 300, 0.0),
    ],
)
def test_schedules(schedule: str, epoch: float, alpha: float) -> None:
    """α_t = α;  min(1, epoch / warmup);  max(0, 1 - epoch / warmup): in the value and in what is chosen."""
    sampler = DENS(pool=5, alpha=0.25, schedule=schedule, warmup=100)
    assert float(sampler.alpha_at(torch.tensor(epoch))) == pytest.approx(alpha)
    gates = random_gates()
    match = World.random("mean", 4, 0).match(sampler, epoch=epoch, parameters=gates)
    assert_agrees(sampler.choose(match, choice()), match, lambda pair: oracle(pair, gates, alpha))


def test_gates_start_as_torchs_linear_does() -> None:
    """Weights and biases uniform in ±1/√d; four gates, each its own; the same for the same seed."""
    gates = DENS().trainable(64, Rng(0, "start"), torch.float32)
    assert set(gates) == {f"{gate}.{part}" for gate in ("item", "user", "pos", "neg") for part in ("weight", "bias")}
    for name, value in gates.items():
        assert value.shape == ((64, 64) if name.endswith("weight") else (64,))
        assert value.dtype == torch.float32
        assert float(value.abs().max()) <= 1 / 8
        assert float(value.double().std()) == pytest.approx(1 / 8 / math.sqrt(3), rel=0.2)
    assert not torch.equal(gates["item.weight"], gates["user.weight"])
    again = DENS().trainable(64, Rng(0, "start"), torch.float32)
    assert all(torch.equal(gates[name], again[name]) for name in gates)


def test_defaults_are_the_papers_for_toys() -> None:
    assert (DENS().alpha, DENS().gamma, DENS().pool, DENS().schedule) == (1.0, 0.3, 10, "fixed")
    assert DENS().warmup == 100  # of the authors' code, for those who ask for a schedule
