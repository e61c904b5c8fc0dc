"""What is minimised: objectives against their equations and finite differences, L2 exactly as the lineage writes it."""

import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sahcns
from sahcns.aggregation import Aggregation, Kind
from sahcns.backbones import LightGCN, SimGCL
from sahcns.errors import SettingError, TrainingError
from sahcns.graph import Batch, Graph
from sahcns.model import fit
from sahcns.objectives import BPR, Comparison, Objective, SampledSoftmax
from sahcns.objectives.base import l2
from sahcns.objectives.bpr import bpr
from sahcns.samplers import DNS, RNS, SAHC
from sahcns.training import Protocol
from sahcns.training.step import one_number
from tests.samplers.stepping import BACKBONES, loss_of, step_of
from tests.splits import random_split

scores = st.lists(st.floats(-30, 30), min_size=1, max_size=4)
OBJECTIVES: list[Objective] = [BPR(), SampledSoftmax(temperature=0.4), SampledSoftmax(temperature=1.0)]


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def loss(objective: Objective, positive: Tensor, negative: Tensor, weights: Tensor | None = None) -> Tensor:
    """Of given scores [B] and [B, K]."""
    pairs = Comparison.__new__(Comparison)
    pairs.__dict__["_scores"] = positive, negative
    pairs.batch = Batch(positive, positive, (), Aggregation("mean"), weights)
    return objective.loss(pairs)


def by_loops(objective: Objective, positive: Tensor, negative: Tensor) -> float:
    """-log(e^{s+/τ} / (e^{s+/τ} + Σ_k e^{s_k/τ})), which for τ = 1 is BPR's log(1 + Σ_k e^{s_k - s+})."""
    tau, total = objective.temperature if isinstance(objective, SampledSoftmax) else 1.0, 0.0
    for own, others in zip(positive.tolist(), negative.tolist(), strict=True):
        odds = sum(math.exp((other - own) / tau) for other in others)
        total += -math.log(1 / (1 + odds)) if odds > 1e-9 else odds
    return total / len(positive)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@given(st.floats(-30, 30), scores)
@settings(max_examples=40, deadline=None)
def test_of_one_pair(objective: Objective, positive: float, negatives: list[float]) -> None:
    own, others = column(positive), column(*negatives)[None]
    assert float(loss(objective, own, others)) == pytest.approx(by_loops(objective, own, others), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@pytest.mark.parametrize("count", [1, 3])
def test_of_a_batch_and_its_gradients(objective: Objective, count: int) -> None:
    generator = torch.Generator().manual_seed(count)
    positive = torch.randn(4, generator=generator, dtype=torch.float64, requires_grad=True)
    negative = torch.randn(4, count, generator=generator, dtype=torch.float64, requires_grad=True)
    assert loss(objective, positive, negative).item() == pytest.approx(
        by_loops(objective, positive, negative), rel=1e-9
    )
    each = [by_loops(objective, positive[k : k + 1], negative[k : k + 1]) * k / 4 for k in range(4)]
    assert loss(objective, positive, negative, torch.arange(4)).item() == pytest.approx(sum(each), rel=1e-9)
    assert torch.autograd.gradcheck(lambda p, n: loss(objective, p, n), (positive, negative))
    loss(objective, positive, negative).backward()  # type: ignore[no-untyped-call]
    assert positive.grad is not None
    assert negative.grad is not None
    assert (positive.grad < 0).all()  # a step downhill raises the positive
    assert (negative.grad > 0).all()  # and lowers every negative


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("margin", [1e4, -1e4])
def test_nothing_overflows(objective: Objective, dtype: torch.dtype, margin: float) -> None:
    positive = torch.zeros(2, dtype=dtype, requires_grad=True)
    negative = torch.full((2, 4), margin, dtype=dtype, requires_grad=True)
    found = loss(objective, positive, negative)
    found.backward()  # type: ignore[no-untyped-call]
    tau = objective.temperature if isinstance(objective, SampledSoftmax) else 1.0
    assert negative.grad is not None
    assert found.item() == pytest.approx(margin / tau + math.log(4) if margin > 0 else 0.0, rel=1e-6)
    assert negative.grad.sum().item() == pytest.approx(1.0 / tau if margin > 0 else 0.0, abs=1e-2)


def test_a_lower_temperature_looks_at_the_hardest() -> None:
    positive, negative = column(0.0), column(0.0, 1.0)[None].requires_grad_()
    shares = []
    for tau in (1.0, 0.1):
        gradient = torch.autograd.grad(loss(SampledSoftmax(temperature=tau), positive, negative), negative)[0][0]
        shares.append(float(gradient[1] / gradient.sum()))
    assert shares == pytest.approx([math.e / (1 + math.e), 1 / (1 + math.exp(-10))])
    with pytest.raises(SettingError, match="temperature=0"):
        SampledSoftmax(temperature=0)


@pytest.mark.parametrize("kind", ["mean", "sum", "concat"])
@pytest.mark.parametrize("weights", [None, (0.5, 0.3, 0.2)])
def test_what_an_objective_sees(kind: Kind, weights: tuple[float, ...] | None) -> None:
    """Scores are those of the pooled vectors, for mixed negatives too; its layers are rows of the tables."""
    graph, agg = Graph.of(random_split(5, 8, each=3), dtype=torch.float64), Aggregation(kind, weights)
    make = torch.Generator().manual_seed(0)
    layers = tuple(torch.randn(3, graph.n, 4, generator=make, dtype=torch.float64))
    users, positives = graph.pair_users[:6], graph.pair_items[:6]
    items = torch.randint(8, (6, 2, 3, 3), generator=make)
    shares = torch.rand(6, 2, 3, 3, generator=make, dtype=torch.float64)
    pairs = Comparison(Batch(users, positives, layers, agg), items, shares, graph)
    final = agg.pool(torch.stack(layers, 1))
    torch.testing.assert_close(pairs.positive, (final[users] * final[positives + 5]).sum(-1))
    mixed = torch.zeros(6, 2, 3, 4, dtype=torch.float64)
    for t, layer in enumerate(layers):
        mixed[:, :, t] = (layer[items[..., t] + 5] * shares[..., t, None]).sum(2)
    torch.testing.assert_close(pairs.negative, (final[users][:, None] * agg.pool(mixed)).sum(-1))
    torch.testing.assert_close(pairs.layers[2], mixed)
    alone = (layers[1][items[..., 0] + 5] * shares[..., :1]).sum(2)
    torch.testing.assert_close(pairs.ego_rows(layers[1])[2], alone)
    torch.testing.assert_close(pairs.ego_rows(layers[1], mixed=False)[2], layers[1][items[:, :, -1, 0] + 5])


def test_nothing_is_gathered_unasked() -> None:
    graph = Graph.of(random_split(5, 8, each=3))
    layers = (torch.zeros(graph.n, 2),)
    batch = Batch(graph.pair_users, graph.pair_items, layers, Aggregation("mean"))
    pairs = Comparison(batch, graph.pair_items[:, None, None, None], None, graph)
    assert len(pairs.users) == 15
    assert "layers" not in vars(pairs)
    assert pairs.positive.shape == (15,)
    assert "layers" in vars(pairs)


@pytest.mark.parametrize("backbone", list(BACKBONES))
@pytest.mark.parametrize("sampler", [RNS(pool=3), SAHC(pool=3)], ids=lambda one: one.name)
def test_a_step_with_another_objective(backbone: str, sampler: sahcns.Sampler) -> None:
    """Against the definition: the same step with BPR, its BPR part exchanged; and the gradient by differences."""
    objective = SampledSoftmax(temperature=0.5)
    step = step_of(BACKBONES[backbone], sampler, objective=objective)
    assert step.fast_loss is None
    seen: list[Comparison] = []
    original = type(objective).loss
    plain = step_of(BACKBONES[backbone], sampler, objective=Noting(seen=seen), graph=step.graph)
    expected = loss_of(plain).item() - BPR().loss(seen[0]).item() + original(objective, seen[0]).item()
    assert loss_of(step).item() == pytest.approx(expected, rel=1e-9)
    (gradient,) = torch.autograd.grad(loss_of(step), [step.parameters["ego"]])
    if backbone.startswith("lightgcn") and isinstance(sampler, RNS):  # whose choice does not move with the table
        for at in ((0, 0), (7, 2)):
            near = []
            for change in (1e-6, -1e-6):
                with torch.no_grad():
                    step.parameters["ego"][at] += change
                near.append(loss_of(step).item())
                with torch.no_grad():
                    step.parameters["ego"][at] -= change
            assert (near[0] - near[1]) / 2e-6 == pytest.approx(gradient[at].item(), rel=1e-4, abs=1e-7)


@dataclass(frozen=True)
class Noting(Objective):
    """BPR that keeps what it was shown."""

    seen: list[Comparison] | None = None

    def loss(self, pairs: Comparison) -> Tensor:
        assert self.seen is not None
        self.seen.append(pairs)
        return BPR().loss(pairs)


@dataclass(frozen=True)
class Aligned(Objective):
    """Looks at vectors instead of scores: users and their positives near each other, and no negative at all."""

    def loss(self, pairs: Comparison) -> Tensor:
        users, positives, _ = pairs.layers
        return (users - positives).square().sum(-1).mean()


class OneForEach(Objective):
    def loss(self, pairs: Comparison) -> Tensor:
        return pairs.positive


def test_training_without_bpr() -> None:
    split, rules = random_split(20, 30, each=6), Protocol(epochs=8, batch=32, learning_rate=0.05, l2=0.0)
    for objective in (SampledSoftmax(temperature=0.2), Aligned(), BPR()):
        run = fit(split, LightGCN(dim=8), RNS(pool=4), objective, protocol=rules, device="cpu")
        losses = [entry["loss"] for entry in run.record.history]
        assert losses[-1] < losses[0]
        assert run.record.objective["name"] == (objective.name or "Aligned")
    assert run.record.objective == {"name": "bpr"}
    default = fit(split, LightGCN(dim=8), RNS(pool=4), protocol=rules, device="cpu")
    assert torch.equal(default.recommender.weights["ego"], run.recommender.weights["ego"])
    with pytest.raises(TrainingError, match=r"OneForEach.loss\(\).*\[32\]"):
        fit(split, SimGCL(dim=8), DNS(), OneForEach(), protocol=rules, device="cpu")


def test_l2_by_hand() -> None:
    users, positives = column(1, 2, 2, 0).view(2, 2), column(3, 0, 0, 1).view(2, 2)
    negatives = column(1, 1, 0, 2, 2, 0, 1, 0).view(2, 2, 2)  # two negatives a pair
    squares = (1 + 4 + 4 + 0) + (9 + 0 + 0 + 1) + (1 + 1 + 0 + 4 + 4 + 0 + 1 + 0)
    assert float(l2(0.1, users, positives, negatives)) == pytest.approx(0.1 / (2 * 2) * squares)


def test_l2_counts_a_row_each_time_it_occurs() -> None:
    row = column(1.0, -2.0)
    repeated = row.expand(6, 2)
    assert float(l2(1.0, repeated, repeated, repeated[:, None])) == pytest.approx(3 * 5 / 2)
    assert float(bpr(column(0.0), column(0.0)[None])) == pytest.approx(math.log(2))


def test_a_loss_is_a_tensor() -> None:
    with pytest.raises(TrainingError, match=r"str.extra_loss\(\) returned float"):
        one_number(0.5, "a sampler")  # type: ignore[arg-type]
