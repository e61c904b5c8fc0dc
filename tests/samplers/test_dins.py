"""DINS: the hardest of each layer and the positive, mixed by a share of each dimension's own."""

import math

import pytest
import torch

from sahcns.aggregation import Kind
from sahcns.errors import TrainingError
from sahcns.rng import Rng
from sahcns.samplers import DINS, DNS, Matching, MixGCF, Mixture
from sahcns.training.watch import statistics
from tests.samplers.oracle import Pair, Vector, aggregate, dot, mean, pairs_of, softplus
from tests.samplers.stepping import BACKBONES, Held, loss_of, step_of
from tests.samplers.world import World, choice, every_case


def oracle(pair: Pair, alpha: float) -> tuple[list[Vector], list[Vector]]:
    """negative[l] = (1 - w) ⊙ p + w ⊙ n,  w = e^{u ⊙ n} / (α e^{u ⊙ p} + e^{u ⊙ n}); and 1 - w."""
    made, shares = [], []
    for t in pair.layers:
        columns = zip(pair.anchor(t), pair.items[pair.positive][t], pair.items[pair.hardest_at(t)][t], strict=True)
        row, share = [], []
        for u, p, n in columns:
            w = math.exp(u * n) / (alpha * math.exp(u * p) + math.exp(u * n))
            row.append((1 - w) * p + w * n)
            share.append(1 - w)
        made.append(row)
        shares.append(share)
    return made, shares


@pytest.mark.parametrize("alpha", [0.3, 2.3])
@every_case
def test_agrees_with_the_oracle(kind: Kind, depth: int, seed: int, alpha: float) -> None:
    sampler = DINS(pool=6, alpha=alpha)
    match = World.random(kind, depth, seed).match(sampler, seed)
    mixture = sampler.choose(match, choice())
    made = mixture.apply([layer[match.graph.n_users :] for layer in match.layers])
    full = mixture.checked(len(match.users), depth, "DINS")
    assert full.weights is not None
    for pair, found, share in zip(pairs_of(match), made[:, 0].tolist(), full.weights[:, 0, 0].tolist(), strict=True):
        negative, shares = oracle(pair, alpha)
        for t in pair.layers:
            assert found[t] == pytest.approx(negative[t], rel=1e-9)
            assert share[t] == pytest.approx(shares[t], rel=1e-9)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_the_loss_itself(backbone: str) -> None:
    """BPR against the vectors of the oracle, and L2 on the first of them (where layer 0 is not shown: on the table's)."""
    held = Held.of(DINS(pool=4))
    step = step_of(BACKBONES[backbone], held, l2=0.1)
    found = loss_of(step)
    match = held.matches[0]
    pairs = pairs_of(match)
    table, total = step.parameters["ego"].tolist(), []
    users, items = table[: match.graph.n_users], table[match.graph.n_users :]
    for pair in pairs:
        made, shares = oracle(pair, 1.0)
        x = dot(pair.final_user, aggregate(pair.kind, made)) - pair.score(pair.positive)
        i, j = items[pair.positive], items[pair.hardest_at(0)]
        row = [s * a + (1 - s) * b for s, a, b in zip(shares[0], i, j, strict=True)]
        total.append(softplus(x) + 0.1 / 2 * sum(dot(v, v) for v in (users[pair.user], i, row)))
    step.streams.noise.seek(0)
    step.backbone.training_layers(step.parameters, step.graph, step.streams.noise)  # reads the stream first
    contrast = step.backbone.extra_loss(step.parameters, step.graph, match.users, match.positives, step.streams.noise)
    assert found.item() == pytest.approx(mean(total) + (0.0 if contrast is None else contrast.item()), rel=1e-10)


@every_case
def test_the_ends_of_alpha(kind: Kind, depth: int, seed: int) -> None:
    """α → 0 leaves MixGCF's candidates without the positive, and a large one the positive."""
    match = World.random(kind, depth, seed).match(DINS(pool=6), seed)
    tables = [layer[match.graph.n_users :] for layer in match.layers]
    low, high = (DINS(pool=6, alpha=alpha).choose(match, choice()) for alpha in (1e-300, 1e300))
    raw = MixGCF(pool=6, beta_high=0.0).choose(match, choice())
    assert torch.equal(low.items, raw.items)
    assert torch.equal(low.apply(tables), raw.apply(tables))
    assert torch.equal(high.apply(tables)[:, 0], match.positive_layers)
    if depth == 1:
        assert torch.equal(low.items[:, 0, 1, 0], DNS(pool=6).choose(match, choice()).items.flatten())


def test_shares_in_the_scores_precision_and_their_mean_where_one_is_told() -> None:
    for dtype in (torch.float32, torch.float64):
        match = World.random("mean", 2, 0, dtype=dtype).match(DINS(pool=6))
        full = DINS(pool=6).choose(match, choice()).checked(len(match.users), 2, "DINS")
        assert full.weights is not None
        assert full.weights.dtype == dtype
        told = statistics(match, full, torch.zeros(0, dtype=torch.int64))
        assert told["lambda"] == pytest.approx(float(full.weights[:, 0, 0].mean()), rel=1e-6)


def test_shares_of_another_width_than_the_layers_are_refused() -> None:
    class Narrow(DINS):
        def choose(self, match: Matching, rng: Rng) -> Mixture:
            mixture = super().choose(match, rng)
            assert mixture.weights is not None
            return Mixture(mixture.items, mixture.weights[..., :2])

    with pytest.raises(TrainingError, match=r"Narrow returned weights of shape \[14, 1, 2, 4, 2\].* is 3, the width"):
        loss_of(step_of(BACKBONES["lightgcn"], Narrow(pool=4)))
