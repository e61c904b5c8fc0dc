"""NGCF's layers, DENS's choice and DENS's gate loss as kernels, against the plain code of the backbone and the sampler."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.backbones import NGCF, Backbone, LightGCN
from sahcns.graph import Graph
from sahcns.kernels import verbs_for
from sahcns.kernels.gpu import GpuVerbs, ngcf_layer
from sahcns.rng import Rng
from sahcns.samplers import DENS, Matching, Mixture, Sampler
from sahcns.training.clock import Clock
from sahcns.training.protocol import Protocol
from sahcns.training.step import SAMPLER, Streams, TrainingStep
from tests.splits import random_split

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KINDS: tuple[Kind, ...] = ("mean", "sum", "concat")


def plain_and_fused(users: int = 9, items: int = 14, path: str = "triton") -> tuple[Graph, Graph]:
    """One graph, once with the verbs of the specification and once with the kernels."""
    graph = Graph.of(random_split(users, items, each=4), DEVICE, path="reference")
    return graph, replace(graph, verbs=verbs_for(torch.device(DEVICE), path))


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def parameters_of(backbone: NGCF, graph: Graph) -> dict[str, Tensor]:
    """Twice the usual start, so that both sides of the activation are met."""
    tables = backbone.initial(graph, Rng(1, "start", torch.device(DEVICE)))
    return {name: (2 * value).requires_grad_() for name, value in tables.items()}


def gradients(layers: tuple[Tensor, ...], of: dict[str, Tensor], only: tuple[int, ...]) -> dict[str, Tensor | None]:
    total = torch.stack([(layers[t] * noise(*layers[t].shape, seed=t)).sum() for t in only]).sum()
    found = torch.autograd.grad(total, list(of.values()), allow_unused=True)
    return dict(zip(of, found, strict=True))


def assert_same_gradients(found: dict[str, Tensor | None], expected: dict[str, Tensor | None]) -> None:
    for name, gradient in expected.items():
        mine = found[name]
        if gradient is None:  # a kernel answers 0 where autograd saw no way
            assert mine is None or not mine.any(), name
        else:
            assert mine is not None, name
            assert mine.shape == gradient.shape
            error = (mine - gradient).norm() / gradient.norm().clamp(min=1e-6)
            assert error < 1e-5, f"{name}: {float(error):.1e}"


@pytest.mark.parametrize(("dim", "depth"), [(5, 1), (16, 3), (24, 2), (64, 2)])
def test_ngcf_layers_and_gradients(dim: int, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than two programs take at once, so that each walks, and the last block is not full."""
    monkeypatch.setattr(ngcf_layer, "PROGRAMS", 2)
    monkeypatch.setattr(ngcf_layer, "BACKWARD", {"R": 16, "num_warps": 4})
    graph, fast = plain_and_fused(users=30, items=41)
    assert graph.n > 4 * 16
    backbone = NGCF(dim=dim, depth=depth)
    parameters = parameters_of(backbone, graph)
    expected, found = backbone.layers(parameters, graph), backbone.layers(parameters, fast)
    assert type(found[1].grad_fn).__name__ == "NgcfLayersBackward"
    assert len(found) == depth + 1
    for mine, layer in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, layer, rtol=1e-5, atol=1e-6)
    every = tuple(range(depth + 1))
    assert_same_gradients(gradients(found, parameters, every), gradients(expected, parameters, every))


@pytest.mark.parametrize("only", [(0,), (1,), (2,), (0, 1)])
def test_ngcf_gradient_where_only_some_layers_are_read(only: tuple[int, ...]) -> None:
    graph, fast = plain_and_fused()
    backbone = NGCF(dim=4, depth=2)
    parameters = parameters_of(backbone, graph)
    expected = gradients(backbone.layers(parameters, graph), parameters, only)
    assert_same_gradients(gradients(backbone.layers(parameters, fast), parameters, only), expected)


@pytest.mark.parametrize("bias", [0.0, 2e-13])
def test_a_row_of_almost_no_length_is_divided_as_torch_does(bias: float) -> None:
    """Without weights h is the bias: below a length of 1e-12, z = h / 1e-12, and the gradient is that of a constant."""
    graph, fast = plain_and_fused()
    backbone = NGCF(dim=4, depth=1)
    parameters = {
        name: (value.detach() if name == "ego" else torch.full_like(value, bias if name == "b1.0" else 0.0))
        for name, value in parameters_of(backbone, graph).items()
    }
    parameters = {name: value.requires_grad_() for name, value in parameters.items()}
    found = backbone.layers(parameters, fast)
    assert float(found[1].detach().norm(dim=1).max()) == pytest.approx(2 * bias / 1e-12)
    expected = gradients(backbone.layers(parameters, graph), parameters, (0, 1))
    assert_same_gradients(gradients(found, parameters, (0, 1)), expected)


def test_ngcf_in_16_bits_stays_near_and_ranks_in_full_precision() -> None:
    graph, fast = plain_and_fused(path="triton-half")
    backbone = NGCF(dim=16, depth=3)
    parameters = parameters_of(backbone, graph)
    expected, found = backbone.layers(parameters, graph), backbone.layers(parameters, fast)
    assert 0 < (found[3] - expected[3]).norm() / expected[3].norm() < 1e-3
    mine = gradients(found, parameters, (0, 1, 2, 3))["ego"]
    theirs = gradients(expected, parameters, (0, 1, 2, 3))["ego"]
    assert mine is not None
    assert theirs is not None
    assert (mine - theirs).norm() / theirs.norm() < 0.02
    with torch.no_grad():
        torch.testing.assert_close(backbone.layers(parameters, fast)[3], expected[3].detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("backbone", "dtype"),
    [
        (NGCF(dim=ngcf_layer.WIDEST + 1, depth=1), torch.float32),
        (NGCF(dim=4, depth=1), torch.float64),
        (NGCF(dim=4, depth=0), torch.float32),
        (NGCF(dim=4, depth=1, variant="original"), torch.float32),
    ],
    ids=["wide", "double", "no layer", "original"],
)
def test_what_the_kernel_does_not_know_runs_as_written(backbone: NGCF, dtype: torch.dtype) -> None:
    graph = Graph.of(random_split(5, 8, each=2), DEVICE, dtype=dtype, path="triton")
    parameters = backbone.initial(graph, Rng(0, "start", torch.device(DEVICE)), dtype)
    expected = backbone.layers(parameters, replace(graph, verbs=verbs_for(torch.device(DEVICE), "reference")))
    for mine, layer in zip(backbone.layers(parameters, graph), expected, strict=True):
        torch.testing.assert_close(mine, layer, rtol=1e-5, atol=1e-6)


def match_of(graph: Graph, layers: tuple[Tensor, ...], sampler: DENS, epoch: float, dim: int) -> Matching:
    """Every training pair; gates three times as wide as at the start."""
    device = torch.device(DEVICE)
    gates = {name: 3 * value for name, value in sampler.trainable(dim, Rng(2, "start", device), torch.float32).items()}
    users, positives = graph.pair_users, graph.pair_items
    candidates = graph.draw(users, sampler.pool, Rng(3, "pools", device))
    pairs = torch.arange(len(users), device=device)
    now = torch.tensor(epoch, device=device)
    return Matching(users, positives, candidates, pairs, layers, graph, Aggregation("mean"), now, gates)


@pytest.mark.parametrize(("dim", "layers"), [(5, 1), (16, 3), (64, 4)])
@pytest.mark.parametrize(
    "sampler",
    [DENS(alpha=0.0), DENS(alpha=0.4, pool=3), DENS(alpha=1.0), DENS(schedule="warmup", warmup=100)],
    ids=["irrelevant", "both", "relevant", "on the way"],
)
def test_dens_chooses_as_written(sampler: DENS, dim: int, layers: int) -> None:
    graph, fast = plain_and_fused()
    assert len(graph.pair_users) % 16 != 0  # the last block of pairs is not full
    tables = tuple(noise(graph.n, dim, seed=t) for t in range(layers))
    match = match_of(graph, tables, sampler, epoch=30.0, dim=dim)
    choice = Rng(0, "choice", torch.device(DEVICE))
    expected, found = sampler.choose(match, choice), sampler.choose(replace(match, graph=fast), choice)
    assert torch.equal(found.items, expected.items)
    assert layers == 1 or (found.items != found.items[..., :1]).any()


def test_of_equal_candidates_dens_takes_the_first() -> None:
    graph, fast = plain_and_fused()
    sampler = DENS(pool=6)
    match = match_of(graph, (torch.ones(graph.n, 4, device=DEVICE),) * 2, sampler, epoch=0.0, dim=4)
    found = sampler.choose(replace(match, graph=fast), Rng(0, "choice", torch.device(DEVICE))).items
    assert torch.equal(found[:, 0, 0], match.candidates[:, :1].expand(-1, 2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("pairs", "layers", "dim"), [(5, 1, 3), (19, 3, 16), (70, 4, 24)])
def test_gate_loss_and_its_gradients(kind: Kind, pairs: int, layers: int, dim: int) -> None:
    """70 · 4 rows are more than one share of the gates' gradient."""
    verbs, agg, sampler = GpuVerbs(), Aggregation(kind), DENS(gamma=0.7)
    read = {name: noise(pairs, layers, dim, seed=k).requires_grad_() for k, name in enumerate("uin")}
    start = sampler.trainable(dim, Rng(2, "start", torch.device(DEVICE)), torch.float32)
    gates = {name: (3 * value).requires_grad_() for name, value in start.items()}
    u, i, n = read.values()
    expected = sampler.extra_loss(gates, u, i, n[:, None], agg)
    found = sampler.extra_loss_through(verbs, gates, u, i, n[:, None], agg)
    assert expected is not None
    assert found is not None
    assert type(found.grad_fn).__name__ == "GateLossBackward"
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    every = {**read, **gates}
    mine, theirs = (
        dict(zip(every, torch.autograd.grad(3 * loss, list(every.values())), strict=True)) for loss in (found, expected)
    )
    assert_same_gradients({**mine}, {**theirs})


def test_several_negatives_and_no_gamma_go_the_plain_way() -> None:
    verbs, agg = GpuVerbs(), Aggregation("mean")
    u, i, n = noise(4, 2, 3), noise(4, 2, 3, seed=1), noise(4, 2, 2, 3, seed=2)
    gates = DENS().trainable(3, Rng(0, "start", torch.device(DEVICE)), torch.float32)
    found = DENS().extra_loss_through(verbs, gates, u, i, n, agg)
    expected = DENS().extra_loss(gates, u, i, n, agg)
    assert found is not None
    assert expected is not None
    torch.testing.assert_close(found, expected)
    assert DENS(gamma=0.0).extra_loss_through(verbs, gates, u, i, n[:, :1], agg) is None


@dataclass(frozen=True)
class Mixed(Sampler):
    """A user's sampler: a third of the positive, and a loss of its own on all three kinds of rows."""

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        share = torch.full_like(match.p, 1 / 3)
        return Mixture.blend(match.positives, match.candidates[:, 0], share)

    def extra_loss(
        self, parameters: dict[str, Tensor], users: Tensor, positives: Tensor, negatives: Tensor, agg: Aggregation
    ) -> Tensor | None:
        return (users * positives * negatives[:, 0]).sum() + (negatives**2).sum() - 2 * (positives**3).sum()


def step_of(graph: Graph, backbone: Backbone, sampler: Sampler) -> TrainingStep:
    device = torch.device(DEVICE)
    streams = Streams.of(0, device)
    parameters: dict[str, Any] = {
        name: (5 * value).requires_grad_() for name, value in backbone.initial(graph, streams.start).items()
    }
    for name, value in sampler.trainable(backbone.dim, streams.choice, torch.float32).items():
        parameters[SAMPLER + name] = value.requires_grad_()
    return TrainingStep(graph, backbone, sampler, Protocol(l2=0.1), parameters, streams, Clock(device, enabled=False))


@pytest.mark.parametrize("sampler", [DENS(), Mixed()], ids=["dens", "a user's"])
@pytest.mark.parametrize("backbone", [LightGCN(dim=6, depth=2), NGCF(dim=6, depth=2)], ids=["lightgcn", "ngcf"])
def test_a_step_with_a_loss_of_the_samplers_own(backbone: Backbone, sampler: Sampler) -> None:
    """BPR, L2 and the extra loss, and the gradient of every parameter, through the kernels as through plain torch."""
    losses, found = [], []
    for graph in plain_and_fused(users=3, items=9):
        step = step_of(graph, backbone, sampler)
        loss = step.loss(torch.arange(len(graph.pair_users), device=DEVICE), graph.pair_users, graph.pair_items)
        losses.append(loss)
        gradient = torch.autograd.grad(loss, list(step.parameters.values()))
        found.append(dict(zip(step.parameters, gradient, strict=True)))
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)
    assert_same_gradients({**found[1]}, {**found[0]})
