"""Every fast path against the plain method that it replaces; and no fast path for a subclass or an unknown combination."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from sahcns.aggregation import Aggregation, Kind
from sahcns.backbones import MF, NGCF, Backbone, LightGCN, SimGCL
from sahcns.graph import Batch, Graph
from sahcns.kernels import build_graph, with_path
from sahcns.kernels.registry import FastPath, Setup, fast_paths, find
from sahcns.objectives import BPR, BSL, Comparison, Objective, SampledSoftmax
from sahcns.objectives.base import l2
from sahcns.rng import Rng
from sahcns.samplers import (
    AHNS,
    BNS,
    DENS,
    DNS,
    DNSMN,
    RNS,
    SAHC,
    DivNS,
    HCOnly,
    Matching,
    MixGCF,
    SAHCFixed,
    SAHCGlobal,
    Sampler,
    SAOnly,
    WithoutDiscrepancy,
    WithoutMean,
)
from sahcns.samplers.divns import Caches
from sahcns.samplers.sahc import (
    Calibration,
    DiscrepancyOnly,
    FixedUniform,
    GlobalGap,
    Hardest,
    LayerGap,
    Selection,
    SelectThenCalibrate,
    StructureAware,
)
from tests.kernels.conftest import DEVICE
from tests.splits import random_split

PAIRS = 9  # odd pools, several layers, a last block that is not full
SPLIT = random_split(6, 20, each=3)
KINDS: tuple[Kind, ...] = ("mean", "sum", "concat")
FAMILIES = ("cpu", "triton") if DEVICE == "cpu" else ("triton",)


@dataclass(frozen=True)
class Pair(SelectThenCalibrate):
    """Any two halves, as a user would put them together."""

    selection: Selection = Hardest()
    calibration: Calibration = LayerGap(0.5)

    def parts(self) -> tuple[Selection, Calibration]:
        return self.selection, self.calibration


SAMPLERS: list[Callable[[int], Sampler]] = [
    lambda pool: DNS(pool=pool),
    lambda pool: DNSMN(pool=pool, top_k=min(pool, 4)),
    lambda pool: DNSMN(pool=pool, top_k=pool, pick="harmonic"),
    lambda pool: AHNS(pool=pool, alpha=0.7, beta=0.5),
    lambda pool: MixGCF(pool=pool, beta_low=0.1, beta_high=0.6),
    lambda pool: SAHC(pool=pool, alpha=0.7),
    lambda pool: SAHC(pool=pool, alpha=0.0),
    lambda pool: SAHC(pool=pool, lambda_max=0.0),
    lambda pool: SAOnly(pool=pool),
    lambda pool: HCOnly(pool=pool),
    lambda pool: WithoutDiscrepancy(pool=pool),
    lambda pool: WithoutMean(pool=pool),
    lambda pool: SAHCFixed(pool=pool, alpha=0.7),
    lambda pool: SAHCGlobal(pool=pool, alpha=0.7),
    lambda pool: Pair(pool, StructureAware(-2.0)),  # the settings allow no α below 0, the part does
    lambda pool: Pair(pool, Hardest(), GlobalGap(0.5)),
    lambda pool: Pair(pool, Hardest(), FixedUniform(0.5)),
    lambda pool: Pair(pool, DiscrepancyOnly(), GlobalGap(0.5)),
    lambda pool: Pair(pool, DiscrepancyOnly(), FixedUniform(0.5)),
    lambda pool: DivNS(pool=pool, ratio=0),
    lambda pool: DivNS(pool=pool, ratio=min(2, pool - 1), lam=0.7),
    lambda pool: BNS(pool=pool),
    lambda pool: BNS(pool=pool, lam=-1.0),
    lambda pool: BNS(pool=pool, ranks_among="unseen"),
    lambda pool: DENS(pool=pool, alpha=0.4),
    lambda pool: DENS(pool=pool, schedule="warmup"),
]
BACKBONES: list[Backbone] = [
    NGCF(dim=5, depth=1),
    NGCF(dim=24, depth=2),
    SimGCL(dim=5, depth=1, noise=0.3, temperature=0.25, cl_weight=0.7),
    SimGCL(dim=16, depth=1, include_layer0=True),
    SimGCL(dim=8, depth=3, cl_weight=0.7),
]


def graphs(family: str) -> tuple[Graph, Graph]:
    """One graph, in plain torch and with the operations of a path."""
    plain = build_graph(SPLIT, DEVICE, path="reference")
    return plain, with_path(plain, family)


def setup_of(
    graph: Graph,
    backbone: Backbone | None = None,
    sampler: Sampler | None = None,
    objective: Objective | None = None,
    l2_on: str = "mixed",
) -> Setup:
    return Setup(graph, backbone or LightGCN(dim=5), sampler or RNS(), objective or BPR(), l2_on)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def exact(*shape: int, seed: int = 0) -> Tensor:
    """Quarters of small whole numbers: products and sums are exact in any order, and ties are many."""
    return (torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(seed)) / 4).to(DEVICE)


def assert_near(found: Tensor, expected: Tensor, name: str = "", within: float = 1e-5) -> None:
    assert found.shape == expected.shape, name
    error = float((found - expected).detach().norm() / expected.detach().norm().clamp(min=1e-6))
    assert error < within, f"{name}: {error:.1e}"


def assert_same_gradients(found: Tensor, expected: Tensor, tables: dict[str, Tensor]) -> None:
    """Of two numbers by the same tables; a kernel gives 0 where autograd sees no way."""
    assert_near(found.detach(), expected.detach(), "value")
    every = list(tables.values())
    two = (torch.autograd.grad(3 * one, every, allow_unused=True, retain_graph=True) for one in (found, expected))
    for name, mine, theirs in zip(tables, *two, strict=True):
        if theirs is None:
            assert mine is None or not mine.any(), name
        else:
            assert mine is not None, name
            assert_near(mine, theirs, name)


def matching(
    graph: Graph, sampler: Sampler, layers: tuple[Tensor, ...], kind: Kind, scores: tuple[Tensor, Tensor] | None
) -> Matching:
    """The first pairs of the graph; `scores` are those of another matching, so that both choose from the same."""
    users, positives = graph.pair_users[:PAIRS], graph.pair_items[:PAIRS]
    candidates = graph.draw(users, sampler.pool, Rng(1, "pools", DEVICE)).contiguous()
    gates = sampler.trainable(layers[0].shape[1], Rng(2, "start", DEVICE), layers[0].dtype)
    state = sampler.begin(graph)
    if isinstance(state, Caches):
        state.queue[:9] = torch.arange(9, device=DEVICE)
    match = Matching(
        users, positives, candidates, torch.arange(PAIRS, device=DEVICE), layers, graph, Aggregation(kind),
        torch.tensor(30.0, device=DEVICE), {name: 3 * value for name, value in gates.items()}, state,
    )  # fmt: skip
    if scores is not None:
        match.layer_scores = scores
    return match


def assert_same_choices(family: str, sampler: Sampler, layers: tuple[Tensor, ...], kind: Kind) -> None:
    """The same items, shares up to rounding, state, and next random numbers."""
    plain, fast = graphs(family)
    choose = find(sampler, "choose", setup_of(fast, LightGCN(dim=layers[0].shape[1]), sampler))
    if choose is None:
        assert sampler.pool == 1 or not is_known(sampler)
        return
    first = matching(plain, sampler, layers, kind, None)
    second = matching(fast, sampler, layers, kind, first.layer_scores)
    rngs = [Rng(3, "choice", DEVICE) for _ in range(2)]
    expected = sampler.choose(first, rngs[0]).checked(PAIRS, len(layers), sampler.name)
    found = choose(second, rngs[1]).checked(PAIRS, len(layers), sampler.name)
    assert torch.equal(found.items, expected.items)
    assert (found.weights is None) == (expected.weights is None)
    if found.weights is not None and expected.weights is not None:
        torch.testing.assert_close(found.weights, expected.weights, rtol=1e-5, atol=1e-6)
    assert torch.equal(rngs[0].bits(3), rngs[1].bits(3))
    if isinstance(second.state, Caches):
        assert all(map(torch.equal, second.state.tables, first.state.tables))


def is_known(sampler: Sampler) -> bool:
    return not (isinstance(sampler, DNSMN) and sampler.pick == "all")


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda make: str(make(6)))
@pytest.mark.parametrize(
    ("pool", "layers", "kind"), [(1, 3, "mean"), (6, 4, "concat"), (16, 1, "sum"), (19, 3, "mean")]
)
def test_choices(sampler: Callable[[int], Sampler], pool: int, layers: int, kind: Kind) -> None:
    made = sampler(pool)
    tables = (exact if isinstance(made, BNS) else normal)(layers - isinstance(made, BNS) * (layers == 3), 26, 5)
    assert_same_choices("triton", made, tuple(tables), kind)


@pytest.mark.parametrize("sampler", SAMPLERS[:5] + SAMPLERS[9:10] + SAMPLERS[19:24], ids=lambda make: str(make(6)))
@pytest.mark.parametrize("kind", KINDS)
def test_of_equal_scores_the_first(sampler: Callable[[int], Sampler], kind: Kind) -> None:
    """A pool of 19 of 20 items has repeats as well."""
    assert_same_choices("triton", sampler(19), tuple(exact(4, 26, 2)), kind)


@pytest.mark.parametrize("pool", [33, 200])
def test_a_pool_too_large_for_registers(pool: int) -> None:
    assert_same_choices("triton", BNS(pool=pool), tuple(exact(2, 26, 8)), "sum")


def parameters_of(backbone: Backbone, graph: Graph) -> dict[str, Tensor]:
    """Twice the usual start, so that both sides of an activation are met."""
    tables = backbone.initial(graph, Rng(1, "start", DEVICE))
    return {name: (2 * value).requires_grad_() for name, value in tables.items()}


@pytest.mark.parametrize("backbone", [one for one in BACKBONES if isinstance(one, NGCF)], ids=str)
@pytest.mark.parametrize("method", ["layers", "training_layers"])
def test_layers(backbone: Backbone, method: str) -> None:
    plain, fast = graphs("triton")
    run = find(backbone, method, setup_of(fast, backbone))
    assert run is not None
    parameters, rng = parameters_of(backbone, plain), (Rng(0, "noise", DEVICE),) * (method == "training_layers")
    found, expected = run(parameters, fast, *rng), getattr(backbone, method)(parameters, plain, *rng)
    for mine, theirs in zip(found, expected, strict=True):
        assert_near(mine, theirs)
    mine, theirs = (
        torch.stack([(layer * normal(*layer.shape, seed=t)).sum() for t, layer in enumerate(one)]).sum()
        for one in (found, expected)
    )
    assert_same_gradients(mine, theirs, parameters)


@pytest.mark.parametrize("backbone", [one for one in BACKBONES if isinstance(one, SimGCL)], ids=str)
def test_loss_of_a_backbone(backbone: Backbone) -> None:
    """With the same noise, and nodes that are met again and again in a batch."""
    plain, fast = graphs("triton")
    run = find(backbone, "extra_loss", setup_of(fast, backbone))
    assert run is not None
    parameters = parameters_of(backbone, plain)
    batch = graph_batch(plain)
    rngs = [Rng(9, "noise", DEVICE) for _ in range(2)]
    found, expected = run(parameters, fast, *batch, rngs[0]), backbone.extra_loss(parameters, plain, *batch, rngs[1])
    assert expected is not None
    assert rngs[0].call == rngs[1].call
    assert_same_gradients(found, expected, parameters)


def graph_batch(graph: Graph) -> tuple[Tensor, Tensor]:
    pairs = torch.tensor([3, 17, 4, 4, 11, 0, 3], device=DEVICE)
    return graph.pair_users[pairs], graph.pair_items[pairs]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("pairs", "layers", "dim"), [(5, 1, 3), (70, 4, 24)])
def test_loss_of_a_sampler(kind: Kind, pairs: int, layers: int, dim: int) -> None:
    """70 · 4 rows are more than one share of the gates' gradient."""
    sampler, agg = DENS(gamma=0.7), Aggregation(kind)
    run = find(sampler, "extra_loss", setup_of(graphs("triton")[1], LightGCN(dim=dim), sampler))
    assert run is not None
    read = {name: normal(pairs, layers, dim, seed=k).requires_grad_() for k, name in enumerate("uin")}
    start = sampler.trainable(dim, Rng(2, "start", DEVICE), torch.float32)
    gates = {name: (3 * value).requires_grad_() for name, value in start.items()}
    u, i, n = read.values()
    expected = sampler.extra_loss(gates, u, i, n[:, None], agg)
    assert expected is not None
    assert_same_gradients(run(gates, u, i, n[:, None], agg), expected, {**read, **gates})


MIXTURES = ("one item", "one a layer", "two", "two a layer")


def comparison(graph: Graph, layers: tuple[Tensor, ...], kind: Kind, form: str) -> Comparison:
    """Rows that repeat within a batch and within a mixture."""
    users, positives = graph_batch(graph)
    make, count = torch.Generator().manual_seed(len(layers)), 2 if form.startswith("two") else 1
    width = len(layers) if form.endswith("layer") else 1
    items = torch.randint(graph.n_items, (len(users), 1, count, width), generator=make).to(DEVICE)
    shares = torch.rand(len(users), 1, count, len(layers), generator=make).to(DEVICE, layers[0].dtype)
    weights = shares / shares.sum(2, keepdim=True) if count > 1 else None
    return Comparison(Batch(users, positives, layers, Aggregation(kind)), items, weights, graph)


@pytest.mark.parametrize("form", MIXTURES)
@pytest.mark.parametrize(("layers", "apart", "own_loss"), [(1, False, False), (4, False, True), (3, True, False)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_loss_of_an_objective(family: str, kind: Kind, layers: int, apart: bool, own_loss: bool, form: str) -> None:
    """BPR and L2; on a table that is no layer; and with a loss of the sampler's own on the gathered rows."""
    plain, fast = graphs(family)
    backbone = NGCF(dim=6, pool=kind)  # whose aggregation can be any
    run = find(BPR(), "loss", setup_of(fast, backbone, DENS() if own_loss else RNS()))
    if run is None:
        assert family == "cpu"
        assert own_loss or kind == "concat"
        return
    tables = {str(t): normal(plain.n, 6, seed=t).requires_grad_() for t in range(layers + apart)}
    own, *rest = tables.values()
    seen = tuple(rest) if apart else (own, *rest)
    table = own if apart else None
    totals = []
    for graph in (fast, plain):
        pairs = comparison(graph, seen, kind, form)
        total = run(pairs, 0.3, table) if graph is fast else BPR().loss(pairs) + l2(0.3, *pairs.ego_rows(table))
        u, i, n = pairs.layers
        totals.append(total + ((u * i * n[:, 0]).sum() + (n**2).sum() - 2 * (i**3).sum() if own_loss else 0))
    assert_same_gradients(totals[0], totals[1], tables)


def test_end_of_an_epoch() -> None:
    """DivNS's k-DPP picks by other numbers than plain torch: of a user's own cached items, each once before any twice."""
    plain, fast = graphs("triton")
    sampler = DivNS(pool=6, ratio=2)
    run = find(sampler, "end_epoch", setup_of(fast, sampler=sampler))
    assert run is not None
    state = sampler.begin(fast)
    assert state is not None
    state.hard.copy_(torch.arange(len(state.hard)) % fast.n_items)
    state.cache.copy_(torch.arange(state.cache.numel()).view_as(state.cache) % 5)
    run(state, normal(fast.n_items, 5), fast, Rng(0, "choice", DEVICE))
    for user in range(fast.n_users):
        own = plain.pair_users == user
        cached = {int(item) for item in state.cache[own].flatten()}
        dealt = state.queue[own].tolist()
        assert set(dealt) <= cached
        assert len(set(dealt)) == min(len(cached), len(dealt))


def examples(one: FastPath) -> list[tuple[Any, Setup]]:
    """Parts that a fast path may be found for, each in a run of its own."""
    graph = graphs(one.family)[1]
    samplers: list[Sampler] = [make(pool) for make in SAMPLERS for pool in (6, 40)]
    if one.method == "loss":
        return [(BPR(), setup_of(graph, sampler=sampler)) for sampler in samplers]
    if one.method == "shared_loss":  # see test_softmax.py
        return [(objective, setup_of(graph, objective=objective)) for objective in (SampledSoftmax(), BSL())]
    found = [(sampler, setup_of(graph, sampler=sampler)) for sampler in samplers]
    return [*found, *((backbone, setup_of(graph, backbone)) for backbone in BACKBONES)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_fast_path_is_held_against_its_plain_form(family: str) -> None:
    graphs(family)  # which imports it
    registered = fast_paths(family)
    assert len(registered) >= {"cpu": 1, "triton": 20}[family]
    for one in registered:
        runs = [getattr(find(part, one.method, setup), "func", None) for part, setup in examples(one)]
        assert one.run in runs, one


@pytest.mark.parametrize("part", [*(make(6) for make in SAMPLERS), *BACKBONES, BPR(), BSL()], ids=str)
def test_a_subclass_runs_as_it_is_written(part: Any) -> None:
    """Also one that changes nothing: no fast path may answer for a method that it does not know."""
    kind = type(part)
    other = type(f"Other{kind.__name__}", (kind,), {"choose": lambda self, match, rng: kind.choose(self, match, rng)})
    subclass = other(**{one.name: getattr(part, one.name) for one in fields(part)})
    graph = graphs("triton")[1]
    setup = setup_of(graph, part if isinstance(part, Backbone) else None, part if isinstance(part, Sampler) else None)
    for method in ("choose", "extra_loss", "end_epoch", "layers", "training_layers", "loss", "shared_loss"):
        assert find(subclass, method, setup) is None


@dataclass(frozen=True)
class Easiest(Hardest):
    """Looks like a known half, and is another."""

    def __call__(self, match: Matching) -> Tensor:
        return match.scores.argmin(1)


@dataclass(frozen=True)
class OtherParts(SAHC):
    """Global calibration, as `SAHCGlobal` has it: its parts are known, so its fast path is that of those."""

    def parts(self) -> tuple[Selection, Calibration]:
        return StructureAware(self.alpha), GlobalGap(self.lambda_max)


def test_the_family_of_sahc_goes_by_its_parts() -> None:
    graph = graphs("triton")[1]
    assert find(Pair(6, Easiest()), "choose", setup_of(graph)) is None
    assert_same_choices("triton", OtherParts(pool=6), tuple(normal(3, 26, 5)), "mean")
    assert find(OtherParts(pool=6), "choose", setup_of(graph)) is not None


@dataclass(frozen=True)
class Weighted(LightGCN):
    @property
    def aggregation(self) -> Aggregation:
        return Aggregation("sum", (0.4, 0.2, 0.2, 0.2))


def test_what_a_kernel_does_not_know_is_refused() -> None:
    double = build_graph(SPLIT, DEVICE, torch.float64, "triton")
    fast = graphs("triton")[1]
    refused: list[tuple[Any, str, Setup]] = [
        (SAHC(), "choose", setup_of(fast, Weighted(dim=5))),
        (BPR(), "loss", setup_of(fast, Weighted(dim=5))),
        (BPR(), "loss", setup_of(fast, l2_on="real")),
        (BPR(), "loss", setup_of(with_path(fast, "triton-ordered"))),
        (SampledSoftmax(), "loss", setup_of(fast, objective=SampledSoftmax())),
        (DNSMN(pick="all"), "choose", setup_of(fast, sampler=DNSMN(pick="all"))),
        (SAOnly(alpha=0.0), "choose", setup_of(fast, sampler=SAOnly(alpha=0.0))),
        (DENS(), "choose", setup_of(fast, LightGCN(dim=65), DENS())),
        (DENS(gamma=0.0), "extra_loss", setup_of(fast, sampler=DENS(gamma=0.0))),
        (DivNS(selector="random"), "end_epoch", setup_of(fast, sampler=DivNS(selector="random"))),
        *((one, "choose", setup_of(double, LightGCN(dim=4), one)) for one in (DENS(),)),
        *(
            (one, "layers", setup_of(fast, one))
            for one in (NGCF(dim=65), NGCF(depth=0), NGCF(variant="original"), LightGCN(), MF())
        ),
        (NGCF(dropout=0.1), "training_layers", setup_of(fast, NGCF(dropout=0.1))),
        (SimGCL(cl_weight=0.0), "extra_loss", setup_of(fast, SimGCL(cl_weight=0.0))),
        (NGCF(dim=4), "layers", setup_of(double, NGCF(dim=4))),
    ]
    for part, method, setup in refused:
        assert find(part, method, setup) is None, (part, method)
    plain, _ = graphs("triton")
    for part, method, setup in ((SAHC(), "choose", setup_of(plain)), (BPR(), "loss", setup_of(plain))):
        assert find(part, method, replace(setup, graph=plain)) is None
