"""SimGCL's contrastive loss and DivNS's k-DPP as kernels, against the plain code and against brute force."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.aggregation import Aggregation
from sahcns.backbones import SimGCL
from sahcns.backbones.simgcl import info_nce
from sahcns.graph import Graph
from sahcns.kernels import verbs_for
from sahcns.kernels.gpu import info_nce as tiles
from sahcns.kernels.gpu.divns import collect, diversify
from sahcns.kernels.gpu.eigen import eigen
from sahcns.kernels.gpu.kdpp import fits, kdpp, sample
from sahcns.kernels.gpu.ridge import Ridge
from sahcns.objectives import l2
from sahcns.rng import Rng
from sahcns.samplers import RNS, DivNS, Matching, Sampler, diverse
from sahcns.samplers.divns import Caches
from sahcns.training.clock import Clock
from sahcns.training.protocol import Protocol
from sahcns.training.step import Streams, TrainingStep
from tests.splits import random_split

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SAMPLES = 20_000 if DEVICE == "cuda" else 100  # the interpreter takes its time
Subset = tuple[int, ...]


def plain_and_fused(users: int = 9, items: int = 14) -> tuple[Graph, Graph]:
    graph = Graph.of(random_split(users, items, each=4), DEVICE, path="reference")
    return graph, replace(graph, verbs=verbs_for(torch.device(DEVICE), "triton"))


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def assert_near(found: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    assert found.shape == expected.shape
    error = float((found - expected).norm() / expected.norm())
    assert error < tolerance, f"relative error {error:.1e}"


@pytest.mark.parametrize(
    ("dim", "depth", "include_layer0"), [(5, 1, False), (16, 1, True), (8, 2, False), (5, 2, True), (16, 3, False)]
)
def test_contrast_is_the_plain_loss_with_the_same_noise(dim: int, depth: int, include_layer0: bool) -> None:
    plain, fused = plain_and_fused()
    backbone = SimGCL(dim=dim, depth=depth, include_layer0=include_layer0, noise=0.3, temperature=0.25, cl_weight=0.7)
    ego = backbone.initial(plain, Rng(0, "start", DEVICE))["ego"].requires_grad_()
    users, positives = (
        torch.tensor([4, 1, 4, 0, 6, 1, 8], device=DEVICE),
        torch.tensor([2, 2, 8, 0, 2, 5, 13], device=DEVICE),
    )
    rngs = [Rng(9, "noise", DEVICE) for _ in range(2)]
    for rng in rngs:
        rng.seek(3)
    losses = [
        backbone.extra_loss({"ego": ego}, graph, users, positives, rng)
        for graph, rng in zip((plain, fused), rngs, strict=True)
    ]
    assert rngs[0].call == rngs[1].call  # what is drawn next is the same too
    expected, found = losses
    assert expected is not None
    assert found is not None
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    assert_near(torch.autograd.grad(3 * found, ego)[0], torch.autograd.grad(3 * expected, ego)[0])


def test_a_step_of_simgcl() -> None:
    """Loss and gradient with L2 on a table that is none of the layers; the clean layers are shared by both losses."""
    found = []
    for graph in plain_and_fused():
        backbone, streams = SimGCL(dim=8, depth=2), Streams.of(0, torch.device(DEVICE))
        ego = backbone.initial(graph, streams.start)["ego"].requires_grad_()
        clock = Clock(torch.device(DEVICE), False)
        step = TrainingStep(graph, backbone, RNS(), Protocol(l2=0.1), {"ego": ego}, streams, clock)
        pairs = torch.tensor([3, 17, 4, 4, 30], device=DEVICE)
        loss = step.loss(pairs, graph.pair_users[pairs], graph.pair_items[pairs])
        found.append((loss.detach(), torch.autograd.grad(loss, ego)[0]))
    assert_near(found[1][0], found[0][0])
    assert_near(found[1][1], found[0][1])


@pytest.mark.parametrize(("batch", "dim"), [(70, 24), (64, 16), (3, 5)])
def test_info_nce_over_several_tiles(batch: int, dim: int) -> None:
    """70 rows are two tiles; 40 nodes in a batch of 70 are met again and again."""
    first, second = normal(40, dim).double().requires_grad_(), normal(40, dim, seed=1).double().requires_grad_()
    parts = [torch.from_numpy(np.random.default_rng(part).integers(0, 40, batch)).to(DEVICE) for part in range(2)]
    expected = 0.7 * (info_nce(first, second, parts[0], 0.2) + info_nce(first, second, parts[1], 0.2))
    tables = [normalize(table, dim=1) for table in (first, second)]
    z, real = torch.zeros(2, 2, batch, dim, device=DEVICE), torch.zeros(2 * batch, device=DEVICE)
    for part, nodes in enumerate(parts):
        for place, node in enumerate(nodes.tolist()):
            if nodes.tolist().index(node) == place:
                real[part * batch + place] = 1.0
                for view in range(2):
                    z[view, part, place] = tables[view][node].float().detach()
    loss, (cosines, lse, share) = tiles.forward(z, real, 0.2, 0.7)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    dz = tiles.backward(z, real, 0.2, cosines, lse) * share[:, None, None] / 0.2
    for view, table in enumerate((first, second)):
        gradient = torch.zeros_like(table).float()
        for part, nodes in enumerate(parts):
            gradient.index_add_(0, nodes, dz[view, part])
        pulled = torch.autograd.grad(tables[view], table, gradient.double(), retain_graph=True)[0]
        assert_near(pulled, torch.autograd.grad(expected, table, retain_graph=True)[0])


@pytest.mark.parametrize(("mixed", "layers"), [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_ridge_reads_the_mixture_of_the_first_layer(mixed: int, layers: int) -> None:
    ego = normal(12, 5).requires_grad_()
    users, positives = torch.tensor([0, 2, 2], device=DEVICE), torch.tensor([1, 1, 6], device=DEVICE)
    items = torch.tensor([[[4, 5, 6], [1, 0, 2]], [[0, 3, 3], [6, 1, 1]], [[2, 2, 2], [5, 4, 0]]], device=DEVICE)
    items = items[:, :mixed, :layers].contiguous()
    weights = normal(3, mixed, 3, seed=2).abs() if mixed > 1 else None
    share = torch.ones(3, mixed, device=DEVICE) if weights is None else weights[:, :, 0]
    negative = (ego[items[:, :, 0] + 5] * share[..., None]).sum(1)
    expected = l2(0.3, ego[users], ego[positives + 5], negative)
    found: Tensor = Ridge.apply(0.3, users, positives, items, weights, 5, ego)  # type: ignore[no-untyped-call]
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    assert_near(torch.autograd.grad(2 * found, ego)[0], torch.autograd.grad(2 * expected, ego)[0])


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (5, 5), (12, 12), (9, 4), (19, 19)])
def test_eigen_against_eigvalsh(n: int, rank: int) -> None:
    """Relative to its own size every eigenvalue is right, though they span eight orders of magnitude."""
    scales = torch.logspace(0, -4, rank, dtype=torch.float64, device=DEVICE)
    b = normal(2, n, rank).double() * scales
    matrices = b @ b.mT
    values, columns = eigen(matrices)
    expected = torch.linalg.svdvals(b).square()
    found = values.double().sort(dim=1, descending=True).values
    torch.testing.assert_close(found[:, :rank], expected, rtol=2e-5, atol=0)
    assert not found[:, rank:].any()
    assert_near(columns.double() @ columns.double().mT, matrices)
    gram = columns.mT @ columns
    lengths = values.sqrt()
    cosines = gram / (lengths[:, :, None] * lengths[:, None] + 1e-30)
    off = cosines - torch.diag_embed(cosines.diagonal(dim1=1, dim2=2))
    assert off.abs().max() < 1e-5


def test_eigen_of_nothing_is_nothing() -> None:
    values, columns = eigen(torch.zeros(2, 4, 4, dtype=torch.float64, device=DEVICE))
    assert not values.any()
    assert columns.shape == (2, 4, 4)


def volumes(b: Tensor, k: int) -> dict[Subset, float]:
    """P(D) ∝ det(b_D b_Dᵀ) of every subset of size k."""
    kernel = (b @ b.T).cpu().double().numpy()
    found = {d: np.linalg.det(kernel[np.ix_(d, d)]) for d in itertools.combinations(range(len(b)), k)}
    total = sum(found.values())
    return {d: float(v / total) for d, v in found.items()}


def counted(picked: Tensor) -> Counter[Subset]:
    return Counter(tuple(sorted(n for n in row if n >= 0)) for row in picked.tolist())


@pytest.mark.parametrize(("count", "dim", "k"), [(5, 3, 2), (4, 6, 3), (6, 2, 5)])
def test_the_sample_of_one_user_is_the_plain_one(count: int, dim: int, k: int) -> None:
    """Given eigenvectors in the same order, one user's numbers are those of the plain path, and so is the choice."""
    b = normal(count, dim, seed=count).double()
    dual = dim < count
    values, basis = torch.linalg.eigh(b.T @ b if dual else b @ b.T)
    columns = basis * values.clamp(min=0).sqrt()
    one = values[None].float(), (b @ columns if dual else columns)[None].float()
    valid, want = torch.ones(1, count, dtype=torch.bool, device=DEVICE), torch.tensor([k], device=DEVICE)
    picks = set()
    for seed in range(8):
        found = sample(*one, valid, want, Rng(seed, "choice", DEVICE), dual)
        expected = diverse.kdpp(b[None], valid, valid.double(), want, Rng(seed, "choice", DEVICE))
        assert found[0, :k].tolist() == expected[0].tolist()
        picks.add(tuple(expected[0].tolist()))
    assert len(picks) > 3


@pytest.mark.parametrize(("count", "dim", "k"), [(4, 3, 2), (3, 4, 2)])
def test_the_sample_has_the_distribution_of_the_kdpp(count: int, dim: int, k: int) -> None:
    """One set of eigenvectors for all samples; 4 items in 3 dimensions go the dual way."""
    b = normal(count, dim, seed=count)
    b[1] = 0.9 * b[0] + 0.1 * b[1]  # two much alike
    dual = dim < count
    exact = b.double()
    values, columns = eigen((exact.T @ exact if dual else exact @ exact.T)[None])
    vectors = b @ columns[0] if dual else columns[0]
    valid = torch.ones(SAMPLES, count, dtype=torch.bool, device=DEVICE)
    want = torch.full((SAMPLES,), k, device=DEVICE)
    many = values.expand(SAMPLES, -1).contiguous(), vectors.expand(SAMPLES, -1, -1).contiguous()
    found = counted(sample(*many, valid, want, Rng(1, "choice", DEVICE), dual))
    expected = volumes(b, k)
    assert set(found) <= set(expected)
    likely = [d for d, p in expected.items() if p * SAMPLES >= 5]
    seen, chance = [found[d] for d in likely], [SAMPLES * expected[d] for d in likely]
    if len(likely) < len(expected):
        seen, chance = [*seen, SAMPLES - sum(seen)], [*chance, SAMPLES - sum(chance)]
    assert chisquare(seen, chance).pvalue > 1e-3
    assert chisquare([found[d] for d in expected]).pvalue < 1e-4  # a uniform choice would be found out


def test_kdpp_of_users_with_different_wants_and_gaps() -> None:
    """Beyond the rank any item will do; what is not valid never comes; the same seed picks the same."""
    b = normal(4, 6, 3)
    valid = torch.ones(4, 6, dtype=torch.bool, device=DEVICE)
    valid[1, 2:] = False
    valid[3] = False
    b = b * valid[..., None]
    want = torch.tensor([5, 2, 1, 0], device=DEVICE)
    picked = kdpp(b, valid, want, Rng(4, "choice", DEVICE))
    assert torch.equal(picked, kdpp(b, valid, want, Rng(4, "choice", DEVICE)))
    assert not torch.equal(picked, kdpp(b, valid, want, Rng(5, "choice", DEVICE)))
    for row, allowed, size in zip(picked.tolist(), valid.tolist(), want.tolist(), strict=True):
        assert len(set(row[:size])) == size
        assert all(allowed[n] for n in row[:size])
        assert row[size:] == [-1] * (6 - size)
    assert np.linalg.matrix_rank(b[0, picked[0, :3]].cpu().numpy()) == 3


def test_what_fits() -> None:
    assert fits(512, 64)
    assert fits(40, 300)
    assert not fits(512, 128)
    assert not fits(300, 300)


def cached_pairs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Three users with 3, 1 and 2 pairs: starts, counts, the hard negatives and the caches; one pair not yet visited."""
    starts, counts = torch.tensor([0, 3, 4], device=DEVICE), torch.tensor([3, 1, 2], device=DEVICE)
    hard = torch.tensor([7, 8, -1, 2, 5, 5], device=DEVICE)
    cache = torch.tensor([[3, 9], [3, 4], [-1, -1], [6, 6], [-1, -1], [-1, -1]], device=DEVICE)
    return starts, counts, hard, cache


def test_collect_weighs_the_distinct_items_against_the_hard_ones() -> None:
    starts, counts, hard, cache = cached_pairs()
    unit = normalize(normal(10, 5), dim=1)
    ids, valid, want, b = collect(unit, starts, counts, 6, hard, cache)
    expected: list[dict[int, Tensor]] = []
    for used, items in (([7, 8], [3, 9, 4]), ([2], [6]), ([5, 5], [])):
        centre = unit[used].mean(0)
        expected.append({item: unit[item] / (1 + max(0.0, float(unit[item] @ centre))) for item in items})
    assert want.tolist() == [3, 1, 0]
    for user, vectors in enumerate(expected):
        real = {int(item): row for item, row, ok in zip(ids[user], b[user], valid[user], strict=True) if ok}
        assert set(real) == set(vectors)
        for item, vector in vectors.items():
            torch.testing.assert_close(real[item], vector)
        assert not b[user][~valid[user]].any()


def test_diversify_deals_to_the_own_pairs_round_and_round() -> None:
    starts, counts, hard, cache = cached_pairs()
    unit = normalize(normal(10, 5), dim=1)
    queue = torch.full((7,), 99, device=DEVICE)
    order = torch.tensor([2, 0, 1], device=DEVICE)
    assert diversify(unit, starts[order], counts[order], 3, hard, cache, queue, 512, Rng(0, "choice", DEVICE))
    assert sorted(queue[:3].tolist()) == [3, 4, 9]
    assert queue[3:].tolist() == [6, -1, -1, 99]
    cache[:3] = torch.tensor([[3, 4], [4, 3], [3, 3]], device=DEVICE)
    assert diversify(unit, starts, counts, 3, hard, cache, queue, 512, Rng(0, "choice", DEVICE))
    assert queue[0] == queue[2]
    assert {int(queue[0]), int(queue[1])} == {3, 4}
    assert not diversify(normal(10, 300), starts, counts, 200, hard, cache, queue, 512, Rng(0, "choice", DEVICE))


@pytest.mark.parametrize("kind", ["mean", "sum"])
def test_divns_chooses_and_files_as_the_plain_code_does(kind: str) -> None:
    plain, fused = plain_and_fused()
    sampler: Sampler = DivNS(pool=6, ratio=2, lam=0.7)
    layers = tuple(normal(plain.n, 4, seed=t) for t in range(3))
    pairs = torch.tensor([3, 17, 4, 30, 8], device=DEVICE)
    users, positives = plain.pair_users[pairs], plain.pair_items[pairs]
    candidates = plain.draw(users, 6, Rng(0, "pools", DEVICE)).contiguous()
    found = []
    for graph in (plain, fused):
        state = sampler.begin(graph)
        assert isinstance(state, Caches)
        state.queue[pairs[:3]] = torch.tensor([5, 1, 9], device=DEVICE)
        aggregation = Aggregation("mean" if kind == "mean" else "sum")
        match = Matching(
            users, positives, candidates, pairs, layers, graph, aggregation, torch.zeros((), device=DEVICE), {}, state
        )
        mixture = sampler.choose(match, Rng(0, "choice", DEVICE)).checked(5, 3, "DivNS")
        found.append((mixture, state))
    (expected, before), (mixture, after) = found
    assert torch.equal(mixture.items, expected.items)
    assert mixture.weights is not None
    assert expected.weights is not None
    torch.testing.assert_close(mixture.weights, expected.weights)
    for mine, theirs in zip(after.tables, before.tables, strict=True):
        assert torch.equal(mine, theirs)
