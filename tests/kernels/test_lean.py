"""The lean graph: 8 bytes a pair, and all that the ordinary one says; its steps are the same, and end in the same tables."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sahcns.backbones import MF, SGL, Backbone, LightGCN, SimGCL, XSimGCL
from sahcns.data.split import Pairs, Split
from sahcns.errors import DataError, SettingError, TrainingError
from sahcns.graph import Graph, Read
from sahcns.kernels import build_graph, lean
from sahcns.kernels.lean import Hopped, LeanGraph
from sahcns.objectives import BPR, Objective, SampledSoftmax, SLatK
from sahcns.rng import Rng
from sahcns.samplers import BNS, DENS, DNS, RNS, SAHC, InBatch, MixGCF, Popularity, Sampler
from sahcns.training import Protocol
from sahcns.training.profiler import Profiler
from sahcns.training.step import Streams, TrainingStep, initial_parameters
from tests.kernels.conftest import DEVICE, INTERPRETED
from tests.splits import random_split

SPLIT = random_split(30, 24, each=7, seed=3)
NAMES = ["lean", *(["triton-lean"] if INTERPRETED or DEVICE == "cuda" else [])]


@pytest.fixture(params=NAMES)
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Graph, Graph]:
    """The lean graph, made from pieces of which one ends within a user, and the ordinary one."""
    monkeypatch.setattr(lean, "PIECE", 40)
    device = "cpu" if request.param == "lean" else DEVICE
    return build_graph(SPLIT, device, path=request.param), Graph.of(SPLIT, device)


def test_it_keeps_eight_bytes_a_pair_and_says_what_the_other_says(both: tuple[Graph, Graph]) -> None:
    graph, plain = both
    assert isinstance(graph, LeanGraph)
    of_pairs = {id(one): one.nbytes for one in vars(graph).values() if isinstance(one, Tensor) and len(one) == 210}
    assert sum(of_pairs.values()) == 8 * 210
    assert torch.equal(
        torch.stack(graph.pairs_at(torch.arange(210, device=graph.device))),
        torch.stack([plain.pair_users, plain.pair_items]),
    )
    assert torch.equal(graph.item_users.long(), plain.adjacency.columns[210:].long())
    assert (graph.n_pairs, graph.n_train_pairs, graph.full_users, graph.dtype) == (210, 210, 0, torch.float32)
    for one in ("popularity", "degrees"):
        assert torch.equal(getattr(graph, one), getattr(plain, one))
    users, everything, four = (
        torch.tensor(ids, device=graph.device) for ids in ([29, 3, 3, 0], [*range(24)], [1, 2, 3, 4])
    )
    for items in (everything[None], everything.expand(4, 24), everything.view(1, 6, 4), four):
        assert torch.equal(graph.has_seen(users, items), plain.has_seen(users, items))
    assert plain.has_seen(users, everything[None]).sum() == 28
    for mine, theirs in zip(graph.seen_by(users), plain.seen_by(users), strict=True):
        assert torch.equal(mine, theirs)
    assert torch.equal(graph.pair_counts(), plain.pair_counts())
    assert torch.equal(graph.unseen.room, plain.unseen.room)


def test_what_it_cannot_do_is_a_sentence() -> None:
    graph = build_graph(SPLIT, path="lean")
    with pytest.raises(TrainingError, match=r"'lean' keep 8 bytes .* no seen_keys"):
        _ = graph.seen_keys
    with pytest.raises(SettingError, match=r"'lean' draw candidates uniformly.*power"):
        step_of(graph, Popularity())
    step = step_of(graph, RNS(), SGL(dim=4, depth=1))
    with pytest.raises(TrainingError, match="no adjacency"):
        step(torch.arange(5), *graph.pairs_at(torch.arange(5)))
    twice = Split.from_pairs([[0, 1], [0, 1], [1, 0]], n_items=3)
    with pytest.raises(DataError, match="user 0 has item 1 twice"):
        build_graph(twice, path="lean")
    with pytest.raises(DataError, match="user 1 has every item"):
        build_graph(Split.from_pairs([[0, 1], [1, 0], [1, 1]]), path="lean")
    with pytest.raises(DataError, match="0 pairs"):
        build_graph(Split.from_pairs([], [[0, 1]]), path="lean")


def test_weights_stay_with_their_pairs() -> None:
    weights = np.linspace(0.5, 2, len(SPLIT.train), dtype=np.float32)
    split = replace(SPLIT, train=Pairs(SPLIT.train.users, SPLIT.train.items, weights))
    found, expected = build_graph(split, path="lean").pair_weights, Graph.of(split).pair_weights
    assert found is not None
    torch.testing.assert_close(found, expected)


def step_of(
    graph: Graph, sampler: Sampler, backbone: Backbone | None = None, objective: Objective | None = None, **told: Any
) -> TrainingStep:
    backbone, streams = backbone or LightGCN(dim=8, depth=3), Streams.of(5, graph.device)
    parameters = initial_parameters(backbone, sampler, graph, streams)
    protocol = Protocol(batch=64, l2=0.01, learning_rate=0.01, **told)
    return TrainingStep(
        graph, backbone, sampler, objective or BPR(), protocol, parameters, streams, Profiler(graph.device)
    )


CASES: dict[str, tuple[Sampler, dict[str, Any]]] = {
    "sahc": (SAHC(pool=6), {}),
    "dns": (DNS(pool=6), {}),
    "mixgcf": (MixGCF(pool=6), {}),
    "rns": (RNS(), {}),
    "dens": (DENS(pool=4), {}),  # with a loss of its own
    "bns": (BNS(pool=4, ranks_among="unseen"), {}),
    "softmax": (RNS(pool=5), {"objective": SampledSoftmax()}),
    "in batch": (InBatch(mask="seen"), {"objective": SampledSoftmax()}),
    "sl@k": (RNS(pool=5), {"objective": SLatK()}),
    "real": (SAHC(pool=6), {"l2_on": "real"}),  # two mixtures of one step
    "mf": (DNS(pool=6), {"backbone": MF(dim=8)}),
    "one layer": (SAHC(pool=6), {"backbone": LightGCN(dim=8, depth=1)}),
    "simgcl": (DNS(pool=6), {"backbone": SimGCL(dim=8, depth=2)}),
    "xsimgcl": (DNS(pool=6), {"backbone": XSimGCL(dim=8, depth=2)}),  # whose loss looks at the layers again
}


@pytest.mark.parametrize(
    ("both", "case"), [("lean", case) for case in CASES] + [(one, "sahc") for one in NAMES[1:]], indirect=["both"]
)
def test_steps_are_those_of_the_ordinary_graph(both: tuple[Graph, Graph], case: str) -> None:
    """Losses, gradients and tables of three steps, with the same draws; in 32 bits, where only sums come in another order."""
    sampler, told = CASES[case]
    ours, theirs = (step_of(graph, sampler, **told) for graph in both)
    pairs = Rng(1, "pairs").permutation(210).view(3, 70).to(both[0].device)
    if both[0].path != "lean" and DEVICE == "cpu":  # the interpreter is slow
        pairs = pairs[:1, :12]
    for batch in pairs:
        gradients = []
        for step in (ours, theirs):
            loss = step.loss(batch, *step.graph.pairs_at(batch))
            gradients.append(
                (loss.detach(), *torch.autograd.grad(loss, list(step.parameters.values()), allow_unused=True))
            )
            step.streams.pools.call = step.streams.choice.call = step.streams.noise.call = 0
        for found, expected in zip(*gradients, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-7)
        assert gradients[0][1] is not None
        assert float(gradients[0][1].abs().max()) > 1e-4
        torch.testing.assert_close(
            *(step(batch, *step.graph.pairs_at(batch)) for step in (ours, theirs)), rtol=1e-5, atol=1e-6
        )
    for name, value in ours.parameters.items():
        assert value.grad is None
        torch.testing.assert_close(value, theirs.parameters[name], rtol=0, atol=2e-4)  # Adam divides by small numbers


def test_the_gradient_is_made_in_the_tables_of_the_layers() -> None:
    """So that a step holds six tables: Adam reads it there, and nothing is copied on the way."""
    graph = build_graph(SPLIT, path="lean")
    x = torch.randn(54, 8).requires_grad_()
    layers = graph.hops(x, 3)
    assert isinstance(layers, Hopped)
    tables = [layer.data_ptr() for layer in layers[1:]]
    layers.spare = True
    (rows,) = graph.mix(layers, Read(torch.arange(54)[:, None, None], None))
    rows.sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert x.grad.data_ptr() in tables
    assert not x.grad.requires_grad
    kept = graph.hops(x, 3)
    before = [layer.detach().clone() for layer in kept]
    (rows,) = graph.mix(kept, Read(torch.arange(54)[:, None, None], None))  # nobody said that they are spare
    rows.sum().backward()  # type: ignore[no-untyped-call]
    assert all(torch.equal(one, other) for one, other in zip(kept, before, strict=True))


def test_layers_taken_apart_have_gradient_too() -> None:
    """A backbone may hand on some layers, or change them: then they are tables like any other."""
    graph, plain = build_graph(SPLIT, torch.device("cpu"), torch.float64, "lean"), Graph.of(SPLIT, dtype=torch.float64)
    found = []
    for one in (graph, plain):
        x = torch.randn(54, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
        layers = one.hops(x, 2)
        rows, cubes = Read(torch.tensor([[[3]], [[40]]]), None), layers[2].pow(3).sum()
        (cubes + one.mix(layers[1:], rows)[0].square().sum() + one.mix(layers, rows)[0].sum()).backward()  # type: ignore[no-untyped-call]
        found.append(x.grad)
    torch.testing.assert_close(*found, rtol=0, atol=1e-12)
