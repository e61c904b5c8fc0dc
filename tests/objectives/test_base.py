"""What an objective sees and returns, within a step too; L2 exactly as the lineage writes it."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

import sahcns
from sahcns.aggregation import Aggregation, Kind
from sahcns.backbones import LightGCN, SimGCL
from sahcns.errors import TrainingError
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


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


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
    assert "_rows" not in vars(pairs)
    assert pairs.positive.shape == (15,)
    assert "_rows" in vars(pairs)


@pytest.mark.parametrize("backbone", list(BACKBONES))
@pytest.mark.parametrize("sampler", [RNS(pool=3), SAHC(pool=3)], ids=lambda one: one.name)
def test_a_step_with_another_objective(backbone: str, sampler: sahcns.Sampler) -> None:
    """Against the definition: the same step with BPR, its BPR part exchanged; and the gradient by differences."""
    objective = SampledSoftmax(temperature=0.5, similarity="dot")
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
