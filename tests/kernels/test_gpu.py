"""What single GPU kernels promise beyond their plain forms, and where they could go wrong: edges, ties, far addresses."""

from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from sahcns.aggregation import Aggregation, Kind
from sahcns.backbones import NGCF, SGL, Backbone, LightGCN, LightGCNpp, SimGCL, XSimGCL
from sahcns.backbones.simgcl import info_nce, perturb
from sahcns.data.split import Split
from sahcns.graph import Batch, Graph
from sahcns.kernels import build_graph, with_path
from sahcns.kernels.gpu import ngcf, simgcl
from sahcns.kernels.gpu.bns import MOST, count_below, least_risk, outscored
from sahcns.kernels.gpu.bpr import PairLoss
from sahcns.kernels.gpu.dens import PARTS, dens_choice
from sahcns.kernels.gpu.match import match, pooled, table
from sahcns.kernels.gpu.pools import item_at_rank, mixgcf, nearest
from sahcns.kernels.gpu.random import perturb as perturb_on_gpu
from sahcns.kernels.registry import Setup, find
from sahcns.objectives import BPR
from sahcns.rng import Rng
from sahcns.samplers import DENS, SAHC, HCOnly, Matching, Mixture, Sampler, WithoutMean
from sahcns.samplers.bns import Count
from sahcns.samplers.bns import count_below as plain_count_below
from tests.kernels.conftest import DEVICE
from tests.kernels.test_registry import assert_near, normal, parameters_of
from tests.samplers.stepping import loss_of, step_of
from tests.splits import random_split


def plain_and_fast(users: int = 9, items: int = 14, path: str = "triton") -> tuple[Graph, Graph]:
    graph = build_graph(random_split(users, items, each=4), DEVICE, path="reference")
    return graph, with_path(graph, path)


# Choices from a pool.

NOT_NUMBERS = torch.full((2, 5, 3), float("nan"), device=DEVICE)
POOLS = torch.tensor([[10, 11, 12, 13, 14], [20, 21, 22, 23, 24]], device=DEVICE)


def test_scores_that_are_no_numbers_still_choose_from_the_pool() -> None:
    """A diverging model is reported by its loss; until then no kernel may read beyond its pool."""
    a, first = NOT_NUMBERS, POOLS[:, 0].contiguous()
    below, popularity = torch.ones_like(POOLS, dtype=torch.int32), torch.ones(30, dtype=torch.int64, device=DEVICE)
    found = [
        item_at_rank(a, True, POOLS, None),
        item_at_rank(a, True, POOLS, torch.tensor([2, 4], device=DEVICE)),
        nearest(a, True, POOLS, a[:, 0, 0]),
        least_risk(a[:, 0], a, True, POOLS, popularity, 30, below, 31, 5.0),
        *mixgcf(a, POOLS, first, a[:, 0])[0][:, 0, 1].unbind(1),
    ]
    graph = plain_and_fast()[1]
    layers = tuple(torch.zeros(graph.n, 2, device=DEVICE) for _ in range(3))
    for sampler in (SAHC(), HCOnly(), WithoutMean()):
        seen = Matching(
            first % 9, first, POOLS, first, layers, graph, Aggregation("mean"), torch.zeros((), device=DEVICE)
        )
        seen.layer_scores = a[:, 0], a
        choose = find(sampler, "choose", Setup(graph, LightGCN(), sampler, BPR()))
        assert choose is not None
        found.append(choose(seen, Rng(0, "choice", DEVICE)).items[:, 0, 1, 0])
    for one in found:
        assert all(int(item) in pool for item, pool in zip(one, POOLS.tolist(), strict=True))


def test_ranks_by_hand() -> None:
    """Also as a column of a table, whose stride a kernel does not see."""
    a = torch.tensor([[1.0, 5.0, 3.0, 5.0, -2.0]] * 5, device=DEVICE)[..., None]
    candidates = torch.tensor([[10, 11, 12, 13, 14]] * 5, device=DEVICE)
    ranks = torch.stack([torch.arange(5), torch.zeros(5, dtype=torch.int64)], dim=1).to(DEVICE)[:, 0]
    assert item_at_rank(a, True, candidates, ranks).tolist() == [11, 13, 12, 10, 14]
    assert item_at_rank(a, True, candidates, None).tolist() == [11] * 5


def test_a_target_may_be_of_no_end() -> None:
    """AHNS's is, where the positive scores -α; then all are equally far from it."""
    a = torch.tensor([[1.0, 5.0, 3.0], [1.0, 5.0, 3.0]], device=DEVICE)[..., None]
    target = torch.tensor([float("inf"), 3.9], device=DEVICE)
    assert nearest(a, True, POOLS[:, :3], target).tolist() == [10, 22]


# BNS's counts.


@pytest.mark.parametrize(
    ("batch", "items", "pool", "dim"), [(1, 1, 1, 1), (3, 20, 5, 8), (70, 1300, 10, 64), (65, 641, MOST, 100)]
)
def test_items_outscored_are_counted_one_by_one(batch: int, items: int, pool: int, dim: int) -> None:
    """In two layers, whose sum they are; whole numbers, so that every product is exact and ties are many."""
    make = torch.Generator().manual_seed(items + pool)
    users, things = (torch.randint(-2, 3, (count, dim), generator=make).float() for count in (batch, items))
    candidates = torch.randint(0, items, (batch, pool), generator=make)
    whole = torch.cat([users.flip(0), things]).to(DEVICE)
    half = (whole / 2).round()
    rows = torch.arange(batch, device=DEVICE).flip(0)  # not in the order of the table
    found = outscored(table((half, whole - half)), "sum", batch, rows, candidates.to(DEVICE))
    scores = users @ things.T
    own = torch.gather(scores, 1, candidates)
    assert torch.equal(found.cpu().long(), (scores[:, None] <= own[..., None]).sum(2))


def test_items_that_share_a_vector_stand_alike() -> None:
    """Without layer 0 all items of the same users do; a score from another product would be a little off theirs.

    On a GPU that holds for any numbers. The interpreter multiplies by numpy, which may round equal columns differently:
    there the numbers are such that nothing is rounded.
    """
    make = torch.Generator().manual_seed(4)

    def numbers(*shape: int) -> Tensor:
        return (
            torch.randn(shape, generator=make) if DEVICE == "cuda" else torch.randint(-8, 9, shape, generator=make) / 8
        )

    graph = build_graph(random_split(12, 60, each=4), DEVICE)
    kinds = torch.randint(0, 9, (60,), generator=make)
    tables = torch.cat([numbers(2, 12, 64), numbers(2, 9, 64)[:, kinds]], 1)
    candidates = graph.draw(graph.pair_users, 10, Rng(1, "pools", DEVICE))
    found = outscored(table(tuple(tables.to(DEVICE))), "mean", 12, graph.pair_users, candidates)
    exact = tables.double().mean(0)
    scores = (exact[:12] @ exact[12:].T)[graph.pair_users.cpu()]
    own = torch.gather(scores, 1, candidates.cpu())
    assert torch.equal(found.cpu().long(), (scores[:, None] <= own[..., None] + 1e-9).sum(2))


@pytest.mark.parametrize("count", [count_below, plain_count_below], ids=["kernel", "plain"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("pool", "items"), [(1, 128), (20, 300), (200, 1000), (600, 700)])
def test_counts_in_a_table_of_scores(count: Count, pool: int, items: int, dtype: torch.dtype) -> None:
    """Ties, and values of no end, which are at most themselves."""
    make = torch.Generator().manual_seed(pool)
    scores = torch.randint(-40, 40, (2, items), generator=make).to(DEVICE, dtype)
    scores[0, 3], scores[1, -1] = float("inf"), float("-inf")
    own = scores[:, torch.randperm(items, generator=make)[:pool]].clone()
    own[0, 0] = float("inf")
    expected = (scores[:, None, :] <= own[:, :, None]).sum(2)
    assert torch.equal(count(scores, own).long(), expected)


# Layers, wherever they lie.


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize(("layers", "dim"), [(1, 5), (4, 64)])
def test_final_embeddings_of_some_rows(kind: Kind, layers: int, dim: int) -> None:
    make = torch.Generator().manual_seed(dim)
    stack = tuple(torch.randn(layers, 43, dim, generator=make).to(DEVICE))
    whole = Aggregation(kind).pool_layers(stack)
    rows = torch.randint(0, 43, (21,), generator=make).to(DEVICE)
    torch.testing.assert_close(pooled(table(stack), kind, rows), whole[rows], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(pooled(table(stack), kind, range(20, 43)), whole[20:], rtol=1e-6, atol=1e-6)


FAR = 1 << 30  # numbers: twice as many are more than 32 bits with a sign can count
USERS, ITEMS, DIM = 3, 5, 4


@pytest.fixture(scope="module")
def layers() -> tuple[Tensor, ...]:
    """Four of them, 2^30 numbers apart from each other; on a CPU only what is written takes memory."""
    n = USERS + ITEMS
    space = torch.empty(2 * FAR + n * DIM, device=DEVICE)
    values = torch.randn(4, n, DIM, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    later = [space[k * FAR : k * FAR + n * DIM].view(n, DIM) for k in range(3)]
    for layer, value in zip(later, values[1:], strict=True):
        layer.copy_(value)
    return values[0], *later


BATCH = (  # users, positives, candidates
    torch.tensor([0, 2], device=DEVICE),
    torch.tensor([1, 4], device=DEVICE),
    torch.tensor([[0, 2, 3], [1, 1, 0]], device=DEVICE),
)


@pytest.mark.parametrize("kind", ["mean", "concat"])
def test_scores_and_loss_of_layers_far_apart(layers: tuple[Tensor, ...], kind: Kind) -> None:
    assert table(layers).stride == FAR
    near = tuple(layer.clone() for layer in layers)
    graph = Graph.of(Split.from_pairs([[0, 0]], n_users=USERS, n_items=ITEMS), DEVICE)
    far, close = (Batch(BATCH[0], BATCH[1], read, Aggregation(kind)) for read in (layers, near))
    for score, wanted in zip(match(far, USERS, BATCH[2]), graph.match(close, BATCH[2]), strict=True):
        torch.testing.assert_close(score, wanted)
    items = BATCH[2][:, :1, None].contiguous()
    found, plain = (
        PairLoss.apply(False, kind, USERS, 0.1, *BATCH[:2], items, None, *read)  # type: ignore[no-untyped-call]
        for read in (layers, near)
    )
    torch.testing.assert_close(found, plain)


def test_the_choice_of_dens_from_layers_far_apart(layers: tuple[Tensor, ...]) -> None:
    rng = torch.Generator().manual_seed(1)
    shapes = {part: (DIM, DIM) if part.endswith("weight") else (DIM,) for part in PARTS}
    gates = {part: torch.randn(*shape, generator=rng).to(DEVICE) for part, shape in shapes.items()}
    near = tuple(layer.clone() for layer in layers)
    found, expected = (dens_choice(table(read), USERS, *BATCH, gates, 0.5) for read in (layers, near))
    assert torch.equal(found, expected)


# NGCF and DENS.


def ngcf_gradients(backbone: NGCF, graph: Graph, of: dict[str, Tensor], only: tuple[int, ...]) -> list[Tensor | None]:
    layers = backbone.layers(of, graph) if graph.path == "reference" else ngcf.layers(backbone, of, graph)
    total = torch.stack([(layers[t] * normal(*layers[t].shape, seed=t)).sum() for t in only]).sum()
    return list(torch.autograd.grad(total, list(of.values()), allow_unused=True))


def assert_gradients(found: list[Tensor | None], expected: list[Tensor | None]) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        if theirs is None:  # a kernel gives 0 where autograd sees no way
            assert mine is None or not mine.any()
        else:
            assert mine is not None
            assert_near(mine, theirs)


def test_ngcf_of_more_rows_than_its_programs_take_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program walks, and the last block is not full."""
    monkeypatch.setattr(ngcf, "PROGRAMS", 2)
    graph, fast = plain_and_fast(users=30, items=41)
    assert graph.n > 4 * 16
    backbone = NGCF(dim=16, depth=3)
    parameters = parameters_of(backbone, graph)
    assert_gradients(*(ngcf_gradients(backbone, one, parameters, (0, 1, 2, 3)) for one in (fast, graph)))


@pytest.mark.parametrize("only", [(0,), (1,), (2,), (0, 1)])
def test_ngcf_gradient_where_only_some_layers_are_read(only: tuple[int, ...]) -> None:
    graph, fast = plain_and_fast()
    backbone = NGCF(dim=4, depth=2)
    parameters = parameters_of(backbone, graph)
    assert_gradients(*(ngcf_gradients(backbone, one, parameters, only) for one in (fast, graph)))


@pytest.mark.parametrize("bias", [0.0, 2e-13])
def test_a_row_of_almost_no_length_is_divided_as_torch_does(bias: float) -> None:
    """Without weights h is the bias: below a length of 1e-12, z = h / 1e-12, and the gradient is that of a constant."""
    graph, fast = plain_and_fast()
    backbone = NGCF(dim=4, depth=1)
    parameters = {
        name: (
            value.detach() if name == "ego" else torch.full_like(value, bias if name == "b1.0" else 0.0)
        ).requires_grad_()
        for name, value in parameters_of(backbone, graph).items()
    }
    found = ngcf.layers(backbone, parameters, fast)
    assert float(found[1].detach().norm(dim=1).max()) == pytest.approx(2 * bias / 1e-12)
    assert_gradients(*(ngcf_gradients(backbone, one, parameters, (0, 1)) for one in (fast, graph)))


def test_ngcf_in_16_bits_stays_near_and_ranks_in_full_precision() -> None:
    graph, fast = plain_and_fast(path="triton-half")
    backbone = NGCF(dim=16, depth=3)
    parameters = parameters_of(backbone, graph)
    expected, found = backbone.layers(parameters, graph), ngcf.layers(backbone, parameters, fast)
    assert 0 < (found[3] - expected[3]).norm() / expected[3].norm() < 1e-3
    mine, theirs = (ngcf_gradients(backbone, one, parameters, (0, 1, 2, 3))[0] for one in (fast, graph))
    assert mine is not None
    assert theirs is not None
    assert_near(mine, theirs, within=0.02)
    with torch.no_grad():
        assert_near(ngcf.layers(backbone, parameters, fast)[3], expected[3].detach())


def test_of_equal_candidates_dens_takes_the_first() -> None:
    graph, sampler = plain_and_fast()[1], DENS(pool=6)
    gates = sampler.trainable(4, Rng(2, "start", DEVICE), torch.float32)
    candidates = graph.draw(graph.pair_users, 6, Rng(3, "pools", DEVICE))
    ids = graph.n_users, graph.pair_users, graph.pair_items, candidates
    found = dens_choice(table((torch.ones(graph.n, 4, device=DEVICE),) * 2), *ids, gates, 1.0)
    assert torch.equal(found, candidates[:, :1].expand(-1, 2))


# SimGCL.


@pytest.mark.parametrize("length", [0.0, 0.7])
def test_the_same_noise_on_a_gpu(length: float) -> None:
    """Of a given length, in the embedding's own orthant; a row of zeros has no direction and stays."""
    e = normal(40, 64)
    e[3] = 0.0
    found = torch.empty(40, 1, 64, device=DEVICE)
    perturb_on_gpu(e, found, length, Rng(5, "noise", DEVICE), 0, 0)
    torch.testing.assert_close(found[:, 0], perturb(e, length, Rng(5, "noise", DEVICE)), rtol=0, atol=1e-6)
    noise = found[:, 0] - e
    assert (noise * e >= 0).all()
    assert not noise[3].any()
    torch.testing.assert_close(noise[4:].norm(dim=1), torch.full_like(noise[4:, 0], length), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("batch", "dim"), [(70, 24), (64, 16), (3, 5)])
def test_info_nce_over_several_tiles(batch: int, dim: int) -> None:
    """70 rows are two tiles; 40 nodes in a batch of 70 are met again and again."""
    first, second = normal(40, dim).double().requires_grad_(), normal(40, dim, seed=1).double().requires_grad_()
    parts = [torch.from_numpy(np.random.default_rng(part).integers(0, 40, batch)).to(DEVICE) for part in range(2)]
    expected = 0.7 * (info_nce(first, second, parts[0], 0.2) + info_nce(first, second, parts[1], 0.2))
    tables = [normalize(given, dim=1) for given in (first, second)]
    z, real = torch.zeros(2, 2, batch, dim, device=DEVICE), torch.zeros(2 * batch, device=DEVICE)
    for part, nodes in enumerate(parts):
        for place, node in enumerate(nodes.tolist()):
            if nodes.tolist().index(node) == place:
                real[part * batch + place] = 1.0
                for view in range(2):
                    z[view, part, place] = tables[view][node].float().detach()
    loss, (cosines, lse, share) = simgcl.info_nce(z, real, 0.2, 0.7)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    dz = simgcl.info_nce_gradient(z, real, 0.2, cosines, lse) * share[:, None, None] / 0.2
    for view, given in enumerate((first, second)):
        gradient = torch.zeros_like(given).float()
        for part, nodes in enumerate(parts):
            gradient.index_add_(0, nodes, dz[view, part])
        pulled = torch.autograd.grad(tables[view], given, gradient.double(), retain_graph=True)[0]
        assert_near(pulled, torch.autograd.grad(expected, given, retain_graph=True)[0])


# A whole step.


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


@pytest.mark.skipif(DEVICE == "cuda", reason="steps of these tests are on a CPU")
@pytest.mark.parametrize("sampler", [DENS(), Mixed(), SAHC()], ids=["dens", "a user's", "sahc"])
@pytest.mark.parametrize(
    "backbone",
    [
        LightGCN(dim=6, depth=2),
        LightGCNpp(dim=6),
        NGCF(dim=6, depth=2),
        SimGCL(dim=8, depth=2),
        XSimGCL(dim=6),
        SGL(dim=6, depth=2),
    ],
    ids=lambda one: one.name,
)
def test_a_step_through_kernels_is_a_step_in_plain_torch(backbone: Backbone, sampler: Sampler) -> None:
    """The loss and the gradient of every parameter; with SimGCL, L2 is on a table that is none of the layers."""
    losses, gradients = [], []
    for graph in plain_and_fast(users=5, items=9):
        step = step_of(backbone, sampler, dtype=torch.float32, graph=graph, spread=5.0)
        losses.append(loss_of(step, torch.arange(10)))
        gradients.append(list(torch.autograd.grad(losses[-1], list(step.parameters.values()))))
    assert_near(losses[1].detach(), losses[0].detach())
    assert_gradients([*gradients[1]], [*gradients[0]])
