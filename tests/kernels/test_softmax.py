"""The fused softmax over negatives that a batch shares, against the objectives in float64 and their tables [B, K]."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sahcns.aggregation import Aggregation, Kind
from sahcns.backbones import MF, NGCF, Backbone, LightGCN, SimGCL
from sahcns.graph import Batch
from sahcns.kernels import build_graph, with_path
from sahcns.kernels.gpu import softmax
from sahcns.kernels.registry import Setup, find
from sahcns.objectives import BPR, BSL, PSL, Comparison, Objective, SampledSoftmax
from sahcns.objectives.base import l2
from sahcns.rng import Rng
from sahcns.samplers import RNS, InBatch, Matching, Mixture, Sampler, Shared
from tests.kernels.conftest import DEVICE
from tests.kernels.test_registry import KINDS, assert_near, normal
from tests.samplers.stepping import loss_of, step_of
from tests.splits import random_split

SPLIT = random_split(30, 40, each=6)
PLAIN = build_graph(SPLIT, DEVICE, path="reference")
FAST = with_path(PLAIN, "triton")
SOFTMAX, SHARP = SampledSoftmax(temperature=0.1), BSL(temperature=0.12, power=0.84)
UNEVEN = BSL(temperature=0.3, negative_temperature=0.2, power=None, similarity="dot")
DOT = SampledSoftmax(temperature=0.7, similarity="dot")


@pytest.fixture(autouse=DEVICE == "cpu")
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter as high and wide, so that a few rows are several tiles: the interpreter is slow."""
    monkeypatch.setattr(softmax, "TILE", 16)
    monkeypatch.setattr(softmax, "PULL", {**softmax.PULL, "R": 16, "C": 16})


def mixture_of(sampler: Sampler, users: Tensor, positives: Tensor, layers: tuple[Tensor, ...], kind: Kind) -> Mixture:
    candidates, pairs = FAST.draw(users, sampler.pool, Rng(1, "pools", DEVICE)), torch.arange(len(users), device=DEVICE)
    match = Matching(
        users, positives, candidates, pairs, layers, FAST, Aggregation(kind), torch.zeros((), device=DEVICE)
    )
    return sampler.choose(match, Rng(2, "choice", DEVICE)).checked(len(users), len(layers), sampler.name)


def totals(
    objective: Objective,
    sampler: Sampler,
    size: int,
    layers: int,
    dim: int,
    kind: Kind,
    *,
    apart: bool = False,
    weighted: bool = False,
    strength: float = 0.3,
    change: Any = None,
    moved: Any = 0.0,
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """The loss with L2 fused, the same in plain torch and float64, and what both are functions of.

    Some pairs come twice. Cosines see users and items that lie near each other, as trained ones.
    """  # fmt: skip
    pairs = torch.randint(len(PLAIN.pair_users), (size,), generator=torch.Generator().manual_seed(size)).to(DEVICE)
    users, positives = PLAIN.pair_users[pairs], PLAIN.pair_items[pairs]
    start = torch.stack([normal(PLAIN.n, dim, seed=t) for t in range(layers + apart)]) + 0.5 + moved
    tables = {str(t): one.clone().requires_grad_() for t, one in enumerate(start)}
    weights = torch.linspace(0.2, 3.0, size, device=DEVICE) if weighted else None
    own, *rest = tables.values()
    seen = tuple(rest) if apart else (own, *rest)
    mixture = mixture_of(sampler, users, positives, tuple(one.detach() for one in seen), kind)
    if change is not None:
        mixture = change(mixture)
    run = find(objective, "shared_loss", Setup(FAST, LightGCN(dim=dim), sampler, objective))
    assert run is not None
    told = mixture.log_q, mixture.own
    batch = Batch(users, positives, seen, Aggregation(kind), weights)
    fused = Comparison(batch, mixture.items, None, FAST, mixture.left_out, *told, same=mixture.same)
    found = run(fused, strength, own if apart else None)
    batch = replace(
        batch, layers=tuple(one.double() for one in seen), weights=None if weights is None else weights.double()
    )
    plain = Comparison(batch, mixture.items, None, PLAIN, mixture.excluded(positives), *told)
    return found, objective.loss(plain) + l2(strength, *plain.ego_rows(own.double() if apart else None)), tables


def assert_like_plain(found: Tensor, expected: Tensor, tables: dict[str, Tensor], within: float = 3e-6) -> None:
    assert_near(found.detach(), expected.detach().float(), "loss", within)
    wanted = list(tables.values())
    mine, theirs = (torch.autograd.grad(3 * one, wanted) for one in (found, expected))
    for name, one, other in zip(tables, mine, theirs, strict=True):
        assert other.any(), name
        assert_near(one, other, name, within)


SAMPLERS = [
    InBatch(),
    InBatch(mask="seen"),
    InBatch(pool=1, correct=True),
    Shared(pool=1),
    Shared(power=0.5, correct=True),
]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("objective", [SOFTMAX, SHARP, UNEVEN, DOT], ids=str)
def test_masks_and_corrections(objective: Objective, sampler: Sampler) -> None:
    assert_like_plain(*totals(objective, sampler, 20, 2, 8, "mean"))


@pytest.mark.parametrize(("size", "dim"), [(3, 64), (16, 8), (40, 65)])
@pytest.mark.parametrize("objective", [SOFTMAX, SHARP], ids=["softmax", "bsl"])
def test_sizes(objective: Objective, size: int, dim: int) -> None:
    assert_like_plain(*totals(objective, InBatch(), size, 2, dim, "mean"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "apart"), [(1, False), (4, False), (3, True)])
@pytest.mark.parametrize("objective", [SHARP, DOT], ids=["cosine", "dot"])
def test_aggregations(objective: Objective, kind: Kind, layers: int, apart: bool) -> None:
    """And L2 on a table that is none of the layers."""
    assert_like_plain(*totals(objective, InBatch(pool=1), 12, layers, 6, kind, apart=apart))


@pytest.mark.parametrize("objective", [SOFTMAX, SHARP], ids=["softmax", "bsl"])
def test_weights_of_pairs(objective: Objective) -> None:
    assert_like_plain(*totals(objective, InBatch(), 20, 2, 8, "sum", weighted=True))


@pytest.mark.parametrize("objective", [SOFTMAX, SHARP], ids=["softmax", "bsl"])
def test_more_negatives_than_one_strip_of_tiles_holds(objective: Objective, monkeypatch: pytest.MonkeyPatch) -> None:
    """12 + 12 · 9 of them in three strips; and both masks at once, of which some pairs have no negative left."""
    monkeypatch.setattr(softmax, "STRIPS", 3)

    def some(mixture: Mixture) -> Mixture:
        out = torch.zeros(12, mixture.items.shape[1], dtype=torch.bool, device=DEVICE)
        out[2:9, ::3] = True
        out[4] = True
        return replace(mixture, left_out=out)

    assert_like_plain(*totals(objective, InBatch(pool=9), 12, 1, 8, "mean", change=some))


@pytest.mark.parametrize("objective", [SOFTMAX, SHARP], ids=["softmax", "bsl"])
def test_a_pair_alone_in_its_batch_has_no_negatives(objective: Objective) -> None:
    """Softmax is 0 then; of BSL the positive's part is left."""
    found, expected, tables = totals(objective, InBatch(), 1, 2, 8, "mean", strength=0.0)
    assert found.item() == pytest.approx(expected.item(), abs=1e-6)
    mine, theirs = (torch.autograd.grad(one, list(tables.values())) for one in (found, expected))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)
        assert bool(one.any()) == (objective is SHARP)


def test_by_differences() -> None:
    """Of the fused loss itself, along its own gradient and along another way."""
    case: Any = SHARP, InBatch(correct=True), 20, 2, 8, "mean"
    loss, _, tables = totals(*case)
    gradient = torch.stack(torch.autograd.grad(loss, list(tables.values())))
    for way in (gradient / gradient.norm(), normal(*gradient.shape, seed=9) / 20):
        ahead, behind = (totals(*case, moved=sign * 0.02 * way)[0].item() for sign in (1, -1))
        assert (ahead - behind) / 0.04 == pytest.approx(float((gradient * way).sum()), rel=2e-3, abs=1e-3)


def test_a_row_of_zeros_has_no_direction() -> None:
    """As nothing has in MF's first step from a start of zeros: no loss that is not a number."""
    tables = (torch.zeros(PLAIN.n, 8, device=DEVICE).requires_grad_(),)
    users, positives = PLAIN.pair_users[:5], PLAIN.pair_items[:5]
    mixture = mixture_of(InBatch(), users, positives, tables, "mean")
    run = find(SOFTMAX, "shared_loss", Setup(FAST, MF(dim=8), InBatch(), SOFTMAX))
    assert run is not None
    pairs = Comparison(
        Batch(users, positives, tables, Aggregation("mean")), mixture.items, None, FAST, same=True, own=5
    )
    loss = run(pairs, 0.0, None)
    counts = (positives[:, None] != positives).sum(1)
    assert loss.item() == pytest.approx(float(torch.log1p(counts.float()).mean()), rel=1e-6)
    assert torch.autograd.grad(loss, tables)[0].isfinite().all()


@pytest.mark.skipif(DEVICE == "cuda", reason="steps of these tests are on a CPU")
@pytest.mark.parametrize(
    ("backbone", "sampler"),
    [
        *((LightGCN(dim=6, depth=1), one) for one in SAMPLERS),
        *((one, SAMPLERS[0]) for one in (MF(dim=6), NGCF(dim=6, depth=2), SimGCL(dim=8, depth=2))),
    ],
    ids=str,
)
def test_a_step_through_kernels_is_a_step_in_plain_torch(backbone: Backbone, sampler: Sampler) -> None:
    """The loss and the gradient of every parameter; and the fused loss is what has run."""
    losses, gradients = [], []
    for graph in (PLAIN, FAST):
        step = step_of(backbone, sampler, dtype=torch.float32, graph=graph, spread=5.0, objective=SHARP)
        assert (step.shared_loss is not None) == (graph is FAST)
        if graph is FAST:
            step.objective = BPR()  # which nobody is to ask
        losses.append(loss_of(step, torch.arange(20)))
        gradients.append(torch.autograd.grad(losses[-1], list(step.parameters.values())))
    assert_near(losses[1].detach(), losses[0].detach())
    for mine, theirs in zip(gradients[1], gradients[0], strict=True):
        assert_near(mine, theirs, within=1e-4)


def test_no_table_of_scores_is_made() -> None:
    """Neither scores nor a mask of 60 times 60 numbers, as plain torch makes."""
    made: list[int] = []

    class Sizes(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = func(*args, **(kwargs or {}))
            made.extend(
                one.numel() for one in (found if isinstance(found, tuple) else (found,)) if isinstance(one, Tensor)
            )
            return found

    tables = (normal(PLAIN.n, 2).requires_grad_(),)
    users, positives = PLAIN.pair_users[:60], PLAIN.pair_items[:60]
    most = []
    for graph in (FAST, PLAIN):
        made.clear()
        with Sizes():  # type: ignore[no-untyped-call]
            mixture = mixture_of(InBatch(), users, positives, tables, "mean")
            batch = Batch(users, positives, tables, Aggregation("mean"))
            run = find(SHARP, "shared_loss", Setup(graph, MF(dim=2), InBatch(), SHARP))
            if run is None:
                pairs = Comparison(batch, mixture.items, None, graph, mixture.excluded(positives), own=60)
                SHARP.loss(pairs).backward()  # type: ignore[no-untyped-call]
            else:
                pairs = Comparison(batch, mixture.items, None, graph, same=True, own=60)
                run(pairs, 0.1, None).backward()
        most.append(max(made))
    assert most[0] < 60 * 60 <= most[1]


def test_who_has_it() -> None:
    """What is ordered, weighs L2 on real rows, is another class or too wide runs as it is written."""

    class Other(BSL):
        pass

    light, graph = LightGCN(dim=8), FAST
    double = build_graph(SPLIT, DEVICE, torch.float64, "triton")
    refused = [
        (SHARP, Setup(with_path(PLAIN, "triton-ordered"), light, InBatch(), SHARP)),
        (SHARP, Setup(graph, light, InBatch(), SHARP, "real")),
        (SHARP, Setup(PLAIN, light, InBatch(), SHARP)),
        (SHARP, Setup(double, light, InBatch(), SHARP)),
        (SHARP, Setup(graph, LightGCN(dim=257), InBatch(), SHARP)),
        (SHARP, Setup(graph, NGCF(dim=65, depth=3), InBatch(), SHARP)),
        (Other(), Setup(graph, light, InBatch(), Other())),
        (PSL(), Setup(graph, light, InBatch(), PSL())),
        (BPR(), Setup(graph, light, InBatch(), BPR())),
    ]
    for objective, setup in refused:
        assert find(objective, "shared_loss", setup) is None, (objective, setup)
    assert find(SHARP, "shared_loss", Setup(graph, NGCF(dim=64, depth=3), InBatch(), SHARP)) is not None
    assert find(SHARP, "loss", Setup(graph, light, RNS(), SHARP)) is None  # of negatives that each pair has its own


@pytest.mark.skipif(DEVICE != "cuda", reason="needs a GPU")
@pytest.mark.gpu
@pytest.mark.parametrize("dim", [64, 65, 256])
@pytest.mark.parametrize("objective", [SOFTMAX, SHARP], ids=["softmax", "bsl"])
def test_tensor_cores_are_as_exact_as_float32(objective: Objective, dim: int) -> None:
    """At τ = 0.1 and B = 2048: no further from float64 than plain float32 is, but for a factor of 4."""
    split = random_split(1000, 2000, each=6)
    plain = build_graph(split, DEVICE, path="reference")
    pairs = torch.randint(len(plain.pair_users), (2048,), generator=torch.Generator().manual_seed(0)).to(DEVICE)
    users, positives = plain.pair_users[pairs], plain.pair_items[pairs]
    table = (normal(plain.n, dim) + 0.5).requires_grad_()
    items, agg = positives[None, :, None, None], Aggregation("mean")
    fast = with_path(plain, "triton")
    run = find(objective, "shared_loss", Setup(fast, MF(dim=dim), InBatch(), objective))
    assert run is not None
    out = positives == positives[:, None]
    fused = run(Comparison(Batch(users, positives, (table,), agg), items, None, fast, own=2048, same=True), 0.0, None)
    single, double = (
        objective.loss(Comparison(Batch(users, positives, (one,), agg), items, None, plain, out, own=2048))
        for one in (table, table.double())
    )
    exact = torch.autograd.grad(double, table, retain_graph=True)[0].double()
    errors = [
        float((torch.autograd.grad(one, table)[0].double() - exact).norm() / exact.norm()) for one in (fused, single)
    ]
    assert errors[0] < 4 * errors[1] + 1e-6, errors
    assert math.isclose(fused.item(), double.item(), rel_tol=2e-6)
