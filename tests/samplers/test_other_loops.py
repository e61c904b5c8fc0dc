"""Samplers in somebody else's loop: the same negatives as in ours, and PyTorch Geometric's LightGCN learns from them."""

from typing import Any

import pytest
import torch

from sahcns.backbones import LightGCN
from sahcns.errors import TrainingError
from sahcns.graph import Graph
from sahcns.kernels import build_graph
from sahcns.objectives import BPR
from sahcns.ranking import Truth, evaluate
from sahcns.rng import Rng
from sahcns.samplers import BNS, DENS, DNS, RNS, SAHC, Matching, MixGCF, Mixture, Sampler
from sahcns.training import Protocol
from sahcns.training.profiler import Profiler
from sahcns.training.step import Streams, TrainingStep, initial_parameters
from tests.examples.loading import example
from tests.model.films import films
from tests.splits import random_split

SPLIT = random_split(24, 40, each=8, seed=2)


@pytest.mark.parametrize("sampler", [RNS(), DNS(), MixGCF(), SAHC(), BNS()], ids=lambda one: str(one.name))
def test_a_step_of_ours_written_by_hand(sampler: Sampler) -> None:
    """From public parts: the same negatives, so the same loss, and the same gradient in the trained table."""
    graph, backbone, device = build_graph(SPLIT, torch.device("cpu")), LightGCN(dim=4, depth=2), torch.device("cpu")
    streams = Streams.of(3, device)
    table = initial_parameters(backbone, sampler, graph, streams)
    protocol = Protocol(l2=0.0)
    step = TrainingStep(graph, backbone, sampler, BPR(), protocol, table, streams, Profiler(device))
    pairs = torch.arange(0, 192, 3)
    users, items = graph.pair_users[pairs], graph.pair_items[pairs]
    ours = step.loss(pairs, users, items)
    ours.backward()  # type: ignore[no-untyped-call]

    ego = table["ego"].detach().clone().requires_grad_()
    layers = Graph.of(SPLIT).hops(ego, 2)
    of_users, of_items = [layer[:24] for layer in layers], [layer[24:] for layer in layers]
    again = Streams.of(3, device)
    candidates = graph.draw(users, sampler.pool, again.pools)
    match = Matching.of(of_users, of_items, users, items, candidates, graph=graph)
    negative = sampler.choose(match, again.choice).apply(of_items)  # [B, K, T, d]
    assert negative.shape == (64, 1, 3, 4)
    user, positive = (torch.stack(side, 1)[ids].mean(1) for side, ids in ((of_users, users), (of_items, items)))
    theirs = -torch.nn.functional.logsigmoid((user * (positive - negative[:, 0].mean(1))).sum(-1)).mean()
    theirs.backward()  # type: ignore[no-untyped-call]
    trained = table["ego"].grad
    assert ego.grad is not None
    assert trained is not None
    assert theirs.item() == pytest.approx(ours.item(), rel=1e-5)
    assert torch.allclose(ego.grad, trained, rtol=1e-4, atol=1e-8)


def tables(count: int = 2) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    rng = Rng(1, "tables")
    return [rng.normal(3, 4) for _ in range(count)], [rng.normal(9, 4) for _ in range(count)]


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.tensor([0, 2]), torch.tensor([1, 0]), torch.tensor([[3, 4, 5], [6, 7, 8]])


def test_scores_need_no_graph_and_popularity_does() -> None:
    match = Matching.of(*tables(), *batch(), aggregation="sum")
    users, items = tables()
    wanted = torch.stack(users).sum(0)[0] @ torch.stack(items).sum(0)[4]
    assert float(match.scores[0, 1]) == pytest.approx(float(wanted), rel=1e-5)
    for sampler, several in ((RNS(), 3), (DNS(), 1), (MixGCF(), 1), (SAHC(), 1)):  # RNS: each candidate is a negative
        assert sampler.choose(match, Rng(0, "any")).apply(items).shape == (2, several, 2, 4)
    with pytest.raises(TrainingError, match="popularity"):
        _ = match.popularity


def test_a_mixture_is_applied_as_it_is_defined() -> None:
    _, items = tables()
    share = torch.tensor([[0.25, 1.0], [0.5, 0.0]])
    blend = Mixture.blend(torch.tensor([1, 0]), torch.tensor([3, 6]), share).apply(items)
    for b, (first, second) in enumerate([(1, 3), (0, 6)]):
        for t in range(2):
            wanted = share[b, t] * items[t][first] + (1 - share[b, t]) * items[t][second]
            assert torch.allclose(blend[b, 0, t], wanted)
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert torch.equal(Mixture.several(ids).apply(items)[1, 2], torch.stack([table[6] for table in items]))
    assert torch.equal(Mixture.per_layer(ids[:, :2]).apply(items)[0, 0, 1], items[1][2])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"user_layers": tables(1)[0]}, r"\[3, 4\], \[9, 4\], \[9, 4\]"),
        ({"item_layers": [torch.zeros(9, 5)] * 2}, r"\[9, 5\]"),
        ({"candidates": torch.zeros(3, 2, dtype=torch.int64)}, r"\[3, 2\]"),
        ({"positives": torch.zeros(3, dtype=torch.int64)}, r"\[3\]"),
        ({"users": torch.zeros(2, 1, dtype=torch.int64)}, r"\[2, 1\]"),
    ],
)
def test_shapes_that_do_not_fit_are_said(change: dict[str, Any], named: str) -> None:
    names = ("user_layers", "item_layers", "users", "positives", "candidates")
    with pytest.raises(TrainingError, match=named):
        Matching.of(**{**dict(zip(names, (*tables(), *batch()), strict=True)), **change})


def test_a_sampler_s_own_parameters_are_handed_on() -> None:
    own = DENS().trainable(4, Rng(0, "own"), torch.float32)
    match = Matching.of(*tables(), *batch(), parameters=own, epoch=torch.tensor(3.0))
    assert DENS().choose(match, Rng(0, "any")).apply(tables()[1]).shape[0] == 2
    assert match.epoch == 3


def test_pytorch_geometric_s_lightgcn_learns_from_our_negatives() -> None:
    pytest.importorskip("torch_geometric")
    split = films()
    truth = Truth.of(split, "test")
    found = []
    for epochs in (0, 30):
        of_users, of_items = example("other_loop").train(split, SAHC(), dim=8, epochs=epochs, batch=64, rate=0.05)
        found.append(evaluate(of_users, of_items, truth, [5], ["ndcg"])["ndcg@5"])
    assert found[1] > found[0] + 0.1


def test_the_example_prints_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch_geometric")
    example("other_loop").main(films(), epochs=1)
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["rns", "sahc"]
